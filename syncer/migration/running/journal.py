"""The journal of a running migration: former values, remembered before they are changed, and what has happened."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol


class MigrationJournal(Protocol):
    """Keeps what a run that is killed would lose; each call returns when its effect is durable.

    Keys and values are plain: text, and what JSON can hold.
    """

    async def remember(self, key: str, value: object) -> None:
        """Keep a value by a key; a later one takes its place."""

    async def forget(self, key: str) -> None:
        """Keep it no longer; that there is none is no error."""

    async def recall(self, start: str) -> Mapping[str, object]:
        """All that is kept by keys that begin so, and nothing else is read."""

    async def note(self, event: Mapping[str, object]) -> None:
        """Add what has happened to the record of the migration."""
