"""Disputes about cluster names, as the referee sees them: by the heartbeats that a region has taken.

Two regions that have one name for clusters of their own dispute it, where either of them maps names. Nobody can tell
then which cluster either of them means by that name, or by a name that it maps. A change of such a region that names
one of these is written nowhere before the dispute ends, and no change that does is written into such a region. The
same holds for every name of a region that says that it has yet to publish by its present names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from syncer.bus.wire.messages import Heartbeat
from syncer.conflict.cluster_names.telling import RegionNames
from syncer.model import MetaPath, Region, Stamp
from syncer.paths import CLUSTERS
from tests.simulation.cluster_names import KNOWN, renamed
from tests.simulation.history import Violation

if TYPE_CHECKING:
    from tests.simulation.disk import Tables
    from tests.simulation.world import Site

_NAMES: Final = frozenset({*KNOWN, "north"})
"""Names of clusters that values here have, beside those that a table maps."""
_ELSEWHERE: Final = "\0"
Doubts = Mapping[Region, frozenset[str]]
"""By region, the names of which nobody can tell what it means by them."""


@dataclass(frozen=True, slots=True)
class Claims:
    """What a region says of its names.

    Args:
        sent_at_ms: When it did.
        own: Names of clusters of its own.
        table: By the name there, the name in the group.
        unsettled: It has yet to publish by its present names.
    """

    sent_at_ms: int
    own: frozenset[str]
    table: Mapping[str, str]
    unsettled: bool = False

    @property
    def moved(self) -> frozenset[str]:
        """Names that mean another cluster than without the table."""
        pairs = [pair for pair in self.table.items() if pair[0] != pair[1]]
        return frozenset(name for pair in pairs for name in pair)


@dataclass(slots=True)
class NameDisputes:
    """What each region was told of the others' names, and by which doubts it has decided each write.

    The doubts of a decision are those of before its call and of after it: a delivery may begin or end one.
    """

    _told: dict[Region, dict[Region, Claims]] = field(default_factory=dict)
    _arriving: dict[Region, dict[Region, Claims]] = field(default_factory=dict)
    _decided: dict[tuple[Region, MetaPath, Stamp], Doubts] = field(default_factory=dict)

    def arrives(self, site: Site, messages: Iterable[object]) -> None:
        """A region is about to take a delivery."""
        told = dict(self._told.get(site.region, {}))
        for beat in messages:
            if not isinstance(beat, Heartbeat) or beat.region == site.region:
                continue
            if beat.region not in told or told[beat.region].sent_at_ms <= beat.sent_at_ms:
                told[beat.region] = Claims(beat.sent_at_ms, frozenset(beat.clusters), beat.names, beat.renaming)
        self._arriving[site.region] = told

    def taken(self, site: Site, *, whole: bool) -> None:
        """It has; not whole: it comes again."""
        told = self._arriving.pop(site.region)
        if whole:
            self._told[site.region] = told

    def decided(self, site: Site, before: Tables) -> None:
        """A call of a driver is over: keep the doubts of the writes that it has decided."""
        tables = site.disk.tables
        if tables.registers is before.registers:
            return
        doubts: Doubts | None = None
        for path, register in tables.registers.items():
            former = before.registers.get(path)
            if register is former or register.intent is None:
                continue
            if former is None or former.intent != register.intent:
                doubts = self._doubts(site) if doubts is None else doubts
                self._decided[site.region, path, register.intent.version.stamp] = doubts

    def written(self, site: Site, path: MetaPath, stamp: Stamp, after: bytes | None) -> None:
        """A write has landed.

        Raises:
            Violation: It names a cluster that was in dispute when it was decided.
        """
        doubts = self._decided.get((site.region, path, stamp), {})
        for region in sorted({site.region, stamp.region} & doubts.keys()):
            named = sorted(name for name in doubts[region] if _names(path, after, name))
            if named:
                detail = f"{site.region} wrote {stamp}, and by {named[0]} {region} may mean another cluster"
                raise Violation("disputed name", path, detail)

    def disputed(self, site: Site) -> bool:
        """Whether a region knows of a dispute."""
        return any(True for _ in _disputed({**self._told.get(site.region, {}), site.region: _own(site)}))

    def _doubts(self, site: Site) -> Doubts:
        """The doubts that a region had all through a call."""
        told = self._told.get(site.region, {})
        found = [_doubts({**each, site.region: _own(site)}) for each in (told, self._arriving.get(site.region, told))]
        return {region: names & found[1][region] for region, names in found[0].items() if region in found[1]}


def _own(site: Site) -> Claims:
    names = told_by(site)
    return Claims(0, frozenset(names.own), names.table)


def told_by(site: Site) -> RegionNames:
    """The names by which a region's daemon makes itself known: those that its operator has configured."""
    names = site.store.names
    own = f"of-{site.region}" if not site.claims else site.claims
    return replace(RegionNames() if names is None else names.for_others(), own=(own,))


def _doubts(told: Mapping[Region, Claims]) -> dict[Region, frozenset[str]]:
    found = {region: _NAMES for region, claims in told.items() if claims.unsettled}
    for one, name in _disputed(told):
        found[one] = found.get(one, frozenset()) | {name} | told[one].moved
    return found


def _disputed(told: Mapping[Region, Claims]) -> Iterator[tuple[Region, str]]:
    """Each region of a dispute, and the name."""
    for one, ours in told.items():
        for other, theirs in told.items():
            if one != other and (ours.moved or theirs.moved):
                yield from ((one, name) for name in sorted(ours.own & theirs.own))


def _names(path: MetaPath, value: bytes | None, name: str) -> bool:
    declared = path.removeprefix(f"{CLUSTERS}/").partition("/")[0] if path.startswith(f"{CLUSTERS}/") else ""
    return name == declared or (value is not None and renamed(value, {name: _ELSEWHERE}) != value)
