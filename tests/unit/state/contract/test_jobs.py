"""Jobs are kept alike by every state: in the order of asking, each in one state, the latest of those that are over."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import NoReturn

import pytest

from syncer.errors import StateForeign
from syncer.model import Millis
from syncer.replacing import replace
from syncer.state.contract.jobs import KEPT, SCHEDULE, JobEnd, JobKind, JobRow, JobState
from syncer.state.contract.state import State
from syncer.state.contract.transaction import Transaction
from syncer.state.sql.database import SqlState
from syncer.state.views.region import Views
from tests.unit.state import test_contract
from tests.unit.state.test_contract import EAST, Subject

subject = test_contract.subject
WANTED = JobRow(
    id=0,
    kind=JobKind.DIFF,
    arguments={"snapshots": ["east", "west"], "fields": True},
    asked_by="ann",
    reason="before the move \N{ROCKET}",
    asked_at_ms=Millis(10),
)
WELL = JobEnd(state=JobState.SUCCEEDED, at_ms=Millis(40), output={"paths": 7, "of": ["a", None]})
BADLY = JobEnd(state=JobState.FAILED, at_ms=Millis(40), detail="exit status 5")


def asked(state: State, asked_by: str = "ann", *, end: JobEnd | None = None) -> int:
    with state.transaction() as tx:
        number = tx.ask_job(replace(WANTED, asked_by=asked_by))
        if end is not None:
            assert tx.end_job(number, "", end)
        return number


def test_a_job_is_read_back_as_it_was_asked_for_and_as_it_went(subject: Subject) -> None:
    number = asked(subject.state)
    queued = replace(WANTED, id=number)
    running = replace(
        queued, state=JobState.RUNNING, host="h1", run="ab12", attempts=1, began_at_ms=Millis(2**45), cancel_asked_by=""
    )
    with subject.state.transaction() as tx:
        assert tx.job(number) == queued
        assert tx.begin_job(number, "h1", "ab12", Millis(2**45))
        assert tx.job(number) == running
        assert tx.ask_end_of_job(number, "ben")
        assert tx.ask_end_of_job(number, "cat")
        assert tx.job(number) == replace(running, cancel_asked_by="ben")
    subject.state.activate()
    with subject.state.transaction() as tx:
        assert tx.end_job(number, "ab12", WELL)
        assert tx.job(number) == replace(
            running, state=JobState.SUCCEEDED, ended_at_ms=Millis(40), output=WELL.output, cancel_asked_by="ben"
        )
        assert tx.open_jobs() == []
        assert tx.job(number + 1) is None


def test_open_jobs_are_told_in_the_order_of_asking(subject: Subject) -> None:
    first, second, third = (asked(subject.state) for _ in range(3))
    with subject.state.transaction() as tx:
        assert tx.begin_job(second, "h1", "r2", Millis(20))
        assert tx.end_job(first, "", BADLY)
        assert [(job.id, job.state) for job in tx.open_jobs()] == [(second, "running"), (third, "queued")]
        assert tx.requeue_job(second, "r2")
        again = tx.job(second)
        assert again == replace(WANTED, id=second, attempts=1)
        assert [job.id for job in tx.open_jobs()] == [second, third]


@pytest.mark.parametrize("end", [WELL, BADLY, replace(BADLY, state=JobState.LOST)])
def test_a_job_that_is_over_changes_no_more(subject: Subject, end: JobEnd) -> None:
    number = asked(subject.state)
    with subject.state.transaction() as tx:
        assert not tx.end_job(number, "r1", end), "it runs nowhere"
        assert not tx.ask_end_of_job(number, "ben"), "it does not run"
        assert not tx.requeue_job(number, "")
        assert tx.begin_job(number, "h1", "r1", Millis(20))
        assert not tx.begin_job(number, "h2", "r2", Millis(20)), "it runs already"
        assert not tx.end_job(number, "r2", end), "it runs elsewhere"
        assert not tx.requeue_job(number, "r2")
        assert tx.end_job(number, "r1", end)
        over = tx.job(number)
        assert over is not None
        assert over.over
        assert not tx.end_job(number, "r1", WELL)
        assert not tx.requeue_job(number, "r1")
        assert not tx.begin_job(number, "h1", "r1", Millis(50))
        assert not tx.ask_end_of_job(number, "ben")
        assert tx.job(number) == over
        for unknown in (tx.begin_job(9, "h", "r", Millis(1)), tx.end_job(9, "", WELL), tx.ask_end_of_job(9, "ann")):
            assert not unknown


def test_the_latest_that_are_over_stay_and_the_latest_of_the_schedule(subject: Subject) -> None:
    waits = asked(subject.state)
    older, scheduled = (asked(subject.state, SCHEDULE, end=BADLY) for _ in range(2))
    manual = [asked(subject.state, end=WELL) for _ in range(KEPT + 3)]
    with subject.state.transaction() as tx:
        assert tx.prune_jobs(KEPT) == 4
        assert tx.prune_jobs(KEPT) == 0
        assert [tx.job(each) is not None for each in (waits, older, scheduled, *manual[:4])] == [
            True, False, True, False, False, False, True,
        ]  # fmt: skip
        last = tx.last_job(SCHEDULE)
        assert last is not None
        assert last.id == scheduled
        assert tx.last_job("nobody") is None
        assert asked_in(tx) > manual[-1], "no number is given twice"


def asked_in(tx: Transaction) -> int:
    return tx.ask_job(WANTED)


def test_few_jobs_all_stay(subject: Subject) -> None:
    for _ in range(3):
        asked(subject.state, end=WELL)
    with subject.state.transaction() as tx:
        assert tx.prune_jobs(3) == 0
        assert tx.prune_jobs(2) == 1


def test_what_is_undone_was_never_asked_for(subject: Subject) -> None:
    first = asked(subject.state)

    def fail(tx: Transaction) -> NoReturn:
        tx.ask_job(WANTED)
        tx.begin_job(first, "h", "r", Millis(1))
        tx.end_job(first, "r", WELL)
        tx.prune_jobs(1)
        raise ArithmeticError

    with pytest.raises(ArithmeticError), subject.state.transaction() as tx:
        fail(tx)
    with subject.state.transaction() as tx:
        assert tx.open_jobs() == [replace(WANTED, id=first)]


def test_texts_that_no_database_takes_are_kept_as_far_as_they_can_be(subject: Subject) -> None:
    odd = replace(WANTED, asked_by="a\0b", reason="\ud800", arguments={"x": "\ud800y"})
    with subject.state.transaction() as tx:
        number = tx.ask_job(odd)
        tx.end_job(number, "", JobEnd(state=JobState.FAILED, at_ms=Millis(1), detail="\0", output={"o": "\ud800"}))
        job = tx.job(number)
    assert job is not None
    assert (job.asked_by, job.reason, job.arguments) == ("a\ufffdb", "\ufffd", {"x": "\ufffdy"})
    assert (job.detail, job.output) == ("\ufffd", {"o": "\ufffd"})


def test_a_database_that_begins_anew_keeps_its_jobs(subject: Subject) -> None:
    number = asked(subject.state)
    subject.state.renew(7, "store", "{}")
    with subject.state.transaction() as tx:
        assert [job.id for job in tx.open_jobs()] == [number]


def test_pages_of_jobs_go_from_the_latest_back(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'state.db'}"
    with closing(SqlState.open(url, EAST)) as state:
        state.activate()
        numbers = [asked(state) for _ in range(5)]
        with closing(Views.open(url, EAST)) as views:
            assert [job.id for job in views.jobs(2)] == numbers[:2:-1]
            assert [job.id for job in views.jobs(9, before=numbers[3])] == numbers[2::-1]
            assert views.job(numbers[0]) == replace(WANTED, id=numbers[0])
            assert views.job(99) is None
            with state.engine.begin() as connection:
                connection.exec_driver_sql("UPDATE jobs SET kind = 'bake' WHERE id = 1")
            with pytest.raises(StateForeign):
                views.job(1)
