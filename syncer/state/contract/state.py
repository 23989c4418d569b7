"""The sidecar database of one daemon, and who may write to it."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

from syncer.state.contract.identity import Identity
from syncer.state.contract.transaction import Transaction


class State(Protocol):
    """The sidecar database."""

    def transaction(self) -> AbstractContextManager[Transaction]:
        """Begin a transaction of the active writer.

        Raises:
            Fenced: Another daemon has raised the epoch since :meth:`activate`; nothing was written.
            StateUnavailable: The database cannot be used now; nothing was written.
        """
        ...

    def activate(self) -> Identity:
        """Become the writer: raise the epoch. From now on transactions of a former writer fail."""
        ...

    def keep_copy(self) -> None:
        """Keep this database as it is beside it, in place of an earlier copy; one on a server is its operator's.

        Raises:
            StateUnavailable: There is no room for it, or it cannot be written.
        """

    def erase_deleted(self) -> None:
        """Leave nothing of deleted and replaced rows in the database's file; a server cleans up by itself.

        Raises:
            StateUnavailable: It cannot be done now; the rows are gone all the same.
        """

    def renew(self, generation: int, store_id: str, rebuild: str, *, carry: bool = False) -> Identity:
        """Begin anew as another database, under a new id: registers, outbox and consumption go.

        What people look at stays: conflicts, journal, quarantine, operations, jobs, migrations, audits of ledgers;
        and which peers there are.

        Args:
            generation: The least that it may have.
            store_id: Of the store.
            rebuild: Whose place it takes, and why.
            carry: What stands in the outbox is carried over, to be published once the group was heard.

        Raises:
            Fenced: Another daemon has raised the epoch since :meth:`activate`; nothing was changed.
            StateUnavailable: The database cannot be used now; nothing was changed.
        """
        ...
