"""Topics of a namespace as its own store has them: where brokers list them from, so that no broker need be asked.

Source: ``TopicResources.listPersistentTopicsAsync`` of Pulsar 4.0.8 to 5.0.0-M1: the children of
``/managed-ledgers/TENANT/NAMESPACE/persistent``, their names encoded (``Codec``).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final
from urllib.parse import unquote_plus

import orjson

from syncer.admin.topic_probe import keeps_topics
from syncer.model import MetaPath
from syncer.paths import MANAGED_LEDGERS
from syncer.stores.contract import Entry, MetadataStore, TellsNames

FORESEEN_S: Final = 2.0
"""How long names count that were read before they were asked for."""


class StoredTopics:
    """The topics of one cluster, as its store has them.

    Args:
        store: The region's store, which serves one cluster; it may keep no topics, as a configuration store does.
        telling: The same, which can tell what stands right below paths.
    """

    def __init__(self, store: MetadataStore, telling: TellsNames) -> None:
        self._store = store
        self._telling = telling
        self._keeps_topics = False
        self._foreseen: dict[str, tuple[float, Sequence[str]]] = {}
        """When the names of namespaces were read, and they."""

    async def topics(self, namespace: str) -> list[str] | None:
        """Full names of a namespace's persistent topics, partitions each for itself, those of brokers too.

        Returns:
            ``None``: the cluster keeps its topics elsewhere.

        Raises:
            StoreError: The store does not answer.
        """
        if not await self._are_here():
            return None
        at, names = self._foreseen.pop(namespace, (float("-inf"), ()))
        if time.monotonic() - at > FORESEEN_S:
            names = (await self._names([namespace]))[namespace]
        return [f"persistent://{namespace}/{unquote_plus(name)}" for name in names]

    async def foresee(self, namespaces: Sequence[str]) -> None:
        """Read the names of a few namespaces at once; each counts once, and for a moment.

        Raises:
            StoreError: The store does not answer.
        """
        if await self._are_here():
            found = await self._names(namespaces)
            now = time.monotonic()
            kept = {name: told for name, told in self._foreseen.items() if now - told[0] <= FORESEEN_S}
            self._foreseen = kept | {name: (now, names) for name, names in found.items()}

    async def _are_here(self) -> bool:
        if not self._keeps_topics:
            self._keeps_topics = await keeps_topics(self._store)
        return self._keeps_topics

    async def _names(self, namespaces: Sequence[str]) -> dict[str, Sequence[str]]:
        folders = {MetaPath(f"{MANAGED_LEDGERS}/{each}/persistent"): each for each in namespaces}
        found = await self._telling.names(list(folders))
        return {namespace: found[folder] for folder, namespace in folders.items()}


def stored_topics_of(store: MetadataStore) -> StoredTopics | None:
    """The topics that a store tells of; ``None``: it tells no names."""
    return StoredTopics(store, store) if isinstance(store, TellsNames) else None


def clusters_of(entry: Entry) -> int:
    """Clusters that a namespace is replicated to; a value that says nothing of them counts as one."""
    try:
        named = orjson.loads(entry.value).get("replication_clusters")
    except (orjson.JSONDecodeError, AttributeError):
        return 1
    return len(named) if isinstance(named, list) else 1
