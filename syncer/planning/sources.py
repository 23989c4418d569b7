"""Sides of a comparison: each gives fingerprints of all it holds, and values on demand."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from typing import Final, Protocol

from syncer.conflict.scope import Scope
from syncer.conflict.withholding import carried_value
from syncer.model import Digest, MetaPath, Region
from syncer.plan.diffing import fingerprint
from syncer.planning.completion import Completion
from syncer.planning.first_form import FirstFormSeen
from syncer.stores.contract import Entry, MetadataStore

Complete = Callable[[Mapping[MetaPath, bytes]], Awaitable[dict[MetaPath, bytes]]]
READ_PATHS: Final = 500
"""Paths of one read: bounds the memory of an answer."""


class Side(Protocol):
    """One side of a comparison."""

    @property
    def name(self) -> str:
        """What it is, for people."""
        ...

    @property
    def region(self) -> Region:
        """Whose resources these are."""
        ...

    @property
    def scope(self) -> Scope:
        """What it covers: a path outside may exist there or not, nobody has looked."""
        ...

    @property
    def trouble(self) -> str:
        """Why its values are not completed, so that newer fields that they lack are unknown; empty: they are."""
        ...

    @property
    def own_values(self) -> bool:
        """Whether its values of excluded fields are the store's own everywhere, and not the group's."""
        ...

    def excluded(self, path: MetaPath) -> frozenset[str]:
        """The fields that are this side's own at a path: no plan for it changes them."""
        ...

    async def own(self, paths: Collection[MetaPath]) -> dict[MetaPath, frozenset[str]]:
        """The fields of some paths whose values here are the side's own, and say nothing about the group's."""
        ...

    @property
    def first_form(self) -> FirstFormSeen | None:
        """Namespaces of the first form, which nothing carries; as of the last picture. ``None``: nobody has looked."""
        ...

    async def picture(self) -> dict[MetaPath, Digest]:
        """Fingerprints of all resources in scope."""
        ...

    async def values(self, paths: Collection[MetaPath]) -> dict[MetaPath, bytes]:
        """Values of some of them, read anew; what does not exist is left out."""
        ...


class LiveSide:
    """A region by its store. The store is open and stays the caller's.

    Args:
        store: Of the region.
        region: Its id.
        scope: What takes part.
        completion: Of what is read; without it values are as their brokers left them.
    """

    def __init__(
        self, store: MetadataStore, region: Region, scope: Scope, completion: Completion | None = None
    ) -> None:
        self._store = store
        self._completion = completion or Completion()
        self.region = region
        self.scope = scope
        self.first_form: FirstFormSeen | None = None

    @property
    def name(self) -> str:
        """What it is, for people."""
        return f"region {self.region}"

    @property
    def trouble(self) -> str:
        """Why its values are not completed."""
        return self._completion.trouble

    @property
    def own_values(self) -> bool:
        """Whether the group's values of excluded fields are not looked for, or not at hand."""
        return self._completion.own_values

    def excluded(self, path: MetaPath) -> frozenset[str]:
        """The fields that are this region's own at a path."""
        return self._completion.excluded(path)

    async def own(self, paths: Collection[MetaPath]) -> dict[MetaPath, frozenset[str]]:
        """Those of some paths whose values are the store's."""
        return await self._completion.own(paths)

    async def picture(self) -> dict[MetaPath, Digest]:
        """Scan the scope, as the group goes by it; memory holds a page of values at a time."""
        found: dict[MetaPath, Digest] = {}
        met = FirstFormSeen()
        async for page in self._pages(self._completion.in_group, met):
            found.update((path, fingerprint(path, value)) for path, value in page)
        self.first_form = met
        return found

    def pages(self) -> AsyncIterator[list[tuple[MetaPath, bytes]]]:
        """Every resource in scope with its value, in bounded pages; one that changes meanwhile may come twice."""
        return self._pages(self._completion.of)

    async def values(self, paths: Collection[MetaPath]) -> dict[MetaPath, bytes]:
        """Read some paths anew."""
        return await self._values(paths, self._completion.of)

    async def in_group(self, paths: Collection[MetaPath]) -> dict[MetaPath, bytes]:
        """The same as the group goes by them, also where the side's values of excluded fields are the store's own."""
        return await self._values(paths, self._completion.in_group)

    async def _pages(
        self, complete: Complete, met: FirstFormSeen | None = None
    ) -> AsyncIterator[list[tuple[MetaPath, bytes]]]:
        for prefix in self.scope.prefixes:
            async for entries in self._store.scan(prefix):
                if met is not None:
                    for entry in entries:
                        met.look_at(entry.path)
                found = {
                    entry.path: entry.value for entry in entries if self.scope.contains(entry.path) and held(entry)
                }
                if found:
                    yield await self._read(found, complete)

    async def _values(self, paths: Collection[MetaPath], complete: Complete) -> dict[MetaPath, bytes]:
        found: dict[MetaPath, bytes] = {}
        ordered = sorted(paths)
        for start in range(0, len(ordered), READ_PATHS):
            entries = await self._store.read(ordered[start : start + READ_PATHS])
            there = {path: entry.value for path, entry in entries.items() if entry is not None and held(entry)}
            found.update(await self._read(there, complete))
        return found

    async def _read(self, values: Mapping[MetaPath, bytes], complete: Complete) -> list[tuple[MetaPath, bytes]]:
        whole = await complete(values)
        return [(path, carried_value(path, value)) for path, value in whole.items()]


def held(entry: Entry) -> bool:
    """Whether an entry is a resource's value: an empty inner node holds nothing, an ephemeral one is a session's."""
    return bool(entry.value) and not entry.ephemeral


def value_of(entries: Mapping[MetaPath, Entry | None], path: MetaPath) -> bytes | None:
    """The value that a read found at a path."""
    entry = entries.get(path)
    return entry.value if entry is not None and held(entry) else None
