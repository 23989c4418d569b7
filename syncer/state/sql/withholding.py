"""The part of a transaction that takes out what may not be kept any more."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from sqlalchemy import Connection, Table, and_, or_, select, tuple_, update

from syncer.conflict.register import Register
from syncer.conflict.withholding import carried_value, holds_withheld, withheld_payload
from syncer.model import MetaPath
from syncer.state.sql import tables
from syncer.state.sql.cache import Cache
from syncer.state.sql.registers import RegisterRows

_PAGE: Final = 500
_VALUES: Final = (
    tables.outbox,
    tables.carried,
    tables.held_publications,
    tables.future_events,
    tables.conflicts,
    tables.tellings,
)
"""Tables with a value of a path."""


class WithheldRows(RegisterRows):
    """Methods of a transaction (:mod:`syncer.state.contract`) about values that were kept by a former projection."""

    _connection: Connection
    _cache: Cache
    save: Callable[[list[Register]], None]
    registers: Callable[[list[MetaPath]], dict[MetaPath, Register]]

    def withhold(self, without: Callable[[Register], Register]) -> int:
        """Take all that is withheld by now out of what is kept; how many rows had some of it."""
        changed = self._withhold_in_registers(without) + self._withhold_in_quarantine()
        changed += sum(self._withhold_in(table) for table in _VALUES)
        if changed:
            self._cache.open, self._cache.conflicts = None, None  # they remember events, and bytes
        return changed

    def _withhold_in_registers(self, without: Callable[[Register], Register]) -> int:
        table, changed = tables.registers, 0
        held = (table.c.k_value, table.c.kept, table.c.intent_kept)
        there = or_(*(each.is_not(None) for each in held))
        for page in self._pages(table, select(table.c.path, *held).where(there)):
            paths = [MetaPath(path) for path, *values in page if any(v and holds_withheld(bytes(v)) for v in values)]
            before = self.registers(paths)
            after = [found for each in before.values() if (found := without(each)) is not each]
            self.save(after)
            changed += len(after)
        return changed

    def _withhold_in(self, table: Table) -> int:
        keys, changed = list(table.primary_key.columns), 0
        for page in self._pages(table, select(*keys, table.c.path, table.c.value).where(table.c.value.is_not(None))):
            for *key, path, value in page:
                left = carried_value(MetaPath(path), before := bytes(value))
                if left is not before:
                    same = and_(*(column == part for column, part in zip(keys, key, strict=True)))
                    self._connection.execute(update(table).where(same).values(value=left))
                    changed += 1
        return changed

    def _withhold_in_quarantine(self) -> int:
        table, changed = tables.quarantine, 0
        for page in self._pages(table, select(table.c.id, table.c.path, table.c.payload)):
            for number, path, payload in page:
                left = withheld_payload(None if path is None else MetaPath(path), before := bytes(payload))
                if left is not before:
                    self._connection.execute(update(table).where(table.c.id == number).values(payload=left))
                    changed += 1
        return changed

    def _pages(self, table: Table, query: Any) -> Iterator[list[Any]]:  # noqa: ANN401 - SQLAlchemy has no name for it
        """Rows in the order of the table's key, whose columns come first."""
        keys = list(table.primary_key.columns)
        query = query.order_by(*keys).limit(_PAGE)
        page = list(self._connection.execute(query))
        while page:
            yield page
            if len(page) < _PAGE:
                return
            page = list(self._connection.execute(query.where(tuple_(*keys) > tuple_(*page[-1][: len(keys)]))))
