"""A cache of entries: what the store held when it was last read, as long as nothing was noticed since.

Every write is conditional: one by a memory that is out of date is refused, and the path is read and decided again. So a
remote change is spared one read and one transaction on its way into the store.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from syncer.model import MetaPath
from syncer.stores.contract import Entry

if TYPE_CHECKING:
    from syncer.replication.context import Context
    from syncer.replication.inbound.prefetch import Prefetched
    from syncer.replication.unit_of_work import UnitOfWork

MAX_BYTES: Final = 32 << 20
_OVERHEAD_BYTES: Final = 400


class EntryCache:
    """The entries last read, the longest unused dropped first.

    Args:
        max_bytes: About how much memory they may take.
    """

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._entries: OrderedDict[MetaPath, Entry] = OrderedDict()

    def keep(self, entry: Entry) -> None:
        """Remember an entry that was just read; one that a conditional write cannot tell from others is not kept."""
        self.forget((entry.path,))
        if not entry.distinct or entry.ephemeral:
            return
        self._entries[entry.path] = entry
        self._bytes += _size(entry)
        while self._bytes > self._max_bytes:
            self._bytes -= _size(self._entries.popitem(last=False)[1])

    def get(self, path: MetaPath) -> Entry | None:
        """What the path held when it was last read, if nothing was noticed since."""
        if path in self._entries:
            self._entries.move_to_end(path)
        return self._entries.get(path)

    def forget(self, paths: Iterable[MetaPath]) -> None:
        """These may have changed."""
        for path in paths:
            entry = self._entries.pop(path, None)
            if entry is not None:
                self._bytes -= _size(entry)

    def clear(self) -> None:
        """Anything may have changed."""
        self._entries.clear()
        self._bytes = 0


def _size(entry: Entry) -> int:
    return len(entry.value) + len(entry.path) + _OVERHEAD_BYTES


def ready(
    context: Context, unit: UnitOfWork, paths: Iterable[MetaPath], seen: Prefetched | None = None
) -> dict[MetaPath, Entry | None]:
    """Of these loaded paths, those that are due and can be written at once, with the entry that the write expects.

    A path that is known to be absent needs none: a store creates it only if it is. Deletes are never among them.

    Args:
        context: The daemon's context.
        unit: The unit of work that has loaded them.
        paths: Paths that it has changed.
        seen: What was read ahead, where memory does not serve.
    """
    found: dict[MetaPath, Entry | None] = {}
    if context.fence is None or not context.ledger.armed or not context.first_scan_done:
        return found
    room = context.writes.vacancy
    for path in paths:
        register = unit[path]
        known, stored = register.known, register.stored
        if len(found) >= room or known is None or not known.alive or known.digest == register.stored_digest:
            continue  # a delete is worth a read: by then the children that were just made are known too
        if register.intent or register.hold or register.wish or path in unit.opened or path in context.dirty:
            continue
        if stored is None or not stored.alive:
            found[path] = None
            continue
        entry = context.remembered.get(path) or (seen.get(context, path) if seen is not None else None)
        if entry is not None and entry.revision == stored.revision:
            found[path] = entry
    return found
