"""``syncer jobs`` before a real driver and a stand-in for what runs jobs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from syncer.documents.jobs import JobDocument, JobList
from syncer.documents.operations import OperationList
from syncer.model import Millis
from syncer.replication.driver import Driver
from syncer.state.contract.jobs import JobEnd, JobState
from syncer.state.sql.database import SqlState
from tests.support.parts import parts_of
from tests.support.region_database import Run, good

pytestmark = pytest.mark.usefixtures("performing")


@pytest.fixture
def performing(daemon: Driver) -> None:
    parts_of(daemon).control.check_jobs = lambda: None


@contextmanager
def ending(state: SqlState, how: Callable[[int], JobEnd]) -> Iterator[None]:
    """End whatever is queued, as the daemon that runs jobs does."""
    over = threading.Event()

    def work() -> None:
        while not over.wait(0.05):
            with state.transaction() as tx:
                for job in tx.open_jobs():
                    tx.begin_job(job.id, "h1", "r1", Millis(1))
                    tx.end_job(job.id, "r1", how(job.id))

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def test_a_job_is_asked_for_shown_listed_and_cancelled(run: Run) -> None:
    asked = JobDocument.model_validate_json(
        good(run("jobs", "take", "--tenant", "acme", "--reason", "why", "-o", "json"))
    )
    assert (asked.id, asked.state, asked.arguments, asked.reason) == (1, "queued", {"tenants": ["acme"]}, "why")
    assert "queued" in good(run("jobs", "diff", "east", "west", "--fields"))
    listed = JobList.model_validate_json(good(run("jobs", "list", "--limit", "1", "-o", "json")))
    assert ([each.id for each in listed.items], listed.next) == ([2], 2)
    assert "east west fields" in good(run("jobs", "list"))
    assert "more: --before 2" in run("jobs", "list", "--limit", "1").stderr
    assert "acme" in good(run("jobs", "show", "1"))
    cancelled = OperationList.model_validate_json(good(run("jobs", "cancel", "1", "-o", "json")))
    assert cancelled.items[0].answer == "job 1 is cancelled"
    assert run("jobs", "cancel", "1").exit_code == 5
    assert run("jobs", "show", "9").exit_code == run("jobs", "cancel", "9").exit_code != 0


def test_what_may_not_be_asked_for_is_refused(run: Run) -> None:
    refused = run("jobs", "diff", "/etc", "west")
    assert refused.exit_code == 5
    assert "paths and addresses are not taken here" in refused.output
    assert good(run("jobs", "list")) == ""


@pytest.mark.parametrize(
    ("end", "status"),
    [
        (JobEnd(state=JobState.SUCCEEDED, at_ms=Millis(9), output={"id": "20261121T030000123Z-1a2b3c"}), 0),
        (JobEnd(state=JobState.SUCCEEDED, at_ms=Millis(9), output={"different": 2}), 3),
        (JobEnd(state=JobState.SUCCEEDED, at_ms=Millis(9), output={"counts": {"created": 1}}), 3),
        (JobEnd(state=JobState.SUCCEEDED, at_ms=Millis(9), output={"different": 0}), 0),
        (JobEnd(state=JobState.FAILED, at_ms=Millis(9), detail="exit status 5"), 1),
        (JobEnd(state=JobState.LOST, at_ms=Millis(9), detail="its machine has gone"), 1),
    ],
)
def test_a_job_is_waited_for_and_its_outcome_is_the_exit_status(
    run: Run,
    state: SqlState,
    end: JobEnd,
    status: int,
) -> None:
    with ending(state, lambda _: end):
        result = run("jobs", "take", "--wait")
    assert result.exit_code == status, result.output
    assert end.state.value in result.stdout
    assert end.detail in result.stdout


def test_a_job_that_is_not_over_in_time_goes_on(run: Run) -> None:
    result = run("jobs", "take", "--wait", "--wait-timeout", "0")
    assert result.exit_code == 4
    assert "job 1 goes on" in result.stderr
