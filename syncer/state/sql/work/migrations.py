"""Migrations in the sidecar database: carried out by the daemon that may write, looked at by everybody."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import fields
from typing import Any, Final

import orjson
from sqlalchemy import Column, Connection, Select, delete, func, insert, select, update

from syncer.errors import InvariantBroken, NotFound
from syncer.model import Millis
from syncer.state import encoding
from syncer.state.contract.migrations import (
    Migration,
    MigrationEvent,
    require_known,
    require_none_open,
    require_open,
    require_put_back,
)
from syncer.state.sql import tables
from syncer.state.sql.statements import upserting

_APART: Final = frozenset({"id", "phase", "made_at_ms", "finished_at_ms", "fingerprint"})
_SHORT: Final[tuple[Column[Any], ...]] = tuple(
    each for each in tables.migrations.c if each.name not in {"open", "plan"}
)
"""All columns but the plan, which may be long and never changes."""


def migration_of(row: Sequence[Any]) -> Migration:
    """A migration from its short columns in the table's order."""
    number, phase, made_at, finished_at, fingerprint, document = row
    return Migration(
        id=number,
        phase=phase,
        made_at_ms=made_at,
        finished_at_ms=finished_at,
        fingerprint=fingerprint,
        **orjson.loads(document),
    )


def event_of(row: Sequence[Any]) -> MigrationEvent:
    """An event from its columns in the table's order, without the migration's number."""
    number, at, kind, document = row
    return MigrationEvent(number=number, at_ms=at, kind=kind, document=orjson.loads(document))


def by_number(number: int | None) -> Select[Any]:
    """The query of a migration by its number; without one, of the one that is open."""
    c = tables.migrations.c
    return select(*_SHORT).where(c.open == 1 if number is None else c.id == number)


def prune(connection: Connection, before: Millis, limit: int) -> int:
    """Drop the oldest migration that was over before that, with its events; at most ``limit`` of these at once.

    How many rows went.
    """
    table, events = tables.migrations, tables.migration_events
    oldest = select(table.c.id).where(table.c.finished_at < before).order_by(table.c.id).limit(1)
    number = connection.execute(oldest).scalar()
    if number is None:
        return 0
    theirs = select(events.c.number).where(events.c.migration == number).order_by(events.c.number)
    some = delete(events).where(events.c.migration == number, events.c.number.in_(theirs.limit(limit)))
    gone = connection.execute(some).rowcount
    if connection.execute(theirs.limit(1)).first() is None:
        gone += connection.execute(delete(table).where(table.c.id == number)).rowcount
    return gone


def _found(connection: Connection, number: int | None) -> Migration | None:
    row = connection.execute(by_number(number)).first()
    return migration_of(row) if row is not None else None


def _plan(connection: Connection, number: int) -> str:
    table = tables.migrations
    plan = connection.execute(select(table.c.plan).where(table.c.id == number)).scalar()
    if plan is None:
        raise NotFound(f"there is no migration {number}")
    return str(plan)


def _values(connection: Connection, number: int, start: str = "") -> dict[str, object]:
    c = tables.migration_values.c
    query = select(c.key, c.value).where(c.migration == number).order_by(c.key)
    if start:  # not LIKE, which takes capitals and small letters for equal
        query = query.where(func.substr(c.key, 1, len(start)) == encoding.storable(start))
    return {key: orjson.loads(value) for key, value in connection.execute(query)}


def _row(migration: Migration) -> dict[str, Any]:
    """The columns of a migration, without its number and its plan."""
    document = {each.name: getattr(migration, each.name) for each in fields(migration) if each.name not in _APART}
    return {
        "open": None if migration.over else 1,
        "phase": migration.phase,
        "made_at": migration.made_at_ms,
        "finished_at": migration.finished_at_ms,
        "fingerprint": migration.fingerprint,
        "document": encoding.dumps_plain(document),
    }


class MigrationRows:
    """Implements :class:`~syncer.state.contract.migrations.MigrationTransaction`."""

    _connection: Connection

    def begin_migration(self, migration: Migration, plan: str) -> int:
        """Keep a new migration and its plan; its number."""
        require_none_open(self.migration())
        row = {**_row(migration), "plan": plan}
        key = self._connection.execute(insert(tables.migrations).values(row)).inserted_primary_key
        if key is None:
            raise InvariantBroken("the database gave no number to a migration")
        return int(key[0])

    def migration(self, number: int | None = None) -> Migration | None:
        """A migration by its number; without one, the one that is open."""
        return _found(self._connection, number)

    def migration_plan(self, number: int) -> str:
        """The plan of a migration, as it was given."""
        return _plan(self._connection, number)

    def save_migration(self, migration: Migration) -> None:
        """Keep how far an open migration is, or that it is over."""
        require_open(self.migration(migration.id), migration.id)
        if migration.over:
            require_put_back(migration, self.migration_values(migration.id))
        table = tables.migrations
        self._connection.execute(update(table).where(table.c.id == migration.id).values(_row(migration)))

    def migration_values(self, number: int, start: str = "") -> dict[str, object]:
        """Values that must be put back or done with before a migration is over, by key, in the order of keys."""
        return _values(self._connection, number, start)

    def remember_value(self, number: int, key: str, value: object) -> None:
        """Keep a value for an open migration; a later one of the same key takes its place."""
        require_open(self.migration(number), number)
        row = {"migration": number, "key": encoding.storable(key), "value": encoding.dumps_plain(value)}
        self._connection.execute(upserting(self._connection.dialect, tables.migration_values), row)

    def forget_value(self, number: int, key: str) -> None:
        """Keep a value no longer; that there is none is no error."""
        c = tables.migration_values.c
        this = delete(tables.migration_values).where(c.migration == number, c.key == encoding.storable(key))
        self._connection.execute(this)

    def add_migration_event(
        self, number: int, kind: str, document: Mapping[str, object], now: Millis
    ) -> MigrationEvent:
        """Add to what has happened in a migration; the event under its number."""
        require_known(self.migration(number), number)
        table = tables.migration_events
        last = self._connection.execute(select(func.max(table.c.number)).where(table.c.migration == number)).scalar()
        row = ((last or 0) + 1, now, encoding.storable(kind), encoding.dumps_plain(document))
        names = ("number", "at", "kind", "document")
        self._connection.execute(insert(table).values({"migration": number, **dict(zip(names, row, strict=True))}))
        return event_of(row)


class MigrationViews:
    """What the command line and REST see of migrations."""

    _reading: Callable[[], AbstractContextManager[Connection]]

    def open_migration(self) -> Migration | None:
        """The migration that is not over."""
        with self._reading() as connection:
            return _found(connection, None)

    def migration(self, number: int) -> Migration | None:
        """A migration by its number; those that are over go with the journal of their time."""
        with self._reading() as connection:
            return _found(connection, number)

    def migrations(self, limit: int) -> list[Migration]:
        """The latest migrations, the last one first."""
        query = select(*_SHORT).order_by(tables.migrations.c.id.desc()).limit(limit)
        with self._reading() as connection:
            return [migration_of(row) for row in connection.execute(query)]

    def migration_plan(self, number: int) -> str:
        """The plan of a migration, as it was given.

        Raises:
            NotFound: There is no such migration.
        """
        with self._reading() as connection:
            return _plan(connection, number)

    def migration_values(self, number: int) -> dict[str, object]:
        """What a migration keeps until it is over, by key."""
        with self._reading() as connection:
            return _values(connection, number)

    def migration_events(self, number: int, limit: int, after: int = 0) -> list[MigrationEvent]:
        """What has happened in a migration, in order, beyond ``after``."""
        c = tables.migration_events.c
        query = select(c.number, c.at, c.kind, c.document).where(c.migration == number, c.number > after)
        with self._reading() as connection:
            return [event_of(row) for row in connection.execute(query.order_by(c.number).limit(limit))]
