"""A cache of entries: what the store held when it was last read, as long as nothing was noticed since.

Every write is conditional: one by an entry that is out of date is refused, and its path is read and decided again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import Final

from syncer.model import MetaPath
from syncer.stores.contract import Entry

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
