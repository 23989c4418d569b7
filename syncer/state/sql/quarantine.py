"""The part of a transaction that is about what is kept aside: the quarantine, and events from the future."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from sqlalchemy import ColumnElement, Connection, delete, func, insert, select

from syncer.model import MetadataChangeEvent, MetaPath, Millis, Stamp
from syncer.state import encoding
from syncer.state.contract.conflicts import Amount
from syncer.state.contract.quarantine import STRANGE_CODES, DeadLetter, DeadLetterRow, KeptAside
from syncer.state.sql import rows, tables
from syncer.state.sql.cache import Cache
from syncer.state.sql.statements import inserting, octets

OUTBOX: Final = "outbox"
"""Where messages in quarantine come from that nobody else can fold. What has come by the bus and could not be folded
here needs no counting: its number was not consumed, or it says what lives, on which no forgetting rests."""


class QuarantineRows:
    """Methods of a transaction (:mod:`syncer.state.contract`) about the quarantine and events from the future."""

    _connection: Connection
    _cache: Cache

    def quarantine(self, poison: DeadLetter, now: Millis) -> None:
        """Keep something that cannot be handled; the same origin and position is kept once."""
        table, position = tables.quarantine, encoding.storable(poison.position)
        same = select(table.c.id).where(table.c.origin == poison.origin, table.c.position == position)
        if self._connection.execute(same).first() is not None:
            return
        new = insert(table).values(
            origin=poison.origin,
            position=position,
            code=poison.code,
            detail=encoding.storable(poison.detail),
            path=None if poison.path is None else encoding.storable(poison.path),
            properties=encoding.dumps_texts(poison.properties),
            recorded_at=now,
            payload=poison.payload,
        )
        self._connection.execute(new)
        self._unfolded_changed(poison.origin, 1)

    def kept_aside(self) -> KeptAside:
        """How much of what came by the bus is kept aside."""
        c, f = tables.quarantine.c, tables.future_events.c
        dialect = self._connection.dialect
        size = func.coalesce(func.sum(octets(dialect, c.payload) + octets(dialect, c.properties)), 0)
        query = select(func.count(), size).where(c.origin == "bus")
        strange = c.code.in_(STRANGE_CODES)
        strangers, poison = (
            Amount(*map(int, self._connection.execute(query.where(which)).one())) for which in (strange, ~strange)
        )
        waiting = func.coalesce(func.sum(func.coalesce(octets(dialect, f.value), 0) + octets(dialect, f.head)), 0)
        query = select(func.count(), waiting).select_from(tables.future_events)
        future = Amount(*map(int, self._connection.execute(query).one()))
        return KeptAside(strangers=strangers, poison=poison, future=future)

    def dead_letter(self, number: int) -> DeadLetterRow | None:
        """A quarantined thing by its number."""
        table = tables.quarantine
        row = self._connection.execute(select(table).where(table.c.id == number)).mappings().first()
        return rows.dead_letter_of(row) if row is not None else None

    def drop_dead_letter(self, number: int) -> None:
        """Remove a quarantined thing."""
        table = tables.quarantine
        gone = self._connection.execute(select(table.c.origin).where(table.c.id == number)).scalar()
        if gone is not None:
            self._connection.execute(delete(table).where(table.c.id == number))
            self._unfolded_changed(gone, -1)

    def unfolded(self) -> int:
        """How many changes of this region stand in quarantine because the bus will never take them."""
        if self._cache.unfolded is None:
            query = select(func.count()).where(tables.quarantine.c.origin == OUTBOX)
            self._cache.unfolded = int(self._connection.execute(query).scalar_one())
        return self._cache.unfolded

    def _unfolded_changed(self, origin: str, by: int) -> None:
        """One thing came into the quarantine, or left it."""
        if self._cache.unfolded is not None and origin == OUTBOX:
            self._cache.unfolded += by

    def hold_event(self, event: MetadataChangeEvent, until: Millis, now: Millis) -> None:
        """Keep an event from the future aside until then; the same path and stamp is kept once, the sooner."""
        table = tables.future_events
        new = inserting(self._connection.dialect, table).values(
            path=event.path,
            time=event.stamp.updated_at_ms,
            region=event.stamp.region,
            held_at=now,
            head=encoding.event_head(event),
            value=event.value,
            until=until,
        )
        sooner = new.on_conflict_do_update(
            index_elements=["path", "time", "region"], set_={"until": until}, where=table.c.until > until
        )
        self._connection.execute(sooner)
        self._cache.holds_future = True

    def future_events(self, now: Millis, limit: int) -> list[MetadataChangeEvent]:
        """Held events whose time has come, the oldest stamps first."""
        return self._future(tables.future_events.c.until <= now, limit) if self._holds_future() else []

    def future_events_at(self, paths: Collection[MetaPath], limit: int) -> list[MetadataChangeEvent]:
        """Held events of these paths, whatever their time, the oldest stamps first."""
        return self._future(tables.future_events.c.path.in_(list(paths)), limit) if self._holds_future() else []

    def _future(self, which: ColumnElement[bool], limit: int) -> list[MetadataChangeEvent]:
        table = tables.future_events
        query = select(table.c.path, table.c.head, table.c.value).where(which)
        query = query.order_by(table.c.time, table.c.region, table.c.path).limit(limit)
        return [encoding.event_of(*row) for row in self._connection.execute(query)]

    def _holds_future(self) -> bool:
        """Whether any event is held; asked of the database at most once after each that was dropped."""
        if self._cache.holds_future is None:
            some = select(tables.future_events.c.path).limit(1)
            self._cache.holds_future = self._connection.execute(some).first() is not None
        return self._cache.holds_future

    def future_event(self, path: MetaPath, stamp: Stamp | None) -> MetadataChangeEvent | None:
        """The held event of a path (the oldest when no stamp is given)."""
        table = tables.future_events
        query = select(table.c.path, table.c.head, table.c.value).where(table.c.path == path)
        if stamp is not None:
            query = query.where(table.c.time == stamp.updated_at_ms, table.c.region == stamp.region)
        row = self._connection.execute(query.order_by(table.c.time, table.c.region).limit(1)).first()
        return encoding.event_of(*row) if row is not None else None

    def drop_future(self, path: MetaPath, stamp: Stamp) -> None:
        """Forget a held event."""
        table = tables.future_events
        same = (table.c.path == path, table.c.time == stamp.updated_at_ms, table.c.region == stamp.region)
        self._connection.execute(delete(table).where(*same))
        self._cache.holds_future = None
