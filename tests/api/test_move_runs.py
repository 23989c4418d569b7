"""Runs of moves over HTTP: a plan is tried unless it is said otherwise, asked once for each key, and stopped."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, Final

import pytest

from syncer.balancer.moving import course
from syncer.balancer.moving.run import MoveStanding, RunPhase
from syncer.balancer.running.plan_file import MAX_FILE_BYTES, to_text
from syncer.state.sql.database import SqlState
from syncer.state.views.region import Views
from tests.api.conftest import Region
from tests.api.routes_table import API, WHY
from tests.support.move_runs import begun, over
from tests.support.region_database import Run, good
from tests.unit.balancer.moving.test_move_plan import PLAN

RUNS: Final = f"{API}/move-runs"
TEXT: Final = to_text(PLAN)
TRY: Final = f"{RUNS}?reason=TICKET-7"
GO: Final = f"{TRY}&dry_run=false"


def test_both_tell_the_same_of_one(region: Region, run: Run, state: SqlState) -> None:
    number = begun(state)
    for path, words in (("", ()), (f"/{number}", (str(number),))):
        told = region.get(RUNS + path, "read").json()
        assert told == json.loads(good(run("balancer", "runs", *words, "-o", "json")))
    assert told["moves"][0]["predicted_client_seconds"] == 12.5


@pytest.mark.parametrize(("path", "kind"), [(TRY, "moves-dry-run"), (GO, "moves-apply")])
def test_a_plan_is_asked_for_once_for_each_key(path: str, kind: str, region: Region, views: Views) -> None:
    headers = {"Idempotency-Key": "one"}
    answers = [region.ask("POST", path, "operate", content=TEXT, headers=headers) for _ in range(2)]
    assert [each.status_code for each in answers] == [202, 202]
    assert answers[0].json() == answers[1].json()
    (asked,) = views.operations(10)
    assert (asked.kind, asked.arguments["dry"]) == (kind, str(path == TRY).lower())
    assert asked.reason == "TICKET-7"
    assert (asked.arguments["plan"], asked.asked_by, asked.origin != "") == (TEXT, "operate", True)
    other = region.ask("POST", path, "operate", content=to_text(replace(PLAN, table="west")), headers=headers)
    assert other.json()["code"] == "idempotency-key-reused"


@pytest.mark.parametrize("path", [TRY, GO])
@pytest.mark.parametrize(
    "content", ["", "{}", TEXT[:-20], TEXT.replace("acme", "evil"), '{"format": "other"}', "[" * 9_999, b"\xff\0"]
)
def test_what_is_no_plan_asks_for_nothing(content: Any, path: str, region: Region, views: Views) -> None:
    answer = region.ask("POST", path, "operate", content=content)
    assert (answer.status_code, answer.json()["code"]) == (422, "plan-invalid")
    assert answer.json()["hint"]
    assert views.operations(10) == []


@pytest.mark.parametrize("path", [TRY, GO, f"{RUNS}/1/stop"])
@pytest.mark.parametrize(("by", "status"), [("read", 403), ("nobody", 401), ("expired", 401)])
def test_who_may_only_look_asks_for_nothing(path: str, by: str, status: int, region: Region, views: Views) -> None:
    body = {"json": WHY} if path.endswith("stop") else {"content": TEXT}
    assert region.ask("POST", path, by, **body).status_code == status
    assert views.operations(10) == []


def test_while_one_is_open_no_other_begins(region: Region, state: SqlState, views: Views) -> None:
    begun(state)
    answer = region.ask("POST", GO, "operate", content=TEXT)
    assert (answer.status_code, answer.json()["code"]) == (412, "balancing-owned")
    assert views.operations(10) == []


def test_a_plan_may_be_large_and_a_command_may_not(region: Region) -> None:
    assert region.ask("POST", TRY, "operate", content="x" * (2 << 20)).json()["code"] == "plan-invalid"
    assert region.ask("POST", f"{RUNS}/1/stop", content="x" * (2 << 20)).json()["code"] == "body-too-large"
    told = region.ask("POST", TRY, "operate", content=b"x", headers={"Content-Length": str(MAX_FILE_BYTES + 1)})
    assert (told.status_code, told.json()["code"]) == (413, "body-too-large")


def test_the_run_that_is_open_is_stopped_and_no_other(region: Region, state: SqlState, views: Views) -> None:
    number = begun(state)
    missed = region.ask("POST", f"{RUNS}/{number + 1}/stop", "operate", json=WHY)
    assert (missed.status_code, missed.json()["code"]) == (404, "not-found")
    assert views.operations(10) == []
    assert region.ask("POST", f"{RUNS}/{number}/stop", "operate", json=WHY).status_code == 202
    (asked,) = views.operations(10)
    assert (asked.kind, asked.reason) == ("moves-stop", "TICKET-7")
    ended = course.begun(PLAN)
    moves = tuple(replace(each, standing=MoveStanding.NOT_BEGUN) for each in ended.moves)
    over(state, number, replace(ended, phase=RunPhase.ENDED, moves=moves))
    late = region.ask("POST", f"{RUNS}/{number}/stop", "operate", json=WHY)
    assert (late.status_code, late.json()["code"]) == (412, "precondition-failed")


def test_no_run_is_found_where_none_is(region: Region) -> None:
    for number, status in (("7", 404), ("0", 422), ("x", 422), ("9" * 30, 422)):
        assert region.ask("GET", f"{RUNS}/{number}", "read").status_code == status
