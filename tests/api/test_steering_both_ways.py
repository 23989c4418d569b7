"""Migrations steered on the daemon's own host and from another one: the same output, exit status and operations."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from syncer.migration.phases import MigrationPhase
from syncer.migration.reading import plan_file
from syncer.model import Millis
from syncer.replacing import replace
from syncer.state.contract.operations import OperationState
from syncer.state.sql.database import SqlState
from tests.api.test_migrations import begun, moved_on
from tests.api.two_ways import BothWays, both
from tests.property.strategies import NOW
from tests.support.working import repeating
from tests.unit.cli.test_refusals import said
from tests.unit.migration.reporting.samples import migration
from tests.unit.migration.test_migration_plan import plan

__all__ = ["both"]

VERBS: Final = (
    "migration go",
    "migration go --auto -o json",
    "migration pause",
    "migration resume",
    "migration abort -o json",
    "migration rollback",
    "migration close",
    "migration start",
)
LOOKS: Final = ("migration status -o json", "migration report", "migration report 1 -o json", "migration list")
BACK: Final = "acme/orders: yes; acme/late: no, its clients have gone on"


@contextmanager
def carried(*states: SqlState, refused: str = "") -> Iterator[None]:
    """Migrations are carried: each request is answered, as the service that moves clients answers."""

    def step() -> None:
        for state in states:
            with state.transaction() as tx:
                for each in tx.pending_operations(10):
                    back, no = each.kind == "migration-undoable", each.arguments.get("command") == refused
                    answer = BACK if back else "another step waits now" if no else "so it is done"
                    how, code = (OperationState.FAILED, "precondition-failed") if no else (OperationState.DONE, "")
                    tx.finish_operation(each.id, how, answer, code, Millis(NOW))

    with repeating(step):
        yield


def asked(both: BothWays) -> list[list[tuple[str, object]]]:
    """What was asked for, here and there."""
    return [[(each.kind, dict(each.arguments)) for each in one.views.operations(10)] for one in (both.here, both.there)]


@pytest.mark.parametrize("command", [each for each in VERBS if "start" not in each])
def test_a_migration_that_is_open_is_steered_the_same(command: str, both: BothWays) -> None:
    agreed = () if command.split()[1] in {"pause", "resume"} else ("--yes",)
    for each in (both.here, both.there):
        begun(each.state)
    with carried(both.here.state, both.there.state):
        local, remote = both.same(command, *agreed, "--reason", "TICKET-7")
    assert (local.exit_code, local.stderr) == (0, remote.stderr), "what it leads to is said in the same words"
    here, there = asked(both)
    assert here == there != []
    assert {(each.asked_by, each.reason) for each in both.there.views.operations(10)} == {("admin-values", "TICKET-7")}


def test_a_rollback_shows_first_what_the_clusters_say_of_it(both: BothWays) -> None:
    for each in (both.here, both.there):
        begun(each.state)
    with carried(both.here.state, both.there.state):
        _, remote = both.same("migration rollback", "--reason", "why")
    assert (remote.exit_code, BACK.split("; ")[1] in remote.stderr) == (5, True)
    assert [kind for kind, _ in asked(both)[1]] == ["migration-undoable"], "nobody has agreed"


@pytest.mark.parametrize("command", ["migration go --yes", "migration rollback --yes"])
def test_a_refusal_of_the_daemon_and_one_that_does_not_answer_are_the_same(command: str, both: BothWays) -> None:
    for each in (both.here, both.there):
        begun(each.state)
    local, remote = both.same(command, "--reason", "why", "--timeout", "0")
    assert (local.exit_code, local.stderr) == (4, remote.stderr)
    refused = command.split()[1]
    with carried(both.here.state, both.there.state, refused=refused):
        local, remote = both.same(command, "--reason", "why")
    assert (local.exit_code, "another step waits now" in remote.output) == (5, True)


def test_a_go_counts_for_what_was_shown_alone(both: BothWays, monkeypatch: pytest.MonkeyPatch) -> None:
    begun(both.there.state)
    monkeypatch.setattr("syncer.inspection.migration_control.stamp_of", lambda _: "another")
    monkeypatch.setattr("api.routes.migration_commands.stamp_of", lambda _: "another one")
    result = both.remotely("migration go", "--yes", "--reason", "why")
    assert (result.exit_code, "Give the command again" in said(result)) == (5, True)
    assert asked(both)[1] == []


def test_a_migration_begins_the_same_by_its_plan(both: BothWays, tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    plan_file.write(file, plan())
    with carried(both.here.state, both.there.state):
        both.same("migration start", str(file), "--reason", "why")
    here, there = asked(both)
    assert here == there != []
    by_rest = both.remotely("migration start", str(file), "--auto", "--reason", "why")
    assert (by_rest.exit_code, "migration go --auto" in said(by_rest)) == (2, True)
    for each in (both.here, both.there):
        begun(each.state)
    local, _ = both.same("migration start", str(file), "--reason", "why")
    assert local.exit_code == 5, "one is open"
    file.write_text("{}")
    assert both.same("migration start", str(file), "--reason", "why")[0].exit_code == 1
    assert len(both.there.views.operations(10)) == 1


def test_one_that_is_open_or_over_is_looked_at_the_same(both: BothWays) -> None:
    for each in (both.here, both.there):
        begun(each.state)
    for command in LOOKS:
        both.same(command)
    for each in (both.here, both.there):
        moved_on(each.state, 1, replace(migration(MigrationPhase.CLOSED), finished_at_ms=Millis(NOW)))
    for command in (*LOOKS, "migration go --yes --reason why", "migration rollback --reason why"):
        local, _ = both.same(command)
        assert local.exit_code == (1 if "reason" in command else 0), "one that is over is not steered"
