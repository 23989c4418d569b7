"""The runner: it carries one run of moves from its plan to its end.

    asked to stop? ─▶ look ─▶ step ─▶ keep ─▶ perform ─▶ keep what came of it ─▶ wait a little, and again

It is killed at any moment, and made anew by whoever takes the run up: what is kept, and what the cluster shows, is all
that it goes by.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

import structlog

from syncer.admin.calls import AdminCalls
from syncer.balancer.moving import course, splitting
from syncer.balancer.moving.move_plan import MovePlan
from syncer.balancer.moving.run import MoveRun, MoveStanding, RunPhase
from syncer.balancer.moving.split import SplitStanding
from syncer.balancer.running.acting import MoveActs
from syncer.balancer.running.in_state import RunInState
from syncer.balancer.running.looking import MoveLooking
from syncer.model import Millis

log = structlog.get_logger()

WATCH_S: Final = 0.2
"""Between looks at what is under way."""
LOOK_S: Final = 1.0
"""Between other looks, between those for a stop, and before a claim is read again."""


class MoveRunner:
    """Carries one run out; ``run()`` returns when it has ended."""

    def __init__(
        self,
        plan: MovePlan,
        calls: AdminCalls,
        record: RunInState,
        now_ms: Callable[[], Millis],
        sleep: Callable[[float], Awaitable[None]],
    ) -> None:
        """Make it; nothing is asked yet.

        Args:
            plan: What an operator has approved.
            calls: The cluster's admin API.
            record: Keeps the run.
            now_ms: The time.
            sleep: Waits for so many seconds.
        """
        self._plan = plan
        self._looking = MoveLooking(calls, plan.cluster)
        self._acts = MoveActs(calls, plan.cluster, now_ms)
        self._record = record
        self._now_ms = now_ms
        self._sleep = sleep

    async def run(self) -> None:
        """Carry it on until it has ended.

        Raises:
            StateError: The run cannot be kept: nothing is done that could not be.
            AdminError: The cluster does not answer; it is taken up again.
        """
        run = await self._record.load()
        while run.phase is not RunPhase.ENDED:
            stop = await self._record.stop()
            if stop is not None:
                run = course.stopped(run, stop)
            if run.stop is None and run.phase is RunPhase.WAITING and run.until_ms > self._now_ms():
                await self._sleep(LOOK_S)
                continue
            run = await self._turn(run)
            under_way = any(each.standing is MoveStanding.ASKED for each in run.moves) or bool(splitting.asked(run))
            soon = run.phase is not RunPhase.WAITING and run.until_ms <= self._now_ms()
            await self._sleep(WATCH_S if under_way or soon else LOOK_S)

    async def _turn(self, run: MoveRun) -> MoveRun:
        now, plan = self._now_ms(), self._plan
        numbers = course.looked_at(plan, run, now)
        probable: dict[str, tuple[str, ...]] = {
            plan.moves[each].bundle: (plan.moves[each].source, plan.moves[each].target, run.moves[each].owner or "")
            for each in numbers
        }
        begins = [plan.moves[each].bundle for each in numbers if run.moves[each].standing is not MoveStanding.ASKED]
        splits = course.splits_looked_at(plan, run, now)
        probable |= {plan.splits[each].bundle: (plan.splits[each].source,) for each in splits}
        cuts = [plan.splits[each].bundle for each in splits if run.splits[each].standing is SplitStanding.WAITING]
        sight = await self._looking.look(now, probable, (*begins, *cuts), splitting=bool(cuts))
        turn = course.step(plan, run, sight)
        if not turn.acts:
            await self._record.carried_on()
        await self._record.save(turn.run)
        _tell(plan, run, turn.run)
        if not turn.acts:
            return turn.run
        done = await self._acts.perform(turn.run, turn.acts)
        await self._record.save(done)
        await self._record.carried_on()
        _tell(plan, turn.run, done)
        return done


def _tell(plan: MovePlan, before: MoveRun, after: MoveRun) -> None:
    if after.phase is not before.phase:
        log.info("move_run_phase", phase=after.phase.value, stop=after.stop.code if after.stop else "")
    for split, earlier, later in zip(plan.splits, before.splits, after.splits, strict=True):
        if later.standing is not earlier.standing:
            log.info("bundle_split", bundle=split.bundle, position=split.position, standing=later.standing.value)
    for move, former, latter in zip(plan.moves, before.moves, after.moves, strict=True):
        if latter.standing is not former.standing:
            log.info(
                "bundle_move",
                bundle=move.bundle,
                standing=latter.standing.value,
                owner=latter.owner,
                observed_s=latter.observed_s,
                predicted_s=move.prediction.ready_s,
            )
