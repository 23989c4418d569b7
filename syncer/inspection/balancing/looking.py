"""Looking: the picture of a cluster that every answer of the balancer begins with.

The load topics of the extensible manager keep nothing: who wants to know what its brokers report has to hear them for a
while. The modular manager's reports lie in the store.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final

import anyio
import anyio.to_thread

from syncer.balancer.picture import LoadManager
from syncer.balancer.reading.cluster import owners_in_store, read_picture
from syncer.balancer.reading.listener import listener_to
from syncer.balancer.reading.properties import read_properties
from syncer.balancer.reading.topic_names import topic_names
from syncer.config.admin_clients import cluster_access, load_sources
from syncer.inspection.balancing.recorded import RecordedLoad, recorded_for

if TYPE_CHECKING:
    from syncer.balancer.decoding.records import LoadRecords
    from syncer.balancer.picture import Known, LoadPicture
    from syncer.balancer.settings import Properties
    from syncer.config import Config
    from syncer.inspection.balancing.questions import LookWish

RETRY_FOR: Final = timedelta(seconds=2)
"""How long a broker that does not answer is asked again: an operator waits for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterLook:
    """A cluster as it was seen.

    Args:
        table: Name of its table in the configuration.
        picture: Of its load.
        properties: Each broker's runtime configuration, where it was asked for.
        names: Of its topics, where they were asked for, and all could be read.
        recorded: What of the history of its load was asked for.
    """

    table: str
    picture: LoadPicture
    properties: Mapping[str, Known[Properties]] = field(default_factory=dict)
    names: Known[frozenset[str]] | None = None
    recorded: RecordedLoad = field(default_factory=RecordedLoad)


async def look_at(config: Config, wish: LookWish) -> ClusterLook:
    """Look at a cluster.

    Args:
        config: Of the region.
        wish: At which one, and how.

    Raises:
        NotFound: There is no such table.
        ConfigError: Its files cannot be used.
        StoreError: The store did not answer, and no broker either.
        AdminError: No broker answered, and there is no store.
        HistoryError: Samples are wished for, and there are none, or they cannot be read.
    """
    recorded = await anyio.to_thread.run_sync(recorded_for, config, wish)
    async with load_sources(config, wish.table, retry_for=RETRY_FOR) as sources:
        picture = await read_picture(sources, _now_ms(), topics=wish.topics, ask=not wish.listen_s)
        if picture.manager is LoadManager.EXTENSIBLE and wish.listen_s:
            heard = await _heard(config, wish, channel=not owners_in_store(picture))
            picture = await read_picture(replace(sources, records=heard), _now_ms(), topics=wish.topics)
        told: Mapping[str, Known[Properties]] = {}
        if wish.properties:
            told = await read_properties(sources.calls, picture.registered, picture.taken_ms)
        known = wish.names and sources.configuration_whole
        names = await topic_names(sources.store, sources.configuration) if known else None
        return ClusterLook(table=wish.table, picture=picture, properties=told, names=names, recorded=recorded)


async def _heard(config: Config, wish: LookWish, *, channel: bool) -> LoadRecords:
    """Hear the load topics of a cluster for a while, and its channel where owners are told there."""
    settings, urls = cluster_access(config, wish.table)
    async with listener_to(urls.pulsar or urls.pulsar_ssl, settings, channel=channel) as listener:
        await anyio.sleep(wish.listen_s)
        return await listener.heard()


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
