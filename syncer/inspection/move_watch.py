"""A watch over runs of moves: how the open one is, and which moves have ended since the last look.

Moves that had ended before the first look are told by nobody: whoever has seen them has counted them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from syncer.balancer.moving.run import OPEN, RunStopCode, progress_from
from syncer.balancer.running.plan_file import from_text

if TYPE_CHECKING:
    from syncer.balancer.moving.move_plan import MovePlan
    from syncer.balancer.moving.run import MoveProgress
    from syncer.state.contract.work.move_runs import KeptMoveRun
    from syncer.state.views.region import Views


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedMove:
    """A move that has ended; seconds until its new owner served the bundle, where both are known."""

    outcome: str
    predicted_s: float | None = None
    observed_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MovesSeen:
    """What a look has shown.

    Args:
        report: The open run as plain data; of one that is over, whether it has failed; empty: there was none.
        ended: Moves that have ended since the look before.
    """

    report: Mapping[str, Any] = field(default_factory=dict)
    ended: tuple[EndedMove, ...] = ()


class MoveWatch:
    """Looks at the latest run, again and again."""

    def __init__(self) -> None:
        self._begun = False
        self._plan: tuple[int, MovePlan] | None = None
        self._told: tuple[int, frozenset[int]] = (0, frozenset())
        self._over = 0

    def look(self, views: Views) -> MovesSeen:
        """See how the latest run is.

        Raises:
            StateError: The database cannot be read now.
            PlanInvalid: The plan of the run was damaged.
        """
        first, self._begun = not self._begun, True
        latest = views.move_runs(1)
        if not latest:
            return MovesSeen()
        run, over = latest[0], latest[0].finished_at_ms is not None
        if over and (first or run.id == self._over):
            self._over = run.id
            return MovesSeen(report={"failed": _failed(run)})
        moves = [progress_from(each) for each in views.move_run_moves(run.id)]
        ended = self._new(views, run.id, moves, told=first)
        if over:
            self._over, self._plan = run.id, None
            return MovesSeen(report={"failed": _failed(run)}, ended=ended)
        return MovesSeen(report=_report(run, moves), ended=ended)

    def _new(self, views: Views, number: int, moves: list[MoveProgress], *, told: bool) -> tuple[EndedMove, ...]:
        before = self._told[1] if self._told[0] == number else frozenset()
        over = frozenset(index for index, each in enumerate(moves) if each.standing not in OPEN)
        self._told = (number, over)
        new = sorted(over - before)
        if told or not new:
            return ()
        plan = self._planned(views, number)
        return tuple(_ended(moves[each], plan.moves[each].prediction.ready_s) for each in new)

    def _planned(self, views: Views, number: int) -> MovePlan:
        if self._plan is None or self._plan[0] != number:
            self._plan = number, from_text(views.move_run_plan(number).encode(), f"the plan of the run {number}")
        return self._plan[1]


def _ended(move: MoveProgress, predicted_s: float | None) -> EndedMove:
    observed_s = move.observed_s
    if observed_s is None or predicted_s is None:
        return EndedMove(outcome=move.standing.value)
    return EndedMove(outcome=move.standing.value, predicted_s=predicted_s, observed_s=observed_s)


def _failed(run: KeptMoveRun) -> bool:
    stop = run.run["stop"]
    return stop is not None and stop["code"] != RunStopCode.ASKED


def _report(run: KeptMoveRun, moves: list[MoveProgress]) -> dict[str, Any]:
    standings = [each.standing.value for each in moves]
    times = [time for each in moves for time in (*each.asked_ms, each.ended_ms) if time is not None]
    return {
        "phase": run.phase,
        "began_ms": run.made_at_ms,
        "turned_ms": max([run.made_at_ms, *times]),
        "holds_settings": run.run["former"] is not None,
        "failed": _failed(run),
        "standings": {each: standings.count(each) for each in set(standings)},
    }
