"""Regions that are set to carry a part of the policies of offloading, and others that are not: who writes, what holds.

Every namespace that somebody writes has a threshold of its own number. So it can be told which of them is lost.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING, Any, Final

import orjson

from syncer.conflict import changeover, observing, replica
from syncer.conflict.changeover import ABLE_TO_CARRY, NEWEST, all_of
from syncer.conflict.fields.offloading import own_part, shared_part
from syncer.conflict.projection import PROJECTIONS, parse
from syncer.conflict.replica import Replica
from syncer.errors import ValueInvalid
from syncer.model import Digest, MetadataChangeEvent, MetaPath, Region, ResourceKind, Stamp
from syncer.paths import kind_at
from syncer.replacing import replace
from tests.simulation.history import Violation
from tests.simulation.incomplete import Patches
from tests.simulation.own_credentials import FIELD, own_of
from tests.support.parts import parts_of

if TYPE_CHECKING:
    from syncer.state.contract.conflicts import ConflictRow
    from tests.simulation.disk import Tables
    from tests.simulation.history import Content
    from tests.simulation.world import Site, World

KIND: Final = ResourceKind.NAMESPACE
_CARRIES: Final = 0.7
"""How often a region is set to carry."""
_THRESHOLD: Final = "managedLedgerOffloadThresholdInBytes"
Part = dict[str, Any]


def is_set_to(site: Site) -> bool:
    """Whether the configuration of a region says to carry."""
    return site.replica.settings.projections.able == ABLE_TO_CARRY


def set_to(site: Site, carries: bool) -> None:
    """The next daemon of a region is set so."""
    projections = replace(NEWEST, able=ABLE_TO_CARRY) if carries else NEWEST
    site.replica = Replica(replace(site.replica.settings, projections=projections))


def drawn(rng: Random) -> bool:
    """How a region is set, by chance."""
    return rng.random() < _CARRIES


def part_of(value: bytes | None) -> Part:
    """The part of a stored value that may be carried."""
    return shared_part(own_of(value))


def check_write(region: Region, path: MetaPath, before: bytes | None, after: bytes | None) -> None:
    """Judge a daemon's write in a region that is set to carry: what is its own stays.

    Raises:
        Violation: The write brought what is another region's, or lost what is this one's.
    """
    if after is not None and own_part(own_of(before)) != own_part(own_of(after)):
        raise Violation("credentials", path, f"a write of {region} changed its own policies of offloading")


class CarryRules:
    """Judges what becomes of the part that is carried.

    Args:
        sites: The regions.
    """

    def __init__(self, sites: dict[Region, Site]) -> None:
        self._sites = sites
        self._number = 0
        self._stood: dict[tuple[Region, MetaPath], Part] = {}
        self._named: dict[tuple[MetaPath, Stamp], Part] = {}
        self._shared: set[tuple[MetaPath, Stamp]] = set()
        """Given to what stood there without its part, before all members carried it."""
        self._deleted: set[MetaPath] = set()
        self._said: dict[MetaPath, list[Part]] = {}
        self._plain: dict[Digest, Digest] = {}

    # -- what is written

    def numbered(self, path: MetaPath, value: bytes) -> bytes:
        """A namespace with the next threshold, as somebody writes it; any other value as it is."""
        own = own_of(value) if kind_at(path) is KIND else None
        if own is None:
            return value
        self._number += 1
        return orjson.dumps({**parse(value), FIELD: {**own, _THRESHOLD: self._number}})

    def written_outside(self, site: Site, path: MetaPath) -> None:
        """Somebody has written, or deleted."""
        self._stood[site.region, path] = self._stands(site, path)
        if path not in site.store.nodes:
            self._deleted.add(path)

    def written_here(self, site: Site, path: MetaPath) -> None:
        """A daemon has written.

        Raises:
            Violation: Over a part that nobody was told, and no conflict keeps.
        """
        before, after = self._stood.get((site.region, path), {}), self._stands(site, path)
        self._stood[site.region, path] = after
        if not before or before == after or path not in site.store.nodes or before in self._said.get(path, ()):
            return
        rows = [row for each in self._sites.values() for row in each.disk.conflicts(path)]
        if not any(part_of(row.value) == before for row in rows):
            raise Violation("silent loss", path, f"{before} of {site.region} gave way to {after}, and is kept nowhere")

    @staticmethod
    def _stands(site: Site, path: MetaPath) -> Part:
        node = site.store.nodes.get(path)
        return part_of(node.value) if node is not None else {}

    # -- what is told

    def keep(self, event: MetadataChangeEvent) -> None:
        """An event was stamped, or told again."""
        if event.resource is KIND and event.value is not None:
            part = part_of(event.value)
            self._named[event.path, event.stamp] = part
            self._said.setdefault(event.path, []).append(part)
            self._note(event.value)

    def keep_row(self, row: ConflictRow) -> None:
        """A conflict keeps a value."""
        if row.value is not None and kind_at(row.path) is KIND:
            self._note(row.value)

    def _note(self, value: bytes) -> None:
        try:
            plain = PROJECTIONS[KIND].digest(value)
        except ValueInvalid:
            return
        self._plain |= {projection.digest(value): plain for projection in all_of(KIND)[:2]}

    def plain(self, digest: Digest | None) -> Digest | None:
        """The digest of a value without the part, by its own."""
        return None if digest is None else self._plain.get(digest, digest)

    def adds(self, content: Content, event: MetadataChangeEvent) -> bool:
        """Whether an event tells a content that has a stamp already once more: with another part, or as all carry."""
        if event.resource is not KIND or content.stamp is None:
            return False
        part = part_of(event.value)
        return (event.path, event.stamp) in self._shared or any(
            self._named.get((event.path, name.stamp), {}) != part for name in content.names if name.stamp is not None
        )

    def stamped(self, site: Site, before: Tables, event: MetadataChangeEvent, content: Content) -> None:
        """A region took what it has read for a change.

        Raises:
            Violation: It tells a part, and is not set to.
        """
        del content
        if event.resource is not KIND or not part_of(event.value):
            return
        register = before.registers.get(event.path)
        if register is not None and event.value and register.stored_digest == PROJECTIONS[KIND].digest(event.value):
            self._shared.add((event.path, event.stamp))
        if not is_set_to(site):
            raise Violation("carried", event.path, f"{site.region} tells {event.stamp} with {part_of(event.value)}")

    # -- the end

    def judge(self, world: World) -> None:
        """After everything was delivered and drained.

        Raises:
            Violation: All regions are set to carry, and their parts differ, or one is lost; or one carries alone.
        """
        all_carry = all(is_set_to(site) for site in world.sites.values())
        for site in world.sites.values():
            if parts_of(site.daemon.driver).core.replica.settings.projections.shares is not all_carry:
                raise Violation("carried", "", f"{site.region} {'does not carry' if all_carry else 'carries'}")
        if not all_carry:
            return
        world.met["all carry"] += 1
        for path in sorted({path for _, path in self._stood}):
            parts = {
                site.region: self._stands(site, path)
                for site in world.sites.values()
                if path in site.store.nodes and not _due(site, path)
            }
            if any(part != next(iter(parts.values())) for part in parts.values()):
                raise Violation("diverged", path, f"the regions have different parts: {parts}")
            kept = kind_at(path) is not KIND or path in self._deleted or all(parts.values())
            if not kept:  # what a daemon has made again after a delete has none
                raise Violation("silent loss", path, "no region has any part left, and nobody has removed one")


def _due(site: Site, path: MetaPath) -> bool:
    register = site.disk.tables.registers.get(path)
    return register is not None and register.due


# -- breaks


def what_stands_is_not_shared() -> Patches:
    """What stood there before regions began to carry is not looked for."""
    return [(module, "shares_more", lambda *_: False) for module in (observing, replica)]


def nobody_waits_for_all() -> Patches:
    """A region shares what it has as soon as it goes over itself."""
    return [(changeover.ProjectionsInUse, "withholds_yet", lambda *_: False)]


def the_whole_is_carried() -> Patches:
    """Whatever stands in policies of offloading is carried."""
    from syncer.conflict import projection

    return [
        (projection, "shared_part", lambda node: dict(node) if isinstance(node, dict) else {}),
        (projection, "own_part", lambda node: None if isinstance(node, dict) else node),
    ]


_MODES: Final = ("offloading",)
BREAKS: Final[tuple[tuple[str, tuple[str, ...], Callable[[], Patches]], ...]] = (
    ("policies of offloading that stand are not shared", _MODES, what_stands_is_not_shared),
    ("policies of offloading are shared before all carry", _MODES, nobody_waits_for_all),
    ("policies of offloading are carried whole", _MODES, the_whole_is_carried),
)
"""Each break, the modes that find it, and what it patches."""
