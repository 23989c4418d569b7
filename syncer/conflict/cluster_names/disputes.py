"""Disputes about names of clusters: what regions have told of them contradicts, or is likely to be a mistake.

Each region has its own store, and a cluster is served by one store alone. So two regions that have one name of the
group for clusters of their own mean two clusters by one name. That is the only contradiction that what regions tell
*proves*: a table is each region's own affair, and no region can see which cluster another one means by a name that is
neither's own. Where none of them maps names it is left alone: so it was before there were mappings.

Nobody can tell which of them is mistaken. As long as that stands, what is in doubt is not written: values that were
stamped by one of them wait everywhere where they name the cluster, or, if that region maps names, any of those that it
maps; and in that region itself, so do those of all others. The same holds of a region whose table was changed, and of
any name, until it has published what differs by that: else what it had stamped by wrong names would be written between
the end of the dispute and the right ones.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from syncer.conflict.cluster_names.telling import RegionNames
from syncer.model import Region

Doubted = Mapping[Region, frozenset[str]]
"""By region in doubt, the names of the group by which it may mean another cluster than the group does."""
ANY_NAME: Final = "*"
"""Among these: it may by any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispute:
    """One name that regions have for clusters of their own.

    Args:
        name: In the group.
        regions: Who has it, in order; at least two, of which at least one maps names.
        mapping: Those of them that do.
    """

    name: str
    regions: tuple[Region, ...]
    mapping: tuple[Region, ...]

    @property
    def text(self) -> str:
        """The dispute in words."""
        who = f"{', '.join(self.regions[:-1])} and {self.regions[-1]}"
        tables = f"{' and '.join(self.mapping)} {'map' if len(self.mapping) > 1 else 'maps'} names"
        return f"{who} each have {self.name!r} for a cluster of their own, and {tables}"


def disputes(told: Mapping[Region, RegionNames]) -> list[Dispute]:
    """Every name that is in dispute, in order.

    Args:
        told: By region, what it tells; this region is one of them.
    """
    owners: dict[str, list[Region]] = {}
    for region, names in sorted(told.items()):
        for name in dict.fromkeys(names.own):
            owners.setdefault(name, []).append(region)
    found = list[Dispute]()
    for name, regions in sorted(owners.items()):
        mapping = tuple(region for region in regions if told[region].maps)
        if len(regions) > 1 and mapping:
            found.append(Dispute(name=name, regions=tuple(regions), mapping=mapping))
    return found


def doubts(told: Mapping[Region, RegionNames], found: Collection[Dispute]) -> Doubted:
    """By region in doubt, the names of which nobody can tell which cluster it means by them.

    Args:
        told: By region, what it tells.
        found: The disputes of these.
    """
    names = {region: frozenset({ANY_NAME}) for region, each in told.items() if each.unsettled}
    for each in found:
        for region in each.regions:
            names[region] = names.get(region, frozenset()) | told[region].moved | {each.name}
    return names


def twice(ours: RegionNames, known: Collection[str]) -> Iterator[str]:
    """Clusters of the store here that have the name in the group of another one, and none of their own: in words.

    Args:
        ours: What this region calls clusters.
        known: Clusters that the store here knows, by the names of the group.
    """
    back = {there: here for here, there in ours.table.items()}
    for name in sorted(back):
        if name not in ours.table and _first(name, back) in known:
            yield (
                f"the store here has a cluster {name!r} without a name in the group, where {name!r} is {back[name]!r} "
                "of this store"
            )


def unknown(own: Region, told: Mapping[Region, RegionNames], known: Collection[str]) -> Iterator[str]:
    """Clusters of other regions that the store here does not know, where either of the two maps names: in words.

    Args:
        own: This region.
        told: By region, what it tells; this region is one of them.
        known: Clusters that the store here knows, by the names of the group.
    """
    for region, names in sorted(told.items()):
        if region != own and (names.maps or told[own].maps):
            for name in names.own:
                if name not in known:
                    yield f"{region} has a cluster {name!r} of its own, which is not known here"


def _first(name: str, back: Mapping[str, str]) -> str:
    """The name in the group of what is called so here, without being mapped: it closes the chain of those that are."""
    while name in back:
        name = back[name]
    return name
