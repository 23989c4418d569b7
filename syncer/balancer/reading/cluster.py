"""The picture of a cluster, of all its sources: what one of them does not tell another may, or it stays unknown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from syncer.balancer.decoding.assembling import assembled
from syncer.balancer.decoding.parts import PictureParts
from syncer.balancer.decoding.records import CHANNEL
from syncer.balancer.picture import LoadFindingKind, LoadManager, LoadSource
from syncer.balancer.reading.brokers import BrokerReading
from syncer.balancer.reading.stores import read_constraints, read_load

if TYPE_CHECKING:
    from syncer.admin.calls import AdminCalls
    from syncer.balancer.decoding.records import LoadRecords
    from syncer.balancer.picture import LoadPicture
    from syncer.errors import StoreError
    from syncer.stores.contract import MetadataStore


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadSources:
    """Sources of one cluster.

    ``store`` is its own, open; None where it could not be opened, for the reason ``trouble``. ``configuration`` are
    further stores that may hold its policies; ``configuration_whole`` says that all of these are open. ``records`` are
    what was heard of its load topics.
    """

    table: str
    calls: AdminCalls
    store: MetadataStore | None = None
    configuration: Sequence[MetadataStore] = ()
    configuration_whole: bool = True
    trouble: StoreError | None = None
    records: LoadRecords | None = None


def owners_in_store(picture: LoadPicture) -> bool:
    """Say whether a cluster keeps in its store who owns its bundles.

    Args:
        picture: As it was read before anything was heard.
    """
    owners = (seen.owner for seen in picture.bundles.values())
    return any(owner is not None and owner.origin.source is LoadSource.STORE for owner in owners)


async def read_picture(sources: LoadSources, now_ms: int, *, topics: bool = False, ask: bool = True) -> LoadPicture:
    """Read a cluster's load.

    Args:
        sources: Where it is read.
        now_ms: The time.
        topics: The figures of each topic are asked for, too.
        ask: Brokers of the extensible manager are asked for what was not heard of them.

    Raises:
        StoreError: The store did not answer, and no broker either.
        AdminError: No broker answered, and there is no store.
    """
    parts = PictureParts()
    asked = BrokerReading(sources.calls, now_ms, parts)
    name = await asked.settings()
    failed, stores = sources.trouble, tuple(sources.configuration)
    if failed is not None:
        parts.notes.note(LoadFindingKind.UNREADABLE, "the cluster's store", failed.message, failed.hint)
    elif sources.store is not None:
        failed = await read_load(sources.store, parts)
        stores = stores if failed is not None else (sources.store, *stores)
    if stores:
        name = await read_constraints(stores, name, parts)
    by_brokers = sources.store is None or failed is not None
    if by_brokers:
        await asked.instead_of_stores(name or sources.table)
    nothing = failed or asked.trouble
    if not parts.brokers.registrations and nothing is not None:
        raise nothing
    if sources.records is not None:
        sources.records.take(parts)
    extensible = LoadManager.EXTENSIBLE in parts.brokers.managers.values()
    if extensible and ask:
        await asked.usages()
        unread = parts.bundles.ownership_read is None
        if unread:
            parts.notes.note(
                LoadFindingKind.MISSING,
                CHANNEL,
                "it was not read to its end; owners are those that each broker names (ownedNamespaces), and of bundles "
                "that none names they stay unknown",
                "Listen to the load topics: 'syncer balancer load --listen SECONDS'.",
            )
        if not by_brokers:
            await asked.owners(name or sources.table, take=unread)
    if topics or (extensible and ask):
        await asked.topics()
    return assembled(parts, cluster=name or sources.table, taken_ms=now_ms)
