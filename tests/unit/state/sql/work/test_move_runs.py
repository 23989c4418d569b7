"""Runs of moves in the sidecar database as readers see them, and in a database of an older version."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from syncer.errors import NotFound
from syncer.state.maintenance.check import check
from syncer.state.sql import opening
from syncer.state.sql.database import SqlState
from syncer.state.views.region import Views
from tests.support.older_schema import take_back
from tests.unit.state.contract.work.test_move_runs import MOVES, PLAN, begun, over
from tests.unit.state.test_contract import EAST


def test_readers_see_the_open_run_one_by_its_number_and_the_latest_first(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'state.db'}"
    with closing(SqlState.open(url, EAST)) as state, closing(Views.open(url, EAST)) as views:
        state.activate()
        assert (views.move_run(), views.move_run(1), views.move_runs(9)) == (None, None, [])
        with pytest.raises(NotFound, match=r"^there is no run of moves 1$"):
            views.move_run_plan(1)
        first = begun(state)
        assert views.move_run() == views.move_run(first.id) == first
        assert (views.move_run_plan(first.id), views.move_run_moves(first.id)) == (PLAN, list(MOVES))
        with state.transaction() as tx:
            tx.save_move_run(over(first), {})
        second = begun(state)
        assert views.move_runs(9) == [second, over(first)]
        assert views.move_runs(1) == [second]


def test_a_database_of_an_older_version_gets_the_tables(tmp_path: Path) -> None:
    file = tmp_path / "state.db"
    url = f"sqlite:///{file}"
    with closing(SqlState.open(url, EAST)):
        pass
    with closing(sqlite3.connect(file)) as database:
        take_back(database, "0017")
        database.commit()
    with closing(SqlState.open(url, EAST)) as state:
        state.activate()
        assert begun(state).id == 1
    with closing(sqlite3.connect(file)) as database:
        assert database.execute("SELECT version_num FROM alembic_version").fetchone() == (opening.head(),)


def test_runs_of_an_older_version_are_in_no_trouble(tmp_path: Path) -> None:
    file = tmp_path / "state.db"
    url = f"sqlite:///{file}"
    with closing(SqlState.open(url, EAST)) as state:
        state.activate()
        run = begun(state)
    with closing(sqlite3.connect(file)) as database:
        take_back(database, "0018")
        database.commit()
    with closing(SqlState.open(url, EAST)) as state:
        state.activate()
        with state.transaction() as tx:
            assert tx.move_run() == run
    assert not run.trouble


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        ("UPDATE move_runs SET document = '{'", "the run of moves 1 cannot be read: "),
        ("UPDATE move_runs SET trouble = '{'", "the run of moves 1 cannot be read: "),
        ("UPDATE move_outcomes SET document = '{'", "the run of moves 1 cannot be read: "),
        ("DELETE FROM move_outcomes WHERE number = 0", "the run of moves 1 has 1 moves, numbered up to 1"),
        (
            "UPDATE move_runs SET finished_at = 5, open = NULL, document = '{\"former\": {}}'",
            "the run of moves 1 is over, and has settings to put back",
        ),
    ],
)
def test_a_check_finds_what_is_damaged(tmp_path: Path, damage: str, words: str) -> None:
    file = tmp_path / "state.db"
    url = f"sqlite:///{file}"
    with closing(SqlState.open(url, EAST)) as state:
        state.activate()
        begun(state)
    assert [each.check for each in check(url, EAST) if not each.ok] == []
    with closing(sqlite3.connect(file)) as database:
        assert database.execute(damage).rowcount > 0
        database.commit()
    (found,) = (each for each in check(url, EAST) if not each.ok)
    assert found.check == "moves"
    assert found.detail.startswith(words)
