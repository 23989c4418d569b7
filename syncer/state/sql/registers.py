"""The part of a transaction that goes through registers in path order."""

from __future__ import annotations

from sqlalchemy import Connection, func, select

from syncer.conflict.register import Register
from syncer.model import MetaPath
from syncer.state.contract.conflicts import Amount
from syncer.state.sql import rows, tables
from syncer.state.sql.statements import octets


def due(connection: Connection, limit: int, after: MetaPath | None) -> list[Register]:
    """Registers that are due or have a wish, in path order, beyond ``after``."""
    table = tables.registers
    query = select(table).where(tables.UNSETTLED, table.c.due == 1, table.c.path > (after or ""))
    return [rows.register_of(row) for row in connection.execute(query.order_by(table.c.path).limit(limit))]


class RegisterRows:
    """Methods of :class:`~syncer.state.contract.transaction.Transaction` that list registers."""

    _connection: Connection

    def due(self, limit: int, after: MetaPath | None = None) -> list[Register]:
        """Registers that are due or have a wish, in path order, beyond ``after``."""
        return due(self._connection, limit, after)

    def incomplete(self, limit: int, after: MetaPath | None = None) -> list[Register]:
        """Registers whose store lacks kept fields, in path order, beyond ``after``."""
        table = tables.registers
        query = select(table).where(tables.INCOMPLETE, table.c.path > (after or ""))
        return [rows.register_of(row) for row in self._connection.execute(query.order_by(table.c.path).limit(limit))]

    def count_due(self) -> int:
        """How many registers are due."""
        query = select(func.count()).where(tables.UNSETTLED, tables.registers.c.due == 1)
        return int(self._connection.execute(query).scalar_one())

    def kept_values(self, above_bytes: int) -> Amount:
        """How many values of more bytes than that are due, and how many bytes they have."""
        c = tables.registers.c
        size = octets(self._connection.dialect, c.k_value)
        query = select(func.count(), func.coalesce(func.sum(size), 0)).where(tables.UNSETTLED, c.due == 1)
        return Amount(*map(int, self._connection.execute(query.where(size > above_bytes)).one()))

    def intents(self) -> list[Register]:
        """Registers with an open intent, in path order."""
        table = tables.registers
        query = select(table).where(tables.UNSETTLED, table.c.intent_batch.is_not(None)).order_by(table.c.path)
        return [rows.register_of(row) for row in self._connection.execute(query)]

    def page(self, limit: int, after: MetaPath | None = None) -> list[Register]:
        """Registers in path order, beyond ``after``."""
        table = tables.registers
        query = select(table).where(table.c.path > (after or "")).order_by(table.c.path).limit(limit)
        return [rows.register_of(row) for row in self._connection.execute(query)]
