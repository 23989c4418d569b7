"""A run of moves in the sidecar database, written by the daemon that is active."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from syncer.balancer.moving.run import MoveRun, RunPhase, RunStop, move_run_from, progress_from
from syncer.model import Millis
from syncer.replacing import replace
from syncer.state.contract.state import State
from syncer.state.contract.transaction import Transaction
from syncer.state.contract.work.move_runs import KeptMoveRun, require_known_run
from syncer.state.contract.work.state_thread import StateThread

T = TypeVar("T")


class RunInState:
    """Keeps one run: every call is one transaction, and returns once that is committed.

    It raises :class:`~syncer.errors.Fenced` where another daemon has become active, and writes nothing.
    """

    def __init__(self, state: State, thread: StateThread, now_ms: Callable[[], Millis], number: int) -> None:
        """Keep a run that has begun.

        Args:
            state: The sidecar database.
            thread: Where transactions take turns.
            now_ms: The time.
            number: The run's.
        """
        self._state = state
        self._thread = thread
        self._now_ms = now_ms
        self._number = number
        self._kept: MoveRun | None = None
        self._troubled = False

    async def load(self) -> MoveRun:
        """The run as it was kept last.

        Raises:
            NotFound: It was over, and is not kept any more.
            StateUnavailable: The database cannot be used now.
        """

        def read(tx: Transaction) -> MoveRun:
            moves, row = tuple(map(progress_from, tx.move_run_moves(self._number))), self._row(tx)
            self._troubled = bool(row.trouble)
            return move_run_from(row.run, moves)

        self._kept = await self._inside(read)
        return self._kept

    async def stop(self) -> RunStop | None:
        """What was asked of the run: to stop; ``None``: nothing.

        Raises:
            StateUnavailable: The database cannot be used now.
        """
        asked = (await self._inside(self._row)).stop
        return RunStop(**asked) if asked else None

    async def save(self, run: MoveRun) -> None:
        """Keep a run, and of its moves those that have changed; with its last phase it is over.

        Raises:
            PreconditionFailed: It was over before, or it would be while there are settings that must be put back.
            StateUnavailable: The database cannot be used now; nothing was kept.
        """
        former = self._kept
        if former == run:
            return
        moves = {
            number: each.document()
            for number, each in enumerate(run.moves)
            if former is None or former.moves[number] != each
        }
        over = self._now_ms() if run.phase is RunPhase.ENDED else None

        def save(tx: Transaction) -> None:
            row = replace(self._row(tx), phase=run.phase.value, run=run.document(), finished_at_ms=over)
            tx.save_move_run(row, moves)

        await self._inside(save)
        self._kept = run

    async def carried_on(self) -> None:
        """Keep that the run is in no trouble any more, if it was.

        Raises:
            PreconditionFailed: It is over.
            StateUnavailable: The database cannot be used now.
        """
        if self._troubled:
            await self._inside(lambda tx: tx.tell_move_trouble(self._number, {}))
            self._troubled = False

    def _row(self, tx: Transaction) -> KeptMoveRun:
        return require_known_run(tx.move_run(self._number), self._number)

    async def _inside(self, act: Callable[[Transaction], T]) -> T:
        def transaction() -> T:
            with self._state.transaction() as tx:
                return act(tx)

        return await self._thread.call(transaction)
