"""``syncer operations``: lists, shows and exports what was asked, page by page."""

from __future__ import annotations

import json

from syncer.documents.operations import OperationDocument, OperationList
from syncer.operations.contract import OperationKind, OperationRequest
from syncer.state.contract.operations import Asked
from syncer.state.views.region import Views
from tests.support.region_database import Run, good

PAUSE = OperationRequest(OperationKind.PAUSE, {"everywhere": "true"})
BOT = Asked(by="bot", reason="TICKET-7", origin="192.0.2.1", credential="token:bot")


def test_what_was_asked_is_listed_shown_and_exported(run: Run, views: Views) -> None:
    numbers = views.ask_all([PAUSE] * 3, BOT)
    views.note_refused("request", {"route": "/api/v1/pause"}, Asked(by="", reason=""), code="forbidden", answer="no")
    page = OperationList.model_validate_json(good(run("operations", "list", "--limit", "2", "-o", "json")))
    assert [each.id for each in page.items] == numbers[:2]
    assert page.next == numbers[1]
    rest = json.loads(good(run("operations", "list", "--after", str(page.next), "-o", "json")))
    assert [(each["state"], each["code"]) for each in rest["items"]] == [("pending", ""), ("refused", "forbidden")]
    refused = json.loads(good(run("operations", "list", "--state", "refused", "-o", "json")))
    assert refused["items"] == rest["items"][1:]
    found = OperationDocument.model_validate_json(good(run("operations", "show", str(numbers[0]), "-o", "json")))
    assert (found.asked_by, found.reason, found.origin, found.credential) == (
        "bot",
        "TICKET-7",
        "192.0.2.1",
        "token:bot",
    )
    lines = [json.loads(line) for line in good(run("operations", "export")).splitlines()]
    assert [each["id"] for each in lines] == [*numbers, numbers[-1] + 1]
    behind = good(run("operations", "export", "--after", str(lines[-1]["id"])))
    assert behind == ""


def test_people_see_who_why_and_from_where(run: Run, views: Views) -> None:
    (number,) = views.ask_all([PAUSE], BOT)
    for words in (good(run("operations", "list")), good(run("operations", "show", str(number)))):
        for each in ("bot", "TICKET-7", "192.0.2.1", "pause", "all regions", "pending"):
            assert each in words
    assert "token:bot" in good(run("operations", "show", str(number)))


def test_what_is_not_there_is_said(run: Run) -> None:
    result = run("operations", "show", "99")
    assert result.exit_code == 1
    assert "no operation 99" in result.stderr
    assert "nothing was asked" in run("operations", "list").stderr
