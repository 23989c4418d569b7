"""The journal and the record of a running migration in the sidecar database, written by the daemon that is active."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from syncer.migration.course import MigrationRun, run_from
from syncer.migration.phases import ENDED
from syncer.migration.running.clock import Clock
from syncer.replacing import replace
from syncer.state.contract.migrations import Migration, require_known
from syncer.state.contract.state import State
from syncer.state.contract.transaction import Transaction
from syncer.state.contract.work.state_thread import StateThread

T = TypeVar("T")


class _InState:
    """Keeps something of one migration: every call is one transaction, and returns once that is committed.

    It raises :class:`~syncer.errors.Fenced` where another daemon has become active, and writes nothing.
    """

    def __init__(self, state: State, thread: StateThread, clock: Clock, migration: Migration) -> None:
        """Keep it of a migration that has begun."""
        self._state = state
        self._thread = thread
        self._clock = clock
        self._number = migration.id
        self._claim = migration.claim

    async def _inside(self, act: Callable[[Transaction], T]) -> T:
        def transaction() -> T:
            with self._state.transaction() as tx:
                return act(tx)

        return await self._thread.call(transaction)


class JournalInState(_InState):
    """Implements :class:`syncer.migration.running.journal.MigrationJournal`."""

    async def remember(self, key: str, value: object) -> None:
        """Keep a value by a key; a later one takes its place.

        Raises:
            PreconditionFailed: The migration is over.
            StateUnavailable: The database cannot be used now; nothing was kept.
        """
        await self._inside(lambda tx: tx.remember_value(self._number, key, value))

    async def forget(self, key: str) -> None:
        """Keep it no longer; that there is none is no error.

        Raises:
            StateUnavailable: The database cannot be used now; it is still kept.
        """
        await self._inside(lambda tx: tx.forget_value(self._number, key))

    async def recall(self, start: str) -> Mapping[str, object]:
        """What is kept by keys that begin so.

        Raises:
            StateUnavailable: The database cannot be used now.
        """
        return await self._inside(lambda tx: tx.migration_values(self._number, start))

    async def note(self, event: Mapping[str, object]) -> None:
        """Add what has happened to the record of the migration; ``event["event"]`` names its kind.

        Raises:
            StateUnavailable: The database cannot be used now; nothing was noted.
        """
        document = {name: each for name, each in event.items() if name != "event"}
        kind, now = str(event["event"]), self._clock.now_ms()
        await self._inside(lambda tx: tx.add_migration_event(self._number, kind, document, now))


class RecordInState(_InState):
    """Implements :class:`syncer.migration.running.control.record.MigrationRecord`."""

    @property
    def migration(self) -> str:
        """The migration's claim: no other one has it."""
        return self._claim

    async def load(self) -> MigrationRun | None:
        """The run as it was kept last; ``None``: it has never begun.

        Raises:
            NotFound: The migration was over, and is not kept any more.
            StateUnavailable: The database cannot be used now.
        """
        kept = (await self._inside(self._kept)).run
        return run_from(kept) if kept else None

    async def save(self, run: MigrationRun) -> None:
        """Keep a run; with its last phase the migration is over.

        Raises:
            PreconditionFailed: It was over before, or it would be while there are values that must be put back.
            StateUnavailable: The database cannot be used now; nothing was kept.
        """
        phase, now = run.standing.phase, self._clock.now_ms()

        def save(tx: Transaction) -> None:
            over = now if phase in ENDED else None
            kept = replace(self._kept(tx), phase=phase.value, run=run.document, changed_at_ms=now, finished_at_ms=over)
            tx.save_migration(kept)

        await self._inside(save)

    def _kept(self, tx: Transaction) -> Migration:
        return require_known(tx.migration(self._number), self._number)
