"""Clients of clusters, made of the configuration: of Pulsar's admin API by table, of what reads load, of topics."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from syncer.admin.calls import AdminCalls
from syncer.admin.client import AdminClient, AdminSettings
from syncer.admin.topic_probe import StoreProbe, TopicProbe
from syncer.admin.topics import ClustersProbe
from syncer.admin.version_probe import NobodyToAsk, VersionProbe
from syncer.balancer.reading.cluster import LoadSources
from syncer.config.clusters import cluster_store, cluster_table
from syncer.config.model import Config
from syncer.config.own_topics import own_topics
from syncer.config.tables import AdminConfig
from syncer.errors import StoreError
from syncer.migration.evidence import ClusterUrls
from syncer.migration.reading.pair import MigrationSide
from syncer.stores.contract import MetadataStore

if TYPE_CHECKING:
    from syncer.balancer.reading.listener import LoadListener

RETRY_READS_FOR: Final = timedelta(seconds=2)
"""How long a migration's read is repeated at once; its controller makes it again."""


@asynccontextmanager
async def broker_probes(config: Config, store: MetadataStore) -> AsyncIterator[tuple[TopicProbe, VersionProbe]]:
    """Whom to ask for topics and for the brokers' versions: the brokers where ``[admin]`` names one.

    Without it the store itself is asked for topics, and nobody for versions.
    """
    if config.admin is None:
        has_brokers = config.store.kind != "sqlite"
        yield StoreProbe(store, has_brokers=has_brokers, serves_one=len(config.clusters) <= 1), NobodyToAsk()
        return
    async with ClustersProbe(admin_settings(config.admin), config.clusters) as probe:
        yield probe, probe


def admin_settings(config: AdminConfig) -> AdminSettings:
    """The admin client's settings."""
    return config.settings()


def cluster_access(config: Config, name: str) -> tuple[AdminSettings, ClusterUrls]:
    """How a cluster is reached that the configuration names, and the addresses that its clients use.

    Args:
        config: The configuration.
        name: Of its table ``[cluster.NAME]``.

    Raises:
        NotFound: There is no such table.
    """
    table = cluster_table(config, name)
    return admin_settings(table.admin), table.urls


@asynccontextmanager
async def migration_sides(
    config: Config, blue: str, green: str, *, retry_for: timedelta
) -> AsyncIterator[tuple[MigrationSide, MigrationSide]]:
    """Both clusters of a migration, by the names of their tables; nothing is asked yet.

    Args:
        config: The configuration.
        blue: Name of a table.
        green: Name of another.
        retry_for: How long a read is repeated where nobody answers.

    Raises:
        NotFound: There is no such table.
        ConfigError: A certificate or key that a table names cannot be loaded.
    """
    (here, here_urls), (there, there_urls) = cluster_access(config, blue), cluster_access(config, green)
    patience = {"retry_for": retry_for}
    async with (
        AdminClient(here.model_copy(update=patience)) as first,
        AdminClient(there.model_copy(update=patience)) as second,
    ):
        yield (
            MigrationSide(table=blue, calls=first, urls=here_urls),
            MigrationSide(table=green, calls=second, urls=there_urls),
        )


@asynccontextmanager
async def load_sources(config: Config, name: str, *, retry_for: timedelta) -> AsyncIterator[LoadSources]:
    """Sources of a cluster's load: its store, open, the region's where that is another, and its brokers.

    Args:
        config: The configuration.
        name: Of the table ``[cluster.NAME]``.
        retry_for: How long a read is repeated where no broker answers.

    Raises:
        NotFound: There is no such table.
        ConfigError: Settings of the store, a certificate or a key cannot be used.
    """
    settings, _ = cluster_access(config, name)
    store, regions = cluster_store(config, name), None
    if config.cluster[name].store is not None:
        regions = config.make_plain_store()
    async with AsyncExitStack() as stack:
        calls = await stack.enter_async_context(AdminClient(settings.model_copy(update={"retry_for": retry_for})))
        own, trouble = await _opened(store, stack)
        further = None if regions is None else (await _opened(regions, stack))[0]
        yield LoadSources(
            table=name,
            calls=calls,
            store=own,
            configuration=() if further is None else (further,),
            configuration_whole=regions is None or further is not None,
            trouble=trouble,
        )


async def _opened(store: MetadataStore, stack: AsyncExitStack) -> tuple[MetadataStore | None, StoreError | None]:
    """The store, open until the stack is left; or why it could not be opened."""
    stack.push_async_callback(store.close)
    try:
        await store.open()
    except StoreError as exc:
        return None, exc
    return store, None


class ConfiguredClusters:
    """The clusters that a daemon's configuration names, for what it carries out and records of them."""

    def __init__(self, config: Config) -> None:
        self._config = config

    def sides(self, blue: str, green: str) -> AbstractAsyncContextManager[tuple[MigrationSide, MigrationSide]]:
        """Both clusters; nothing is asked yet."""
        return migration_sides(self._config, blue, green, retry_for=RETRY_READS_FOR)

    @asynccontextmanager
    async def calls(self, table: str) -> AsyncIterator[AdminCalls]:
        """The admin API of a cluster; nothing is asked yet."""
        settings, _ = cluster_access(self._config, table)
        async with AdminClient(settings.model_copy(update={"retry_for": RETRY_READS_FOR})) as client:
            yield client

    def sources(self, table: str) -> AbstractAsyncContextManager[LoadSources]:
        """What a cluster's load is read from."""
        return load_sources(self._config, table, retry_for=RETRY_READS_FOR)

    def listener(self, table: str) -> LoadListener:
        """A listener to the load topics of a cluster; nothing is connected yet."""
        from syncer.balancer.reading.listener import listener_to  # noqa: PLC0415 - it loads Pulsar's client

        settings, urls = cluster_access(self._config, table)
        return listener_to(urls.pulsar or urls.pulsar_ssl, settings)

    def own_topics(self) -> frozenset[str]:
        """Topics of the daemons' own bus."""
        return own_topics(self._config)
