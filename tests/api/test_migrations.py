"""Migrations over HTTP: begun by the plan that was reviewed, steered by what was looked at, by whom it may be."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest

from syncer.migration.course import MigrationStop
from syncer.migration.phases import MigrationPhase
from syncer.migration.reading.plan_file import to_text
from syncer.replacing import replace
from syncer.state.contract.migrations import Migration
from syncer.state.sql.database import SqlState
from syncer.state.views.region import Views
from tests.api.conftest import Region
from tests.api.routes_table import API, WHY
from tests.support.region_database import Run, good
from tests.unit.migration.reporting.samples import migration, whole
from tests.unit.migration.test_migration_plan import plan

MIGRATIONS: Final = f"{API}/migrations"
VERBS: Final = ("go", "auto", "resume", "abort", "rollback", "close")
PLAN: Final = to_text(plan())
START: Final = f"{MIGRATIONS}?reason=TICKET-7&sha256={plan().fingerprint}"


def begun(state: SqlState, phase: MigrationPhase = MigrationPhase.GUARDED, **changes: Any) -> int:
    """A migration in a phase; nothing is marked."""
    with state.transaction() as tx:
        number = tx.begin_migration(migration(phase, **{"marked": False, **changes}), PLAN)
        for event in whole():
            tx.add_migration_event(number, event.kind, event.document, event.at_ms)
    return number


def moved_on(state: SqlState, number: int, found: Migration) -> None:
    with state.transaction() as tx:
        tx.save_migration(replace(found, id=number))


def etag(region: Region, number: int) -> dict[str, str]:
    return {"If-Match": region.get(f"{MIGRATIONS}/{number}", "read").headers["etag"]}


def test_both_tell_the_same_of_one(region: Region, run: Run, state: SqlState) -> None:
    number = begun(state)
    for command, path in (("status", ""), ("report", "/report"), ("list", None)):
        told = region.get(MIGRATIONS if path is None else f"{MIGRATIONS}/{number}{path}", "read").json()
        assert told == json.loads(good(run("migration", command, "-o", "json")))


def test_what_commands_would_lead_to_is_shown_before(region: Region, state: SqlState) -> None:
    number = begun(state)
    found = region.get(f"{MIGRATIONS}/{number}", "read").json()
    assert set(found["consequences"]) == {"go", "auto", "abort"}
    assert found["consequences"]["go"] == [found["step"]]
    assert "ledgers that are closed stay closed" in found["step"]
    assert found["consequences"]["abort"][0].startswith("Blue would be put back as it was")


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_counts_for_what_was_looked_at(verb: str, region: Region, state: SqlState, views: Views) -> None:
    number = begun(state)
    seen = etag(region, number)
    path = f"{MIGRATIONS}/{number}/{verb}"
    assert region.ask("POST", path, json=WHY).json()["code"] == "precondition-required"
    stop = MigrationStop(code="gap-too-long", words="a gap", hint="look")
    moved_on(state, number, migration(MigrationPhase.PAUSED, marked=False, stop=stop))
    answer = region.ask("POST", path, json=WHY, headers=seen)
    assert (answer.status_code, answer.json()["now"]["phase"]) == (412, "paused")
    assert answer.headers["etag"] == etag(region, number)["If-Match"]
    assert views.operations(10) == []
    assert region.ask("POST", path, json=WHY, headers=etag(region, number)).status_code == 202
    (asked,) = views.operations(10)
    assert (asked.kind, asked.arguments["command"], asked.reason) == ("migration-command", verb, "TICKET-7")
    assert ("shown" in asked.arguments) is (verb in {"go", "auto"}), "the daemon compares it once more"


def test_a_pause_and_a_look_ahead_ask_for_nothing_that_was_seen(region: Region, state: SqlState, views: Views) -> None:
    number = begun(state)
    for verb in ("pause", "undoable"):
        assert region.ask("POST", f"{MIGRATIONS}/{number}/{verb}", "operate", json=WHY).status_code == 202
    assert [each.kind for each in views.operations(10)] == ["migration-command", "migration-undoable"]


@pytest.mark.parametrize("verb", [*VERBS, "pause", "undoable"])
def test_one_that_is_not_open_is_not_steered(verb: str, region: Region, state: SqlState, views: Views) -> None:
    number = begun(state)
    answer = region.ask("POST", f"{MIGRATIONS}/{number + 1}/{verb}", json=WHY, headers=etag(region, number))
    assert (answer.status_code, answer.json()["code"]) == (404, "not-found")
    assert views.operations(10) == []


def test_a_migration_begins_by_the_plan_that_was_reviewed(region: Region, views: Views) -> None:
    headers = {"Idempotency-Key": "one"}
    answers = [region.ask("POST", START, "operate", content=PLAN, headers=headers) for _ in range(2)]
    assert [each.status_code for each in answers] == [202, 202]
    assert answers[0].json() == answers[1].json()
    (asked,) = views.operations(10)
    assert (asked.kind, asked.arguments["auto"]) == ("migration-start", "false")
    assert (asked.arguments["plan"], asked.arguments["sha256"]) == (PLAN, plan().fingerprint)


def test_another_plan_than_the_reviewed_one_is_refused(region: Region, views: Views) -> None:
    answer = region.ask("POST", f"{MIGRATIONS}?reason=x&sha256={'0' * 64}", "operate", content=PLAN)
    assert (answer.status_code, answer.json()["code"]) == (412, "precondition-failed")
    assert views.operations(10) == []


@pytest.mark.parametrize(
    "content", ["", "{}", PLAN[:-20], PLAN.replace("acme", "evil"), '{"format": "other"}', "[" * 9_999]
)
def test_what_is_no_plan_begins_nothing(content: str, region: Region, views: Views) -> None:
    answer = region.ask("POST", START, "operate", content=content)
    assert (answer.status_code, answer.json()["code"]) == (422, "plan-invalid")
    assert views.operations(10) == []


def test_while_one_is_open_no_other_begins(region: Region, state: SqlState, views: Views) -> None:
    begun(state)
    answer = region.ask("POST", START, "operate", content=PLAN)
    assert (answer.status_code, answer.json()["code"]) == (412, "precondition-failed")
    assert views.operations(10) == []


def test_a_plan_may_be_large_and_a_command_may_not(region: Region) -> None:
    large = "x" * (2 << 20)
    assert region.ask("POST", START, "operate", content=large).json()["code"] == "plan-invalid"
    assert region.ask("POST", f"{MIGRATIONS}/1/go", content=large).json()["code"] == "body-too-large"
    told = region.ask("POST", START, "operate", content=b"x", headers={"Content-Length": str(500 << 20)})
    assert told.json()["code"] == "body-too-large"
