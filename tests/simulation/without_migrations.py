"""No schedule of regions migrates a cluster or moves its bundles: whoever asks is told that nothing is under way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from syncer.model import Millis
from syncer.state.contract.migrations import Migration
from syncer.state.contract.work.move_runs import KeptMoveRun


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


class WithoutMoveRuns:
    """Implements :class:`~syncer.state.contract.work.move_runs.MoveRunTransaction` where there is none."""

    def move_run(self, number: int | None = None) -> KeptMoveRun | None:
        """There is none."""
        del number
        return None

    def begin_move_run(self, run: KeptMoveRun, plan: str, moves: Sequence[Mapping[str, Any]]) -> NoReturn:
        """Nobody begins one."""
        raise NotImplementedError

    def move_run_plan(self, number: int) -> NoReturn:
        """Nobody knows a number."""
        raise NotImplementedError

    def move_run_moves(self, number: int) -> NoReturn:
        """Nobody knows a number."""
        raise NotImplementedError

    def save_move_run(self, run: KeptMoveRun, moves: Mapping[int, Mapping[str, Any]]) -> NoReturn:
        """Nobody has one."""
        raise NotImplementedError

    def tell_move_trouble(self, number: int, trouble: Mapping[str, Any]) -> NoReturn:
        """Nobody knows a number."""
        raise NotImplementedError

    def ask_to_stop(self, number: int, stop: Mapping[str, str]) -> NoReturn:
        """Nobody knows a number."""
        raise NotImplementedError
