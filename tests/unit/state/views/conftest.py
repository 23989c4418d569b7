"""A region's database, and its views beside the daemon that writes it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from syncer.state.sql.database import SqlState
from syncer.state.views.region import Views
from tests.unit.state.test_contract import EAST


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'state.db'}"


@pytest.fixture
def state(url: str) -> Iterator[SqlState]:
    with closing(SqlState.open(url, EAST)) as opened:
        opened.activate()
        yield opened


@pytest.fixture
def views(state: SqlState, url: str) -> Iterator[Views]:
    with closing(Views.open(url)) as opened:
        yield opened
