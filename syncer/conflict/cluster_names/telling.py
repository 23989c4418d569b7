"""Names of clusters as a region tells them to others: its own clusters by the group's names, and what it maps.

A region without mapped names tells none of this, unless another one does: the two are compared by it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

NAMES_TOLD: Final = 256
"""Clusters of a region, and entries of its table, that can be told."""
NAMES_CHARACTERS: Final = 16 * 1024
"""Of all of them together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionNames:
    """What a region calls clusters.

    Args:
        own: The clusters that its store serves, by the names of the group; in order.
        table: By the name there, the name in the group; only of clusters that are mapped.
        unsettled: It reads its store by another table than before, and has yet to publish all that differs by that.
    """

    own: tuple[str, ...] = ()
    table: Mapping[str, str] = field(default_factory=dict)
    unsettled: bool = False

    @property
    def moved(self) -> frozenset[str]:
        """Every name in the group that means another cluster than it would without the table.

        A name that is given away takes another one's place, so these are the names on both sides.
        """
        renamed = {here: there for here, there in self.table.items() if here != there}
        return frozenset((*renamed, *renamed.values()))

    @property
    def maps(self) -> bool:
        """Whether any cluster is called otherwise there than in the group."""
        return bool(self.moved)

    @property
    def tellable(self) -> bool:
        """Whether they are few and short enough to be told."""
        names = (*self.own, *self.table, *self.table.values())
        few = max(len(self.own), len(self.table)) <= NAMES_TOLD
        return few and sum(map(len, names)) <= NAMES_CHARACTERS


NO_NAMES: Final = RegionNames()
"""Of a region that tells none."""
