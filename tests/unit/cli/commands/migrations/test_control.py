"""``syncer migration go`` and what ends it: what is shown before, and what the daemon is asked for then."""

from __future__ import annotations

import pytest

from syncer.migration.phases import MigrationPhase
from syncer.migration.reading.plan_file import to_text
from syncer.state.contract.operations import OperationState
from syncer.state.sql.database import SqlState
from syncer.state.views.region import Views
from tests.support.region_database import Run, run, state, template, views
from tests.unit.migration.reporting.samples import migration
from tests.unit.migration.test_migration_plan import plan

__all__ = ["run", "state", "template", "views"]


@pytest.fixture
def number(state: SqlState) -> int:
    """Of a migration that waits for its canary."""
    with state.transaction() as tx:
        return tx.begin_migration(migration(MigrationPhase.GUARDED, marked=False), to_text(plan()))


@pytest.mark.parametrize(
    ("words", "command", "said"),
    [
        ("go", "go", "ledgers that are closed stay closed"),
        ("go --auto", "auto", "ledgers that are closed stay closed"),
        ("abort", "abort", "Blue would be put back as it was"),
        ("close", "close", "there is no rollback afterwards"),
    ],
)
def test_what_it_leads_to_is_said_before_it_is_asked_for(
    words: str, command: str, said: str, run: Run, views: Views, number: int
) -> None:
    refused = run("migration", *words.split())
    assert refused.exit_code == 5
    assert said in refused.stderr
    assert views.operations(10) == []
    assert run("migration", *words.split(), "--yes", "--reason", "why", "--timeout", "0").exit_code == 4
    (asked,) = views.operations(10)
    assert (asked.kind, asked.arguments["migration"]) == ("migration-command", str(number))
    assert (asked.arguments["command"], asked.reason) == (command, "why")
    assert ("shown" in asked.arguments) is (command in {"go", "auto"})


@pytest.mark.parametrize("command", ["pause", "resume"])
def test_what_leads_to_nothing_bad_is_asked_for_at_once(command: str, run: Run, views: Views, number: int) -> None:
    assert run("migration", command, "--timeout", "0").exit_code == 4
    (asked,) = views.operations(10)
    assert asked.arguments == {"migration": str(number), "command": command}


def test_a_rollback_asks_the_clusters_first(run: Run, views: Views, number: int) -> None:
    assert run("migration", "rollback", "--yes", "--timeout", "0").exit_code == 4
    (asked,) = views.operations(10, state=OperationState.PENDING)
    assert (asked.kind, asked.arguments) == ("migration-undoable", {"migration": str(number)})


@pytest.mark.parametrize("command", ["go", "pause", "abort", "rollback", "close"])
def test_where_none_is_open_nothing_is_asked(command: str, run: Run, views: Views) -> None:
    result = run("migration", command)
    assert result.exit_code != 0
    assert "no migration is open" in result.stderr
    assert views.operations(10) == []
