"""Runs of moves as they are shown: what was asked of them at once, and nothing of one that is being forgotten."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import pytest

from syncer.balancer.moving import course
from syncer.balancer.running import plan_file
from syncer.errors import BalancingOwned, NotFound, PreconditionFailed
from syncer.inspection.move_runs import applying, move_run_list, move_run_status, stopping
from syncer.model import Millis
from syncer.operations.contract import OperationKind
from syncer.state.contract.work.move_runs import KeptMoveRun
from syncer.state.sql.database import SqlState
from syncer.state.views.region import Views
from tests.support.region_database import state, template, views
from tests.unit.balancer.moving.test_move_plan import MOVE, PLAN
from tests.unit.balancer.moving.test_split import SPLIT

__all__ = ["state", "template", "views"]

BOTH: Final = replace(PLAN, moves=(MOVE, replace(MOVE, bundle="acme/orders/0x80000000_0xffffffff")))


def begin(state: SqlState, *, moves: int = 2) -> int:
    """Keep a run of which so many moves are there."""
    run = course.begun(BOTH)
    kept = KeptMoveRun(
        fingerprint=BOTH.fingerprint,
        phase=run.phase.value,
        run=run.document(),
        asked_by="ann",
        reason="uneven",
        made_at_ms=Millis(5),
    )
    with state.transaction() as tx:
        return tx.begin_move_run(kept, plan_file.to_text(BOTH), [each.document() for each in run.moves[:moves]])


def test_a_stop_is_shown_as_soon_as_it_was_asked_for(state: SqlState, views: Views) -> None:
    number = begin(state)
    assert move_run_status(views, number).stop is None
    with state.transaction() as tx:
        tx.ask_to_stop(number, {"code": "asked", "words": "enough", "who": "bob"})
    found = move_run_status(views, number)
    assert (found.phase, found.standings) == ("waiting", {"waiting": 2})
    assert found.stop is not None
    assert (found.stop.code, found.stop.who) == ("asked", "bob")
    (row,) = move_run_list(views, 9).items
    assert (row.id, row.stop) == (number, found.stop)


def test_a_run_that_goes_with_the_journal_is_not_there(state: SqlState, views: Views) -> None:
    number = begin(state, moves=1)
    with pytest.raises(NotFound, match=f"^there is no run of moves {number}$"):
        move_run_status(views, number)


def test_nothing_is_asked_for_beside_an_open_run(state: SqlState, views: Views) -> None:
    with pytest.raises(PreconditionFailed, match="no run of moves is open"):
        stopping(views)
    number = begin(state)
    for go in (False, True):
        with pytest.raises(BalancingOwned, match=f"the run of moves {number} is not over"):
            applying(views, BOTH, go=go)
    (asked,) = stopping(views).requests
    assert (asked.kind, dict(asked.arguments)) == (OperationKind.MOVES_STOP, {})


@pytest.mark.parametrize(
    ("prices", "said"), [((1.0, 2.5), "broker: 3.5 client-seconds"), ((1.0, None), "broker: at least 1.0 client-s")]
)
def test_what_it_costs_is_said_before(prices: tuple[float | None, ...], said: str, views: Views) -> None:
    moves = tuple(
        replace(move, prediction=replace(move.prediction, client_seconds=price))
        for move, price in zip(BOTH.moves, prices, strict=True)
    )
    proposal = applying(views, replace(BOTH, moves=moves), go=True)
    assert proposal.target == "east-1"
    assert said in proposal.words[0]
    assert applying(views, BOTH, go=False).words == ()


def test_that_a_split_is_not_taken_back_is_said_before(views: Views) -> None:
    plan = replace(PLAN, moves=(replace(MOVE, bundle=SPLIT.halves[1]),), splits=(SPLIT,))
    words = applying(views, plan, go=True).words
    assert "1 bundle would be cut in two, which no later run takes back" in words[1]
