"""The writing of the typed client: the committed calls are those of the description, and a new route gets its own."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from syncer.client.calls import RegionCalls
from syncer.client.contract import ApiReply, ApiRequest
from tests.client.generating import CALLS, calls, committed_description, modules

DESCRIPTION = committed_description()


def test_the_committed_client_is_what_the_description_gives() -> None:
    made = modules(DESCRIPTION)
    assert {file.name for file in CALLS.glob("*.py")} == set(made)
    stale = [name for name, text in made.items() if (CALLS / name).read_text(encoding="utf-8") != text]
    assert stale == [], "run 'make client'"


def test_every_route_that_answers_with_a_document_has_a_call() -> None:
    routes = {
        (method.upper(), path)
        for path, methods in DESCRIPTION["paths"].items()
        for method, route in methods.items()
        if path.startswith("/api/") and "application/json" in route["responses"]["200"]["content"]
    }
    assert {(each.method, each.path) for each in calls(DESCRIPTION)} == routes
    assert len(routes) > 40


def test_a_new_route_gets_a_call_of_its_own_with_all_that_it_takes() -> None:
    description: dict[str, Any] = copy.deepcopy(DESCRIPTION)
    route = copy.deepcopy(description["paths"]["/api/v1/rebuild"]["post"])
    route |= {"operationId": "import_api_v1_jobs__from__post", "tags": ["new jobs"], "description": "Make one."}
    route["parameters"] = [{"in": "path", "name": "from", "required": True, "schema": {"type": "string"}}]
    description["paths"]["/api/v1/jobs/{from}"] = {"post": route}
    made = modules(description)
    assert "class NewJobsCalls(ApiCalls)" in made["new_jobs.py"]
    assert "def import_(" in made["new_jobs.py"]
    assert "self, from_: str, *, reason: str, alone: bool | None = None, without: Sequence[str] | None = None" in (
        " ".join(made["new_jobs.py"].split())
    )
    assert "self.new_jobs = NewJobsCalls(transport)" in made["__init__.py"]
    compile(made["new_jobs.py"], "new_jobs.py", "exec")


def test_a_stream_has_no_call_and_a_document_from_elsewhere_is_refused() -> None:
    description: dict[str, Any] = copy.deepcopy(DESCRIPTION)
    status = description["paths"]["/api/v1/status"]["get"]
    status["responses"]["200"]["content"] = {"text/event-stream": {}}
    assert "status.py" not in modules(description)
    status["responses"]["200"]["content"] = {"application/json": {"schema": {"$ref": "#/components/schemas/Liveness"}}}
    with pytest.raises(ValueError, match="/api/v1/status answers with Liveness, which is no document"):
        modules(description)


class Kept:
    """A transport that keeps what it is to carry."""

    def __init__(self, answer: object, **headers: str) -> None:
        self.answer, self.headers = answer, headers
        self.requests: list[ApiRequest] = []

    def send(self, request: ApiRequest) -> ApiReply:
        self.requests.append(request)
        return ApiReply(server="there", status=202, headers=self.headers, content=json.dumps(self.answer).encode())


def test_a_call_says_what_it_was_given_and_leaves_the_rest_to_the_daemon() -> None:
    kept = Kept({"items": [], "next": None}, etag='"x"')
    found = RegionCalls(kept).holds.decide_hold_reason(
        "a reason", decision="confirm", reason="why", idempotency_key="1", if_match='"2"'
    )
    (request,) = kept.requests
    assert (request.method, request.path) == ("POST", "/api/v1/hold-reasons/a%20reason")
    assert request.body == {"decision": "confirm", "reason": "why"}
    assert request.headers == {"Idempotency-Key": "1", "If-Match": '"2"', "Prefer": None}
    assert (found.found.items, found.pending, found.etag) == ([], True, '"x"')
    RegionCalls(kept).membership.rebuild(reason="why", alone=True)
    assert kept.requests[-1].body == {"reason": "why", "alone": True}


@pytest.mark.parametrize(
    ("path", "sent"),
    [
        ("admin/policies/acme", "admin/policies/acme"),
        ("a/../b/./c", "a/%2E%2E/b/%2E/c"),
        ("a b/ü?#%", "a%20b/%C3%BC%3F%23%25"),
    ],
)
def test_a_path_is_sent_as_it_is(path: str, sent: str) -> None:
    kept = Kept({"items": [], "next": None})
    RegionCalls(kept).holds.decide_hold(path, decision="reject", reason="why")
    assert kept.requests[0].path == f"/api/v1/holds/{sent}"
