"""Moves: outcomes of the runs of moves that are over, taken from the sidecar database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from syncer.balancer.cost.estimate import known, total
from syncer.balancer.cost.tariff import UnloadTimes
from syncer.balancer.history.outcomes import MoveOutcome
from syncer.balancer.moving.run import MoveProgress, progress_from
from syncer.balancer.running.plan_file import from_text
from syncer.balancer.running.runner import WATCH_S
from syncer.errors import PlanError
from syncer.model import Region
from syncer.state.views.region import Views

if TYPE_CHECKING:
    from syncer.balancer.history.sample import LoadSample
    from syncer.balancer.moving.move_plan import PlannedMove

_RUNS: Final = 100
"""Runs that are looked at, the latest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedRun:
    """A run of moves that is over: its number, the table of its cluster, and each move with what came of it."""

    number: int
    table: str
    moves: tuple[tuple[PlannedMove, MoveProgress], ...]


class EndedRuns(Protocol):
    """Lists the runs of moves that are over."""

    def after(self, number: int) -> list[EndedRun]:
        """Those with a greater number, in their order."""


class RunsInState:
    """Runs as the sidecar database keeps them."""

    def __init__(self, url: str, region: Region) -> None:
        """Read a database.

        Args:
            url: Of the database.
            region: Whose it is.
        """
        self._url, self._region = url, region

    def after(self, number: int) -> list[EndedRun]:
        """List runs that are over and have a greater number, in their order, up to the first that is not over.

        Args:
            number: Of a run.

        Raises:
            StateError: The database cannot be read.
        """
        with closing(Views.open(self._url, self._region)) as views:
            return list(self._ended(views, number))

    def _ended(self, views: Views, number: int) -> Iterator[EndedRun]:
        for kept in sorted(views.move_runs(_RUNS), key=lambda each: each.id):
            if kept.id <= number:
                continue
            if not kept.over:
                return
            try:
                plan = from_text(views.move_run_plan(kept.id).encode(), f"the plan of the run of moves {kept.id}")
            except PlanError:
                continue
            moves = tuple(map(progress_from, views.move_run_moves(kept.id)))
            if len(moves) == len(plan.moves):
                yield EndedRun(number=kept.id, table=plan.table, moves=tuple(zip(plan.moves, moves, strict=True)))


def outcome_of(move: PlannedMove, came: MoveProgress, before: LoadSample | None) -> MoveOutcome | None:
    """Put what came of a move beside its prediction; None where nobody saw when it ended.

    Args:
        move: The move.
        came: What came of it.
        before: The cluster's load before it; None: unknown.
    """
    observed_s = came.observed_s
    if observed_s is None:
        return None
    bundle = None if before is None else before.bundles.get(move.bundle)
    usual_s = None
    if bundle is not None and bundle.stats is not None:
        times, topics = UnloadTimes(), known(bundle.stats.topics)
        usual_s = total((times.closing(topics), times.loading(topics))).value
    return MoveOutcome(
        bundle=move.bundle,
        asked_ms=came.asked_ms[-1],
        predicted_s=move.prediction.ready_s,
        usual_s=usual_s,
        earliest_s=max(0.0, observed_s - WATCH_S),
        latest_s=observed_s,
    )
