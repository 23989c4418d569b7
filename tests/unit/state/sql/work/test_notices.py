"""What receivers were told, as the sidecar database keeps it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from syncer.notices.rules import NoticeKind, Told
from syncer.state.sql.database import SqlState
from syncer.state.sql.work.notices import NoticesTold
from tests.unit.state.test_contract import EAST

TOLD = Told(number=3, open=True, count=2, newest=9)


@pytest.fixture
def told(tmp_path: Path) -> Iterator[NoticesTold]:
    url = f"sqlite:///{tmp_path / 'state.db'}"
    with closing(SqlState.open(url, EAST)) as state:
        state.activate()
    with closing(NoticesTold(url)) as opened:
        yield opened


def test_what_was_written_is_read(told: NoticesTold) -> None:
    assert told.read() == {}
    told.write("ops", NoticeKind.HOLDS, TOLD, 5)
    told.write("log", NoticeKind.HOLDS, Told(number=1), 6)
    told.write("ops", NoticeKind.HOLDS, Told(number=3, open=True, count=1, newest=9), 7)
    assert told.read() == {
        ("ops", NoticeKind.HOLDS): (Told(number=3, open=True, count=1, newest=9), 7),
        ("log", NoticeKind.HOLDS): (Told(number=1), 6),
    }


def test_a_daemon_that_is_behind_takes_nothing_back(told: NoticesTold) -> None:
    told.write("ops", NoticeKind.HOLDS, TOLD, 5)
    told.write("ops", NoticeKind.HOLDS, Told(number=2, open=False), 99)
    assert told.read() == {("ops", NoticeKind.HOLDS): (TOLD, 5)}
