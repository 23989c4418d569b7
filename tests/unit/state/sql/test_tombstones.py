"""Since when a database of an older version, which has kept no scopes, carries a path."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from syncer.conflict.classes.periods import WITH_THE_DATABASE, ScopePeriods
from syncer.conflict.scope import Scope
from syncer.model import MetaPath, Millis, Region
from syncer.state.sql.database import SqlState
from tests.support.older_schema import take_back

EAST, PATH = Region("east"), MetaPath("/admin/policies/acme")


def carried_since(url: str) -> Millis:
    """By a daemon that becomes active at 500."""
    with closing(SqlState.open(url, EAST)) as state:
        state.activate()
        with state.transaction() as tx:
            return ScopePeriods(tx.scope_periods()).under(Scope()).dated(Millis(500)).since(PATH)


def test_a_database_of_an_older_version_knows_nothing_of_the_time_before(tmp_path: Path) -> None:
    file = tmp_path / "state.db"
    assert carried_since(f"sqlite:///{file}") == WITH_THE_DATABASE
    with closing(sqlite3.connect(file)) as database:
        take_back(database, "0024")
        database.commit()
    assert carried_since(f"sqlite:///{file}") == 500
