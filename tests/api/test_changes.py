"""Changes over HTTP: by what was looked at, once for each key, with who, from where and why in the trail."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from syncer.inspection.proposals import held_change
from syncer.model import Millis
from syncer.replication.driver import Driver
from syncer.state.contract.operations import MAX_PENDING, Asked, OperationState
from syncer.state.sql.database import SqlState
from syncer.state.views.region import Views
from syncer.waiting import WAIT_S
from tests.api.conftest import Region
from tests.api.routes_table import API, HELD, WHY
from tests.property.strategies import NOW
from tests.support.region_database import REMOTE, driver_of, performing

HOLD = f"{API}/holds/{HELD}"
CONFIRM = {**WHY, "decision": "confirm"}
REJECT = {**WHY, "decision": "reject"}
WAIT = {"Prefer": "wait=30"}


def etag(region: Region, path: str) -> str:
    found: str = region.get(path, "operate").headers["etag"]
    return found


def test_who_decides_says_what_was_looked_at(region: Region, views: Views) -> None:
    answer = region.ask("POST", HOLD, "operate", json=CONFIRM)
    assert (answer.status_code, answer.json()["code"]) == (428, "precondition-required")
    for other in ('"of-something-else"', "*", "", '"' + "0" * 32 + '"'):
        answer = region.ask("POST", HOLD, "operate", json=CONFIRM, headers={"If-Match": other})
        assert (answer.status_code, answer.json()["code"]) == (412, "precondition-failed")
        assert answer.json()["now"]["path"] == REMOTE, "what is there now comes along"
        assert answer.headers["etag"] == etag(region, HOLD)
    assert views.operations(10) == [], "nothing was asked"


def test_what_is_asked_is_told_in_the_trail_and_can_be_looked_up(region: Region, views: Views) -> None:
    answer = region.ask("POST", HOLD, "operate", json=CONFIRM, headers={"If-Match": etag(region, HOLD)})
    assert answer.status_code == 202
    (asked,) = views.operations(10)
    assert (asked.kind, asked.arguments["path"], asked.reason) == ("confirm", REMOTE, "TICKET-7")
    assert (asked.asked_by, asked.credential, asked.origin) == ("operate", "token:operate", "testclient")
    assert answer.headers["location"] == f"{API}/operations/{asked.id}"
    found = region.get(answer.headers["location"], "read").json()
    assert found == answer.json()["items"][0]
    assert found["state"] == "pending"


def test_one_more_of_a_kind_than_may_wait_is_refused_and_other_kinds_are_taken(region: Region, views: Views) -> None:
    for _ in range(MAX_PENDING):
        views.ask("pause", {"everywhere": "false"}, "a script", "")
    answer = region.ask("POST", f"{API}/pause", "operate", json=WHY)
    assert (answer.status_code, answer.json()["code"]) == (503, "operations-full")
    assert answer.headers["content-type"] == "application/problem+json"
    assert (answer.headers["retry-after"], "operations list --state pending" in answer.json()["hint"]) == ("5", True)
    assert len(views.pending_numbers()) == MAX_PENDING
    taken = region.ask("POST", HOLD, "operate", json=CONFIRM, headers={"If-Match": etag(region, HOLD)})
    assert taken.status_code == 202


@pytest.mark.parametrize("body", [CONFIRM, REJECT])
def test_a_decision_is_performed_and_waited_for(
    region: Region, daemon: Driver, views: Views, body: dict[str, Any]
) -> None:
    del daemon
    words = region.get(HOLD, "read").json()[body["decision"]]
    assert words
    answer = region.ask("POST", HOLD, "operate", json=body, headers={"If-Match": etag(region, HOLD), **WAIT})
    assert (answer.status_code, answer.json()["items"][0]["state"]) == (200, "done"), answer.text
    register = views.register(REMOTE)
    assert register is not None
    assert register.hold is None
    gone = region.ask("GET", HOLD, "read")
    assert (gone.status_code, gone.json()["code"]) == (404, "not-found")


def test_of_two_who_decide_one_wins_and_the_other_sees_what_is_there(region: Region, daemon: Driver) -> None:
    del daemon
    headers = {"If-Match": etag(region, HOLD), **WAIT}
    first, second = (region.ask("POST", HOLD, "operate", json=body, headers=headers) for body in (CONFIRM, REJECT))
    assert first.status_code == 200
    assert (second.status_code, second.json()["code"]) == (412, "precondition-failed")
    assert (second.json()["now"]["path"], second.json()["now"]["held"]) == (REMOTE, None)
    unknown = region.ask("POST", f"{API}/holds/admin/policies/nobody", json=CONFIRM, headers=headers)
    assert (unknown.status_code, unknown.json()["code"]) == (404, "not-found")


def test_of_two_who_decide_all_of_a_reason_the_other_sees_how_many_there_are(region: Region, daemon: Driver) -> None:
    del daemon
    path = f"{API}/hold-reasons/first-contact"
    headers = {"If-Match": etag(region, path), **WAIT}
    first, second = (region.ask("POST", path, "operate", json=body, headers=headers) for body in (CONFIRM, REJECT))
    assert first.status_code == 200
    assert (second.status_code, second.json()["now"]["count"]) == (412, 0)


def test_a_decision_that_another_one_overtakes_is_told_what_is_there(region: Region, state: SqlState) -> None:
    """Both were taken before the daemon came to them."""
    seen = etag(region, HOLD)
    headers = [{"If-Match": seen, "Idempotency-Key": key} for key in ("first", "second")]
    for each, body in zip(headers, (CONFIRM, REJECT), strict=True):
        assert region.ask("POST", HOLD, "operate", json=body, headers=each).status_code == 202
    with performing(driver_of(state)):
        answer = region.ask("POST", HOLD, "operate", json=REJECT, headers={**headers[1], **WAIT})
    assert (answer.status_code, answer.json()["code"]) == (412, "precondition-failed")
    assert answer.json()["operations"][0]["state"] == OperationState.FAILED.value
    assert (answer.json()["now"]["path"], answer.json()["now"]["held"]) == (REMOTE, None)


def test_a_repeat_that_comes_while_the_first_is_performed_is_the_first(
    region: Region, state: SqlState, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It looks for its key before the first has come, and for the hold when that is over."""
    headers = {"If-Match": etag(region, HOLD), "Idempotency-Key": "one"}
    firsts, looked = list[int](), Views.asked_before

    def overtaken(views: Views, asked: Asked) -> list[int]:
        found = looked(views, asked)
        if not firsts:
            firsts.extend(views.ask_all([held_change(views, REMOTE).confirming], asked))
            driver_of(state).operate(Millis(NOW))
        return found

    monkeypatch.setattr(Views, "asked_before", overtaken)
    again = region.ask("POST", HOLD, "operate", json=CONFIRM, headers=headers)
    assert [each["id"] for each in again.json()["items"]] == firsts
    assert (again.status_code, again.json()["items"][0]["state"]) == (200, "done")


def test_all_of_a_reason_are_decided_by_the_stamp_of_all(region: Region, daemon: Driver, views: Views) -> None:
    del daemon
    path = f"{API}/hold-reasons/first-contact"
    found = region.get(path, "read")
    assert found.json()["count"] == 1
    answer = region.ask("POST", path, "operate", json=CONFIRM, headers={"If-Match": found.headers["etag"], **WAIT})
    assert answer.status_code == 200
    assert [each.hold.reason.value for each in views.holds(10)] == ["mass-delete"]


def test_a_request_that_is_repeated_with_its_key_is_done_once(region: Region, daemon: Driver, views: Views) -> None:
    headers = {"If-Match": etag(region, HOLD), "Idempotency-Key": "d9428888-122b-11e1-b85c-61cd3cbb3210", **WAIT}
    first = region.ask("POST", HOLD, "operate", json=CONFIRM, headers=headers)
    again = region.ask("POST", HOLD, "operate", json=CONFIRM, headers=headers)
    assert first.status_code == again.status_code == 200
    assert first.json() == again.json(), "though nothing is held there any more"
    other = region.ask("POST", HOLD, "operate", json=REJECT, headers=headers)
    assert (other.status_code, other.json()["code"]) == (422, "idempotency-key-reused")
    bad = region.ask("POST", HOLD, "operate", json=CONFIRM, headers={**headers, "Idempotency-Key": "two words"})
    assert (bad.status_code, bad.json()["code"]) == (422, "request-invalid")
    assert len(views.operations(10)) == 1
    del daemon


def test_what_fails_is_a_problem_with_its_own_code(region: Region, daemon: Driver) -> None:
    del daemon
    answer = region.ask("POST", f"{API}/regions/nowhere/admit", json=WHY, headers=WAIT)
    assert (answer.status_code, answer.json()["code"]) == (404, "not-found")
    assert answer.json()["operations"][0]["state"] == OperationState.FAILED.value
    soon = region.ask("POST", f"{API}/regions/there/forget", json=WHY, headers=WAIT)
    assert soon.status_code in {200, 412}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (HOLD, {}),
        (HOLD, {"decision": "confirm"}),
        (HOLD, {**WHY, "decision": "maybe"}),
        (HOLD, {**CONFIRM, "force": True}),
        (f"{API}/pause", {"reason": ""}),
        (f"{API}/pause", {"reason": "x" * 2_001}),
        (f"{API}/rebuild", {**WHY, "without": ["a,b"]}),
    ],
)
def test_what_cannot_be_understood_asks_for_nothing(
    region: Region, views: Views, path: str, body: dict[str, Any]
) -> None:
    answer = region.ask("POST", path, json=body)
    assert answer.status_code in {412, 422}
    assert answer.headers["content-type"] == "application/problem+json"
    assert views.operations(10) == []


def test_a_conflict_is_restored_over_what_was_looked_at(region: Region, daemon: Driver, views: Views) -> None:
    del daemon
    path = f"{API}/conflicts/1"
    hidden, shown = region.get(path, "operate").json(), region.get(path, "operate-values").json()
    assert (hidden["value"], hidden["present"], hidden["withheld"]) == (None, None, True)
    assert shown["value"]
    assert shown["withheld"] is False
    headers = {"If-Match": etag(region, path), **WAIT}
    answer = region.ask("POST", f"{path}/restore", "operate", json=WHY, headers=headers)
    assert answer.status_code == 200, answer.text
    found = views.conflict(1)
    assert found is not None
    assert found.restored_at_ms is not None


def test_many_at_once_ask_once(region: Region, views: Views) -> None:
    headers = {"Idempotency-Key": "one"}
    found: list[Any] = []
    threads = [
        threading.Thread(
            target=lambda: found.append(region.ask("POST", f"{API}/pause", json=WHY, headers=headers).json())
        )
        for _ in range(6)
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join(WAIT_S)
    assert len(found) == 6
    assert all(each == found[0] for each in found)
    assert len(views.operations(10)) == 1
