"""The part of a transaction that is about conflicts: their losers, kept whole."""

from __future__ import annotations

from sqlalchemy import ColumnElement, Connection, delete, func, insert, select, update

from syncer.conflict.acts import FillConflict, RecordConflict
from syncer.model import Millis, Region
from syncer.state import encoding
from syncer.state.contract.conflicts import Amount, ConflictRow
from syncer.state.sql import rows, tables
from syncer.state.sql.cache import Cache
from syncer.state.sql.statements import octets


class ConflictRows:
    """Implements :class:`syncer.state.contract.conflicts.ConflictTransaction`."""

    _connection: Connection
    _cache: Cache

    def conflict(self, record: RecordConflict, now: Millis) -> None:
        """Keep a conflict; the same path, loser stamp and digest is kept once, its value filled if it was lacking."""
        table = tables.conflicts
        same = (
            table.c.path == record.path,
            table.c.loser_time == record.loser.updated_at_ms,
            table.c.loser_region == record.loser.region,
            table.c.loser_digest.is_not_distinct_from(record.loser_digest),
        )
        filled = func.coalesce(table.c.value, record.value)
        if self._connection.execute(update(table).where(*same).values(value=filled)).rowcount:
            self._cache.conflicts = None
            return
        new = insert(table).values(
            path=record.path,
            loser_time=record.loser.updated_at_ms,
            loser_region=record.loser.region,
            loser_seen=encoding.dumps(record.loser_seen),
            loser_digest=record.loser_digest,
            winner_time=record.winner.updated_at_ms,
            winner_region=record.winner.region,
            reason=record.reason,
            recorded_at=now,
            value=record.value,
        )
        self._connection.execute(new)
        self._more(1, len(record.path.encode()) + len(record.value or b""))
        if record.loser_digest is not None and record.value is None:
            self._cache.value_missing = True

    def fill_conflict(self, fill: FillConflict) -> None:
        """Give the value to conflicts of this path and digest that lack it."""
        table = tables.conflicts
        if self._cache.value_missing is None:
            some = select(table.c.id).where(table.c.loser_digest.is_not(None), table.c.value.is_(None)).limit(1)
            self._cache.value_missing = self._connection.execute(some).first() is not None
        if not self._cache.value_missing:
            return
        lacking = (table.c.path == fill.path, table.c.loser_digest == fill.digest, table.c.value.is_(None))
        filled = self._connection.execute(update(table).where(*lacking).values(value=fill.value)).rowcount
        if filled:
            self._cache.value_missing = None
            self._more(0, filled * len(fill.value))

    def conflict_row(self, number: int) -> ConflictRow | None:
        """A conflict by its number."""
        table = tables.conflicts
        row = self._connection.execute(select(table).where(table.c.id == number)).mappings().first()
        return rows.conflict_of(row) if row is not None else None

    def mark_restored(self, number: int, now: Millis) -> None:
        """Note that the loser of a conflict was restored."""
        table = tables.conflicts
        self._connection.execute(update(table).where(table.c.id == number).values(restored_at=now))

    def kept_conflicts(self) -> Amount:
        """How many conflicts are kept, and how many bytes of values and paths in all."""
        if self._cache.conflicts is None:
            c, dialect = tables.conflicts.c, self._connection.dialect
            size = func.coalesce(func.sum(octets(dialect, c.path) + func.coalesce(octets(dialect, c.value), 0)), 0)
            self._cache.conflicts = Amount(*map(int, self._connection.execute(select(func.count(), size)).one()))
        return self._cache.conflicts

    def drop_conflicts(
        self, limit: int, *, by: Region | None = None, until: int | None = None, restored: bool = False
    ) -> int:
        """Forget the oldest conflicts: whose loser is of that region, or was restored; how many were there."""
        table = tables.conflicts
        which: ColumnElement[bool] = table.c.restored_at.is_not(None) if restored else table.c.id.is_not(None)
        which = which if by is None else which & (table.c.loser_region == by)
        which = which if until is None else which & (table.c.id <= until)
        oldest = select(table.c.id).where(which).order_by(table.c.id).limit(limit)
        return self._gone(table.c.id.in_(oldest))

    def drop_conflict(self, number: int) -> None:
        """Forget a conflict."""
        self._gone(tables.conflicts.c.id == number)

    def _gone(self, which: ColumnElement[bool]) -> int:
        self._cache.conflicts = self._cache.value_missing = None
        return self._connection.execute(delete(tables.conflicts).where(which)).rowcount

    def _more(self, things: int, size_bytes: int) -> None:
        """So much came to what is kept."""
        kept = self._cache.conflicts
        if kept is not None:
            self._cache.conflicts = Amount(kept.things + things, kept.size_bytes + size_bytes)
