"""Runs of moves that are over, as the sidecar database keeps them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from syncer.balancer.moving import course
from syncer.balancer.moving.run import MoveStanding, RunPhase
from syncer.balancer.recording.moves import RunsInState
from syncer.balancer.running import plan_file
from syncer.model import Millis, Region
from syncer.state.contract.work.move_runs import KeptMoveRun
from syncer.state.sql.database import SqlState
from tests.unit.balancer.moving.test_move_plan import PLAN

EAST = Region("east")


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'state.db'}"


def begin(state: SqlState) -> KeptMoveRun:
    run = course.begun(PLAN)
    kept = KeptMoveRun(
        fingerprint=PLAN.fingerprint, phase=run.phase.value, run=run.document(), asked_by="ann", reason="uneven",
        made_at_ms=Millis(5),
    )  # fmt: skip
    with state.transaction() as tx:
        number = tx.begin_move_run(kept, plan_file.to_text(PLAN), [each.document() for each in run.moves])
    return replace(kept, id=number)


def end(state: SqlState, kept: KeptMoveRun) -> None:
    run = course.begun(PLAN)
    done = {number: replace(each, standing=MoveStanding.ALREADY).document() for number, each in enumerate(run.moves)}
    with state.transaction() as tx:
        tx.save_move_run(replace(kept, phase=RunPhase.ENDED.value, finished_at_ms=Millis(9)), done)


def test_runs_that_are_over_are_told_after_a_number(url: str) -> None:
    state = SqlState.open(url, EAST)
    try:
        state.activate()
        runs = RunsInState(url, EAST)
        assert runs.after(0) == []
        first = begin(state)
        assert runs.after(0) == []
        end(state, first)
        end(state, second := begin(state))
        found = runs.after(0)
        assert [each.number for each in found] == [first.id, second.id]
        assert found[0].table == PLAN.table
        assert [(move, came.standing) for move, came in found[0].moves] == [
            (move, MoveStanding.ALREADY) for move in PLAN.moves
        ]
        assert [each.number for each in runs.after(first.id)] == [second.id]
    finally:
        state.close()
