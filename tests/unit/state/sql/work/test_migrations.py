"""Migrations in the sidecar database as the command line and REST see them, and in a database of an older version."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from syncer.errors import InvariantBroken, NotFound
from syncer.model import Millis
from syncer.replacing import replace
from syncer.state.maintenance.check import check
from syncer.state.sql import opening
from syncer.state.sql.database import SqlState
from syncer.state.views.region import Views
from tests.support.older_schema import take_back
from tests.unit.state.contract.test_migrations import PLAN, PLANNED, begun, over, remember
from tests.unit.state.test_contract import EAST


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "state.db"


@pytest.fixture
def state(file: Path) -> Iterator[SqlState]:
    with closing(SqlState.open(f"sqlite:///{file}", EAST)) as opened:
        opened.activate()
        yield opened


@pytest.fixture
def views(state: SqlState, file: Path) -> Iterator[Views]:
    with closing(Views.open(f"sqlite:///{file}", EAST)) as opened:
        yield opened


def test_readers_see_the_open_migration_one_by_its_number_and_the_latest_first(state: SqlState, views: Views) -> None:
    assert (views.open_migration(), views.migration(1), views.migrations(9)) == (None, None, [])
    with pytest.raises(NotFound, match=r"^there is no migration 1$"):
        views.migration_plan(1)
    first = begun(state)
    assert views.open_migration() == views.migration(first.id) == first
    assert views.migration_plan(first.id) == PLAN
    with state.transaction() as tx:
        tx.save_migration(over(first))
    assert views.open_migration() is None
    second = begun(state, reverses=first.id)
    assert views.migrations(9) == [second, over(first)]
    assert views.migrations(1) == [second]


def test_readers_follow_events_from_a_number_on(state: SqlState, views: Views) -> None:
    migration = begun(state)
    with state.transaction() as tx:
        events = [tx.add_migration_event(migration.id, "step", {"n": n}, Millis(n)) for n in range(1, 6)]
    assert views.migration_events(migration.id, 9) == events
    assert views.migration_events(migration.id, 2, after=3) == events[3:]
    assert views.migration_events(migration.id, 2) == events[:2]
    assert views.migration_events(migration.id + 1, 9) == []


def test_a_second_open_migration_is_refused_by_the_database_itself(state: SqlState) -> None:
    first = begun(state)
    with state.transaction() as tx:
        tx.save_migration(over(first))
    begun(state)
    with pytest.raises(InvariantBroken, match="refused a statement"), state.transaction() as tx:
        tx._connection.exec_driver_sql("UPDATE migrations SET open = 1")


def test_a_database_of_the_version_before_gets_the_tables_when_a_daemon_becomes_active(
    state: SqlState, file: Path
) -> None:
    state.close()
    with closing(sqlite3.connect(file, isolation_level=None)) as older:
        take_back(older, "0013")
    with closing(SqlState.open(f"sqlite:///{file}", EAST)) as later:
        later.activate()
        migration = begun(later)
        remember(later, migration, a=1)
        with later.engine.connect() as connection:
            assert opening.revision(connection) == opening.head()
        with later.transaction() as tx:
            assert tx.migration_values(migration.id) == {"a": 1}


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        ("UPDATE migrations SET document = 'no JSON' WHERE id = 2", "migration 2 cannot be read: "),
        ("UPDATE migrations SET open = NULL WHERE id = 2", "migration 2 is marked over, and is not; "),
        ("UPDATE migrations SET finished_at = 5 WHERE id = 2", "migration 2 is marked open, and is not"),
        ("UPDATE migration_values SET migration = 1", "rate is to be put back for no open migration"),
        ("UPDATE migration_values SET value = '{'", "a migration's value cannot be read: "),
        ("UPDATE migration_events SET document = '{'", "a migration's event cannot be read: "),
        ("DELETE FROM migration_events WHERE number = 2", "migration 2 has 2 events, numbered from 1 to 3"),
    ],
)
def test_damage_of_migrations_is_named(state: SqlState, file: Path, damage: str, told: str) -> None:
    first = begun(state)
    with state.transaction() as tx:
        tx.save_migration(over(first))
        second = replace(PLANNED, id=tx.begin_migration(PLANNED, PLAN))
        tx.remember_value(second.id, "rate", 5)
        for _ in range(3):
            tx.add_migration_event(second.id, "step", {}, Millis(1))
    state.close()
    url = f"sqlite:///{file}"
    assert [each.check for each in check(url, EAST) if not each.ok] == []
    with closing(sqlite3.connect(file, isolation_level=None)) as database:
        assert database.execute(damage).rowcount > 0
    (found,) = (each for each in check(url, EAST) if not each.ok)
    assert found.check == "migrations"
    assert found.detail.startswith(told)
