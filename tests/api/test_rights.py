"""Every route against every credential; each refusal is told to the trail, and none leaves anything behind."""

from __future__ import annotations

from typing import Final

import pytest

from syncer.state.views.region import Views
from tests.api.conftest import Region
from tests.api.routes_table import ADMIN, OPERATE, READ, ROUTES, VALUES, RouteRow

OPEN: Final = {"/livez", "/readyz", "/metrics"}
CALLERS: Final = (
    "nobody",
    "wrong",
    "expired",
    "read",
    "read-values",
    "operate",
    "operate-values",
    "admin",
    "admin-values",
)
MAY: Final = {
    READ: {"read", "read-values", "operate", "operate-values", "admin", "admin-values"},
    VALUES: {"read-values", "operate-values", "admin-values"},
    OPERATE: {"operate", "operate-values", "admin", "admin-values"},
    ADMIN: {"admin", "admin-values"},
}


def test_every_route_has_a_row_and_every_row_a_route(region: Region) -> None:
    described = region.described()
    there = {(method.upper(), path) for path, methods in described.items() for method in methods if path not in OPEN}
    assert there == {(row.method, row.template) for row in ROUTES}
    assert len(ROUTES) == len({(row.method, row.template) for row in ROUTES})


@pytest.mark.parametrize("row", ROUTES, ids=lambda row: f"{row.method} {row.template}")
def test_a_route_lets_in_whom_it_is_for_and_nobody_else(row: RouteRow, region: Region, views: Views) -> None:
    for caller in CALLERS:
        before = len(region.told)
        answer = region.ask(row.asked if caller in MAY[row.needs] else row.method, row.example, caller, json=row.body)
        if caller in MAY[row.needs]:
            assert answer.status_code == row.good, (caller, answer.text)
            assert len(region.told) == before
            continue
        known = caller not in {"nobody", "wrong", "expired"}
        assert (answer.status_code, answer.json()["code"]) == ((403, "forbidden") if known else (401, "unauthorized"))
        assert answer.headers["content-type"] == "application/problem+json"
        (attempt,) = region.told[before:]
        assert (attempt.route, attempt.method, attempt.code) == (row.route, row.method, answer.json()["code"])
        assert attempt.credential == (f"token:{caller}" if known or caller == "expired" else "")
    asked = [each.asked_by for each in views.operations(100)]
    assert set(asked) <= MAY[row.needs], "who was refused has asked the daemon for nothing"
    assert len(asked) == (len(MAY[row.needs]) if row.good == 202 else 0)


def test_no_secret_is_in_the_trail_or_in_an_answer(region: Region, views: Views) -> None:
    said = [region.ask(row.asked, row.example, json=row.body).text for row in ROUTES]
    said += [str(each) for each in views.operations(1000)] + [str(each) for each in region.told]
    for text in region.tokens.values():
        secret = text.split("_", 2)[2]
        assert not any(secret in each for each in said)
