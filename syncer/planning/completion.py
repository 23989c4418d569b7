"""Completion of what is read of a region's store: brokers drop what they do not know, and its daemon keeps it.

Where the daemon's database is not at hand, nothing is completed, and what the store lacks of fields that not every
version of Pulsar knows is unknown, not removed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Final, Protocol

import anyio.to_thread

from syncer.conflict.completing import completed_value
from syncer.conflict.fields.kept import KeptFields
from syncer.conflict.fields.own import limited, localized
from syncer.conflict.projection import parse, stored
from syncer.conflict.settings import NOTHING, nothing_excluded
from syncer.errors import ValueInvalid
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
        excluded: Fields that are the region's own at a path.
        own: The values of these are kept as the store holds them, and not as the group does.

    Attributes:
        excluded: The same.
        trouble: The same; empty: what is completed is all that the region goes by.
    """

    def __init__(
        self,
        keeps: KeepsFields | None = None,
        trouble: str = "",
        *,
        drops: bool = True,
        excluded: Callable[[MetaPath], frozenset[str]] = nothing_excluded,
        own: bool = False,
    ) -> None:
        self._keeps = keeps
        self.excluded = excluded
        self._own = own
        self.trouble = "" if keeps is not None or not drops else trouble or NOT_AT_HAND

    async def of(self, values: Mapping[MetaPath, bytes]) -> dict[MetaPath, bytes]:
        """Stored values with the kept fields that they lack.

        Raises:
            StateError: The database cannot be read any more.
        """
        return await self._completed(values, nothing_excluded if self._own else self.excluded)

    async def in_group(self, values: Mapping[MetaPath, bytes]) -> dict[MetaPath, bytes]:
        """The same as the group goes by them, as far as the database tells its values. Raises like :meth:`of`."""
        return await self._completed(values, self.excluded)

    @property
    def own_values(self) -> bool:
        """Whether :meth:`of` leaves excluded fields as the store holds them everywhere."""
        return self._own or self._keeps is None

    async def own(self, paths: Collection[MetaPath]) -> dict[MetaPath, frozenset[str]]:
        """The excluded fields of some paths that :meth:`of` leaves as the store holds them. Raises like :meth:`of`.

        Where the group's values are wanted, these are the fields of which the database does not tell one: the path was
        not read by the rules of now yet, or was made here, and the group was told nothing.
        """
        names = {path: found for path in paths if (found := self.excluded(path))}
        if self._keeps is None or self._own or not names:
            return names
        kept = await anyio.to_thread.run_sync(partial(self._keeps.kept_at, frozenset(names)))
        told = {path: frozenset(fields.excluded) - frozenset(fields.untold) for path, fields in kept.items()}
        left = {path: found - told.get(path, NOTHING) for path, found in names.items()}
        return {path: found for path, found in left.items() if found}

    async def _completed(
        self, values: Mapping[MetaPath, bytes], in_group: Callable[[MetaPath], frozenset[str]]
    ) -> dict[MetaPath, bytes]:
        whole = dict(values)
        if self._keeps is not None and whole:
            kept = await anyio.to_thread.run_sync(partial(self._keeps.kept_at, frozenset(whole)))
            for path, fields in kept.items():
                whole[path] = completed_value(path, whole[path], limited(fields, in_group(path)))
        return whole

    def written(self, path: MetaPath, value: bytes, present: bytes | None) -> bytes:
        """A value as it is to stand in the store: fields that are the region's own stay as they are there.

        Args:
            path: Where.
            value: The group's.
            present: What the store holds; ``None``: nothing, and all of the value is taken.
        """
        names = self.excluded(path)
        if not names or present is None:
            return value
        try:
            return stored(localized(parse(value), parse(present), names))
        except ValueInvalid:
            return value

    def close(self) -> None:
        """Let go of the database."""
        if self._keeps is not None:
            self._keeps.close()
