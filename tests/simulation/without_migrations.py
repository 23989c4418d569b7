"""No schedule of regions migrates a cluster: whoever asks for a migration is told that there is none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn

from syncer.model import Millis
from syncer.state.contract.migrations import Migration


class WithoutMigrations:
    """Implements :class:`~syncer.state.contract.migrations.MigrationTransaction` where there is none."""

    def migration(self, number: int | None = None) -> Migration | None:
        """There is none."""
        del number
        return None

    def begin_migration(self, migration: Migration, plan: str) -> NoReturn:
        """Nobody begins one."""
        raise NotImplementedError

    def migration_plan(self, number: int) -> NoReturn:
        """Nobody knows a number."""
        raise NotImplementedError

    def save_migration(self, migration: Migration) -> NoReturn:
        """Nobody has one."""
        raise NotImplementedError

    def migration_values(self, number: int, start: str = "") -> NoReturn:
        """Nobody knows a number."""
        raise NotImplementedError

    def remember_value(self, number: int, key: str, value: object) -> NoReturn:
        """Nobody knows a number."""
        raise NotImplementedError

    def forget_value(self, number: int, key: str) -> NoReturn:
        """Nobody knows a number."""
        raise NotImplementedError

    def add_migration_event(self, number: int, kind: str, document: Mapping[str, object], now: Millis) -> NoReturn:
        """Nobody knows a number."""
        raise NotImplementedError
