"""The record of a running migration: how far it is, kept so that whoever takes it over goes on there."""

from __future__ import annotations

from typing import Protocol

from syncer.migration.course import MigrationRun


class MigrationRecord(Protocol):
    """Keeps one migration's run; it has a plain form (``MigrationRun.document``, ``run_from``)."""

    @property
    def migration(self) -> str:
        """The migration's id: no other one has it."""

    async def load(self) -> MigrationRun | None:
        """The run as it was kept last; ``None``: it has never begun."""

    async def save(self, run: MigrationRun) -> None:
        """Keep a run; returns when it is durable."""
