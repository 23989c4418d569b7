"""Sides of a comparison: each gives fingerprints of all it holds, and values on demand."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping
from typing import Final, Protocol

from syncer.conflict.scope import Scope
from syncer.conflict.withholding import carried_value
from syncer.model import Digest, MetaPath, Region
from syncer.plan.diffing import fingerprint
from syncer.stores.contract import Entry, MetadataStore

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

    async def picture(self) -> dict[MetaPath, Digest]:
        """Fingerprints of all resources in scope."""
        ...

    async def values(self, paths: Collection[MetaPath]) -> dict[MetaPath, bytes]:
        """Values of some of them, read anew; what does not exist is left out."""
        ...


class LiveSide:
    """A region by its store. The store is open and stays the caller's."""

    def __init__(self, store: MetadataStore, region: Region, scope: Scope) -> None:
        self._store = store
        self.region = region
        self.scope = scope

    @property
    def name(self) -> str:
        """What it is, for people."""
        return f"region {self.region}"

    async def picture(self) -> dict[MetaPath, Digest]:
        """Scan the scope; memory holds a page of values at a time."""
        found: dict[MetaPath, Digest] = {}
        async for page in self.pages():
            found.update((path, fingerprint(path, value)) for path, value in page)
        return found

    async def pages(self) -> AsyncIterator[list[tuple[MetaPath, bytes]]]:
        """Every resource in scope with its value, in bounded pages; one that changes meanwhile may come twice."""
        for prefix in self.scope.prefixes:
            async for entries in self._store.scan(prefix):
                page = [
                    (entry.path, carried_value(entry.path, entry.value))
                    for entry in entries
                    if self.scope.contains(entry.path) and held(entry)
                ]
                if page:
                    yield page

    async def values(self, paths: Collection[MetaPath]) -> dict[MetaPath, bytes]:
        """Read some paths anew."""
        found: dict[MetaPath, bytes] = {}
        ordered = sorted(paths)
        for start in range(0, len(ordered), READ_PATHS):
            entries = await self._store.read(ordered[start : start + READ_PATHS])
            found.update(
                (path, carried_value(path, entry.value))
                for path, entry in entries.items()
                if entry is not None and held(entry)
            )
        return found


def held(entry: Entry) -> bool:
    """Whether an entry is a resource's value: an empty inner node holds nothing, an ephemeral one is a session's."""
    return bool(entry.value) and not entry.ephemeral


def value_of(entries: Mapping[MetaPath, Entry | None], path: MetaPath) -> bytes | None:
    """The value that a read found at a path."""
    entry = entries.get(path)
    return entry.value if entry is not None and held(entry) else None
