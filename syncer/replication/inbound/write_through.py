"""Write-through: a change is written by the transaction that folds it, without another read of its path.

Every write is conditional: one by an entry that is out of date is refused, and the path is read and decided again. So a
remote change is spared one read and one transaction on its way into the store.
"""

from __future__ import annotations

from collections.abc import Iterable

from syncer.model import MetaPath
from syncer.replication.inbound.part import Inbound
from syncer.replication.inbound.prefetch import Prefetched
from syncer.replication.unit_of_work import UnitOfWork
from syncer.stores.contract import Entry


def writable_at_once(
    inbound: Inbound, unit: UnitOfWork, paths: Iterable[MetaPath], seen: Prefetched | None = None
) -> dict[MetaPath, Entry | None]:
    """Of these loaded paths, those that are due and can be written at once, with the entry that the write expects.

    A path that is known to be absent needs none: a store creates it only if it is. Deletes are never among them.

    Args:
        inbound: What receiving messages is made of.
        unit: The unit of work that has loaded them.
        paths: Paths that it has changed.
        seen: What was read ahead, where memory does not serve.
    """
    found: dict[MetaPath, Entry | None] = {}
    if inbound.core.fence is None or not inbound.local.watch.ledger.armed or not inbound.core.first_scan_done:
        return found
    room = inbound.local.writes.vacancy
    for path in paths:
        register = unit[path]
        known, stored = register.known, register.stored
        if len(found) >= room or known is None or not known.alive or known.digest == register.stored_digest:
            continue  # a delete is worth a read: by then the children that were just made are known too
        if register.intent or register.hold or register.wish or path in unit.opened or path in inbound.local.dirty:
            continue
        if stored is None or not stored.alive:
            found[path] = None
            continue
        entry = inbound.local.entry_cache.get(path) or (seen.get(inbound, path) if seen is not None else None)
        if entry is not None and entry.revision == stored.revision:
            found[path] = entry
    return found
