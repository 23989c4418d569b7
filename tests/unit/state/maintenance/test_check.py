"""Unit tests of the check of a sidecar database, as far as its jobs go: what is damaged is named."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from syncer.model import Millis
from syncer.state.contract.jobs import JobEnd, JobKind, JobRow, JobState
from syncer.state.maintenance.check import check
from syncer.state.sql.database import SqlState
from tests.unit.state.test_contract import EAST

WANTED = JobRow(id=0, kind=JobKind.TAKE, arguments={"a": 1}, asked_by="ann", reason="", asked_at_ms=Millis(5))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A database with a job that is over, one that runs, one that was begun in vain, and one that waits."""
    with closing(SqlState.open(f"sqlite:///{tmp_path / 'state.db'}", EAST)) as state:
        state.activate()
        with state.transaction() as tx:
            numbers = [tx.ask_job(WANTED) for _ in range(4)]
            for number in numbers[:3]:
                assert tx.begin_job(number, "here", f"r{number}", Millis(6))
            assert tx.end_job(numbers[0], "r1", JobEnd(state=JobState.SUCCEEDED, at_ms=Millis(9), output={"id": "x"}))
            assert tx.requeue_job(numbers[2], "r3")
    return tmp_path / "state.db"


def wrong(file: Path) -> list[tuple[str, str]]:
    return [(each.check, each.detail) for each in check(f"sqlite:///{file}", EAST) if not each.ok]


def test_jobs_of_every_state_are_sound(file: Path) -> None:
    assert wrong(file) == []


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        ("UPDATE jobs SET arguments = 'no JSON' WHERE id = 4", "job 4 cannot be read: "),
        ("UPDATE jobs SET output = '{' WHERE id = 1", "job 1 cannot be read: "),
        ("UPDATE jobs SET state = 'asleep' WHERE id = 4", "job 4 cannot be read: "),
        ("UPDATE jobs SET kind = 'dance' WHERE id = 4", "job 4 cannot be read: "),
        ("UPDATE jobs SET run = '' WHERE id = 2", "job 2 runs, and does not say where and since when"),
        ("UPDATE jobs SET began_at = NULL WHERE id = 2", "job 2 runs, and does not say where and since when"),
        ("UPDATE jobs SET run = 'r4' WHERE id = 4", "job 4 waits, and is said to run"),
        ("UPDATE jobs SET ended_at = NULL WHERE id = 1", "job 1 is succeeded, and never ended"),
        ("UPDATE jobs SET ended_at = 9 WHERE id = 2", "job 2 is running, and has ended"),
    ],
)
def test_a_damaged_job_is_named(file: Path, damage: str, told: str) -> None:
    with closing(sqlite3.connect(file, isolation_level=None)) as database:
        assert database.execute(damage).rowcount == 1
    ((name, detail),) = wrong(file)
    assert name == "jobs"
    assert detail.startswith(told)
