"""Commands on the daemon's own host and by REST from another one: the same output, and the same exit status.

Each command runs against two copies of one database, one by its file and one behind a real server, with the real
driver performing what it is asked.
"""

from __future__ import annotations

from typing import Any, Final

import pytest

from syncer.cli.reaching.routed import ROUTED
from tests.api import (
    test_clusters,
    test_ledger_history,
    test_ledgers,
    test_moves_both_ways,
    test_same_answers,
    test_steering_both_ways,
    test_syncs_both_ways,
)
from tests.api.two_ways import BothWays, both
from tests.support.region_database import REMOTE, performing
from tests.unit.cli.test_refusals import said

__all__ = ["both"]

HELD: Final = str(REMOTE)

LOOKS: Final = (
    "status",
    "status -o json",
    "status --check",
    "status --check -o json",
    "status --wait 0",
    "regions list",
    "regions join",
    "regions join --limit 1 -o json",
    "holds list",
    "holds list --limit 1",
    "holds list --limit 1 --after /admin/policies/from-the-future -o json",
    "conflicts list -o json",
    "conflicts list --all",
    "conflicts show 1",
    "conflicts show 1 -o json",
    "conflicts show 1 --store-timeout 0 -o yaml",
    "conflicts show 9",
    "quarantine list",
    "parked list",
    "parked list --limit 1 -o json",
    "events tail",
    "events tail -n 2 -o json",
    "events tail -n 0",
    "events tail --path /admin/policies/parked",
    "explain /admin/policies/quiet",
    "explain quiet -o json",
    "explain held-remote --limit 1",
    "explain nowhere",
    "operations list",
    "operations list --state failed",
    "operations show 1",
    "operations export",
    "config show",
    "config show -o json",
    "jobs list",
    "jobs list --limit 1 -o json",
    "jobs show 1",
    "jobs show 9",
    "migration list",
    "migration status",
    "migration status 7",
    "migration events",
    "migration report",
    "migration report 7",
    "snapshot repairs",
    "snapshot progress 7",
    "holds confirm held-remote",
    "holds reject --all --only first-contact",
    "holds confirm nowhere",
    "conflicts restore 1",
    "quarantine discard 1",
    "regions forget there",
    "migration go",
    "migration rollback",
)
"""What is only looked at, and what is refused because nobody agrees."""

DECISIONS: Final = (
    "holds confirm held-remote",
    f"holds reject {HELD} -o json",
    f"holds confirm {HELD} --stamp 1@nowhere",
    "holds confirm --all --only first-contact",
    "conflicts restore 1",
    "conflicts restore 1 --over 1@nowhere",
    "conflicts restore 9",
    "conflicts discard 1 -o json",
    "conflicts discard --by here",
    "conflicts discard --by nobody",
    "quarantine retry 1",
    "quarantine discard 1",
    "quarantine discard 9",
    "jobs take",
    "jobs take --tenant acme --accept-shrunken -o json",
    "jobs diff here there --fields",
    "jobs diff here",
    "jobs cancel 1",
    "jobs cancel 9",
    "pause",
    "pause --everywhere -o json",
    "resume",
    "resume --everywhere",
    "regions join --confirm",
    "regions leave",
    "regions leave --force",
    "regions forget there",
    "regions forget there --force -o json",
    "regions admit nowhere",
    "state rebuild --alone",
    "state rebuild --without there",
)


BESIDE: Final = {
    "snapshot take": "it works on Spark itself, where it is called; 'syncer jobs take' asks the daemon for a snapshot",
    "snapshot diff": "likewise: it reads snapshots here and shows each difference; 'syncer jobs diff' asks the daemon",
}
"""Commands with a route that are for this host alone, and why."""
NO_QUESTION: Final = ("quarantine retry", "resume", "jobs")
"""What is asked of the daemon without a question before."""


def test_what_is_looked_at_is_the_same(both: BothWays) -> None:
    for each in (both.here, both.there):
        each.views.ask("pause", {"everywhere": "true"}, "ann", "why")
    different: list[tuple[Any, ...]] = []
    for command in LOOKS:
        local, remote = both.locally(command), both.remotely(command)
        told, asked = both.lasting(local.output), both.lasting(remote.output)
        if (local.exit_code, told) != (remote.exit_code, asked):
            different.append((command, local.exit_code, told, remote.exit_code, asked, remote.exception))
    assert different == []


@pytest.mark.parametrize("command", DECISIONS)
def test_what_is_decided_is_the_same(command: str, both: BothWays) -> None:
    agreed = () if command.startswith(NO_QUESTION) else ("--yes",)
    with performing(both.here.driver), performing(both.there.driver):
        both.same(command, *agreed, "--reason", "TICKET-7")
    asked = both.there.views.operations(10)
    assert [each.kind for each in asked] == [each.kind for each in both.here.views.operations(10)]
    assert {(each.asked_by, each.reason) for each in asked} <= {("admin-values", "TICKET-7")}


def test_an_answer_that_does_not_come_leaves_with_4_and_the_request_stays(both: BothWays) -> None:
    local, remote = both.same("pause", "--yes", "--reason", "why", "--timeout", "0")
    assert local.exit_code == 4
    assert local.stderr == remote.stderr
    assert len(both.there.views.operations(10)) == 1


def test_a_change_wants_a_reason_and_a_credential(both: BothWays) -> None:
    result = both.remotely("pause", "--yes")
    assert (result.exit_code, "give --reason" in said(result)) == (2, True)
    both.token.write_text("syncer_0123_wrong")
    result = both.remotely("holds list")
    assert (result.exit_code, "error: " in result.stderr) == (6, True)
    assert "0123_wrong" not in result.output
    assert both.there.views.operations(10) == []


def test_holds_of_every_reason_are_not_decided_at_once(both: BothWays) -> None:
    result = both.remotely("holds confirm --all --yes --reason why")
    assert (result.exit_code, "give --only REASON" in said(result)) == (2, True)


def test_more_than_a_page_is_listed_by_pages(both: BothWays, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("syncer.cli.reaching.remote.MAX_PAGE", 1)
    for command in ("holds list -o json", "holds list --limit 2 -o json", "parked list", "operations list"):
        both.same(command)


def test_a_region_that_is_not_there_is_a_verdict(both: BothWays) -> None:
    both.address = "http://127.0.0.1:1"
    result = both.remotely("status --check")
    assert (result.exit_code, result.stdout.startswith("unreachable: http://127.0.0.1:1")) == (4, True)
    assert both.remotely("status").exit_code == 4
    assert both.remotely("status --wait 0").exit_code == 4


def test_every_routed_command_is_compared_and_no_other_is_routed() -> None:
    assert set(test_same_answers.ROUTED) == ROUTED | BESIDE.keys()
    compared = [*LOOKS, *DECISIONS, *test_steering_both_ways.VERBS, *test_syncs_both_ways.COMMANDS]
    compared += [f"ledgers {words[0]}" for words in test_ledgers.ASKED]
    compared += [f"ledgers history {words[0]}" for words in test_ledger_history.ASKED]
    compared += [*test_moves_both_ways.COMMANDS, *(f"balancer {verb}" for verb, *_ in test_clusters.ASKED.values())]
    assert [each for each in ROUTED if not any(line.startswith(each) for line in compared)] == []
