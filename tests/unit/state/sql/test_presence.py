"""Who is there: each daemon's line in the sidecar database, and what the status makes of it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from syncer.config import Config
from syncer.documents.status import StatusDocument
from syncer.inspection.status import collect
from syncer.model import Millis
from syncer.state.sql import opening
from syncer.state.sql.database import SqlState
from syncer.state.sql.presence import DaemonRole, Presence
from syncer.state.views.region import Views
from tests.support.older_schema import take_back
from tests.unit.state.test_contract import EAST

NOW = Millis(1_700_000_000_000)


class Clock:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.now: int = NOW

    def __call__(self) -> Millis:
        return Millis(self.now)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "state.db"


@pytest.fixture
def state(file: Path) -> Iterator[SqlState]:
    with closing(SqlState.open(f"sqlite:///{file}", EAST)) as opened:
        opened.activate()
        yield opened


def daemon(file: Path, clock: Clock, pid: int) -> Presence:
    return Presence(f"sqlite:///{file}", host=f"host-{pid}", pid=pid, version="1", clock=clock)


def status(file: Path, clock: Clock) -> StatusDocument:
    config = Config.model_validate(
        {
            "region": EAST,
            "store": {"kind": "sqlite", "path": "/s"},
            "bus": {"kind": "embedded", "path": "/b"},
            "state": {"path": str(file)},
        }
    )
    with closing(Views.open(f"sqlite:///{file}", EAST, clock=clock)) as views:
        return collect(views, config)


def test_the_status_tells_active_standby_former_and_silent(state: SqlState, file: Path, clock: Clock) -> None:
    with (
        closing(daemon(file, clock, 1)) as a,
        closing(daemon(file, clock, 2)) as b,
        closing(daemon(file, clock, 3)) as c,
    ):
        a.report(DaemonRole.ACTIVE, 1)
        c.report(DaemonRole.OBSERVER)
        clock.now += 2000
        b.report(DaemonRole.STANDBY)
        found = status(file, clock).daemons
        assert [(each.pid, each.role, each.silent) for each in found] == [
            (1, "active", False),
            (2, "standby", False),
            (3, "observer", False),
        ]
        assert [(each.seen_age_s, each.since_ms) for each in found] == [(2.0, NOW), (0.0, NOW + 2000), (2.0, NOW)]
        clock.now += 20_000
        b.report(DaemonRole.ACTIVE, state.activate().epoch)
        found = status(file, clock).daemons
        assert [(each.pid, each.role, each.silent) for each in found] == [
            (2, "active", False),
            (1, "former", True),
            (3, "observer", True),
        ]
        a.leave()
        assert [each.pid for each in status(file, clock).daemons] == [2, 3]


def test_who_never_told_leaves_nothing(state: SqlState, file: Path, clock: Clock) -> None:
    with closing(daemon(file, clock, 1)) as a:
        a.leave()
    assert status(file, clock).daemons == []


def test_a_schema_that_is_too_new_is_told_as_a_condition(state: SqlState, file: Path, clock: Clock) -> None:
    with closing(daemon(file, clock, 1)) as a, closing(sqlite3.connect(file, isolation_level=None)) as newer:
        newer.execute("UPDATE alembic_version SET version_num = '9999'")
        a.report(DaemonRole.STANDBY)
        newer.execute("UPDATE alembic_version SET version_num = ?", (opening.head(),))  # as that version's CLI sees it
        told = status(file, clock).conditions
    assert [each.code for each in told] == ["daemon-outdated"]
    assert "host-1" in told[0].message
    assert "9999" in told[0].message


def test_an_older_schema_is_brought_up_to_date_by_the_next_writer(state: SqlState, file: Path, clock: Clock) -> None:
    with closing(sqlite3.connect(file, isolation_level=None)) as older:
        take_back(older, "0002")
    with closing(SqlState.open(f"sqlite:///{file}", EAST)) as later, closing(daemon(file, clock, 1)) as a:
        a.report(DaemonRole.STANDBY)  # nowhere to say it yet
        later.activate()
        a.report(DaemonRole.ACTIVE, 2)
        assert [each.role for each in status(file, clock).daemons] == ["active"]
