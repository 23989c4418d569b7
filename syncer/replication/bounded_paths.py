"""A bounded set of paths in memory, by bytes: a path that finds no room is not kept, and is found again later."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Final, TypeVar

from syncer.model import MetaPath

_About = TypeVar("_About")

PATHS_BYTES: Final = 16 << 20
"""Of paths in each set of those that are to be asked for, or told of."""
_ENTRY_BYTES: Final = 100


class Paths(dict[MetaPath, _About]):
    """A dictionary by path that takes no more than its room.

    Args:
        room_bytes: How much memory the paths may take, about.
    """

    def __init__(self, room_bytes: int) -> None:
        super().__init__()
        self._room_bytes = room_bytes
        self._taken = 0

    def __setitem__(self, path: MetaPath, about: _About) -> None:
        if path not in self:
            needed = _ENTRY_BYTES + sys.getsizeof(path)
            if self._taken + needed > self._room_bytes:
                return
            self._taken += needed
        super().__setitem__(path, about)

    def __delitem__(self, path: MetaPath) -> None:
        super().__delitem__(path)
        self._taken -= _ENTRY_BYTES + sys.getsizeof(path)

    def take(self, path: MetaPath) -> _About:
        """Remove a path that is there; what was said about it."""
        about = self[path]
        del self[path]
        return about

    def add(self, found: Mapping[MetaPath, _About]) -> None:
        """Keep all that find room."""
        for path, about in found.items():
            self[path] = about

    def clear(self) -> None:
        """Forget all."""
        super().clear()
        self._taken = 0
