"""Query parameters: each route takes those that it describes, once, and names any other that it refuses."""

from __future__ import annotations

from typing import Any, Final

import pytest

from syncer.state.views.region import Views
from tests.api.conftest import Region
from tests.api.routes_table import API, ROUTES, RouteRow

GOOD: Final[dict[str, str]] = {
    "act_above": "0.1",
    "after": "0",
    "all_clusters": "true",
    "allow_deletes": "false",
    "apart": "1",
    "before": "9",
    "beside": "other",
    "bookie": "b:1",
    "broker": "b:1",
    "by_topic": "true",
    "cuts": "true",
    "decisions": "1",
    "dry_run": "true",
    "earlier": "1",
    "enforce_racks": "2",
    "fill": "b:1",
    "force_old": "false",
    "job": "9",
    "latest": "1",
    "later": "2",
    "ledgers_root": "/ledgers",
    "limit": "1",
    "listen": "0",
    "max_reads": "1",
    "most_usage": "0.5",
    "overview": "true",
    "path": "/admin",
    "per_broker": "1",
    "per_hour": "1",
    "per_namespace": "1",
    "prefix": "/admin",
    "quiet": "22:00-05:00",
    "quorums": "3/2/2",
    "rack": "/r1",
    "rate": "1",
    "reach": "0.1",
    "reason": "first-contact",
    "recorded": "true",
    "restored": "true",
    "rolling_restart": "false",
    "rounds": "1",
    "rule": "cheapest-within",
    "setting": "a=b",
    "sha256": "0" * 64,
    "since": "60",
    "size": "2",
    "state": "done",
    "store_timeout": "0",
    "strategy": "ThresholdShedder",
    "taken_ms": "1",
    "tenant": "acme",
    "together": "true",
    "topics": "true",
    "what": "1",
    "where_pulsar_rests": "true",
    "within": "1",
}
"""Something that each parameter takes, by its name."""


def described(region: Region, row: RouteRow) -> list[str]:
    document: dict[str, Any] = region.described()[row.template][row.method.lower()]
    return [each["name"] for each in document.get("parameters", []) if each["in"] == "query"]


@pytest.mark.parametrize("row", ROUTES, ids=lambda row: f"{row.method} {row.template}")
def test_a_route_takes_what_it_describes_and_nothing_else(row: RouteRow, region: Region, views: Views) -> None:
    names = described(region, row)
    good = {name: GOOD[name] for name in names}
    answer = region.ask(row.method, row.example, params={**good, "limitt": "5"}, json=row.body)
    assert (answer.status_code, answer.json()["code"]) == (422, "request-invalid"), answer.text
    assert "'limitt'" in answer.json()["detail"]
    assert all(name in answer.json()["detail"] for name in names), "it says what there is"
    assert views.operations(10) == []
    wanted = 404 if "job" in good else row.good  # no such job
    assert region.ask(row.asked, row.example, params=good, json=row.body).status_code == wanted


@pytest.mark.parametrize("caller", ["nobody", "wrong"])
def test_a_stranger_learns_nothing_of_what_a_route_takes(caller: str, region: Region) -> None:
    assert region.ask("GET", f"{API}/holds?limitt=5", caller).status_code == 401


def test_what_is_given_twice_is_refused(region: Region) -> None:
    answer = region.ask("GET", f"{API}/holds?limit=1&limit=2")
    assert (answer.status_code, "'limit'" in answer.json()["detail"]) == (422, True)


def test_what_a_route_takes_several_of_may_be_given_several_times(region: Region) -> None:
    for query in ("drain?broker=a:1&broker=b:1", "comparison?setting=a=b&setting=c=d", "ledgers/loss?rack=a&rack=b"):
        answer = region.ask("GET", f"{API}/clusters/nope/{query}")
        assert (answer.status_code, answer.json()["code"]) == (404, "not-found"), answer.text
    twice = region.ask("GET", f"{API}/clusters/nope/drain?broker=a:1&broker=b:1&within=1&within=2")
    assert (twice.status_code, "'within'" in twice.json()["detail"]) == (422, True)


def test_a_refusal_stays_short(region: Region) -> None:
    answer = region.ask("GET", f"{API}/holds", params={f"{number}{'x' * 500}": "" for number in range(20)})
    assert answer.status_code == 422
    assert "and 15 more" in answer.json()["detail"]
    assert len(answer.text) < 1_500


@pytest.mark.parametrize("path", ["/livez", "/readyz", "/metrics", "/openapi.json"])
def test_probes_are_asked_with_whatever_a_scraper_adds(path: str, region: Region) -> None:
    assert region.get(f"{path}?_=1&_=2&target=x").status_code == 200


@pytest.mark.parametrize(
    "row",
    [row for row in ROUTES if "{" in row.template or row.body is not None],
    ids=lambda row: f"{row.method} {row.template}",
)
def test_a_nul_is_refused_wherever_it_stands(row: RouteRow, region: Region, views: Views) -> None:
    asked: list[tuple[str, dict[str, Any]]] = []
    if "{" in row.template:
        head, _, rest = row.template.partition("{")
        asked.append((f"{head}a%00b{rest.partition('}')[2].replace('{number}', '1')}", {"json": row.body}))
    if row.body is not None:
        asked += [(row.example, {"json": {**row.body, **odd}}) for odd in ({"reason": "a\0b"}, {"a\0": 1})]
        asked.append((row.example, {"content": b'{"reason":' + b"[" * 900 + b"]" * 900 + b"}"}))
    for path, body in asked:
        answer = region.ask(row.asked, path, headers={"Content-Type": "application/json"}, **body)
        assert 400 <= answer.status_code < 500, (path, answer.text)
    assert views.operations(10) == []


@pytest.mark.parametrize("action", ["forget", "forget-by-force", "admit"])
@pytest.mark.parametrize("name", ["%1b%5b2J", "%E2%80%AE", "x" * 600])
def test_what_can_name_no_region_is_not_asked_for(action: str, name: str, region: Region, views: Views) -> None:
    answer = region.ask("POST", f"{API}/regions/{name}/{action}", json={"reason": "TICKET-7"})
    assert (answer.status_code, answer.json()["code"]) == (412, "precondition-failed"), answer.text
    answer = region.ask("POST", f"{API}/rebuild", json={"reason": "TICKET-7", "without": ["there", "a\x1b"]})
    assert (answer.status_code, answer.json()["code"]) == (412, "precondition-failed"), answer.text
    assert views.operations(10) == []
