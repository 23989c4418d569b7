"""Clusters by name: their tables, and each one's own metadata store, where load and ownership lie."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel

from syncer.config import adapters
from syncer.config.cluster_table import ClusterConfig
from syncer.config.model import Config, in_ms
from syncer.errors import NotFound
from syncer.ledgers.auditing.spreading import PlacementRules
from syncer.ledgers.placement.adherence import RackPolicy
from syncer.ledgers.recurring.taken import AuditSchedule
from syncer.stores.contract import MetadataStore

if TYPE_CHECKING:
    from syncer.balancer.recording.recorder import Recording

STORE: Final = "store"


def cluster_table(config: Config, name: str) -> ClusterConfig:
    """Find the table of a cluster.

    Args:
        config: The configuration.
        name: Of its table ``[cluster.NAME]``.

    Raises:
        NotFound: There is no such table.
    """
    table = config.cluster.get(name)
    if table is None:
        known = f"The configuration has: {', '.join(sorted(config.cluster))}" if config.cluster else "It has none yet"
        raise NotFound(
            f"the configuration has no table [cluster.{name}]",
            hint=f"{known}; 'syncer init --stdout' shows how one is written.",
        )
    return table


def cluster_store(config: Config, name: str) -> MetadataStore:
    """Make a cluster's own store, not yet opened: that of its table, or else the region's.

    Args:
        config: The configuration.
        name: Of the table ``[cluster.NAME]``.

    Raises:
        NotFound: There is no such table.
        ConfigError: The adapter is none, its settings are wrong, or a file that they name cannot be read.
    """
    return adapters.make_store(*cluster_store_settings(config, name))


def cluster_store_settings(config: Config, name: str) -> tuple[str, BaseModel]:
    """Find the kind and the settings of a cluster's own store; arguments and errors as of :func:`cluster_store`."""
    table = cluster_table(config, name).store
    if table is None:
        return config.store.kind, config.store_settings
    defaults = {"region": config.region}
    return table.kind, adapters.settings_of(f"cluster.{name}.store", table.group, table.raw, defaults)


def history_file(config: Config, name: str) -> Path:
    """Name the file of the history of a cluster's load, whether it is there or not.

    Args:
        config: The configuration.
        name: Of the table ``[cluster.NAME]``.

    Raises:
        NotFound: There is no such table.
    """
    own = cluster_table(config, name).history
    if own is not None and own.path is not None:
        return own.path
    return config.state.path.parent / f"load-history-{name}.sqlite"


def recorded_clusters(config: Config) -> list[str]:
    """Name the clusters whose load is recorded.

    Args:
        config: The configuration.
    """
    return [name for name, table in config.cluster.items() if table.history is not None and table.history.enabled]


def recordings(config: Config) -> list[Recording]:
    """Say of which clusters the load is recorded, and how.

    Args:
        config: The configuration.
    """
    from syncer.balancer.recording.recorder import Recording  # noqa: PLC0415 - whoever asks for a store needs no recorder

    own = {name: config.cluster[name].history for name in recorded_clusters(config)}
    return [
        Recording(table=name, path=history_file(config, name), every_s=each.every.total_seconds(), bounds=each.bounds)
        for name, each in own.items()
        if each is not None
    ]


def audit_schedules(config: Config) -> list[AuditSchedule]:
    """Say which clusters' ledgers are audited on schedule, and how.

    Args:
        config: The configuration.
    """
    return [
        AuditSchedule(
            table=name,
            every_ms=in_ms(own.every),
            keep=own.keep,
            within_s=own.time_limit.total_seconds(),
            max_reads_per_s=own.max_reads_per_s,
            root=own.ledgers_root,
        )
        for name, table in config.cluster.items()
        if (own := table.audits) is not None and own.enabled
    ]


def placement_rules(config: Config, name: str) -> PlacementRules:
    """How a cluster's brokers place ledgers.

    Args:
        config: The configuration.
        name: Of the table ``[cluster.NAME]``.

    Raises:
        NotFound: There is no such table.
    """
    own = cluster_table(config, name).placement
    return PlacementRules(
        policy=RackPolicy(min_racks=own.min_racks, enforced=own.enforced), regions=own.over == "regions"
    )


def store_settings_by_cluster(config: Config) -> dict[str, tuple[str, BaseModel]]:
    """Check the settings of each cluster that has a store of its own: name → kind and settings.

    Args:
        config: The configuration.
    """
    return {
        name: cluster_store_settings(config, name) for name, table in config.cluster.items() if table.store is not None
    }


def raw_stores(values: Mapping[str, Any]) -> dict[tuple[str, ...], object]:
    """Find the tables of clusters' stores in a configuration as read: field → table.

    Args:
        values: The configuration, which may be wrong in any way.
    """
    clusters = values.get("cluster")
    if not isinstance(clusters, Mapping):
        return {}
    return {
        ("cluster", str(name), STORE): table[STORE]
        for name, table in clusters.items()
        if isinstance(table, Mapping) and STORE in table
    }
