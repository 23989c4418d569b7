"""The service of migrations: it carries the one that is open in the database, and answers what operators ask.

    carry:    look ─▶ open both clusters ─▶ Controller.run ─▶ look again        a failure: shown, logged, tried again
    answer:   commands, in the order they were asked ─▶ answer
    read:     starts and questions what can be taken back, in the order they were asked ─▶ answer

Starts and questions read whole clusters. A command names a migration that has begun, so it overtakes both, those under
way included. Where the migration that it names is not open, the command waits for the starts that were asked before it.
Commands overtake no command: a rollback that reads a cluster delays a pause that was asked after it.

It runs as long as the daemon is active, and is cancelled at any moment: the next active daemon goes on from the
journal and the record. Nothing that happens here ends the daemon's other parts, but that another daemon is active.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Final, TypeVar

import anyio
import structlog

from syncer.errors import ConfigError, InvariantBroken, NotFound, PreconditionFailed, SyncerError
from syncer.migration.course import MigrationRun, MigrationStop, run_from
from syncer.migration.migration_plan import MigrationPlan
from syncer.migration.phases import TRANSITIONS, Trigger
from syncer.migration.reading import plan_file
from syncer.migration.reading.addresses import dead_addresses
from syncer.migration.running.clock import Clock
from syncer.migration.running.control.controller import Controller
from syncer.migration.running.control.surveying import Probe
from syncer.migration.running.in_state import JournalInState, RecordInState
from syncer.migration.running.service import answering, standing
from syncer.migration.running.service.clusters import MigrationClusters
from syncer.migration.steering import next_step, stopped
from syncer.operations.contract import BEFORE_MIGRATIONS, COMMANDS_OF_MIGRATIONS, OperationKind
from syncer.state.contract.migrations import Migration
from syncer.state.contract.operations import Operation, OperationState
from syncer.state.contract.state import State
from syncer.state.contract.transaction import Transaction
from syncer.state.contract.work.state_thread import StateThread, is_fenced

log = structlog.get_logger()

T = TypeVar("T")

LOOK_S: Final = 1.0
BACK_OFF_S: Final = (1.0, 2.0, 5.0, 10.0, 30.0)
"""Before a migration that could not be carried on is taken up again."""
_AT_ONCE: Final = 200
_LONG: Final = frozenset({"calls"})
"""Kinds of events that are too long for the log."""
_APART: Final = frozenset({"event", "at_ms"})
_PLAIN: Final = (str, int, float)


class LoggedJournal(JournalInState):
    """The journal in the database, whose events are told in the log too."""

    async def note(self, event: Mapping[str, object]) -> None:
        """Add what has happened to the record of the migration, and to the log."""
        await super().note(event)
        if event["event"] not in _LONG:
            told = {name: each for name, each in event.items() if name not in _APART and isinstance(each, _PLAIN)}
            log.info("migration_event", migration=self._number, kind=event["event"], told=told)


class MigrationService:
    """Carries the migration that is open, for one turn of an active daemon."""

    def __init__(
        self,
        state: State,
        thread: StateThread,
        clusters: MigrationClusters,
        clock: Clock,
        *,
        observing: bool = False,
        probe: Probe = dead_addresses,
    ) -> None:
        """Make it; nothing is done yet.

        Args:
            state: The sidecar database, activated by this daemon.
            thread: Where transactions take turns.
            clusters: Opens the clusters that a plan names.
            clock: The time, and waiting.
            observing: The daemon only observes: nothing is carried, and what is asked is refused.
            probe: Asks whether somebody answers at green's addresses.
        """
        self._state = state
        self._thread = thread
        self._clusters = clusters
        self._clock = clock
        self._observing = observing
        self._probe = probe
        self._open: Migration | None = None
        self._plan: MigrationPlan | None = None
        self._controller: Controller | None = None
        self._trouble: SyncerError | None = None
        self._failures = 0

    async def migrations(self) -> None:
        """Carry and answer until cancelled.

        Raises:
            Fenced: Another daemon is active on this database.
        """
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._carry)
            tasks.start_soon(self._answer, COMMANDS_OF_MIGRATIONS)
            tasks.start_soon(self._answer, BEFORE_MIGRATIONS)

    def report(self) -> dict[str, object] | None:
        """How the migration that is open is, as plain data; ``None``: none is."""
        migration, controller, plan = self._open, self._controller, self._plan
        if migration is None:
            return None
        state = controller.status() if controller is not None else None
        run = _run_of(migration) if state is None else state.run
        due = state.due if state is not None else None if plan is None else next_step(run, plan.scope)
        found = standing.standing(migration, plan, run, due)
        if state is not None:
            found |= standing.seen(state)
        trouble = self._trouble
        if trouble is not None:
            found["trouble"] = {"code": trouble.code, "message": trouble.message, "hint": trouble.hint}
        found["conditions"] = standing.conditions(migration, run, due, trouble, () if state is None else state.ill)
        return found

    # Carrying

    async def _carry(self) -> None:
        while True:
            try:
                self._open = await self._inside(lambda tx: tx.migration())
                if self._open is None or self._observing:
                    self._trouble, self._failures = None, 0
                    await self._clock.sleep(LOOK_S)
                    continue
                await self._carry_out(self._open)
                self._failures = 0
            except Exception as exc:
                if is_fenced(exc):
                    raise
                await self._fail(exc)

    async def _carry_out(self, migration: Migration) -> None:
        """Carry a migration to its end, or until something fails."""
        text = await self._inside(lambda tx: tx.migration_plan(migration.id))
        plan = self._plan = plan_file.from_text(text.encode(), f"the plan of migration {migration.id}")
        journal = LoggedJournal(self._state, self._thread, self._clock, migration)
        record = RecordInState(self._state, self._thread, self._clock, migration)
        opened = self._clusters.sides(*plan.tables)
        try:
            blue, green = await opened.__aenter__()
        except (NotFound, ConfigError) as exc:
            await self._pause(exc, record, journal)
            raise
        try:
            controller = Controller(
                plan,
                blue,
                green,
                self._clock,
                journal,
                record,
                own_topics=self._clusters.own_topics(),
                probe=self._probe,
            )
            await controller.load()
            self._controller, self._trouble = controller, None
            log.info("migration_taken_up", migration=migration.id, phase=controller.status().run.standing.phase.value)
            await controller.run()
            log.info("migration_over", migration=migration.id, phase=controller.status().run.standing.phase.value)
        finally:
            self._controller = None
            with anyio.CancelScope(shield=True):
                await opened.__aexit__(None, None, None)

    async def _pause(self, why: SyncerError, record: RecordInState, journal: JournalInState) -> None:
        """Let a migration whose clusters cannot be opened wait for an operator."""
        now = self._clock.now_ms()
        run = await record.load() or MigrationRun(since_ms=now)
        if run.stop is not None or (run.standing.phase, Trigger.PAUSE) not in TRANSITIONS:
            return
        run = stopped(run, MigrationStop(code=why.code, words=why.message, hint=why.hint), now)
        await record.save(run)
        await journal.note({"event": "not-carried", "code": why.code, "words": why.message})
        self._open = await self._inside(lambda tx: tx.migration())

    async def _fail(self, exc: Exception) -> None:
        """Show and log a failure, and wait before the migration is taken up again."""
        failure = exc if isinstance(exc, SyncerError) else InvariantBroken(f"{type(exc).__name__}: {exc}")
        number = None if self._open is None else self._open.id
        if isinstance(exc, SyncerError):
            log.warning("migration_repeats", migration=number, code=failure.code, cause=failure.message)
        else:
            log.error("migration_failed", migration=number, cause=failure.message, exc_info=exc)
        self._trouble = failure
        pause = BACK_OFF_S[min(self._failures, len(BACK_OFF_S) - 1)]
        self._failures += 1
        await self._clock.sleep(pause)

    # Answering

    async def _answer(self, kinds: Collection[str]) -> None:
        while True:
            try:
                for operation in await self._inside(lambda tx: _ready(tx, kinds)):
                    await self._perform(operation)
            except Exception as exc:
                if is_fenced(exc) or not isinstance(exc, SyncerError):
                    raise
                log.warning("migration_answers_repeat", code=exc.code, cause=exc.message)
            await self._clock.sleep(LOOK_S)

    async def _perform(self, operation: Operation) -> None:
        """Perform one request. Its failure is its answer."""
        try:
            finish = await self._handled(operation)
            await self._inside(lambda tx: self._finish(tx, operation, OperationState.DONE, finish(tx)))
        except Exception as exc:
            if is_fenced(exc):
                raise
            failure = exc if isinstance(exc, SyncerError) else InvariantBroken(f"{type(exc).__name__}: {exc}")
            if not isinstance(exc, SyncerError):
                log.exception("operation_failed", kind=operation.kind, cause=failure.message)
            words, code = f"{failure.message}. {failure.hint}", failure.code
            await self._inside(lambda tx: self._finish(tx, operation, OperationState.FAILED, words, code))

    async def _handled(self, operation: Operation) -> answering.Finish:
        if self._observing:
            raise PreconditionFailed(
                "this daemon only observes: it moves nobody", hint="Ask it of the daemon that is active."
            )
        open_one = await self._inside(lambda tx: tx.migration())
        if operation.kind == OperationKind.MIGRATION_START:
            return await answering.started(operation, open_one, self._clusters, self._clock)
        if operation.kind == OperationKind.MIGRATION_UNDOABLE:
            answer = await answering.undoable(operation, open_one, self._controller)
        else:
            answer = await answering.commanded(operation, open_one, self._controller)
        return lambda _: answer

    def _finish(
        self, tx: Transaction, operation: Operation, state: OperationState, answer: str, code: str = ""
    ) -> None:
        tx.finish_operation(operation.id, state, answer, code, self._clock.now_ms())

    async def _inside(self, act: Callable[[Transaction], T]) -> T:
        def transaction() -> T:
            with self._state.transaction() as tx:
                return act(tx)

        return await self._thread.call(transaction)


def _ready(tx: Transaction, kinds: Collection[str]) -> list[Operation]:
    """Return the oldest operations of these kinds that can be answered now.

    A command may name a migration that a start is about to begin: it is left for later.
    """
    pending = tx.pending_operations(_AT_ONCE, only=kinds)
    starts = tx.pending_operations(1, only={OperationKind.MIGRATION_START})
    open_one = tx.migration()
    named = "" if open_one is None else str(open_one.id)

    def waits(operation: Operation) -> bool:
        command = operation.kind == OperationKind.MIGRATION_COMMAND
        return command and operation.id > starts[0].id and operation.arguments.get("migration") != named

    return [each for each in pending if not (starts and waits(each))]


def _run_of(migration: Migration) -> MigrationRun:
    return run_from(migration.run) if migration.run else MigrationRun(since_ms=migration.made_at_ms)
