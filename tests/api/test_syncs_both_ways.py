"""Repair plans told from the daemon's own host and from another one: the same preview, output and exit status."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import pytest

from tests.api.test_snapshot_syncs import now, telling
from tests.api.test_snapshot_syncs import plan as written
from tests.api.two_ways import BothWays, both
from tests.unit.cli.commands.snapshots.test_sync import head
from tests.unit.cli.test_refusals import said

__all__ = ["both"]

DAY_MS: Final = 86_400_000
COMMANDS: Final = ("snapshot sync", "snapshot cancel")
WHY: Final = ("--reason", "TICKET-7")


@contextmanager
def told(both: BothWays, *, repairs: bool = True) -> Iterator[None]:
    """The drivers of both do what they are asked, and tell repairs; or they begin them, no more."""
    with ExitStack() as stack:
        for each in (both.here, both.there):
            stack.enter_context(telling(each.state, repairs=repairs))
        yield


@pytest.fixture
def plan(tmp_path: Path) -> str:
    written(tmp_path)
    return str(tmp_path / "made.jsonl")


def test_a_dry_run_shows_the_same_and_asks_nobody(both: BothWays, plan: str, tmp_path: Path) -> None:
    for form in ("table", "json"):
        local, remote = both.same("snapshot sync", plan, "--dry-run", "-o", form)
        assert (local.exit_code, local.stderr) == (0, remote.stderr)
        assert "/admin/policies/t1" in remote.stdout
    written(tmp_path, made=head(now() - 400 * DAY_MS))
    local, remote = both.same("snapshot sync", plan, "--dry-run")
    assert ("! the daemon here would refuse it" in remote.stderr, local.stderr) == (True, remote.stderr)
    assert both.same("snapshot sync", plan, "--dry-run", "--force-old")[1].stderr.count("would refuse") == 0
    for each in (both.here, both.there):
        assert (each.views.operations(10), each.views.repairs(10)) == ([], [])


def test_a_plan_is_told_the_same_to_its_end(both: BothWays, plan: str) -> None:
    with told(both):
        local, remote = both.same("snapshot sync", plan, "--yes", *WHY)
    assert (local.exit_code, "2 of 2 decided" in remote.stdout) == (0, True)
    assert local.stderr.splitlines()[:4] == remote.stderr.splitlines()[:4]
    (asked,) = both.there.views.operations(10)
    assert (asked.kind, asked.asked_by, asked.reason) == ("snapshot-sync", "admin-values", "TICKET-7")


@pytest.mark.parametrize("consent", ["", "--force-old", "--allow-deletes"])
def test_what_is_refused_leaves_nothing_and_what_is_let_pass_is_told(
    consent: str, both: BothWays, plan: str, tmp_path: Path
) -> None:
    written(tmp_path, made=head(now() - 400 * DAY_MS))
    with told(both):
        local, _ = both.same("snapshot sync", plan, "--yes", *WHY, *shlex.split(consent))
    assert local.exit_code == (0 if consent == "--force-old" else 5)
    for each in (both.here, both.there):
        assert len(each.views.repairs(10)) == (1 if consent == "--force-old" else 0)


def test_nobody_has_agreed_or_answers(both: BothWays, plan: str) -> None:
    local, remote = both.same("snapshot sync", plan, *WHY)
    assert (local.exit_code, local.stderr) == (5, remote.stderr)
    assert both.there.views.repairs(10) == []
    local, remote = both.same("snapshot sync", plan, "--yes", "--timeout", "0", *WHY)
    assert (local.exit_code, "repair 1 begins when it runs" in remote.stderr) == (4, True)


def test_what_is_no_plan_is_not_sent(both: BothWays, plan: str) -> None:
    for content in ("", "text", "{}"):
        Path(plan).write_text(content)
        local, remote = both.same("snapshot sync", plan, "--yes", *WHY)
        assert (local.exit_code, local.stderr) == (1, remote.stderr)
    local, remote = both.same("snapshot sync", "missing", "--yes", *WHY)
    assert (local.exit_code, local.stderr) == (5, remote.stderr)


def test_a_plan_that_changes_after_it_was_shown_is_not_told(
    both: BothWays, plan: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def meanwhile(*_: object, **__: object) -> None:
        written(tmp_path, 3)

    monkeypatch.setattr("syncer.cli.commands.snapshots.sync.agree", meanwhile)
    local = both.locally("snapshot sync", plan, "--yes", *WHY)
    assert (local.exit_code, "another plan now" in said(local)) == (5, True)
    assert both.here.views.repairs(10) == []
    written(tmp_path)
    with telling(both.there.state):
        remote = both.remotely("snapshot sync", plan, "--yes", *WHY)
    assert (remote.exit_code, "2 of 2 decided" in remote.stdout) == (0, True), "what was shown was sent, and is told"


def test_a_repair_is_cancelled_the_same_once(both: BothWays, plan: str) -> None:
    both.same("snapshot sync", plan, "--yes", "--timeout", "0", *WHY)
    with told(both, repairs=False):
        for number, status in (("9", 1), ("1", 0), ("1", 5)):
            local, _ = both.same("snapshot cancel", number, *WHY)
            assert local.exit_code == status
    for each in (both.here, both.there):
        assert [row.kind for row in each.views.operations(10)] == ["snapshot-sync", "snapshot-cancel"]
