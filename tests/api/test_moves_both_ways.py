"""Runs of moves, asked for and watched here and by REST: the same answers, by the same operations."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from syncer.balancer.moving import course
from syncer.balancer.moving.run import MoveStanding, RunPhase
from syncer.balancer.running import plan_file
from syncer.documents.balancing.moves import MoveRunDocument
from syncer.waiting import WAIT_S
from tests.api.two_ways import BothWays, both
from tests.support.move_runs import begun, over
from tests.unit.balancer.moving.test_move_plan import PLAN

__all__ = ["both"]

COMMANDS: Final = ("balancer runs", "balancer apply", "balancer stop")
SOON: Final = ("--reason", "TICKET-7", "--timeout", "0")


@pytest.fixture
def plan(tmp_path: Path) -> str:
    plan_file.write(tmp_path / "moves.json", PLAN)
    return str(tmp_path / "moves.json")


def test_runs_are_listed_shown_and_missed_the_same(both: BothWays) -> None:
    local, _ = both.same("balancer runs")
    assert local.stdout == ""
    for copy in (both.here, both.there):
        begun(copy.state)
    both.same("balancer runs -o json")
    local, _ = both.same("balancer runs 1")
    assert PLAN.moves[0].bundle in local.stdout
    assert {each.exit_code for each in both.same("balancer runs 7")} == {1}


@pytest.mark.parametrize(("words", "dry"), [((), "true"), (("--go", "--yes"), "false")])
def test_a_plan_is_asked_for_the_same(words: tuple[str, ...], dry: str, both: BothWays, plan: str) -> None:
    local, remote = both.same(f"balancer apply {plan}", *words, *SOON)
    assert (local.exit_code, remote.exit_code) == (4, 4)
    (here,), (there,) = (each.views.operations(10) for each in (both.here, both.there))
    assert (here.kind, here.arguments, here.reason) == (there.kind, there.arguments, there.reason)
    assert there.arguments["dry"] == dry


def test_what_moves_is_agreed_to_first_and_says_why(both: BothWays, plan: str) -> None:
    local, remote = both.same(f"balancer apply {plan} --go")
    assert {local.exit_code, remote.exit_code} == {5}
    assert "Pulsar itself moves and splits no bundle" in remote.stderr
    assert "needs a reason" in both.remotely(f"balancer apply {plan} --go --yes").stderr
    assert both.there.views.operations(10) == []


def test_a_run_is_stopped_the_same_or_there_is_none(both: BothWays) -> None:
    local, remote = both.same("balancer stop", *SOON)
    assert (local.exit_code, local.stderr) == (remote.exit_code, remote.stderr) == (5, local.stderr)
    for copy in (both.here, both.there):
        begun(copy.state)
    both.same("balancer stop", *SOON)
    assert [each.kind for each in both.there.views.operations(10)] == ["moves-stop"]


def test_the_latest_run_is_watched_until_it_is_over(both: BothWays) -> None:
    assert both.remotely("balancer runs --watch").stderr == "there is no run of moves\n"
    number = begun(both.there.state)
    told: list[str] = []

    def watch() -> None:
        told.extend(both.remotely("balancer runs --watch --every 0.1 -o json").stdout.splitlines())

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        run = course.begun(PLAN)
        moves = tuple(replace(each, standing=MoveStanding.NOT_BEGUN) for each in run.moves)
        over(both.there.state, number, replace(run, phase=RunPhase.ENDED, moves=moves))
    finally:
        watching.join(timeout=WAIT_S)
    assert not watching.is_alive()
    last = MoveRunDocument.model_validate_json(told[-1])
    assert (last.phase, last.standings) == (RunPhase.ENDED, {MoveStanding.NOT_BEGUN: 1})
