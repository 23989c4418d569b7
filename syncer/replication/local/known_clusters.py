"""Cluster names that the own store knows, and those in dispute: guards want them before a write names one."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from syncer.conflict.cluster_names.disputes import Doubted


@dataclass(slots=True)
class KnownClusters:
    """The names.

    Args:
        names: Those that the store was last read to know.
        doubted: By region, those by which it may mean another cluster than the group does.
        grew: What waited for a cluster has to be looked at again.
    """

    names: frozenset[str] = frozenset()
    doubted: Doubted = field(default_factory=dict)
    grew: bool = False

    def know(self, names: Collection[str]) -> None:
        """Take the clusters that the store knows."""
        fresh = frozenset(names)
        self.grew |= not fresh <= self.names
        self.names = fresh

    def doubt(self, doubted: Doubted) -> None:
        """Take which names are in dispute; once one is not any more, what waited for that is looked at again."""
        self.grew |= any(not names <= doubted.get(region, frozenset()) for region, names in self.doubted.items())
        self.doubted = doubted
