"""Jobs over HTTP: asked for, followed and ended; neither places of the host nor values leave with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

from syncer.jobs.wishes import job_named_in
from syncer.model import Millis
from syncer.replication.driver import Driver
from syncer.state.contract.jobs import JobEnd, JobKind, JobState
from syncer.state.sql.database import SqlState
from syncer.state.views.region import Views
from tests.api.conftest import Region
from tests.api.routes_table import API, WHY
from tests.support.jobs import ended, succeeded
from tests.support.parts import parts_of

WAIT: Final = {"Prefer": "wait=30"}
FIELD: Final = {"pointer": "/a", "local": False, "values": {"here": "SECRET-1", "there": None}}


@pytest.fixture
def running(daemon: Driver) -> None:
    """The daemon runs jobs."""
    parts_of(daemon).control.check_jobs = lambda: None


def asked(region: Region, path: str, body: dict[str, Any], by: str = "operate", **headers: str) -> Any:
    return region.ask("POST", f"{API}/{path}", by, json={**WHY, **body}, headers={**WAIT, **headers})


@pytest.mark.usefixtures("running")
def test_jobs_are_asked_for_followed_and_ended(region: Region) -> None:
    answer = asked(region, "snapshots", {"tenants": ["acme"]})
    assert answer.status_code == 200, answer.text
    number = job_named_in(answer.json()["items"][0]["answer"])
    job = region.get(f"{API}/jobs/{number}", "read").json()
    assert (job["kind"], job["state"], job["arguments"]) == ("take", "queued", {"tenants": ["acme"]})
    assert (job["asked_by"], job["reason"]) == ("operate", "TICKET-7")
    assert asked(region, "diffs", {"snapshots": ["here", "there"], "fields": True}).status_code == 200
    forced = asked(region, "snapshots-by-force", {"allow_empty": True, "accept_shrunken": True}, "admin")
    assert forced.status_code == 200
    listed = region.get(f"{API}/jobs?limit=2", "read").json()
    assert [each["arguments"] for each in listed["items"]] == [
        {"allow_empty": True, "accept_shrunken": True},
        {"snapshots": ["here", "there"], "fields": True},
    ]
    assert [each["id"] for each in region.get(f"{API}/jobs?before={listed['next']}").json()["items"]] == [number]
    gone = region.ask("DELETE", f"{API}/jobs/{number}?reason=enough", "operate", headers=WAIT)
    assert (gone.status_code, gone.json()["items"][0]["reason"]) == (200, "enough")
    assert region.get(f"{API}/jobs/{number}").json()["state"] == "cancelled"
    again = region.ask("DELETE", f"{API}/jobs/{number}?reason=enough", "operate")
    assert (again.status_code, again.json()["code"]) == (412, "precondition-failed")


@pytest.mark.usefixtures("running")
def test_a_wish_that_is_repeated_with_its_key_queues_one_job(region: Region, views: Views) -> None:
    first, again = (asked(region, "snapshots", {}, **{"Idempotency-Key": "one"}) for _ in range(2))
    assert first.json() == again.json()
    assert [each.id for each in views.jobs(10)] == [1]
    end = {"Idempotency-Key": "two", **WAIT}
    answers = [region.ask("DELETE", f"{API}/jobs/1?reason=enough", "operate", headers=end) for _ in range(2)]
    assert [each.status_code for each in answers] == [200, 200]
    assert answers[0].json() == answers[1].json()


@pytest.mark.parametrize(
    ("path", "body", "said"),
    [
        ("snapshots", {"accept_shrunken": True}, "accept_shrunken"),
        ("snapshots", {"tenants": ["../x"]}, "is no name"),
        ("snapshots", {"tenants": ["--conf"]}, "is no name"),
        ("snapshots", {"tenants": ["acme,beta"]}, "tenants"),
        ("snapshots", {"tenants": ["acme"] * 17}, "tenants"),
        ("snapshots", {"folder": "/etc"}, "folder"),
        ("diffs", {}, "snapshots"),
        ("diffs", {"snapshots": ["here"]}, "snapshots"),
        ("diffs", {"snapshots": ["/etc/passwd", "here"]}, "is no name"),
        ("diffs", {"snapshots": ["s3a://bucket/x", "here"]}, "is no name"),
    ],
)
def test_what_nobody_could_do_is_refused_before_anything_is_asked(
    path: str, body: dict[str, Any], said: str, region: Region, views: Views
) -> None:
    answer = asked(region, path, body)
    assert (answer.status_code, answer.json()["code"]) == (422, "request-invalid")
    assert said in answer.json()["detail"]
    assert views.operations(10) == []


def test_a_job_is_ended_with_a_reason_and_by_its_number(region: Region, views: Views) -> None:
    for query in ("", "?reason="):
        assert region.ask("DELETE", f"{API}/jobs/1{query}", "operate").status_code == 422
    assert region.ask("DELETE", f"{API}/jobs/9?reason=x", "operate").json()["code"] == "not-found"
    assert views.operations(10) == []


@pytest.mark.usefixtures("daemon")
def test_a_daemon_that_runs_no_jobs_says_so(region: Region) -> None:
    answer = asked(region, "snapshots", {})
    assert (answer.status_code, answer.json()["code"]) == (412, "precondition-failed")
    assert "snapshots.folder" in answer.json()["detail"]


@pytest.mark.parametrize(
    "output",
    [
        {"id": "20261121T030000123Z-1a2b3c", "place": "/secret/folder/x"},
        {
            "snapshots": [{"id": "a", "place": "/secret/folder/a"}],
            "winners": {"place": 1},
            "items": [{"path": "/admin/policies/acme", "fields": [FIELD]}, {"path": "/x", "fields": None}],
            "plan": None,
            "report": "/secret/folder/report",
            "different": 1,
        },
        {"before": {"id": "a", "place": "/secret/folder/a"}, "after": {"id": "b", "place": "/secret/folder/b"}},
    ],
)
def test_no_place_of_the_host_leaves_and_values_only_with_their_right(
    output: dict[str, object], region: Region, state: SqlState
) -> None:
    number = ended(state, JobKind.DIFF, succeeded(output))
    for by in ("read", "admin", "read-values"):
        for path in (f"{API}/jobs/{number}", f"{API}/jobs"):
            said = region.get(path, by).text
            assert "/secret" not in said
            assert ("SECRET-1" in said) is (by == "read-values" and "SECRET-1" in str(output))
    found = region.get(f"{API}/jobs/{number}", "read").json()["output"]
    assert found.get("winners") == output.get("winners"), "a region may have any name"


def test_why_a_job_failed_names_no_place_of_the_host(region: Region, state: SqlState, tmp_path: Path) -> None:
    trace = 'Traceback (most recent call last):   File "/opt/x.py", line 7'
    detail = f"exit status 1: {tmp_path}/state.db cannot be read {trace}"
    number = ended(state, JobKind.TAKE, JobEnd(state=JobState.FAILED, at_ms=Millis(9), detail=detail))
    told = region.get(f"{API}/jobs/{number}", "admin").json()["detail"]
    assert told == "exit status 1: … cannot be read the rest is shown on the host by 'syncer jobs show'"


def test_a_comparison_that_is_too_long_to_keep_says_whether_something_differs(region: Region, state: SqlState) -> None:
    number = ended(state, JobKind.DIFF, succeeded({"different": True}))
    assert region.get(f"{API}/jobs/{number}").json()["different"] is True
