"""Completion of what is read of a region's store: brokers drop what they do not know, and its daemon keeps it.

Where the daemon's database is not at hand, nothing is completed, and what the store lacks of fields that not every
version of Pulsar knows is unknown, not removed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial
from typing import Final, Protocol

import anyio.to_thread

from syncer.conflict.completing import completed_value
from syncer.conflict.fields.kept import KeptFields
from syncer.model import MetaPath

NOT_AT_HAND: Final = "its daemon's database was not at hand"


class KeepsFields(Protocol):
    """A daemon's database, as far as it completes what is read."""

    def kept_at(self, paths: Collection[MetaPath]) -> dict[MetaPath, KeptFields]:
        """Kept fields of some paths, as far as the store lacks any there."""
        ...

    def close(self) -> None:
        """Let go of the database."""
        ...


class Completion:
    """Completes what is read of one region's store.

    Args:
        keeps: The database of its daemon; ``None``: it is not at hand.
        trouble: Why it is not.
        drops: Whether the region has brokers that may drop fields; where it has none, a store is whole by itself.

    Attributes:
        trouble: The same; empty: what is completed is all that the region goes by.
    """

    def __init__(self, keeps: KeepsFields | None = None, trouble: str = "", *, drops: bool = True) -> None:
        self._keeps = keeps
        self.trouble = "" if keeps is not None or not drops else trouble or NOT_AT_HAND

    async def of(self, values: Mapping[MetaPath, bytes]) -> dict[MetaPath, bytes]:
        """Stored values with the kept fields that they lack.

        Raises:
            StateError: The database cannot be read any more.
        """
        whole = dict(values)
        if self._keeps is not None and whole:
            kept = await anyio.to_thread.run_sync(partial(self._keeps.kept_at, frozenset(whole)))
            whole.update((path, completed_value(path, whole[path], fields)) for path, fields in kept.items())
        return whole

    def close(self) -> None:
        """Let go of the database."""
        if self._keeps is not None:
            self._keeps.close()
