"""Rules of newer fields: who does not know one loses none, none comes from nowhere, a removal that was seen holds.

Each stamp is judged by what truly was written between the state that the region held and the one that it has read:

    present in what was read            it counts, whatever it is
    absent, some broker that knows
    the field has removed it            gone, or as it was: of several writes between two reads nobody can tell
    absent otherwise                    as it was: who dropped it did not know it

What stands at the end is the value of the winner, so that these hold for the whole. A region's store is whole where all
of its brokers know a field; else its database has what its store lacks.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

import orjson

from syncer.conflict.causality.order import later
from syncer.conflict.projection import FORMERS, PROJECTIONS
from syncer.conflict.register import Register
from syncer.model import Digest, MetadataChangeEvent, MetaPath, Region, Revision, Stamp, TieOrder
from tests.simulation.history import Content, History, Violation
from tests.simulation.newer_fields import KIND, Leaf, Leaves, leaves_in, leaves_of, shown, without_newer, writes_default
from tests.support.parts import parts_of

if TYPE_CHECKING:
    from syncer.state.contract.conflicts import ConflictRow
    from tests.simulation.disk import Tables
    from tests.simulation.region import Contents, Daemon
    from tests.simulation.store import Watch
    from tests.simulation.world import Site, World


class Did(StrEnum):
    """What a write from outside did with a field that it did not leave as it was."""

    SET = "set"
    REMOVED = "removed"
    """By a broker that knows it."""
    DROPPED = "dropped"
    """By one that does not."""


@dataclass(eq=False, frozen=True, slots=True, kw_only=True)
class LoggedWrite:
    """One write into a store.

    Args:
        content: What stands there since.
        leaves: Its newer fields.
        did: What its author did with them; a daemon does nothing.
        deletes: It deleted the path.
        revision: Of the path since.
    """

    content: Content
    leaves: Leaves
    did: Mapping[Leaf, Did] = field(default_factory=dict)
    deletes: bool = False
    revision: Revision | None = None


@dataclass(eq=False, frozen=True, slots=True)
class SeenRemoval:
    """A removal while the daemon could see all of it, as long as daemon, watch and brokers stay as they are."""

    write: LoggedWrite
    leaf: Leaf
    daemon: Daemon
    watch: Watch
    changes: int


class FieldRules:
    """Judges what becomes of newer fields.

    Args:
        history: What truly happened.
        lost: Regions that have lost their database.
        met: What the schedule has met.
    """

    def __init__(self, history: History, lost: set[Region], met: Counter[str]) -> None:
        self._history = history
        self._met = met
        self._lost = lost
        self._writes: dict[tuple[Region, MetaPath], list[LoggedWrite]] = {}
        self._values: dict[Digest, Leaves] = {}
        """Newer fields of whole values, by the digest of these."""
        self._named: dict[tuple[MetaPath, Stamp], Leaves] = {}
        self._said: dict[MetaPath, set[tuple[Leaf, bytes]]] = {}
        self._removals: dict[tuple[Region, MetaPath], list[SeenRemoval]] = {}
        self._plain: dict[Digest, Digest] = {}
        self._by_name: dict[tuple[MetaPath, Stamp], bool] = {}
        self._world: World | None = None

    # -- what is written

    def written_outside(self, site: Site, path: MetaPath, write: LoggedWrite) -> None:
        """A broker has written."""
        write = self._log(site, path, write)
        self._said.setdefault(path, set()).update((leaf, _dumped(value)) for leaf, value in write.leaves.items())
        for leaf, did in write.did.items():
            if did is Did.REMOVED and (seen := self._seen_removal(site, path, write, leaf)) is not None:
                self._removals.setdefault((site.region, path), []).append(seen)

    def written_here(self, site: Site, path: MetaPath) -> None:
        """A daemon has written."""
        node = site.store.nodes.get(path)
        leaves = leaves_of(node.value if node is not None else None)
        self._log(site, path, LoggedWrite(content=site.store.content(path), leaves=leaves))

    def _log(self, site: Site, path: MetaPath, write: LoggedWrite) -> LoggedWrite:
        entry = site.store.entry(path)
        revision = entry.revision if entry is not None else None
        known = LoggedWrite(
            content=write.content, leaves=write.leaves, did=write.did, deletes=write.deletes, revision=revision
        )
        self._writes.setdefault((site.region, path), []).append(known)
        return known

    def _seen_removal(self, site: Site, path: MetaPath, write: LoggedWrite, leaf: Leaf) -> SeenRemoval | None:
        """A removal that has to count, if nothing comes between: all brokers know the field, and are known to."""
        register, group = site.disk.tables.registers.get(path), site.brokers
        before = self._writes[site.region, path][-2:-1]
        if group is None or not before or register is None or register.stored is None or len(site.daemons) != 1:
            return None
        daemon, watch = site.daemon, site.daemon.watch
        local = parts_of(daemon.driver).local
        brokers = local.core.replica.settings.brokers
        steady = register.stored.revision == before[0].revision and not register.due and register.intent is None
        held = register.kept is not None and leaf in leaves_in(register.kept.store)
        sure = brokers is not None and brokers.version == group.oldest and group.as_told(local.versions.told.versions)
        settled = not (local.versions.unsettled or local.versions.rescan) and local.watch.scanned
        if watch is None or not (steady and held and sure and settled and group.all_know(leaf[0])):
            return None
        return SeenRemoval(write, leaf, daemon, watch, group.changes)

    # -- while it runs

    def keep(self, event: MetadataChangeEvent) -> None:
        """An event was stamped, or told again: its value is a whole one."""
        if event.resource is KIND and event.value is not None:
            leaves = leaves_of(event.value)
            self.digest_of_whole(event.path, event.value)
            self._named[event.path, event.stamp] = leaves
            self._by_name[event.path, event.stamp] = writes_default(event.value)

    def digest_of_whole(self, path: MetaPath, value: bytes) -> None:
        """Note a whole value by its digest."""
        for projection in (PROJECTIONS[KIND], *FORMERS[KIND]):
            digest = projection.digest(value)
            self._values[digest] = leaves_of(value)
            self._plain[digest] = PROJECTIONS[KIND].digest(without_newer(path, value))

    def keep_row(self, row: ConflictRow) -> None:
        """A conflict keeps a whole value."""
        if row.value is not None and row.path in {path for _, path in self._writes}:
            self.digest_of_whole(row.path, row.value)

    def plain(self, digest: Digest | None) -> Digest | None:
        """The digest of a value without its newer fields, by its own."""
        return None if digest is None else self._plain.get(digest, digest)

    def adds(self, content: Content, event: MetadataChangeEvent) -> bool:
        """Whether an event tells a content again that has a stamp already, with fields that it lacked then."""
        if event.resource is not KIND or content.stamp is None:
            return False
        told = self._named.get((event.path, content.stamp))
        whole = leaves_of(event.value)
        if told is None or not told.items() <= whole.items():
            return False
        return told != whole or writes_default(event.value) > self._by_name[event.path, content.stamp]

    def stamped(self, site: Site, before: Tables, event: MetadataChangeEvent, content: Content) -> None:
        """A region took what it has read for a change.

        Raises:
            Violation: A field was lost, or invented.
        """
        path, writes = event.path, self._writes.get((site.region, event.path), [])
        read = next((at for at in range(len(writes) - 1, -1, -1) if writes[at].content is content), None)
        if event.resource is not KIND or event.value is None or read is None:
            return
        register, leaves, told = before.registers.get(path), writes[read].leaves, leaves_of(event.value)
        former, start = self._former(site, register, path, read)
        between = writes[start + 1 : read + 1]
        for leaf in sorted(leaves.keys() | told.keys() | former.keys()):
            what = f"{site.region} stamped {event.stamp}, {shown(leaf)}"
            if leaf in leaves:
                if leaf not in told or told[leaf] != leaves[leaf]:
                    raise Violation("field changed", path, f"{what} is not as it stands in the store")
            elif leaf in former:
                gone = any(each.deletes or each.did.get(leaf) is Did.REMOVED for each in between)
                if leaf not in told and not gone:
                    raise Violation("field lost", path, f"{what} was removed by nobody who knows it")
                if leaf in told and told[leaf] != former[leaf] and not self._may_add(site, register, path, leaf, told):
                    raise Violation("field changed", path, f"{what} is not as it was")
            elif not self._may_add(site, register, path, leaf, told):
                raise Violation("field invented", path, f"{what} was not there")

    def _former(self, site: Site, register: Register | None, path: MetaPath, read: int) -> tuple[Leaves, int]:
        """The fields of what the region held before, and which write has brought that there; -1: none."""
        stored = register.stored if register is not None else None
        if stored is None or stored.digest is None:
            return {}, -1
        writes = self._writes[site.region, path]
        former = self._values.get(stored.digest)
        if former is None:  # what others' fields have completed, and nobody has published
            kept = register.kept if register is not None else None
            former = leaves_in({**kept.gone, **kept.store}) if kept is not None else {}
        for at in range(read, -1, -1):
            if stored.revision is not None and writes[at].revision == stored.revision:
                return former, at
            if stored.revision is None and any(name.stamp == stored.stamp for name in writes[at].content.names):
                return former, at
        return former, -1

    def _may_add(self, site: Site, register: Register | None, path: MetaPath, leaf: Leaf, told: Leaves) -> bool:
        """Whether a field may come from what others know: of a region that had met nobody, or held nothing."""
        if (leaf, _dumped(told[leaf])) not in self._said.get(path, ()):
            return False
        stored = register.stored if register is not None else None
        if stored is None or stored.digest is None or site.region in self._lost:
            return True
        known = register.known if register is not None else None
        due = known.digest if known is not None and known.digest != stored.digest else None
        if due is not None and self._values.get(due, {}).get(leaf) == told[leaf]:
            return True  # of another region's value that is due here, and that its own brokers may not know
        alone = not set(stored.seen) - {stored.by}
        self._met["met at last"] += alone
        return alone

    def read(self, site: Site, before: Tables, contents: Contents) -> None:
        """What was read was decided.

        Raises:
            Violation: A removal that was seen is undone.
        """
        for path in contents:
            former, register = before.registers.get(path), site.disk.tables.registers.get(path)
            if (site.region, path) not in self._removals or register is None or register is former:
                continue
            stored, waiting = register.stored, self._removals[site.region, path]
            for seen in list(waiting):
                if stored is None or stored.revision != seen.write.revision or contents[path] is not seen.write.content:
                    continue
                waiting.remove(seen)
                self._met["removal seen"] += self._still_seen(site, seen)
                kept = leaves_in(register.kept.gone) if register.kept is not None else {}
                if seen.leaf in kept and self._still_seen(site, seen):
                    detail = f"{site.region} undoes that {shown(seen.leaf)} was removed, which it could see"
                    raise Violation("removal undone", path, detail)

    @staticmethod
    def _still_seen(site: Site, seen: SeenRemoval) -> bool:
        daemon, group = seen.daemon, site.brokers
        same = site.daemons == [daemon] and daemon.watch is seen.watch and seen.watch.whole and daemon.scan is None
        return same and group is not None and group.changes == seen.changes

    # -- at the end

    def judge(self, world: World) -> None:
        """After everything was delivered and drained.

        Raises:
            Violation: A region has not what the others have, a store lacks what its brokers know, or a field is lost.
        """
        self._world = world
        for path in sorted({path for _, path in self._writes}):
            self._same_values(world, path)
            for site in world.sites.values():
                self._complete(site, path)
            if not self._lost:
                self._nothing_silently(world, path)
                self._met_at_last(world, path)

    def standing(self, path: MetaPath) -> Leaves:
        """The newer fields that the group knows of a path, all at rest."""
        assert self._world is not None
        known = {self._known(site, path) for site in self._world.sites.values()}
        (digest,) = known
        return {} if digest is None else self._values[digest]

    def stands_as(self, path: MetaPath, expected: Leaves, why: str) -> None:
        """At rest, these fields stand.

        Raises:
            Violation: It is otherwise.
        """
        assert self._world is not None
        self._same_values(self._world, path)
        found = self.standing(path)
        for leaf in sorted(found.keys() | expected.keys()):
            if (leaf in found) is not (leaf in expected) and leaf[0] not in _DEFAULTED:
                rule = "removal undone" if leaf in found else "field lost"
                raise Violation(rule, path, f"{shown(leaf)}: {why}")

    @staticmethod
    def _known(site: Site, path: MetaPath) -> Digest | None:
        register = site.disk.tables.registers.get(path)
        return register.known.digest if register is not None and register.known is not None else None

    def _same_values(self, world: World, path: MetaPath) -> None:
        found = {site.region: self._known(site, path) for site in world.sites.values()}
        if len(set(found.values())) > 1:
            fields = {region: self._values.get(digest) for region, digest in found.items() if digest is not None}
            raise Violation("wrong winner", path, f"the regions know different values, with the newer fields {fields}")

    def _complete(self, site: Site, path: MetaPath) -> None:
        register, node, group = site.disk.tables.registers.get(path), site.store.nodes.get(path), site.brokers
        if register is None or register.known is None or register.known.digest is None or register.due:
            return
        expected, held = self._values[register.known.digest], leaves_of(node.value if node is not None else None)
        kept = leaves_in(register.kept.gone) if register.kept is not None else {}
        for leaf in sorted(expected.keys() | held.keys()):
            what = f"{shown(leaf)}, as {site.region} has it,"
            if leaf in held and held[leaf] != expected.get(leaf):
                raise Violation("diverged", path, f"{what} is not what is known")
            if leaf in held:
                continue
            if kept.get(leaf) != expected[leaf]:
                raise Violation("field lost", path, f"{what} is neither in the store nor kept")
            if group is not None and group.all_know(leaf[0]):
                raise Violation("not written back", path, f"{what} is not in the store, and all brokers know it")

    def _winner(self, world: World, path: MetaPath) -> Content | None:
        stamps = {register.known.stamp for site in world.sites.values() if (register := _register(site, path)).known}
        return self._history.named.get((path, max(stamps, key=str))) if len(stamps) == 1 else None

    def _nothing_silently(self, world: World, path: MetaPath) -> None:
        """Who has set or removed a field was seen by the winner's author, or is in a conflict record.

        Or by another author of the same value: two of these are merged, and none of them is a loser.
        """
        winner = self._winner(world, path)
        if winner is None:
            return
        lost = [
            (write, leaf)
            for (_, at), writes in self._writes.items()
            if at == path
            for write in writes
            if write.content.stamp is not None and write.content not in winner.past
            for leaf, did in write.did.items()
            if did is not Did.DROPPED and leaf[0] not in _DEFAULTED
        ]
        if not lost:
            return
        fields = self._named.get((path, winner.stamp)) if winner.stamp is not None else None
        merged = [
            each
            for (at, stamp), each in self._history.named.items()
            if at == path and each.digest == winner.digest and self._named.get((path, stamp)) == fields
        ]
        rows = [row for site in world.everywhere for row in site.disk.conflicts(path)]
        losers = [named for row in rows if (named := self._history.named.get((path, row.loser))) is not None]
        for write, leaf in lost:
            if any(write.content is loser or write.content in loser.past for loser in losers):
                continue
            if any(self._history.knew(other, write.content) for other in (*merged, *losers)):
                continue
            raise Violation("silent loss", path, f"{shown(leaf)} of {write.content.stamp} is in no conflict record")

    def _met_at_last(self, world: World, path: MetaPath) -> None:
        """A winner whose region had met nobody takes the fields of others: nobody there can have removed them.

        But where its value was changed, and all brokers there have known the field, whoever made that may have.
        """
        winner = self._winner(world, path)
        if winner is None or winner.digest is None or winner.stamp is None:
            return
        region, named = winner.stamp.region, self._history.named
        writes = [write for (_, at), log in self._writes.items() if at == path for write in log]
        met = any(each.region != region or each.carries is not None for each in winner.past)
        if met or any(write.deletes for write in writes):
            return
        ended = {leaf for write in writes for leaf, did in write.did.items() if did is Did.REMOVED}
        others = [stamp for at, stamp in self._named if at == path and stamp.region != region]
        if not others:
            return
        greatest, standing = functools.reduce(_greater, others), self._named[path, winner.stamp]
        if any(each.region == region for each in named[path, greatest].past):
            return  # its author had seen what this region had: the two have met
        group = world.sites[region].brokers if region in world.sites else None
        for leaf in sorted(self._named[path, greatest].keys() - ended - standing.keys()):
            if group is not None and leaf[0] in group.ever_known and not winner.stamp.is_baseline:
                continue
            raise Violation("field lost", path, f"{shown(leaf)} of {greatest} met {winner.stamp}, which had met nobody")


_DEFAULTED = frozenset({"is_allow_auto_update_schema_with_replicator"})
"""Who knows it writes it always: that it stands there again is no decision of anybody's."""


def _greater(one: Stamp, other: Stamp) -> Stamp:
    return one if later(one, other, TieOrder.SMALLER_REGION) else other


def _dumped(value: object) -> bytes:
    return orjson.dumps(value)


def _register(site: Site, path: MetaPath) -> Register:
    return site.disk.tables.registers.get(path) or Register(path=path)
