"""Dirty paths: those that have to be read, each once, in the order in which they became so, with the cause."""

from __future__ import annotations

from collections.abc import Container, Iterable
from enum import IntEnum

from syncer.model import MetaPath


class ReadCause(IntEnum):
    """Why a path has to be read. A greater one knows less about *when* the path changed."""

    NOTICE = 0
    DUE = 1
    SCAN = 2


class DirtyPaths:
    """A bounded set with an order. Over the bound the shell takes a gap and scans: work is repeated, nothing is lost.

    Paths with a write of ours in flight wait aside until it is answered. Paths that are read for the write that follows
    are taken only while that write has room, or the same paths would be read over and over in front of a full queue.
    """

    def __init__(self, bound: int) -> None:
        self._bound = bound
        self._paths: dict[MetaPath, ReadCause] = {}
        self._due: dict[MetaPath, ReadCause] = {}
        self._aside: dict[MetaPath, ReadCause] = {}
        self._found: set[MetaPath] = set()
        self._marks: dict[MetaPath, str] = {}
        """Paths that are marked for one notice alone, and the transaction that it tells of."""

    def __len__(self) -> int:
        return len(self._paths) + len(self._due) + len(self._aside)

    def __contains__(self, path: MetaPath) -> bool:
        return path in self._paths or path in self._due or path in self._aside

    @property
    def readable(self) -> int:
        """How many paths can be read now, or as soon as writes have room."""
        return len(self._paths) + len(self._due)

    @property
    def full(self) -> bool:
        """Whether the bound is reached."""
        return len(self) >= self._bound

    @property
    def from_scan(self) -> int:
        """How many paths a scan has found that are not decided yet, also those that are being read just now."""
        return len(self._found)

    def add(self, paths: Iterable[MetaPath], origin: ReadCause) -> None:
        """Mark paths. A path that is marked already keeps what says most about the time of its change.

        Whatever else it is marked for, a scan that has found it waits until it is decided.
        """
        for path in paths:
            self._marks.pop(path, None)
            if origin is ReadCause.SCAN:
                self._found.add(path)
            if path in self._aside:
                self._put(self._aside, path, origin)
            else:
                self._mark(path, origin)

    def notice(self, path: MetaPath, mark: str) -> None:
        """Mark a path because of a notice. ``mark`` names the transaction that it tells of; empty: that is unknown."""
        if path not in self:
            self._paths[path] = ReadCause.NOTICE
            if mark:
                self._marks[path] = mark
        elif not mark or self._marks.get(path) != mark:
            self.add((path,), ReadCause.NOTICE)

    def disregard(self, paths: Iterable[MetaPath], mark: str) -> None:
        """Of these paths, nothing needs to be read for the notice of this transaction: it is one of ours."""
        for path in paths:
            if self._marks.get(path) == mark:
                del self._marks[path]
                self._aside.pop(path, None)
                self._paths.pop(path, None)

    def take(self, limit: int, in_flight: Container[MetaPath], room: int) -> dict[MetaPath, ReadCause]:
        """Remove and return the oldest paths; those in flight are put aside instead.

        Args:
            limit: How many at most.
            in_flight: Paths with a write that is not yet answered.
            room: How many writes may follow; no more due paths are taken, and no more than half when others wait too.
        """
        taken: dict[MetaPath, ReadCause] = {}
        share = min(room, max(limit - len(self._paths), (limit + 1) // 2))
        self._move(self._due, share, in_flight, taken)
        self._move(self._paths, limit, in_flight, taken)
        return taken

    def _move(
        self,
        source: dict[MetaPath, ReadCause],
        limit: int,
        in_flight: Container[MetaPath],
        taken: dict[MetaPath, ReadCause],
    ) -> None:
        while source and len(taken) < limit:
            path = next(iter(source))
            origin = source.pop(path)
            if path in in_flight:
                self._aside[path] = origin
                continue
            self._marks.pop(path, None)
            taken[path] = origin

    def release(self, paths: Iterable[MetaPath]) -> None:
        """The writes to these paths were answered: what was put aside can be read."""
        for path in paths:
            origin = self._aside.pop(path, None)
            if origin is not None:
                self._mark(path, origin)

    def decided(self, paths: Iterable[MetaPath]) -> None:
        """Valid reads of these were decided: no scan waits for them any more."""
        self._found.difference_update(paths)

    def clear(self) -> None:
        """Forget all; a scan follows."""
        self._paths.clear()
        self._due.clear()
        self._aside.clear()
        self._found.clear()
        self._marks.clear()

    def _mark(self, path: MetaPath, origin: ReadCause) -> None:
        if origin is ReadCause.DUE and path not in self._paths:
            self._due[path] = origin
        else:
            self._put(self._paths, path, min(origin, self._due.pop(path, origin)))

    @staticmethod
    def _put(where: dict[MetaPath, ReadCause], path: MetaPath, origin: ReadCause) -> None:
        where[path] = min(origin, where.get(path, origin))
