"""Rules of fields that a region has for itself: none of their values leaves it, none comes in, none is lost.

Each stamp is judged by what stood in the store and by what the region held of the group's values before:

    not excluded                        as it stands in the store
    excluded, and the path was held     as the group has it, by what the region held; where it has told nothing of the
                                        field so far, as any other region has; where the rule has just come and the
                                        store has changed since, as the region knows it
    excluded, and the path is new       absent, or as another region has it

All other fields are judged as ever, as values without these.
"""

from __future__ import annotations

import functools
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from syncer.conflict.causality.order import later
from syncer.conflict.projection import PROJECTIONS
from syncer.conflict.register import Register
from syncer.model import Digest, MetadataChangeEvent, MetaPath, Region, Stamp, TieOrder
from tests.simulation.excluding import FIELDS, NAMESPACES, is_own, own_fields
from tests.simulation.history import Content, History, Violation
from tests.simulation.newer_fields import KIND, without_newer

if TYPE_CHECKING:
    from syncer.state.contract.conflicts import ConflictRow
    from tests.simulation.disk import Tables
    from tests.simulation.world import Site, World

Fields = dict[str, Any]


@dataclass(eq=False, frozen=True, slots=True, kw_only=True)
class OwnWrite:
    """One write into a store.

    Args:
        content: What stands there since.
        fields: What it has of the fields; ``None``: nothing stands there.
        before: The same of what stood there before.
    """

    content: Content
    fields: Fields | None
    before: Fields | None

    @property
    def changed(self) -> list[str]:
        """The fields that it has changed."""
        had, has = self.before or {}, self.fields or {}
        return [name for name in FIELDS if had.get(name) != has.get(name)]


class ExclusionRules:
    """Judges what becomes of fields that regions have for themselves.

    Args:
        history: What truly happened.
        lost: Regions that have lost their database.
    """

    def __init__(self, history: History, lost: set[Region]) -> None:
        self._history = history
        self._lost = lost
        self._writes: dict[tuple[Region, MetaPath], list[OwnWrite]] = {}
        self._values: dict[Digest, Fields] = {}
        """The fields of whole values, by the digest of these."""
        self._plain: dict[Digest, Digest] = {}
        self._named: dict[tuple[MetaPath, Stamp], Fields] = {}
        self._said: dict[tuple[MetaPath, str], set[bytes]] = {}
        self._ever: set[tuple[Region, MetaPath, str]] = set()
        """Where a field was ever excluded."""

    # -- what is written

    def ruled(self, site: Site) -> None:
        """A region goes by these rules from now on."""
        for path in NAMESPACES:
            self._ever.update((site.region, path, name) for name in site.replica.settings.excluded(path))

    def written_outside(self, site: Site, path: MetaPath, content: Content) -> None:
        """Somebody has written."""
        self._log(site, path, content)

    def put_back(self, site: Site) -> None:
        """The store holds what a backup of it held."""
        for path in NAMESPACES:
            self._log(site, path, site.store.content(path))

    def written_here(self, site: Site, path: MetaPath) -> None:
        """A daemon has written.

        Raises:
            Violation: Into a field that is the store's own.
        """
        write = self._log(site, path, site.store.content(path))
        if write.fields is None:
            return
        excluded = site.replica.settings.excluded(path)
        for name in write.changed:
            if write.before is None:
                if name in excluded:
                    raise Violation("own field filled", path, f"{site.region} has made the path with {name}")
            elif name in excluded or is_own(write.before.get(name)):
                raise Violation("own field overwritten", path, f"{site.region} has {name} for itself, and wrote it")

    def _log(self, site: Site, path: MetaPath, content: Content) -> OwnWrite:
        writes, node = self._writes.setdefault((site.region, path), []), site.store.nodes.get(path)
        fields = own_fields(node.value) if node is not None and node.value else None
        write = OwnWrite(content=content, fields=fields, before=writes[-1].fields if writes else None)
        writes.append(write)
        return write

    # -- while it runs

    def keep(self, event: MetadataChangeEvent) -> None:
        """An event was stamped, or told again: its value is a whole one.

        Raises:
            Violation: It has a value that is a region's own, or another one than it was told with before.
        """
        if event.resource is not KIND or event.value is None:
            return
        fields = own_fields(event.value)
        for name, value in fields.items():
            if is_own(value):
                raise Violation("own value leaves", event.path, f"{event.stamp} tells {name} as {value}")
            self._said.setdefault((event.path, name), set()).add(_dumped(value))
        if self._named.setdefault((event.path, event.stamp), fields) != fields and not self._lost:
            raise Violation("two values", event.path, f"{event.stamp} is told with other fields than before")
        self._named[event.path, event.stamp] = fields
        self.digest_of_whole(event.path, event.value)

    def digest_of_whole(self, path: MetaPath, value: bytes) -> None:
        """Note a whole value by its digest."""
        digest = PROJECTIONS[KIND].digest(value)
        self._values[digest] = own_fields(value)
        self._plain[digest] = PROJECTIONS[KIND].digest(without_newer(path, value))

    def keep_row(self, row: ConflictRow) -> None:
        """A conflict keeps a whole value."""
        if row.value is not None and row.path in NAMESPACES:
            self.digest_of_whole(row.path, row.value)

    def plain(self, digest: Digest | None) -> Digest | None:
        """The digest of a value without these fields, by its own."""
        return None if digest is None else self._plain.get(digest, digest)

    def known_of(self, site: Site, path: MetaPath) -> Fields:
        """The fields of what a region knows of a path, as far as that was ever told."""
        return self.known_in(site.disk.tables.registers.get(path))

    def known_in(self, register: Register | None) -> Fields:
        """The same, of a register."""
        known = register.known if register is not None else None
        return {} if known is None or known.digest is None else self._values.get(known.digest, {})

    def adds(self, content: Content, event: MetadataChangeEvent) -> bool:
        """Whether an event tells a content again that has a stamp already, with fields of which nothing was told."""
        told = None if content.stamp is None else self._named.get((event.path, content.stamp))
        whole = own_fields(event.value)
        return told is not None and told != whole and told.items() <= whole.items()

    def stamped(self, site: Site, before: Tables, event: MetadataChangeEvent, content: Content) -> None:
        """A region took what it has read for a change.

        Raises:
            Violation: A field was lost, or invented.
        """
        path, writes = event.path, self._writes.get((site.region, event.path), [])
        write = next((each for each in reversed(writes) if each.content is content), None)
        if event.resource is not KIND or event.value is None or write is None:
            return
        told, held = own_fields(event.value), write.fields or {}
        registers = (before.registers.get(path), site.disk.tables.registers.get(path))
        excluded = site.replica.settings.excluded(path).union(*map(_excluded, registers))
        for name in FIELDS:
            what = f"{site.region} stamped {event.stamp}, {name}"
            if name not in excluded:
                if told.get(name) != held.get(name):
                    raise Violation("field changed", path, f"{what} is not as it stands in the store")
            elif not self._as_the_group_has(site, registers[0], path, name, told):
                raise Violation("field lost" if name not in told else "field changed", path, f"{what} is another one")

    def _as_the_group_has(self, site: Site, register: Register | None, path: MetaPath, name: str, told: Fields) -> bool:
        stored = register.stored if register is not None else None
        said = name in told and _dumped(told[name]) in self._said.get((path, name), ())
        if stored is None or stored.digest is None or site.region in self._lost:
            return name not in told or said
        former = self._values.get(stored.digest)
        if former is None:
            return said or name not in told
        if name not in former and stored.stamp.region == site.region:
            return name not in told or said  # it has told nothing of it
        if former.get(name) == told.get(name):
            return True
        comes = register is not None and name not in _excluded(register)  # and the store has changed since
        return comes and self.known_in(register).get(name) == told.get(name)

    # -- at the end

    def judge(self, world: World) -> None:
        """After everything was delivered and drained.

        Raises:
            Violation: Regions know different values, a store has not what is shared, or a shared value is lost.
        """
        for path in NAMESPACES:
            found = {site.region: _known(site, path) for site in world.sites.values()}
            if len(set(found.values())) > 1:
                raise Violation("wrong winner", path, f"the regions know different values: {found}")
            for site in world.sites.values():
                self._complete(site, path)
            if not self._lost:
                self._nothing_silently(world, path)
        for site in world.everywhere:
            for row in site.disk.conflicts():
                if any(map(is_own, own_fields(row.value).values())):
                    raise Violation("own value leaves", row.path, f"a conflict of {site.region} keeps it")

    def _complete(self, site: Site, path: MetaPath) -> None:
        register, node = site.disk.tables.registers.get(path), site.store.nodes.get(path)
        if register is None or register.known is None or register.known.digest is None or register.due or node is None:
            return
        if register.known.digest not in self._values and self._history.lied:
            return  # a liar has made its fields up
        expected, held = self._values[register.known.digest], own_fields(node.value)
        ruled, excluded = site.replica.settings.excluded(path), _excluded(register)
        for name in FIELDS:
            what, same = f"{name} of {site.region}", held.get(name) == expected.get(name)
            if name in ruled and name not in excluded:
                raise Violation("not excluded", path, f"{what} is to be its own")
            if name not in excluded:
                if not same:
                    raise Violation("diverged", path, f"{what} is not what is known")
                continue
            if (site.region, path, name) not in self._ever:
                raise Violation("excluded by no rule", path, what)
            if name not in ruled and same:
                raise Violation("still excluded", path, f"{what} is what the group has")
            kept = register.kept.group if register.kept is not None else {}
            if kept.get(name) != expected.get(name):
                raise Violation("field lost", path, f"{what}: the group's value is not kept")

    def _nothing_silently(self, world: World, path: MetaPath) -> None:
        """Who has changed a shared field was seen by the winner's author, or is in a conflict record.

        Or its value stands, or another author of the same value has seen it: two of these are merged, and none of them
        is a loser.
        """
        named = self._history.named
        stamps = [stamp for at, stamp in named if at == path and (at, stamp) not in self._history.withdrawn]
        if not stamps:
            return
        greatest = functools.reduce(_greater, stamps)
        winner, fields = named[path, greatest], self._named.get((path, greatest))
        rows = [row for site in world.everywhere for row in site.disk.conflicts(path)]
        losers = [found for row in rows if (found := named.get((path, row.loser))) is not None]
        same = [
            each
            for (at, stamp), each in named.items()
            if at == path and each.digest == winner.digest and self._named.get((path, stamp)) == fields
        ]
        for write in (each for (_, at), writes in self._writes.items() if at == path for each in writes):
            content, told = write.content, self._named.get((path, write.content.stamp)) if write.content.stamp else None
            shared = [name for name in write.changed if told is not None and told.get(name) == _of(write.fields, name)]
            stands = all(_of(fields, name) == _of(told, name) for name in shared)
            if stands or _within(content, (winner, *losers)):
                continue
            if not any(self._history.knew(each, content) for each in (*same, *losers)):
                raise Violation("silent loss", path, f"{shared[0]} of {content.stamp} is in no conflict record")


def _within(content: Content, others: Collection[Content]) -> bool:
    return any(content is each or content in each.past for each in others)


def _of(fields: Fields | None, name: str) -> Any:
    return (fields or {}).get(name)


def _excluded(register: Register | None) -> frozenset[str]:
    return frozenset() if register is None or register.kept is None else frozenset(register.kept.excluded)


def _known(site: Site, path: MetaPath) -> Digest | None:
    register = site.disk.tables.registers.get(path)
    return register.known.digest if register is not None and register.known is not None else None


def _greater(one: Stamp, other: Stamp) -> Stamp:
    return one if later(one, other, TieOrder.SMALLER_REGION) else other


def _dumped(value: object) -> bytes:
    return orjson.dumps(value)
