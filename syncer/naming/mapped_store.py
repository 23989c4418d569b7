"""A store read and written by the group's names of clusters, whatever its brokers call them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence

from syncer.model import MetaPath
from syncer.naming.cluster_names import ClusterNames
from syncer.replacing import replace
from syncer.stores.contract import (
    Capabilities,
    Changed,
    Entry,
    MetadataStore,
    PartlyRead,
    Put,
    TellsNames,
    WatchSignal,
    Write,
    Written,
    read_answerable,
)
from syncer.stores.topic_policies import OvertakenPolicies, TellsTopicPolicies, TopicPoliciesStanding


class MappedStore:
    """Implements :class:`syncer.stores.contract.MetadataStore` over another one.

    Args:
        store: The store.
        names: Of its clusters.
    """

    def __init__(self, store: MetadataStore, names: ClusterNames) -> None:
        self._store = store
        self._names = names

    @property
    def capabilities(self) -> Capabilities:
        """Those of the store."""
        return self._store.capabilities

    async def open(self) -> None:
        """Connect."""
        await self._store.open()

    async def close(self) -> None:
        """Disconnect."""
        await self._store.close()

    async def read(self, paths: Sequence[MetaPath]) -> Mapping[MetaPath, Entry | None]:
        """Read many paths, in the order given."""
        here = {self._names.path_here(path): path for path in paths}
        found = await self._store.read(list(here))
        return {path: self._entry(found[each]) for each, path in here.items()}

    async def read_partly(self, paths: Sequence[MetaPath]) -> PartlyRead:
        """Read what the store can tell of, in the order given."""
        here = {self._names.path_here(path): path for path in paths}
        found, withheld, undecided = await read_answerable(self._store, list(here))
        return PartlyRead(
            {path: self._entry(found[each]) for each, path in here.items() if each in found},
            {here[each]: why for each, why in withheld.items()},
            {here[each]: self._entry(last) for each, last in undecided.items()},
        )

    async def apply(self, writes: Sequence[Write]) -> tuple[Written, ...]:
        """Apply all writes as one transaction, or none."""
        written = await self._store.apply([self._write(each) for each in writes])
        return tuple(replace(each, path=self._names.path_in_group(each.path)) for each in written)

    async def scan(self, prefix: MetaPath) -> AsyncIterator[tuple[Entry, ...]]:
        """Stream the entry at a prefix and all below."""
        async for page in self._store.scan(self._names.path_here(prefix)):
            yield tuple(entry for each in page if (entry := self._entry(each)) is not None)

    async def watch(self, prefixes: Sequence[MetaPath]) -> AsyncIterator[WatchSignal]:
        """Report changes at and below the prefixes."""
        async for signal in self._store.watch([self._names.path_here(each) for each in prefixes]):
            if isinstance(signal, Changed):
                yield Changed(tuple(map(self._names.path_in_group, signal.paths)), signal.marks)
            else:
                yield signal

    def topic_policies(self) -> TopicPoliciesStanding | None:
        """How topic policies in system topics fare, where the store keeps some there."""
        return self._store.topic_policies() if isinstance(self._store, TellsTopicPolicies) else None

    def take_overtaken(self) -> Sequence[OvertakenPolicies]:
        """What was overtaken in them, by the group's names."""
        if not isinstance(self._store, TellsTopicPolicies):
            return ()
        taken = self._store.take_overtaken()
        return [
            replace(each, value=self._names.value_in_group(each.path, each.value)) if each.value is not None else each
            for each in taken
        ]

    def put_back(self, overtaken: Sequence[OvertakenPolicies]) -> None:
        """What could not be kept is told again."""
        if isinstance(self._store, TellsTopicPolicies):
            self._store.put_back(
                [
                    replace(each, value=self._names.value_here(each.path, each.value))
                    if each.value is not None
                    else each
                    for each in overtaken
                ]
            )

    def _entry(self, entry: Entry | None) -> Entry | None:
        if entry is None:
            return None
        value = self._names.value_in_group(entry.path, entry.value)
        path = self._names.path_in_group(entry.path)
        return entry if path == entry.path and value is entry.value else replace(entry, path=path, value=value)

    def _write(self, write: Write) -> Write:
        path = self._names.path_here(write.path)
        if not isinstance(write, Put):
            return replace(write, path=path)
        scaffold = tuple(map(self._names.path_here, write.scaffold))
        return replace(write, path=path, value=self._names.value_here(write.path, write.value), scaffold=scaffold)


class MappedNamesStore(MappedStore):
    """The same over a store that can tell what stands right below paths.

    Args:
        store: The store.
        names: Of its clusters.
        telling: The store, which can.
    """

    def __init__(self, store: MetadataStore, names: ClusterNames, telling: TellsNames) -> None:
        super().__init__(store, names)
        self._telling = telling

    async def names(self, paths: Sequence[MetaPath]) -> Mapping[MetaPath, Sequence[str]]:
        """The names one step below each path; none where nothing is."""
        here = {self._names.path_here(path): path for path in paths}
        found = await self._telling.names(list(here))
        return {path: self._below(path, found[each]) for each, path in here.items()}

    def _below(self, path: MetaPath, names: Sequence[str]) -> Sequence[str]:
        steps = [self._names.path_in_group(MetaPath(f"{path}/{name}")) for name in names]
        return [step.rpartition("/")[2] for step in steps]


def mapped(store: MetadataStore, names: ClusterNames) -> MetadataStore:
    """The store by the group's names; itself, where they are the same."""
    if not names:
        return store
    if isinstance(store, TellsNames):
        return MappedNamesStore(store, names, store)
    return MappedStore(store, names)
