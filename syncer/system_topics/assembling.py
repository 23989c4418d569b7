"""A store with the topic policies of a real cluster's system topics beside it, made of settings."""

from __future__ import annotations

from collections.abc import Collection
from typing import cast

from pydantic import BaseModel

from syncer.admin.client import AdminSettings
from syncer.bus.pulsar.client import PulsarBusConfig
from syncer.model import Region
from syncer.stores.contract import MetadataStore
from syncer.system_topics.pulsar import PulsarTopicLogs
from syncer.system_topics.source import SystemTopics
from syncer.system_topics.source_bounds import SourceBounds
from syncer.system_topics.store import with_system_topics
from syncer.system_topics.stored_topics import stored_topics_of

__all__ = ["SourceBounds", "beside"]


def beside(
    store: MetadataStore,
    namespaces: Collection[str],
    region: Region,
    bus: BaseModel,
    admin: AdminSettings,
    *,
    bounds: SourceBounds,
    alone: bool,
    writes: bool,
) -> MetadataStore:
    """The store, with what namespaces keep in system topics.

    Args:
        store: The region's own.
        namespaces: ``TENANT/NAMESPACE`` or ``TENANT/*``.
        region: The region.
        bus: Settings of a bus on Pulsar: the brokers' address and credentials are there.
        admin: Their REST API.
        bounds: How much may be open, and how often is looked.
        alone: The store serves one cluster, so that it can tell of that one's topics.
        writes: Whoever asks may become the region's writer.
    """
    logs = PulsarTopicLogs(region, cast("PulsarBusConfig", bus), admin, stored_topics_of(store) if alone else None)
    return with_system_topics(store, SystemTopics(namespaces, store, logs, bounds), region, writes=writes)
