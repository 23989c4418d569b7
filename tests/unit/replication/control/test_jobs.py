"""Operations about jobs: queued with a bound, refused with a reason, ended, also while paused or being rebuilt."""

from __future__ import annotations

import pytest

from syncer.errors import SparkMissing
from syncer.jobs.wishes import MAX_QUEUED
from syncer.model import Millis
from syncer.replication.recovery import rebuild
from syncer.replication.recovery.progress import Phase
from syncer.state.contract.jobs import JobEnd, JobState
from syncer.state.contract.operations import OperationState
from tests.support.parts import parts_of
from tests.unit.replication.antientropy.test_protocol import Site
from tests.unit.replication.control.test_repair import operate

NOW = 10**12


@pytest.fixture
def site() -> Site:
    made = Site("east")
    parts_of(made.driver).control.check_jobs = lambda: None
    return made


def test_a_job_is_queued_and_the_answer_names_it(site: Site) -> None:
    take = operate(site, "job-take", NOW, tenants="acme")
    diff = operate(site, "job-diff", NOW, snapshots="east,west")
    assert [(each.state, each.answer) for each in (take, diff)] == [
        (OperationState.DONE, "job 1 waits"),
        (OperationState.DONE, "job 2 waits"),
    ]
    first, second = site.state.database.jobs.values()
    assert (first.kind, first.arguments, first.asked_by, first.asked_at_ms) == (
        "take", {"tenants": ["acme"]}, "a test", NOW,
    )  # fmt: skip
    assert (second.kind, second.state) == ("diff", JobState.QUEUED)


@pytest.mark.parametrize(
    ("kind", "arguments", "code"),
    [
        ("job-take", {"offline": "/etc"}, "precondition-failed"),
        ("job-diff", {"snapshots": "east"}, "precondition-failed"),
        ("job-cancel", {"id": "7"}, "not-found"),
    ],
)
def test_what_cannot_be_done_is_refused_and_changes_nothing(
    site: Site, kind: str, arguments: dict[str, str], code: str
) -> None:
    assert operate(site, kind, NOW, **arguments).code == code
    assert site.state.database.jobs == {}


def test_a_daemon_that_runs_none_says_so_at_once(site: Site) -> None:
    control = parts_of(site.driver).control
    control.check_jobs = None
    refused = operate(site, "job-take", NOW)
    assert (refused.code, "snapshots.folder" in refused.answer) == ("precondition-failed", True)

    def missing() -> None:
        raise SparkMissing("pyspark is not installed where the daemon runs")

    control.check_jobs = missing
    assert operate(site, "job-diff", NOW, snapshots="a,b").code == "spark-missing"
    assert site.state.database.jobs == {}


def test_so_many_may_wait_and_no_more(site: Site) -> None:
    for _ in range(MAX_QUEUED):
        operate(site, "job-take", NOW)
    refused = operate(site, "job-take", NOW)
    assert (refused.code, refused.answer.partition(".")[0]) == ("precondition-failed", "20 jobs wait already")
    operate(site, "job-cancel", NOW, id="1")
    assert operate(site, "job-take", NOW).answer == "job 21 waits"


def test_a_job_ends_at_once_while_it_waits_and_is_asked_to_while_it_runs(site: Site) -> None:
    for _ in range(2):
        operate(site, "job-take", NOW)
    assert operate(site, "job-cancel", NOW, id="1").answer == "job 1 is cancelled"
    ended = site.state.database.jobs[1]
    assert (ended.state, ended.detail) == (JobState.CANCELLED, "cancelled by a test")
    with site.state.transaction() as tx:
        tx.begin_job(2, "h1", "r1", Millis(NOW))
    assert operate(site, "job-cancel", NOW, id="2").answer == "job 2 is being stopped"
    assert site.state.database.jobs[2].cancel_asked_by == "a test"
    with site.state.transaction() as tx:
        tx.end_job(2, "r1", JobEnd(state=JobState.SUCCEEDED, at_ms=Millis(NOW)))
    refused = operate(site, "job-cancel", NOW, id="2")
    assert (refused.code, refused.answer.partition(".")[0]) == ("precondition-failed", "job 2 is over: it is succeeded")


def test_jobs_are_asked_for_while_the_region_is_paused_or_its_database_rebuilt(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    operate(site, "pause", NOW)
    assert operate(site, "job-take", NOW).state is OperationState.DONE
    monkeypatch.setattr(rebuild, "phase_of", lambda _: Phase.HEARING)
    assert operate(site, "confirm", NOW, path="/x").code == "precondition-failed"
    assert operate(site, "job-take", NOW).state is OperationState.DONE
    assert operate(site, "job-cancel", NOW, id="2").state is OperationState.DONE
