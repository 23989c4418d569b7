"""Runs of moves in a sidecar database, as the daemon would have kept them."""

from __future__ import annotations

from dataclasses import replace

from syncer.balancer.moving import course
from syncer.balancer.moving.move_plan import MovePlan
from syncer.balancer.moving.run import MoveRun, RunPhase
from syncer.balancer.running.plan_file import to_text
from syncer.model import Millis
from syncer.state.contract.work.move_runs import KeptMoveRun
from syncer.state.sql.database import SqlState
from tests.unit.balancer.moving.test_move_plan import PLAN


def begun(state: SqlState, plan: MovePlan = PLAN) -> int:
    """A run that waits."""
    run = course.begun(plan)
    kept = KeptMoveRun(
        fingerprint=plan.fingerprint,
        phase=RunPhase.WAITING.value,
        run=run.document(),
        asked_by="ann",
        reason="uneven",
        made_at_ms=Millis(1_764_000_000_000),
    )
    with state.transaction() as tx:
        return tx.begin_move_run(kept, to_text(plan), [each.document() for each in run.moves])


def over(state: SqlState, number: int, ended: MoveRun) -> None:
    """The same, ended."""
    with state.transaction() as tx:
        row = tx.move_run(number)
        assert row is not None
        row = replace(row, phase="ended", run=ended.document(), finished_at_ms=Millis(1_764_000_100_000))
        tx.save_move_run(row, {index: each.document() for index, each in enumerate(ended.moves)})


def going(state: SqlState, number: int, run: MoveRun) -> None:
    """The same, as it goes on."""
    with state.transaction() as tx:
        row = tx.move_run(number)
        assert row is not None
        row = replace(row, phase=run.phase.value, run=run.document())
        tx.save_move_run(row, {index: each.document() for index, each in enumerate(run.moves)})
