"""Paths that have to be read, each once, in the order in which they became dirty, with where that was learnt."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum

from syncer.model import MetaPath


class Origin(IntEnum):
    """Why a path has to be read. A greater one knows less about *when* the path changed."""

    NOTICE = 0
    DUE = 1
    SCAN = 2


class DirtyPaths:
    """A bounded set with an order. Over the bound the shell takes a gap and scans: work is repeated, nothing is lost.

    Paths with a write of ours in flight wait aside until it is answered.
    """

    def __init__(self, bound: int) -> None:
        self._bound = bound
        self._paths: dict[MetaPath, Origin] = {}
        self._aside: dict[MetaPath, Origin] = {}
        self._from_scan = 0

    def __len__(self) -> int:
        return len(self._paths) + len(self._aside)

    @property
    def ready(self) -> int:
        """How many paths can be read now."""
        return len(self._paths)

    @property
    def full(self) -> bool:
        """Whether the bound is reached."""
        return len(self) >= self._bound

    @property
    def from_scan(self) -> int:
        """How many of them a scan has found."""
        return self._from_scan

    def add(self, paths: Iterable[MetaPath], origin: Origin) -> None:
        """Mark paths. A path that is marked already keeps what says most about the time of its change."""
        for path in paths:
            self._put(self._aside if path in self._aside else self._paths, path, origin)

    def take(self, limit: int, in_flight: Iterable[MetaPath]) -> dict[MetaPath, Origin]:
        """Remove and return the oldest paths; those in flight are put aside instead."""
        flying = in_flight if isinstance(in_flight, (set, frozenset, dict)) else set(in_flight)
        taken: dict[MetaPath, Origin] = {}
        while self._paths and len(taken) < limit:
            path = next(iter(self._paths))
            origin = self._paths.pop(path)
            if path in flying:
                self._aside[path] = origin
                continue
            self._from_scan -= origin is Origin.SCAN
            taken[path] = origin
        return taken

    def release(self, paths: Iterable[MetaPath]) -> None:
        """The writes to these paths were answered: what was put aside can be read."""
        for path in paths:
            origin = self._aside.pop(path, None)
            if origin is not None:
                self._paths.setdefault(path, origin)

    def clear(self) -> None:
        """Forget all; a scan follows."""
        self._paths.clear()
        self._aside.clear()
        self._from_scan = 0

    def _put(self, where: dict[MetaPath, Origin], path: MetaPath, origin: Origin) -> None:
        before = where.get(path)
        if before is None:
            where[path] = origin
            self._from_scan += origin is Origin.SCAN
        elif origin < before:
            where[path] = origin
            self._from_scan -= before is Origin.SCAN
