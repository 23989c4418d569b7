"""The watch over runs of moves: what ends is told once, with the prediction beside it; what had ended before never."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from syncer.balancer.moving import course
from syncer.balancer.moving.run import MoveProgress, MoveStanding, RunPhase, RunStop
from syncer.inspection.move_watch import EndedMove, MovesSeen, MoveWatch
from syncer.model import Millis
from syncer.state.sql.database import SqlState
from syncer.state.views.region import Views
from tests.support.move_runs import begun, going, over
from tests.support.region_database import run, state, template, views
from tests.unit.balancer.moving.test_move_plan import MOVE, PLAN

__all__ = ["run", "state", "template", "views"]

ASKED_MS: Final = Millis(1_764_000_010_000)
BOTH: Final = replace(PLAN, moves=(MOVE, replace(MOVE, bundle="acme/orders/0x80000000_0xffffffff")))
DONE: Final = MoveProgress(
    standing=MoveStanding.DONE, asked_ms=(ASKED_MS,), answered_ms=ASKED_MS, ended_ms=Millis(ASKED_MS + 500)
)


def test_a_run_is_told_from_its_beginning_to_its_end(state: SqlState, views: Views) -> None:
    watch = MoveWatch()
    assert watch.look(views) == MovesSeen()
    number, made = begun(state, BOTH), course.begun(BOTH)
    found = watch.look(views)
    assert (found.report["phase"], found.report["holds_settings"], found.ended) == ("waiting", False, ())
    assert found.report["turned_ms"] == found.report["began_ms"]
    moving = replace(made, phase=RunPhase.MOVING, former={"a": None}, moves=(DONE, made.moves[1]))
    going(state, number, moving)
    found = watch.look(views)
    assert found.ended == (EndedMove(outcome="done", predicted_s=0.3, observed_s=0.5),)
    assert (found.report["phase"], found.report["holds_settings"]) == ("moving", True)
    assert found.report["turned_ms"] == ASKED_MS + 500
    assert found.report["standings"] == {"done": 1, "waiting": 1}
    assert watch.look(views).ended == ()
    left = replace(made.moves[1], standing=MoveStanding.REFUSED)
    stop = RunStop(code="admin-unreachable", words="gone")
    over(state, number, replace(moving, phase=RunPhase.ENDED, former=None, moves=(DONE, left), stop=stop))
    assert watch.look(views) == MovesSeen(report={"failed": True}, ended=(EndedMove(outcome="refused"),))
    assert watch.look(views) == MovesSeen(report={"failed": True})


def test_what_had_ended_before_the_first_look_is_not_told_again(state: SqlState, views: Views) -> None:
    number, made = begun(state, BOTH), course.begun(BOTH)
    going(state, number, replace(made, phase=RunPhase.MOVING, moves=(DONE, made.moves[1])))
    watch = MoveWatch()
    assert watch.look(views).ended == ()
    stop = RunStop(code="asked", words="enough", who="ann")
    moves = (DONE, replace(made.moves[1], standing=MoveStanding.NOT_BEGUN))
    over(state, number, replace(made, phase=RunPhase.ENDED, moves=moves, stop=stop))
    assert watch.look(views) == MovesSeen(report={"failed": False}, ended=(EndedMove(outcome="not-begun"),))
    assert MoveWatch().look(views) == MovesSeen(report={"failed": False})


def test_a_run_that_came_and_went_between_two_looks_is_told(state: SqlState, views: Views) -> None:
    watch = MoveWatch()
    watch.look(views)
    number, made = begun(state), course.begun(PLAN)
    over(state, number, replace(made, phase=RunPhase.ENDED, moves=(DONE,)))
    assert [each.outcome for each in watch.look(views).ended] == ["done"]
