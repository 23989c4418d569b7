"""Cluster names that the own store knows: a guard wants them before a write names one."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass


@dataclass(slots=True)
class KnownClusters:
    """The names.

    Args:
        names: Those that the store was last read to know.
        grew: What waited for a cluster has to be looked at again.
    """

    names: frozenset[str] = frozenset()
    grew: bool = False

    def know(self, names: Collection[str]) -> None:
        """Take the clusters that the store knows."""
        fresh = frozenset(names)
        self.grew |= not fresh <= self.names
        self.names = fresh
