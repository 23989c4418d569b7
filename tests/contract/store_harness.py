"""What a back end brings to the suite of stores, and what every part of the suite begins with."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Protocol

import pytest

from syncer.model import MetaPath, Revision
from syncer.stores.contract import BatchRefused, Entry, MetadataStore, Put, Write


class OutsideWriter(Protocol):
    """Somebody else who writes to the same store, without conditions and without the adapter's code. Blocking."""

    def put(self, path: str, value: bytes, *, ephemeral: bool = False) -> None:
        """Create or overwrite; the parent exists."""
        ...

    def delete(self, path: str) -> None:
        """Delete an existing path without children."""
        ...

    def close(self) -> None:
        """Leave; ephemeral paths go too."""
        ...


class StoreHarness(Protocol):
    """One back end under test. All calls block."""

    @property
    def prefix(self) -> MetaPath:
        """A path that exists, empty, and that no other test uses."""
        ...

    @property
    def ephemerals(self) -> bool:
        """Whether the store has paths that live as long as their writer."""
        ...

    def make(self, *, hasty: bool = False) -> MetadataStore:
        """Make a new client of the store, not yet open.

        Its deadlines are longer than any answer takes on a starved machine; those of a hasty one are a few seconds.
        """
        ...

    def outside(self) -> OutsideWriter:
        """A new outside writer."""
        ...

    def break_continuity(self) -> None:
        """Make every watch lose changes for sure (cut connection, pruned log); the store works again afterwards."""
        ...

    def stop(self) -> None:
        """Take the store away."""
        ...

    def start(self) -> None:
        """Bring it back with its data."""
        ...


class StoreCase:
    """Open clients and somebody else, for every part of the suite. Subclasses give the fixture ``harness``."""

    @pytest.fixture
    def harness(self) -> StoreHarness:
        """The back end under test."""
        raise NotImplementedError

    @pytest.fixture
    async def store(self, harness: StoreHarness) -> AsyncIterator[MetadataStore]:
        """An open client."""
        store = harness.make()
        await store.open()
        yield store
        await store.close()

    @pytest.fixture
    async def other(self, harness: StoreHarness) -> AsyncIterator[MetadataStore]:
        """A second open client of the same store."""
        store = harness.make()
        await store.open()
        yield store
        await store.close()

    @pytest.fixture
    def outside(self, harness: StoreHarness) -> Iterator[OutsideWriter]:
        """Somebody else."""
        writer = harness.outside()
        yield writer
        writer.close()


def below(harness: StoreHarness, name: str) -> MetaPath:
    return MetaPath(f"{harness.prefix}/{name}")


def known(revision: Revision | None) -> Revision:
    assert revision is not None
    return revision


async def read(store: MetadataStore, path: MetaPath) -> Entry | None:
    return (await store.read([path]))[path]


async def scan(store: MetadataStore, prefix: MetaPath) -> list[Entry]:
    return [entry async for page in store.scan(prefix) for entry in page]


async def fill(store: MetadataStore, paths: Sequence[MetaPath]) -> None:
    size = store.capabilities.max_batch_writes
    for start in range(0, len(paths), size):
        await store.apply([Put(path=path, value=b"x", expected=None) for path in paths[start : start + size]])


async def refused(store: MetadataStore, batch: Sequence[Write], index: int, cause: type[Exception]) -> None:
    with pytest.raises(BatchRefused) as caught:
        await store.apply(batch)
    assert caught.value.index == index
    assert type(caught.value.cause) is cause
    assert str(caught.value.cause)
