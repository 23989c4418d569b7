"""Notices of the source to the watches that are open: bounded, and a gap where they are too many."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Final

from syncer.model import MetaPath
from syncer.stores.contract import Changed, Gap

PENDING: Final = 100_000
"""Paths that wait to be told."""


class PolicyWatcher:
    """What one watch was not told yet."""

    def __init__(self) -> None:
        self._pending: deque[MetaPath] = deque()
        self._gap = ""
        self.wakes = asyncio.Event()

    def notify(self, paths: tuple[MetaPath, ...]) -> None:
        """These paths may have changed."""
        if len(self._pending) + len(paths) > PENDING:
            self.gap("too many changes of topic policies are pending")
        elif not self._gap:
            self._pending.extend(paths)
        self.wakes.set()

    def gap(self, reason: str) -> None:
        """More may have changed than can be told."""
        self._pending.clear()
        self._gap = reason
        self.wakes.set()

    def take(self) -> Changed | Gap | None:
        """What is to be told, if anything."""
        self.wakes.clear()
        if self._gap:
            reason, self._gap = self._gap, ""
            return Gap(reason)
        if not self._pending:
            return None
        paths = tuple(dict.fromkeys(self._pending))
        self._pending.clear()
        return Changed(paths)


class PolicyNotices:
    """All watches that are open."""

    def __init__(self) -> None:
        self._watchers: list[PolicyWatcher] = []

    def join(self) -> PolicyWatcher:
        """Begin to be told."""
        watcher = PolicyWatcher()
        self._watchers.append(watcher)
        return watcher

    def leave(self, watcher: PolicyWatcher) -> None:
        """Be told no more."""
        self._watchers.remove(watcher)

    def notify(self, paths: tuple[MetaPath, ...]) -> None:
        """Tell all of these paths."""
        for each in self._watchers:
            each.notify(paths)

    def gap(self, reason: str) -> None:
        """Tell all that more may have changed."""
        for each in self._watchers:
            each.gap(reason)
