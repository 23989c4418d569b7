"""Values of paths that the sidecar database keeps: losers of conflicts, what was set aside, what is from the future."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from sqlalchemy import Connection, select

from syncer.model import MetadataChangeEvent, MetaPath
from syncer.state import encoding
from syncer.state.contract.conflicts import ConflictRow
from syncer.state.contract.quarantine import DeadLetterRow
from syncer.state.sql import rows, tables


class PathViews:
    """What is kept of a path with its whole value."""

    _reading: Callable[[], AbstractContextManager[Connection]]

    def conflict(self, number: int) -> ConflictRow | None:
        """A conflict by its number, whole."""
        with self._reading() as connection:
            row = connection.execute(select(tables.conflicts).where(tables.conflicts.c.id == number)).mappings().first()
            return rows.conflict_of(row) if row is not None else None

    def quarantined_at(self, path: MetaPath, limit: int) -> list[DeadLetterRow]:
        """What is quarantined of a path, the latest first."""
        table = tables.quarantine
        query = select(table).where(table.c.path == path).order_by(table.c.id.desc()).limit(limit)
        with self._reading() as connection:
            return [rows.dead_letter_of(row) for row in connection.execute(query).mappings()]

    def future_events_at(self, path: MetaPath, limit: int) -> list[MetadataChangeEvent]:
        """Events from the future about a path, oldest stamp first."""
        c = tables.future_events.c
        query = select(c.head, c.value).where(c.path == path).order_by(c.time, c.region).limit(limit)
        with self._reading() as connection:
            return [encoding.event_of(path, head, value) for head, value in connection.execute(query)]
