"""The part of a database in memory about migrations; plain data goes through JSON, as it does in a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import orjson

from syncer.model import Millis
from syncer.state.contract.migrations import (
    Migration,
    MigrationEvent,
    require_known,
    require_none_open,
    require_open,
    require_put_back,
)
from syncer.state.encoding import dumps_plain, storable
from syncer.state.memory.database import UndoLog


class MigrationTables(UndoLog):
    """The part of a transaction that is about migrations."""

    def begin_migration(self, migration: Migration, plan: str) -> int:
        """Keep a new migration and its plan; its number."""
        require_none_open(self.migration())
        number = self._number("migrations")
        self._keep(replace(migration, id=number))
        self._put(self._db.migration_plans, number, plan)
        return number

    def migration(self, number: int | None = None) -> Migration | None:
        """A migration by its number; without one, the one that is open."""
        if number is not None:
            return self._db.migrations.get(number)
        return next((each for each in self._db.migrations.values() if not each.over), None)

    def migration_plan(self, number: int) -> str:
        """The plan of a migration, as it was given."""
        require_known(self.migration(number), number)
        return self._db.migration_plans[number]

    def save_migration(self, migration: Migration) -> None:
        """Keep how far an open migration is, or that it is over."""
        require_open(self.migration(migration.id), migration.id)
        if migration.over:
            require_put_back(migration, self.migration_values(migration.id))
        self._keep(migration)

    def migration_values(self, number: int, start: str = "") -> dict[str, object]:
        """Values that must be put back or done with before a migration is over, by key, in the order of keys."""
        kept, start = self._db.migration_values, storable(start)
        return {key: orjson.loads(kept[of, key]) for of, key in sorted(kept) if of == number and key.startswith(start)}

    def remember_value(self, number: int, key: str, value: object) -> None:
        """Keep a value for an open migration; a later one of the same key takes its place."""
        require_open(self.migration(number), number)
        self._put(self._db.migration_values, (number, storable(key)), dumps_plain(value))

    def forget_value(self, number: int, key: str) -> None:
        """Keep a value no longer; that there is none is no error."""
        self._drop(self._db.migration_values, (number, storable(key)))

    def add_migration_event(
        self, number: int, kind: str, document: Mapping[str, object], now: Millis
    ) -> MigrationEvent:
        """Add to what has happened in a migration; the event under its number."""
        require_known(self.migration(number), number)
        last = max((each for of, each in self._db.migration_events if of == number), default=0)
        plain = orjson.loads(dumps_plain(document))
        event = MigrationEvent(number=last + 1, at_ms=now, kind=storable(kind), document=plain)
        self._put(self._db.migration_events, (number, event.number), event)
        return event

    def _keep(self, migration: Migration) -> None:
        plain = orjson.loads(dumps_plain(migration.run))
        self._put(self._db.migrations, migration.id, replace(migration, run=plain))

    def _prune_migrations(self, before: Millis) -> int:
        """Drop migrations that were over before that, with their events; how many rows went."""
        old = {
            each.id
            for each in self._db.migrations.values()
            if each.finished_at_ms is not None and each.finished_at_ms < before
        }
        events = [key for key in self._db.migration_events if key[0] in old]
        for key in events:
            self._drop(self._db.migration_events, key)
        for number in old:
            self._drop(self._db.migrations, number)
            self._drop(self._db.migration_plans, number)
        return len(old) + len(events)
