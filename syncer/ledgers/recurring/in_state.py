"""Audits in the sidecar database, written by the daemon that is active."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import anyio.to_thread

from syncer.model import Millis
from syncer.state.contract.work.ledger_audits import pack_audit, unpack_audit

if TYPE_CHECKING:
    from collections.abc import Callable

    from syncer.ledgers.recurring.taken import TakenAudit
    from syncer.state.contract.state import State
    from syncer.state.contract.transaction import Transaction
    from syncer.state.contract.work.ledger_audits import PackedAudit
    from syncer.state.contract.work.state_thread import StateThread


T = TypeVar("T")


class AuditsInState:
    """Keeps audits: every call is one transaction, and returns once that is committed.

    It raises :class:`~syncer.errors.Fenced` where another daemon has become active, and writes nothing.
    """

    def __init__(self, state: State, thread: StateThread) -> None:
        """Keep them in a database.

        Args:
            state: The sidecar database.
            thread: Where transactions take turns.
        """
        self._state = state
        self._thread = thread

    async def latest(self, table: str) -> bytes | None:
        """The document of the latest audit of a cluster; ``None``: none is kept, or it cannot be unpacked.

        Args:
            table: Name of the cluster's table.

        Raises:
            StateUnavailable: The database cannot be used now.
        """
        kept = await self._inside(lambda tx: tx.ledger_audit(table))
        try:
            return None if kept is None else await anyio.to_thread.run_sync(unpack_audit, kept.document)
        except ValueError:
            return None

    async def keep(self, table: str, taken: TakenAudit, most: int) -> None:
        """Keep an audit, and of the earlier ones the latest.

        Args:
            table: Name of the cluster's table.
            taken: The audit.
            most: How many stay of this cluster.

        Raises:
            LedgerAuditTooLarge: It has more bytes than are kept.
            StateUnavailable: The database cannot be used now.
        """
        packed: PackedAudit = await anyio.to_thread.run_sync(pack_audit, taken.document)

        def write(tx: Transaction) -> None:
            tx.keep_ledger_audit(table, Millis(taken.taken_ms), packed, whole=taken.whole)
            tx.prune_ledger_audits(table, most)

        await self._inside(write)

    async def _inside(self, what: Callable[[Transaction], T]) -> T:
        def run() -> T:
            with self._state.transaction() as tx:
                return what(tx)

        return await self._thread.call(run)
