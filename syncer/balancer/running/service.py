"""The service of moves: it carries the run that is open in the database, and answers what operators ask.

    carry      the run that is open ─▶ MoveRunner ─▶ look again
    changes    apply and stop, in the order they were asked ─▶ answer
    reads      dry runs, in the order they were asked ─▶ answer

A dry run asks the cluster, and changes nothing. So a stop overtakes dry runs, those under way included, and nothing
else: no ``apply`` that was asked before a stop begins a run after it. Such an ``apply`` delays a stop only while no run
is open; beside an open run it is refused without a question to the cluster.

It runs as long as the daemon is active, and is cancelled at any moment: the next active daemon goes on from what is
kept. Nothing that happens here ends the daemon's other parts, but that another daemon is active.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Final, Protocol, TypeVar
from uuid import uuid4

import anyio
import structlog

from syncer.admin.balancing_claim import CLAIM_NAMESPACE
from syncer.admin.calls import AdminCalls
from syncer.admin.stillness import SHEDDING
from syncer.balancer.moving import course
from syncer.balancer.moving.holding import held_by_others
from syncer.balancer.moving.move_plan import MovePlan
from syncer.balancer.moving.run import RunPhase, RunStopCode
from syncer.balancer.moving.split import AGAIN
from syncer.balancer.running import plan_file
from syncer.balancer.running.in_state import RunInState
from syncer.balancer.running.looking import MoveLooking
from syncer.balancer.running.runner import LOOK_S, MoveRunner
from syncer.errors import BalancingOwned, InvariantBroken, PlanForeign, PlanStale, PreconditionFailed, SyncerError
from syncer.model import Millis
from syncer.operations.contract import CHANGES_OF_MOVE_RUNS, READS_OF_MOVE_RUNS, OperationKind
from syncer.state.contract.operations import Operation, OperationState
from syncer.state.contract.state import State
from syncer.state.contract.transaction import Transaction
from syncer.state.contract.work.move_runs import KeptMoveRun, require_balancing_free, require_some_run
from syncer.state.contract.work.state_thread import StateThread, is_fenced

log = structlog.get_logger()

T = TypeVar("T")

BACK_OFF_S: Final = (1.0, 2.0, 5.0, 10.0, 30.0)
"""Before a run that could not be carried on is taken up again."""
_AT_ONCE: Final = 200
_HELD: Final = (
    "Wait until it is over there: see 'syncer balancer runs' and 'syncer migration status' of each daemon that has this"
    f" cluster. If nobody is at it, delete the property of {CLAIM_NAMESPACE} and the dynamic settings, and set in"
    " broker.conf what is to stay."
)


class MoveClusters(Protocol):
    """Opens clusters by the names of their tables."""

    def calls(self, table: str) -> AbstractAsyncContextManager[AdminCalls]:
        """The admin API of a cluster; nothing is asked yet.

        Raises:
            NotFound: The configuration has no such table.
            ConfigError: A certificate or key that the table names cannot be loaded.
        """


class MoveService:
    """Carries the run of moves that is open, for one turn of an active daemon."""

    def __init__(
        self,
        state: State,
        thread: StateThread,
        clusters: MoveClusters,
        now_ms: Callable[[], Millis],
        *,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
        observing: bool = False,
    ) -> None:
        """Make it; nothing is done yet.

        Args:
            state: The sidecar database, activated by this daemon.
            thread: Where transactions take turns.
            clusters: Opens the cluster that a plan names.
            now_ms: The time.
            sleep: Waits for so many seconds.
            observing: The daemon only observes: nothing is carried, and what is asked is refused.
        """
        self._state = state
        self._thread = thread
        self._clusters = clusters
        self._now_ms = now_ms
        self._sleep = sleep
        self._observing = observing
        self._failures = 0

    async def moves(self) -> None:
        """Carry and answer until cancelled.

        Raises:
            Fenced: Another daemon is active on this database.
        """
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._carry)
            tasks.start_soon(self._answer, CHANGES_OF_MOVE_RUNS)
            tasks.start_soon(self._answer, READS_OF_MOVE_RUNS)

    async def _carry(self) -> None:
        while True:
            row = None
            try:
                row = await self._inside(lambda tx: tx.move_run())
                if row is None or self._observing:
                    self._failures = 0
                    await self._sleep(LOOK_S)
                else:
                    await self._carry_out(row)
            except Exception as exc:
                if is_fenced(exc):
                    raise
                await self._fail(row, exc)

    async def _carry_out(self, row: KeptMoveRun) -> None:
        text = await self._inside(lambda tx: tx.move_run_plan(row.id))
        plan = plan_file.from_text(text.encode(), f"the plan of the run of moves {row.id}")
        record = RunInState(self._state, self._thread, self._now_ms, row.id)
        async with self._clusters.calls(plan.table) as calls:
            log.info("move_run_taken_up", run=row.id, phase=row.phase)
            await MoveRunner(plan, calls, record, self._now_ms, self._sleep).run()
        log.info("move_run_over", run=row.id)

    async def _fail(self, row: KeptMoveRun | None, exc: Exception) -> None:
        """Keep and log a failure, and wait before the run is taken up again."""
        failure = _failure(exc)
        if failure is exc:
            log.warning("move_run_repeats", code=failure.code, cause=failure.message)
        else:
            log.error("move_run_failed", cause=failure.message, exc_info=exc)
        pause = BACK_OFF_S[min(self._failures, len(BACK_OFF_S) - 1)]
        self._failures += 1
        if row is not None:
            await self._tell(row.id, failure, pause)
        await self._sleep(pause)

    async def _tell(self, number: int, failure: SyncerError, pause_s: float) -> None:
        """Keep a run's trouble with it, where the database can be used."""
        now = self._now_ms()
        told = {"code": failure.code, "message": failure.message, "hint": failure.hint}
        trouble: dict[str, object] = {**told, "since_ms": now, "next_ms": now + int(pause_s * 1000)}
        try:
            await self._inside(lambda tx: tx.tell_move_trouble(number, trouble))
        except SyncerError as exc:
            if is_fenced(exc):
                raise
            log.warning("move_trouble_not_kept", code=exc.code, cause=exc.message)

    async def _answer(self, kinds: Collection[str]) -> None:
        while True:
            try:
                pending = await self._inside(lambda tx: tx.pending_operations(_AT_ONCE, only=kinds))
                for operation in pending:
                    await self._perform(operation)
            except Exception as exc:
                if is_fenced(exc) or not isinstance(exc, SyncerError):
                    raise
                log.warning("move_answers_repeat", code=exc.code, cause=exc.message)
            await self._sleep(LOOK_S)

    async def _perform(self, operation: Operation) -> None:
        """Perform one request in the transaction that answers it. Its failure is its answer."""
        try:
            if self._observing:
                raise PreconditionFailed(
                    "this daemon only observes: it moves nothing", hint="Ask it of the daemon that is active."
                )
            act = self._stopped if operation.kind == OperationKind.MOVES_STOP else await self._applied(operation)
            await self._inside(lambda tx: self._finish(tx, operation, OperationState.DONE, act(tx, operation)))
        except Exception as exc:
            if is_fenced(exc):
                raise
            failure = _failure(exc)
            if failure is not exc:
                log.exception("operation_failed", kind=operation.kind, cause=failure.message)
            words, code = f"{failure.message}. {failure.hint}", failure.code
            await self._inside(lambda tx: self._finish(tx, operation, OperationState.FAILED, words, code))

    async def _applied(self, operation: Operation) -> Callable[[Transaction, Operation], str]:
        """Have a plan begun that is for the cluster which its table leads to.

        A dry run begins nothing: it says of each move what would keep it from being asked for. Of rows that former
        versions have left, an ``apply`` is a dry run unless ``dry`` is ``false``.

        Raises:
            PlanInvalid: It is no plan, or was changed after it was made.
            PlanForeign: The table leads to another cluster.
            PlanStale: Pulsar's shedding is not as it was when the plan was made.
            BalancingOwned: Another run or a migration is open, here or by another daemon.
            NotFound: The configuration has no such table.
            AdminError: The cluster does not answer.
        """
        plan = plan_file.from_text(operation.arguments.get("plan", "").encode())
        await self._inside(lambda tx: require_balancing_free(tx.move_run(), tx.migration()))
        async with self._clusters.calls(plan.table) as calls:
            running = await calls.configuration()
            name = running.get("clusterName")
            found = await self._foreseen(plan, calls) if name == plan.cluster else ""
        if name != plan.cluster:
            raise PlanForeign(
                f"'cluster.{plan.table}' leads to {name!r}, and the plan is for {plan.cluster!r}", hint=AGAIN
            )
        sheds = str(plan.sheds).lower()
        if plan.sheds is not None and running.get(SHEDDING) != sheds:
            words = f"{SHEDDING} of {plan.cluster} is {running.get(SHEDDING)}, and was {sheds} when the plan was made"
            raise PlanStale(words, hint=AGAIN)
        if operation.kind == OperationKind.MOVES_DRY_RUN or operation.arguments.get("dry") != "false":
            return lambda _, __: found
        return lambda tx, asked: self._begun(tx, asked, plan)

    async def _foreseen(self, plan: MovePlan, calls: AdminCalls) -> str:
        bundles: dict[str, tuple[str, ...]] = {move.bundle: (move.source, move.target) for move in plan.moves}
        bundles |= {split.bundle: (split.source,) for split in plan.splits}
        looking = MoveLooking(calls, plan.cluster)
        sight = await looking.look(self._now_ms(), bundles, bundles, splitting=bool(plan.splits))
        held = held_by_others(sight)
        if held is not None:
            raise BalancingOwned(f"the balancing of {plan.cluster} is not free: {held.words}", hint=_HELD)
        found = course.foreseen(plan, sight)
        counts = [_would(found[: len(plan.moves)], "moves")]
        if plan.splits:
            counts.append(_would(found[len(plan.moves) :], "splits"))
        each_one = zip(plan.steps, found, strict=True)
        told = "".join(f"; {each.bundle}: {why.value}" for each, why in each_one if why)
        return f"dry run: {' and '.join(counts)} would be asked for now{told}"

    def _begun(self, tx: Transaction, operation: Operation, plan: MovePlan) -> str:
        run = course.begun(plan, uuid4().hex)
        row = KeptMoveRun(
            fingerprint=plan.fingerprint,
            phase=RunPhase.WAITING.value,
            run=run.document(),
            asked_by=operation.asked_by,
            reason=operation.reason,
            made_at_ms=self._now_ms(),
        )
        number = tx.begin_move_run(row, plan_file.to_text(plan), [each.document() for each in run.moves])
        splits = f" after {len(plan.splits)} splits" if plan.splits else ""
        return f"the run of moves {number} has begun: {len(plan.moves)} moves{splits}"

    def _stopped(self, tx: Transaction, operation: Operation) -> str:
        row = require_some_run(tx.move_run())
        stop = {"code": RunStopCode.ASKED.value, "words": operation.reason, "who": operation.asked_by}
        tx.ask_to_stop(row.id, stop)
        return f"the run of moves {row.id} begins nothing more, puts the settings back, and ends"

    def _finish(
        self, tx: Transaction, operation: Operation, state: OperationState, answer: str, code: str = ""
    ) -> None:
        tx.finish_operation(operation.id, state, answer, code, self._now_ms())

    async def _inside(self, act: Callable[[Transaction], T]) -> T:
        def transaction() -> T:
            with self._state.transaction() as tx:
                return act(tx)

        return await self._thread.call(transaction)


def _failure(exc: Exception) -> SyncerError:
    return exc if isinstance(exc, SyncerError) else InvariantBroken(f"{type(exc).__name__}: {exc}")


def _would(found: Sequence[object], what: str) -> str:
    return f"{sum(why is None for why in found)} of {len(found)} {what}"
