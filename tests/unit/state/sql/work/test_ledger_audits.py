"""Audits of ledgers in the sidecar database as readers see them, and in a database of an older version."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from syncer.state.contract.work.ledger_audits import unpack_audit
from syncer.state.maintenance.check import check
from syncer.state.sql.database import SqlState
from syncer.state.views.region import Views
from tests.support.older_schema import take_back
from tests.unit.state.contract.work.test_ledger_audits import JSON, kept
from tests.unit.state.test_contract import EAST


def test_readers_see_the_latest_first_and_one_by_its_number(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'state.db'}"
    with closing(SqlState.open(url, EAST)) as state, closing(Views.open(url, EAST)) as views:
        state.activate()
        assert (views.ledger_audits("blue", 9), views.ledger_audit("blue")) == ([], None)
        first, second = kept(state), kept(state, at=20)
        assert [(each.id, each.taken_ms) for each in views.ledger_audits("blue", 9)] == [(second, 20), (first, 10)]
        assert views.ledger_audits("blue", 1) == views.ledger_audits("blue", 9)[:1]
        assert views.ledger_audits("blue", 9, before=second) == views.ledger_audits("blue", 9)[1:]
        for number, expected in ((None, second), (first, first)):
            found = views.ledger_audit("blue", number)
            assert found is not None
            assert (found.row.id, unpack_audit(found.document)) == (expected, JSON)
        assert views.ledger_audit("green", first) is None


def test_a_database_of_an_older_version_gets_the_table(tmp_path: Path) -> None:
    file = tmp_path / "state.db"
    url = f"sqlite:///{file}"
    with closing(SqlState.open(url, EAST)):
        pass
    with closing(sqlite3.connect(file)) as database:
        take_back(database, "0019")
        database.commit()
    with closing(SqlState.open(url, EAST)) as state:
        state.activate()
        assert kept(state) == 1


@pytest.mark.parametrize("document", [b"nothing", b"x\x9c\x4b\x04\x00\x00\x62\x00\x62"])
def test_a_check_finds_what_is_damaged(tmp_path: Path, document: bytes) -> None:
    """The second one is unpacked, and is no JSON."""
    file = tmp_path / "state.db"
    url = f"sqlite:///{file}"
    with closing(SqlState.open(url, EAST)) as state:
        state.activate()
        kept(state)
    assert [each.check for each in check(url, EAST) if not each.ok] == []
    with closing(sqlite3.connect(file)) as database:
        assert database.execute("UPDATE ledger_audits SET document = ?", (document,)).rowcount == 1
        database.commit()
    (found,) = (each for each in check(url, EAST) if not each.ok)
    assert found.check == "audits"
    assert found.detail.startswith("the audit of ledgers 1 cannot be read: ")
