"""Reading load, ownership and constraints by scan of a cluster's metadata store; nothing is watched.

A scan that breaks off leaves what it has read; that a bundle has no owner, or a cluster no policy, is believed only
after a whole one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from syncer.balancer.decoding.entries import (
    BROKER_AVERAGES,
    BROKERS,
    BUNDLE_DATA,
    CLUSTERS,
    EXTENSIBLE_LEADER,
    LEADER,
    LOCAL_POLICIES,
    OWNERSHIP,
    POLICIES,
    UNITS,
    take_cluster,
    take_entry,
)
from syncer.balancer.picture import FigureOrigin, LoadFindingKind, LoadManager, LoadSource
from syncer.errors import StoreError
from syncer.model import MetaPath

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from syncer.balancer.decoding.parts import PictureParts
    from syncer.stores.contract import MetadataStore

_LOCAL: Final = (BROKERS, LEADER, EXTENSIBLE_LEADER, BROKER_AVERAGES, OWNERSHIP, UNITS, BUNDLE_DATA, LOCAL_POLICIES)
"""Prefixes of a cluster's own store. The registry comes first: an owner that is not there was gone before."""
_GLOBAL: Final = "global"
"""A cluster that old versions of Pulsar list beside the real ones."""

ClusterEntries = dict[str, tuple[bytes, int | None]]


async def read_load(store: MetadataStore, parts: PictureParts) -> StoreError | None:
    """Read what brokers keep in a cluster's own store.

    Args:
        store: It, open.
        parts: What is read becomes part of them; what could not be read is a finding there.

    Returns:
        The trouble that ended a scan, or None.
    """
    for prefix in _LOCAL:
        trouble = await _scan(store, prefix, parts)
        if trouble is not None:
            return trouble
    kinds = set(parts.brokers.managers.values())
    if kinds == {LoadManager.MODULAR}:
        parts.bundles.ownership_read = FigureOrigin(LoadSource.STORE, OWNERSHIP)
    elif any(known.origin.where.startswith(UNITS) for known in parts.bundles.owners.values()):
        parts.bundles.ownership_read = FigureOrigin(LoadSource.STORE, UNITS)
    return None


async def read_constraints(stores: Sequence[MetadataStore], cluster: str | None, parts: PictureParts) -> str | None:
    """Read first boundaries, isolation policies and failure domains of a cluster.

    Args:
        stores: Where its configuration may lie: the first that knows the cluster counts.
        cluster: Its name in Pulsar; where it is not known, that of the only cluster that a store knows is taken.
        parts: What is read becomes part of them.

    Returns:
        Name of the cluster in Pulsar; None where no store tells.
    """
    for store in stores:
        entries: ClusterEntries = {}
        if await _scan(store, CLUSTERS, parts, entries) is not None:
            continue
        names = {path.split("/")[3] for path in entries if path.count("/") >= 3} - {_GLOBAL}
        name = cluster or (next(iter(names)) if len(names) == 1 else None)
        if name in names and name is not None:
            take_cluster(name, _below(entries, name), parts)
            await _scan(store, POLICIES, parts)
            return name
    parts.notes.note(
        LoadFindingKind.MISSING,
        CLUSTERS,
        f"no store knows {'one cluster only' if cluster is None else f'the cluster {cluster}'}; isolation policies and "
        "failure domains stay unknown",
        "Name the cluster's store by [cluster.NAME.store], and see that its brokers answer.",
    )
    return cluster


def _below(entries: Mapping[str, tuple[bytes, int | None]], cluster: str) -> ClusterEntries:
    return {path: each for path, each in entries.items() if path.startswith(f"{CLUSTERS}/{cluster}/")}


async def _scan(
    store: MetadataStore, prefix: str, parts: PictureParts, into: ClusterEntries | None = None
) -> StoreError | None:
    """Take all entries at and below a prefix, or keep them, as they come."""
    try:
        async for page in store.scan(MetaPath(prefix)):
            for entry in page:
                if into is not None:
                    into[entry.path] = (entry.value, entry.modified_at_ms)
                else:
                    take_entry(entry.path, entry.value, entry.modified_at_ms, parts)
    except StoreError as exc:
        parts.notes.note(
            LoadFindingKind.UNREADABLE, prefix, f"the store did not answer ({exc.code}): {exc.message}", exc.hint
        )
        return exc
    return None
