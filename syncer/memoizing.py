"""Memoizing of functions of a path, bounded in bytes: whoever writes to a store decides how long a path is.

Two generations: what is asked for goes into the younger one; when that has half of the room, it becomes the older one,
which is let go. So what is used stays, and a look-up that finds it costs what that of a dictionary costs. Threads may
share it without a lock: the worst that a race does is that something is worked out twice, or counted once.
"""

from __future__ import annotations

from collections.abc import Callable
from sys import getsizeof
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
        return _Generations(function, room_bytes, size).__getitem__

    return remembering


class _Generations(dict[_Path, _Told]):
    """The younger generation: what it lacks is taken from the older one, or from the function."""

    def __init__(self, function: Callable[[_Path], _Told], room_bytes: int, size: Callable[[Any], int]) -> None:
        super().__init__()
        self._function = function
        self._room_bytes = room_bytes
        self._size = size
        self._old: dict[_Path, _Told] = {}
        self._taken = 0
        self._most = room_bytes // SHARE

    def __missing__(self, path: _Path) -> _Told:
        found: _Told = self._old.get(path, _MISSING)
        if found is _MISSING:
            found = self._function(path)
        needed = getsizeof(path) + self._size(found) + ENTRY_BYTES
        if needed <= self._most:
            if self._taken + needed > self._room_bytes // 2:
                self._old, self._taken = dict(self), 0
                self.clear()
            self[path] = found
            self._taken += needed
        return found
