"""The description of the API: committed, whole, and of what every route really answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest
from fastapi import FastAPI

from api.app import openapi_text
from tests.api.conftest import Region
from tests.api.routes_table import ROUTES, RouteRow

CONTRACT: Final = Path(__file__).resolve().parents[2] / "docs" / "reference" / "openapi.json"


def test_the_committed_contract_is_the_application(region: Region) -> None:
    app = region.client.app
    assert isinstance(app, FastAPI)
    assert CONTRACT.read_text(encoding="utf-8") == openapi_text(app), (
        "write what api.app.openapi_text() returns to docs/reference/openapi.json, and say what changed"
    )


@pytest.mark.parametrize("row", ROUTES, ids=lambda row: f"{row.method} {row.template}")
def test_every_route_says_what_it_does_and_answers_what_it_describes(row: RouteRow, region: Region) -> None:
    described: dict[str, Any] = region.described()[row.template][row.method.lower()]
    assert described["description"]
    wanted = [] if row.template.endswith("/status") else [{"token": row.needs.split(" with ")}]
    assert described.get("security", []) == wanted, "a client reads who may; the status may be open"
    for caller in ("nobody", "read", "admin-values"):
        answer = region.ask(row.asked, row.example, caller, json=row.body)
        assert str(answer.status_code) in described["responses"], answer.text
    wrong = region.ask(row.asked, row.example, json=None if row.method == "GET" else {"nonsense": 1})
    assert str(wrong.status_code) in described["responses"], wrong.text
