"""Runs of moves are kept alike by every state: one at a time, never beside a migration, over once all is put back."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, NoReturn

import pytest

from syncer.errors import BalancingOwned, Fenced, NotFound, PreconditionFailed
from syncer.model import Millis
from syncer.replacing import replace
from syncer.state.contract.state import State
from syncer.state.contract.transaction import Transaction
from syncer.state.contract.work.move_runs import KeptMoveRun
from syncer.state.memory import MemoryDatabase, MemoryState
from syncer.state.sql.database import SqlState
from tests.unit.state import test_contract
from tests.unit.state.contract import test_migrations
from tests.unit.state.test_contract import EAST, Subject

subject = test_contract.subject
PLAN = '{"ü": null}\n'
MOVES = ({"standing": "waiting"}, {"standing": "waiting", "words": "ü"})
RUN = KeptMoveRun(
    fingerprint="ab" * 32,
    phase="waiting",
    run={"former": None},
    asked_by="ann",
    reason="uneven \N{ROCKET}",
    made_at_ms=Millis(10),
)
TROUBLE = {"code": "admin-unreachable", "message": "away", "hint": "look", "since_ms": 10, "next_ms": 15}
STOP = {"code": "asked", "words": "enough", "who": "bob"}


def begun(state: State, **changes: Any) -> KeptMoveRun:
    with state.transaction() as tx:
        number = tx.begin_move_run(replace(RUN, **changes), PLAN, MOVES)
    return replace(RUN, id=number, **changes)


def over(run: KeptMoveRun, at: int = 100) -> KeptMoveRun:
    return replace(run, phase="ended", finished_at_ms=Millis(at))


def undone(state: State, *acts: Callable[[Transaction], object]) -> None:
    """Do something in a transaction that fails in the end."""

    def fail(tx: Transaction) -> NoReturn:
        for act in acts:
            act(tx)
        raise ArithmeticError

    with pytest.raises(ArithmeticError), state.transaction() as tx:
        fail(tx)


def test_a_run_is_kept_with_its_plan_and_its_moves(subject: Subject) -> None:
    run = begun(subject.state)
    with subject.state.transaction() as tx:
        assert tx.move_run() == tx.move_run(run.id) == run
        assert tx.move_run_plan(run.id) == PLAN
        assert tx.move_run_moves(run.id) == list(MOVES)
        later = replace(run, phase="moving", run={"former": {"a": None}, "list": (1,)})
        tx.save_move_run(later, {1: {"standing": "asked"}})
        assert tx.move_run() == replace(later, run={"former": {"a": None}, "list": [1]})
        assert tx.move_run_moves(run.id) == [MOVES[0], {"standing": "asked"}]


def test_one_run_is_open_at_a_time_and_none_beside_a_migration(subject: Subject) -> None:
    run = begun(subject.state)
    for begin in (begun, test_migrations.begun):
        with pytest.raises(BalancingOwned, match=rf"^the run of moves {run.id} is not over: it is waiting$"):
            begin(subject.state)
    with subject.state.transaction() as tx:
        tx.save_move_run(over(run), {})
    migration = test_migrations.begun(subject.state)
    with pytest.raises(BalancingOwned, match=rf"^migration {migration.id} is not over"):
        begun(subject.state)
    with subject.state.transaction() as tx:
        tx.save_migration(test_migrations.over(migration))
    assert begun(subject.state).id > run.id


def test_a_run_is_over_only_when_the_settings_are_back_and_then_for_good(subject: Subject) -> None:
    run = begun(subject.state)
    with subject.state.transaction() as tx:
        with pytest.raises(PreconditionFailed, match="were not put back"):
            tx.save_move_run(over(replace(run, run={"former": {"a": "true"}})), {})
        tx.save_move_run(over(run), {})
        assert (tx.move_run(), tx.move_run(run.id)) == (None, over(run))
        with pytest.raises(PreconditionFailed, match="is over: it is ended"):
            tx.save_move_run(run, {})
        with pytest.raises(PreconditionFailed, match="is over: it is ended"):
            tx.ask_to_stop(run.id, STOP)


def test_what_was_asked_stays_whatever_is_saved_beside_it(subject: Subject) -> None:
    run = begun(subject.state)
    with subject.state.transaction() as tx:
        tx.ask_to_stop(run.id, STOP)
        tx.ask_to_stop(run.id, {**STOP, "who": "later"})
        tx.save_move_run(replace(run, phase="moving"), {})
        assert tx.move_run() == replace(run, phase="moving", stop=STOP)


def test_trouble_is_kept_with_its_beginning_until_it_is_over(subject: Subject) -> None:
    run = begun(subject.state)
    with subject.state.transaction() as tx:
        tx.tell_move_trouble(run.id, TROUBLE)
        tx.tell_move_trouble(run.id, {**TROUBLE, "message": "still away", "since_ms": 20, "next_ms": 25})
        tx.save_move_run(replace(run, phase="moving"), {})
        found = tx.move_run()
        assert found is not None
        assert (found.phase, found.trouble["message"]) == ("moving", "still away")
        assert (found.trouble["since_ms"], found.trouble["next_ms"]) == (10, 25)
        tx.tell_move_trouble(run.id, {**TROUBLE, "code": "admin-denied", "since_ms": 30})
        found = tx.move_run()
        assert found is not None
        assert found.trouble["since_ms"] == 30, "it is another one"
        tx.tell_move_trouble(run.id, {})
        assert tx.move_run() == replace(run, phase="moving")
        tx.save_move_run(over(run), {})
        with pytest.raises(PreconditionFailed, match="is over: it is ended"):
            tx.tell_move_trouble(run.id, TROUBLE)


def test_a_run_that_is_not_there_is_named(subject: Subject) -> None:
    with subject.state.transaction() as tx:
        assert (tx.move_run(), tx.move_run(7), tx.move_run_moves(7)) == (None, None, [])
        acts: tuple[Callable[[], object], ...] = (
            lambda: tx.move_run_plan(7),
            lambda: tx.save_move_run(replace(RUN, id=7), {}),
            lambda: tx.ask_to_stop(7, STOP),
            lambda: tx.tell_move_trouble(7, TROUBLE),
        )
        for act in acts:
            with pytest.raises(NotFound, match=r"^there is no run of moves 7$"):
                act()


def test_a_transaction_that_fails_leaves_nothing(subject: Subject) -> None:
    undone(subject.state, lambda tx: tx.begin_move_run(RUN, PLAN, MOVES))
    run = begun(subject.state)
    undone(
        subject.state,
        lambda tx: tx.save_move_run(replace(run, phase="moving"), {0: {}}),
        lambda tx: tx.ask_to_stop(run.id, STOP),
    )
    with subject.state.transaction() as tx:
        assert (tx.move_run(), tx.move_run_moves(run.id)) == (run, list(MOVES))


def test_runs_that_are_over_go_with_the_journal_of_their_time(subject: Subject) -> None:
    old = begun(subject.state)
    with subject.state.transaction() as tx:
        tx.save_move_run(over(old), {})
    current = begun(subject.state)
    with subject.state.transaction() as tx:
        assert tx.prune(Millis(100), 10) == 0
        gone = 0
        while some := tx.prune(Millis(101), 1):
            gone += some
        assert gone == 1 + len(MOVES)
        assert (tx.move_run(old.id), tx.move_run()) == (None, current)
        assert (tx.move_run_moves(old.id), tx.move_run_moves(current.id)) == ([], list(MOVES))


def test_a_database_that_begins_anew_keeps_its_runs(subject: Subject) -> None:
    run = begun(subject.state)
    subject.state.renew(10**11, "other-store", "{}")
    with subject.state.transaction() as tx:
        assert (tx.move_run(), tx.move_run_moves(run.id)) == (run, list(MOVES))


def test_only_the_active_daemon_writes_of_a_run(tmp_path: Path) -> None:
    url, memory = f"sqlite:///{tmp_path / 'shared.db'}", MemoryDatabase(EAST, "f" * 32)
    with closing(SqlState.open(url, EAST)) as one, closing(SqlState.open(url, EAST)) as other:
        pairs: list[tuple[State, State]] = [(one, other), (MemoryState(memory), MemoryState(memory))]
        for former, latter in pairs:
            former.activate()
            run = begun(former)
            latter.activate()
            with pytest.raises(Fenced), former.transaction() as tx:
                tx.save_move_run(replace(run, phase="moving"), {})
            with latter.transaction() as tx:
                assert tx.move_run() == run
