"""Remembering what a function said of a path, in a room of bytes: who writes to a store decides how long a path is.

Two generations: what is asked for goes into the younger one; when that has half of the room, it becomes the older one,
which is let go. So what is used stays, and one look-up costs hardly more than that of a dictionary. Threads may share
it without a lock: the worst that a race does is that something is worked out twice, or counted once.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Final, TypeVar

_Path = TypeVar("_Path", bound=str)
_Told = TypeVar("_Told")

ENTRY_BYTES: Final = 120
"""Of an entry beside what it holds."""
SHARE: Final = 64
"""What would take more than this part of the room is not remembered."""
_MISSING: Final[Any] = object()


def memoized(
    room_bytes: int, size: Callable[[Any], int] = lambda _: 0
) -> Callable[[Callable[[_Path], _Told]], Callable[[_Path], _Told]]:
    """Remember what a function says of a path; an error is not remembered.

    Args:
        room_bytes: How much memory it may take, about.
        size: Bytes of what the function says, beside the path itself.
    """

    def remembering(function: Callable[[_Path], _Told]) -> Callable[[_Path], _Told]:
        young: dict[_Path, _Told] = {}
        old: dict[_Path, _Told] = {}
        taken = 0

        def told(path: _Path) -> _Told:
            nonlocal young, old, taken
            found = young.get(path, _MISSING)
            if found is not _MISSING:
                return found  # type: ignore[no-any-return]  # what stands for nothing has no type
            found = old.get(path, _MISSING)
            if found is _MISSING:
                found = function(path)
            needed = sys.getsizeof(path) + size(found) + ENTRY_BYTES
            if needed * SHARE <= room_bytes:
                if taken + needed > room_bytes // 2:
                    young, old, taken = {}, young, 0
                young[path] = found
                taken += needed
            return found  # type: ignore[no-any-return]  # likewise

        return told

    return remembering
