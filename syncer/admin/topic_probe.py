"""The contract of topic checks: a namespace or a partitioned topic is asked for topics before it is deleted."""

from __future__ import annotations

from typing import Final, Protocol

from syncer.admin.scalable_topics import SCALABLE, record_path
from syncer.conflict.guards import Topics
from syncer.errors import SyncerError
from syncer.model import MetaPath, ResourceKind
from syncer.paths import MANAGED_LEDGERS, classify
from syncer.stores.contract import MetadataStore

BOOKKEEPER_NODES: Final = (MetaPath("/ledgers/LAYOUT"), MetaPath("/ledgers/INSTANCEID"))


async def keeps_topics(store: MetadataStore) -> bool:
    """Whether a store is where brokers keep their topics, and not a configuration store alone.

    Raises:
        StoreError: It does not answer.
    """
    return any((await store.read(BOOKKEEPER_NODES)).values())


class TopicProbe(Protocol):
    """Tells whether topics exist below a path."""

    async def ask(self, path: MetaPath) -> Topics:
        """Answer for one path; what cannot be asked is :attr:`Topics.CANNOT_ASK`, never an exception."""
        ...


class StoreProbe:
    """Asks the watched store itself: a cluster keeps its topics under ``/managed-ledgers`` when it shares that store.

    Args:
        store: The watched store.
        has_brokers: Brokers live on such stores, so one without BookKeeper's own nodes is only a configuration store,
            and cannot be asked. An embedded store has no brokers: what is not there does not exist.
        serves_one: It serves one cluster at most. Of several, only one can keep its topics here, and that there are
            none here says nothing about the others'.
    """

    def __init__(self, store: MetadataStore, *, has_brokers: bool, serves_one: bool = True) -> None:
        self._store = store
        self._has_brokers = has_brokers
        self._serves_one = serves_one

    async def ask(self, path: MetaPath) -> Topics:
        """Look for managed ledgers below the namespace, or of the partitions of the topic."""
        try:
            if self._has_brokers and not await keeps_topics(self._store):
                return Topics.CANNOT_ASK
            if (scalable := await self._scalable(path)) is not None:
                return scalable
            for prefix, partition_of in ledger_prefixes(path):
                async for page in self._store.scan(prefix):
                    if any(_is_topic(entry.path, prefix, partition_of) for entry in page):
                        return Topics.SOME
        except SyncerError:
            return Topics.CANNOT_ASK
        return Topics.NONE if self._serves_one or not self._has_brokers else Topics.CANNOT_ASK

    async def _scalable(self, path: MetaPath) -> Topics | None:
        """What scalable topics say: one of the topic's name, or some in the namespace; ``None``: there is none."""
        if not self._has_brokers:
            return None
        record = record_path(path)
        if record is not None:
            return Topics.SCALABLE if (await self._store.read([record]))[record] is not None else None
        resource = classify(path)
        if resource is None or resource.kind is not ResourceKind.NAMESPACE:
            return None
        prefix = MetaPath(f"{SCALABLE}/{resource.name}")
        async for page in self._store.scan(prefix):
            if any(len(entry.path) > len(prefix) for entry in page):
                return Topics.SOME
        return None


def ledger_prefixes(path: MetaPath) -> tuple[tuple[MetaPath, str | None], ...]:
    """Where the managed ledgers of a resource's topics live, with the encoded name of a partitioned topic."""
    resource = classify(path)
    if resource is None:
        return ()
    segments = path.split("/")
    if resource.kind is ResourceKind.NAMESPACE:
        return ((MetaPath(f"{MANAGED_LEDGERS}/{segments[3]}/{segments[4]}"), None),)
    if resource.kind is ResourceKind.PARTITIONED_TOPIC:
        tenant, namespace, domain, topic = segments[3:7]
        return ((MetaPath(f"{MANAGED_LEDGERS}/{tenant}/{namespace}/{domain}"), topic),)
    return ()


def _is_topic(path: str, prefix: str, partition_of: str | None) -> bool:
    """Whether a node below the prefix is a topic's managed ledger: no inner node, no cursor, of no other topic."""
    below = path[len(prefix) + 1 :].split("/") if len(path) > len(prefix) else []
    if partition_of is None:
        return len(below) >= 2
    return bool(below) and (below[0] == partition_of or below[0].startswith(f"{partition_of}-partition-"))
