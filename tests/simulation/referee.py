"""The referee: knows the history of outside writes and the final state, and judges by the rules alone."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import orjson

from syncer.conflict.acts import Decision
from syncer.conflict.causality.order import later
from syncer.conflict.classes.moving import is_unmet
from syncer.conflict.classes.pairs import class_of, label_of
from syncer.conflict.digest_tree import GROUPS, Changes, DigestTree, note, unpacked
from syncer.conflict.guards import Topics
from syncer.conflict.projection import PROJECTIONS
from syncer.conflict.register import ParkReason, Register
from syncer.conflict.settings import Direction
from syncer.model import (
    Digest,
    MetadataChangeEvent,
    MetaPath,
    Millis,
    Region,
    ResourceKind,
    Stamp,
    TieOrder,
    Version,
    baseline_time,
)
from syncer.paths import child_prefixes, classify
from syncer.replication.antientropy.class_sums import SumsLabel, parted_row
from syncer.replication.inbound.isolation import UNTAKEN
from syncer.state.contract.conflicts import ConflictRow
from syncer.state.contract.membership import JOINING
from syncer.state.contract.operations import OperationState
from tests.simulation import own_credentials
from tests.simulation.cluster_names import KNOWN
from tests.simulation.collecting import parent_goes, went_rightly
from tests.simulation.disk import Tables
from tests.simulation.exclusion_rules import ExclusionRules
from tests.simulation.field_rules import FieldRules
from tests.simulation.history import Content, History, Violation
from tests.simulation.looking import Look
from tests.simulation.misread import misread
from tests.simulation.name_disputes import NameDisputes
from tests.simulation.newer_fields import without_newer
from tests.simulation.offloading import CarryRules
from tests.simulation.store import GARBAGE, digest_of
from tests.simulation.story import Story
from tests.support.parts import parts_of

if TYPE_CHECKING:
    from tests.simulation.liar import Liar
    from tests.simulation.region import Contents
    from tests.simulation.world import Site, World

_UNLIMITED = 1000
"""No person is asked where so many deletes may pass."""
_FIRST_FOUND = baseline_time(1)
"""What the first database of a region stamps at first contact."""
_ALITTLE_MS = 5_000
"""A path that lies ahead stays editable: each edit carries it on by some milliseconds."""
_ACCUSERS = 2
"""Members whose word together has a database rebuilt."""
_COUNTERS = 300
"""A group has not so many databases."""
_LEAVING = (Direction.BOTH, Direction.PUBLISH)
_LANDING = (Direction.BOTH, Direction.APPLY)
_ASSERTIONS = frozenset({Decision.REASSERTED, Decision.RESTORED})


@dataclass(frozen=True, slots=True)
class _Telling:
    """What a region's database knew when another one began to listen to it."""

    region: Region
    database_id: str
    paths: frozenset[MetaPath]
    since: Millis
    """The listener's clock when it began; it hears later than that."""


class Referee:
    """Judges each stamp and each overwrite at once, and the whole at the end."""

    def __init__(
        self, history: History, story: Story, sites: Mapping[Region, Site], gone: Mapping[Region, Site]
    ) -> None:
        self.history = history
        self._story = story
        self.met: Counter[str] = Counter()
        """Which faults and which branches of decision there were."""
        self._sites = sites
        self._gone = gone
        self._judged: dict[str, int] = {}
        self._deleted: list[MetaPath] = []
        """Local deletes of the call that is judged."""
        self._blind: set[Content] = set()
        self._keepers: tuple[Site, ...] = ()
        self._forgotten: set[MetaPath] = set()
        self.published: Callable[[], Collection[MetadataChangeEvent]] = tuple
        """What is on the bus."""
        self.lost: set[Region] = set()
        """Regions that have lost their database; what holds for them is weaker."""
        self.accused: dict[str, set[Region]] = {}
        """Databases of honest regions of which a lie says that they are old copies, and in whose names."""
        self.forged: set[str] = set()
        """Databases of honest regions in whose names a lie tells a change that they have yet to number."""
        self.on_bus: Callable[[MetaPath, Stamp], bool] = lambda *_: True
        """Whether a change has ever arrived on the bus."""
        self._asked: dict[tuple[Region, int], Look] = {}
        """What operators were shown who have asked for something, by the operation."""
        self._confirmed: set[tuple[Region, MetaPath, Stamp, Digest | None]] = set()
        """What an operator has let pass, where, and in the place of which value."""
        self._rejected: dict[tuple[Region, MetaPath], Look] = {}
        """What an operator was shown who has a region's value win, while that has not happened."""
        self._told_again: set[tuple[MetaPath, Stamp]] = set()
        self._echoes: set[tuple[MetaPath, Stamp]] = set()
        self._to_learn: dict[str, tuple[_Telling, ...]] = {}
        self.liar: Liar | None = None
        """A member who says anything; what others may do because of that is not held against them."""
        self.fields: FieldRules | ExclusionRules | CarryRules | None = None
        """What holds of fields that not every broker knows, where brokers have versions, or that regions exclude."""
        self.disputes: NameDisputes | None = None
        """What regions were told of one another's names, where they may have one name for two clusters."""

    # -- while it runs

    def stamped(self, site: Site, before: Tables, contents: Contents) -> None:
        """A call of a driver is over: every event that it stamped must name an outside change that it has read."""
        tables = site.disk.tables
        if tables.identity.database_id != before.identity.database_id:
            self._begins_anew(site)
            self._rightly_begun(site, before)
            if self.liar is not None:
                self.loses(site)  # as a lie may make it do, once per start
        self._meet(before, tables)
        restored = self._decided(site, before)
        self._within_bounds(site, before)
        for path in tables.forgotten.keys() - before.forgotten.keys():
            self._story.tell(site.region, "forgets the delete of", path)
        self._forgotten.update(tables.forgotten)
        done = self._judged.get(site.region, 0)
        self._judged[site.region] = len(tables.stamped)
        if len(tables.stamped) > done:
            if tables.identity.database_id == site.outdated:
                for event in tables.stamped[done:]:
                    if (event.path, event.stamp) not in self.history.named:
                        detail = f"{site.region} stamped {event.stamp} of a store put back"
                        raise Violation("old store", event.path, detail)
            asserted = {
                (row.path, row.stamp): row.decision
                for row in tables.journal[len(before.journal) :]
                if row.decision in _ASSERTIONS
            }
            for event in tables.stamped[done:]:
                self._event(
                    site, before, event, contents, asserted=asserted.get((event.path, event.stamp)), restored=restored
                )
            self._few_deletes(site, before)
        if len(tables.conflicts) > len(before.conflicts):
            for row in list(tables.conflicts.values())[len(before.conflicts) :]:
                self._conflict(site, row)
        self._end_wishes(site.region, tables)
        self._taken(site, before, contents)

    def _rightly_begun(self, site: Site, before: Tables) -> None:
        """A database begins anew by own evidence, two accusers, or a person; one that is new to its store loses none.

        Where a region has lost its database the evidence is true, whoever gives it. A change in a region's own name,
        which nobody can tell from a true one without keys, is evidence too.
        """
        database = before.identity.database_id
        if site.region in self.lost or database in self.forged or not before.identity.first_scan_done:
            return
        accusers = self.accused.get(database, set())
        why = orjson.loads(site.disk.tables.identity.rebuild or "{}").get("reason", "")
        if "has heard generation" in why and not any(event.sender == database for event in self.published()):
            return  # nobody has anything of it
        if len(accusers) < _ACCUSERS:
            names = ", ".join(sorted(accusers)) or "nobody"
            raise Violation("rebuilt on one's word", "", f"{site.region} gives {database} up ({why}); said by {names}")

    def _taken(self, site: Site, before: Tables, contents: Contents) -> None:
        """What was read was decided, as far as it was: a region may have taken it for something that it knew."""
        tables = site.disk.tables
        for path, content in contents.items():
            register = tables.registers.get(path)
            if register is not None and register.stored is not None and register is not before.registers.get(path):
                self.history.took_for(content, register.stored.stamp)
        if isinstance(self.fields, FieldRules):
            self.fields.read(site, before, contents)
        if self.disputes is not None:
            self.disputes.decided(site, before)

    def _within_bounds(self, site: Site, before: Tables) -> None:
        """Whatever is told, nothing is known that lies far ahead of the clock, or whose author has seen without end."""
        registers, limit = site.disk.tables.registers, site.clock() + site.replica.settings.limits.max_clock_skew_ms
        if registers is before.registers or self.liar is None:
            return
        for path, register in registers.items():
            known = register.known
            if known is None or register is before.registers.get(path):
                continue
            if known.stamp.updated_at_ms > limit + _ALITTLE_MS:
                ahead_s = (known.stamp.updated_at_ms - site.clock()) // 1000
                raise Violation("ahead of all clocks", path, f"{site.region} knows {known.stamp}, {ahead_s} s ahead")
            if len(known.seen) > _COUNTERS:
                raise Violation(
                    "long vector", path, f"{site.region} knows {known.stamp} with {len(known.seen)} counters"
                )

    def _meet(self, before: Tables, tables: Tables) -> None:
        """Count what a call has come to."""
        met = self.met
        for row in tables.journal[len(before.journal) :]:
            met[f"decided: {row.decision}"] += 1
        if tables.registers is not before.registers:
            for path, register in tables.registers.items():
                if register is not before.registers.get(path):
                    if register.hold is not None:
                        met[f"held: {register.hold.reason}"] += 1
                    if register.parked is not None:
                        met[f"parked: {register.parked.reason}"] += 1
        for each in [*tables.poison.values()][len(before.poison) :]:
            if each.poison.code == UNTAKEN:
                raise Violation("not taken", each.poison.path or "", f"a message has raised: {each.poison.detail}")
        met["quarantined"] += len(tables.poison) > len(before.poison)
        met["forgotten"] += len(tables.forgotten) > len(before.forgotten)
        met["rebuilt"] += (
            bool(before.identity.rebuild) and tables.identity.first_scan_done and not before.identity.first_scan_done
        )

    def _conflict(self, site: Site, row: ConflictRow) -> None:
        """A conflict was just recorded: neither author may have seen the other."""
        loser = self.history.named.get((row.path, row.loser))
        winner = self.history.named.get((row.path, row.winner))
        self._story.tell(site.region, "records a conflict", row.path, row.loser, "lost to", row.winner, row.reason)
        if loser is None or winner is None or row.reason != "concurrent" or self.lost or self.history.lied:
            return  # what an author saw of a value is forgotten with its database
        if loser.digest is None and row.path in self._forgotten:
            return  # the winner's author had forgotten the delete, which nobody loses anything by
        if loser in site.store.went:
            return  # it went with its topic, and what is written there since was written over nothing
        if (loser in winner.past or winner in loser.past) and not (self._keepers and self._twin(loser, row.loser)):
            detail = f"{site.region}: {row.loser} against {row.winner}, one of whose authors saw the other"
            raise Violation("false conflict", row.path, detail)

    def _twin(self, loser: Content, stamp: Stamp) -> bool:
        """Whether the same value was stamped twice: who never gets the second stamp cannot say that it saw that, too.

        Trees compare values; equal ones with different stamps are left as they are.
        """
        return any(
            path == loser.path and at != stamp and other.digest == loser.digest
            for (path, at), other in self.history.named.items()
        )

    def asked(self, site: Site, number: int, look: Look) -> None:
        """An operator has asked for something, by what he was shown."""
        self._asked[site.region, number] = look

    def _decided(self, site: Site, before: Tables) -> Look | None:
        """Take what this call has done of what operators asked for; what one was shown who has restored something."""
        tables, restored = site.disk.tables, None
        for number, operation in tables.operations.items():
            former = before.operations.get(number)
            if operation.state is not OperationState.DONE or (former is not None and former.state is operation.state):
                continue
            look = self._asked.get((site.region, number))
            if look is None:
                continue
            if not look.still_so(before.registers.get(look.path)):
                detail = f"{site.region} has done what an operator asked for ({operation.kind}), who was shown {look}"
                raise Violation("not shown", look.path, detail)
            match operation.kind:
                case "confirm" if look.stamp is not None:
                    self._confirmed.add((site.region, look.path, look.stamp, look.stored))
                case "undo" if look.stamp is not None:
                    self.withdrawn(look.path, look.stamp)
                case "reject":
                    self._rejected[site.region, look.path] = look
                case "restore":
                    self._restored_rightly(site, before, look)
                    restored = look
        return restored

    @staticmethod
    def _restored_rightly(site: Site, before: Tables, look: Look) -> None:
        """What stands in a store that was not read whole yet, no operator was shown who has restored something."""
        stands = site.store.content(look.path).digest
        if not before.identity.first_scan_done and stands not in {None, look.stored}:
            raise Violation("not shown", look.path, f"{site.region} restores a value where nobody has read the store")

    def _end_wishes(self, region: Region, tables: Tables) -> None:
        """What an operator has wished, and what has ended since, is no wish of his any more."""
        for at, path in list(self._rejected):
            register = tables.registers.get(path)
            if at == region and (register is None or register.wish is None):
                del self._rejected[at, path]

    def _event(
        self,
        site: Site,
        before: Tables,
        event: MetadataChangeEvent,
        contents: Contents,
        *,
        asserted: Decision | None,
        restored: Look | None,
    ) -> None:
        path, digest = event.path, digest_of_event(event)
        if self.fields is not None:
            self.fields.keep(event)
        if self._told_before(site, event, digest):
            self._raises_nothing(site, before, event)
            return
        if asserted is not None:
            rejected = self._rejected.pop((site.region, path), None)
            look = restored if asserted is Decision.RESTORED else rejected
            content = self._asserted(site, before, event, look, contents)
            contents = {at: found for at, found in contents.items() if at != path}
        elif path in contents:
            content = contents[path]
        else:
            raise Violation("unread", path, f"{site.region} stamped {event.stamp} without having read the path")
        self._story.tell(site.region, "stamps", path, content, "as", event.stamp)
        if direction_of(site, path) not in _LEAVING:
            raise Violation("out of scope", path, f"{site.region} stamped {event.stamp}, and the path may not leave it")
        if asserted is None:
            self._rightly_stamped(site, before, event, content)
        if content.digest != digest:
            raise Violation("wrong value", path, f"{event.stamp} was given to {content}, with another value")
        if self.fields is not None and asserted is None:
            self.fields.stamped(site, before, event, content)
        if site.region in self.lost:
            content = self._anew(site, event, content)
        elif self.fields is not None and self.fields.adds(content, event):
            content = self.history.name_completed(content, event.stamp)
        else:
            self.history.name(content, event.stamp)
        content.by = event.by
        content.held = event.sequence == 0

    def _told_before(self, site: Site, event: MetadataChangeEvent, digest: Digest | None) -> bool:
        """Whether an event has no stamp of its own: what it tells was stamped, or made up, before."""
        path = event.path
        known = self.history.version(path, event.stamp, digest)
        if known is not None and known.invented and known.digest != digest:
            return False  # the liar has guessed its stamp
        if known is not None and event.stamp.region in self.lost and known.digest != digest:
            if site.region != event.stamp.region:  # it has what was published; what else had that stamp never was
                self._told_again.add((path, event.stamp))
                return True
            # an old copy uses a stamp again: what is published already has to be dropped, which is judged at the end
            return any((each.path, each.stamp) == (path, event.stamp) for each in self.published())
        if known is None:
            return False
        if known.digest != digest:
            raise Violation("two values", path, f"{event.stamp} names two values")
        if not known.held:
            self._told_again.add((path, event.stamp))
        elif event.sequence and site.region == event.stamp.region and site.collectors is None:
            self._released(site, event)
        known.held = event.sequence == 0
        return True

    def _released(self, site: Site, event: MetadataChangeEvent) -> None:
        """What was held back is published: only as an operator says so."""
        if not any(each[:3] == (site.region, event.path, event.stamp) for each in self._confirmed):
            raise Violation("guard", event.path, f"{site.region} publishes {event.stamp}, which waits for a person")

    def _raises_nothing(self, site: Site, before: Tables, event: MetadataChangeEvent) -> None:
        """A region tells an old value again only where it knows it: nobody may have forgotten a later delete of it.

        A baseline may be younger than a delete of a greater time: it was deleted by whoever had seen it.
        """
        register, path = before.registers.get(event.path), event.path
        if event.value is None or (register is not None and register.known is not None and not is_unmet(register)):
            return
        told = self.history.named.get((path, event.stamp))
        for other in (*self._sites.values(), *self._gone.values()):
            gone = _known_in(other.disk.tables.forgotten.get(path))
            if gone is None or not later(gone.stamp, event.stamp, TieOrder.SMALLER_REGION):
                continue
            delete = self.history.named.get((path, gone.stamp))
            if not event.stamp.is_baseline or (delete is not None and told in delete.past):
                detail = f"{site.region} tells {event.stamp}; {other.region} has forgotten its delete {gone.stamp}"
                raise Violation("forgotten rises", path, detail)

    def _rightly_stamped(self, site: Site, before: Tables, event: MetadataChangeEvent, content: Content) -> None:
        """A local change: its time is not from the future, and it is no first sight."""
        path, time, limits = event.path, event.stamp.updated_at_ms, site.replica.settings.limits
        older = [name.stamp.updated_at_ms for name in content.past if name.stamp is not None]
        older += [at.updated_at_ms for where, at in self.history.named if where == path and at.region == site.region]
        if time > max(site.clock() + limits.max_clock_skew_ms, *(at + 1 for at in older), 0):
            raise Violation("from the future", path, f"{site.region} stamped {event.stamp} at {site.clock()}")
        register = before.registers.get(path)
        first = not before.identity.first_scan_done and (register is None or register.stored is None)
        if first and event.value is not None and not event.stamp.is_baseline:
            raise Violation(
                "first sight", path, f"{site.region} took what it found at first for a change, {event.stamp}"
            )
        if event.value is None and event.sequence:
            self._deleted.append(path)
            if site.lacks.get(path) is content:
                raise Violation("guard", path, f"{event.stamp}: {path} was deleted while {site.region} left it out")

    def sent(self, site: Site, events: Sequence[MetadataChangeEvent]) -> None:
        """A daemon sends rows of its outbox: each may leave the region now, whenever it was stamped.

        What a region has sent before, it may tell again where it carries the path at all.
        """
        for event in events:
            own_credentials.check_leaves("an event", event.path, event.value)
            direction, name = direction_of(site, event.path), (event.path, event.stamp)
            self._not_collected(site, *name)
            if direction in _LEAVING:
                continue
            again = event.stamp.region != site.region or any(
                (each.path, each.stamp) == name for each in self.published()
            )
            if direction is Direction.IGNORE or not again:
                raise Violation("out of scope", event.path, f"{site.region} sent {event.stamp}: it may not leave it")

    def _not_collected(self, site: Site, path: MetaPath, stamp: Stamp) -> None:
        """What is published, or deleted by a daemon, is nothing that a broker has collected."""
        if site.collectors is None:
            return
        passed = any(each[:3] == (stamp.region, path, stamp) for each in self._confirmed)
        went_rightly(self.history, path, stamp, self.published(), confirmed=passed)

    def _few_deletes(self, site: Site, before: Tables) -> None:
        """What a region's own deletes have been in the window, under whichever daemon, is not too much."""
        deleted, self._deleted = self._deleted, []
        limits, now = site.replica.settings.limits, site.clock()
        if not deleted or limits.max_deletes >= _UNLIMITED:
            return
        lately = [at for at in site.deletes if at > now - limits.delete_window_ms]
        site.deletes = [*lately, *[now] * len(deleted)]
        alive = sum(register.stored_alive for register in before.registers.values())
        total, share = len(site.deletes), limits.max_delete_fraction * (alive + len(lately))
        if total > limits.max_deletes or total > max(limits.min_deletes, share):
            raise Violation("guard", deleted[0], f"{total} deletes of {site.region} passed without a person")

    def wrote(self, site: Site, path: MetaPath, stamp: Stamp, before: bytes | None, after: bytes | None) -> None:
        """A daemon's write has landed: it may land there, and needs no person or has one."""
        if self.fields is not None:
            self.fields.written_here(site, path)
        if after is None and site.collectors is not None:
            self._not_collected(site, path, stamp)
            parent_goes(self.history, site, path)
        if direction_of(site, path) not in _LANDING:
            raise Violation(
                "out of scope", path, f"{site.region} wrote {stamp}, and the path is not to be written there"
            )
        if self.disputes is not None and not any(each[:3] == (site.region, path, stamp) for each in self._confirmed):
            self.disputes.written(site, path, stamp, after)
        if site.let_go.get(path) == stamp:
            raise Violation("has left", path, f"{site.region} wrote {stamp}, which was due when the path had left it")
        register = site.disk.tables.registers.get(path)
        shown = register.stored_digest if register is not None else None  # by the group's fields
        if misread(path, before) and (before == GARBAGE or shown != digest_of(path, before or b"")):
            raise Violation("guard", path, f"{site.region} wrote {stamp} over what it cannot read")
        stood = digest_of(path, before) if before is not None else None
        passed = any((site.region, path, stamp, each) in self._confirmed for each in (stood, shown))
        if not passed and (why := needs_a_person(site, path, before, after)):
            raise Violation("guard", path, f"{site.region} wrote {stamp} without a person, although {why}")

    def rescopes(self, site: Site) -> None:
        """A region carries other paths: of those its peers need not have told it anything, nor it them."""
        self._to_learn.pop(site.disk.tables.identity.database_id, None)
        for database, tellings in self._to_learn.items():
            self._to_learn[database] = tuple(each for each in tellings if each.region != site.region)
        self.loses(site)

    def loses(self, site: Site) -> None:
        """A region loses its database: what holds for it from now on is weaker."""
        self.lost.add(site.region)

    def _begins_anew(self, site: Site) -> None:
        """A database takes the place of a lost one: what its peers know now, it learns before it looks at its store.

        An old copy that was made after that has learned it; what its peers know since, it gets like any region that
        messages did not reach. What a region knows that has yet to join is its own: it tells it to nobody.
        """
        self._to_learn[site.disk.tables.identity.database_id] = tuple(
            _Telling(
                region=other.region,
                database_id=other.disk.tables.identity.database_id,
                paths=frozenset(path for path, row in other.disk.tables.registers.items() if row.known is not None),
                since=site.clock(),
            )
            for other in self._sites.values()
            if other is not site
            and other.disk.tables.identity.first_scan_done
            and other.disk.tables.identity.paused != JOINING
        )

    def _anew(self, site: Site, event: MetadataChangeEvent, content: Content) -> Content:
        """A region that has lost its database stamps something: nothing that its peers know, nothing that it wrote."""
        path = event.path
        if not event.stamp.is_baseline and not content.outside:
            self._echoes.add((path, event.stamp))
        if event.stamp.updated_at_ms < _FIRST_FOUND and site.disk.tables.identity.rebuild is not None:
            for told in self._to_learn.get(site.disk.tables.identity.database_id, ()):
                if told.region not in self._sites:
                    continue
                teller = self._sites[told.region].disk.tables
                whole = teller.identity.database_id == told.database_id
                whole = whole and not self._may_miss(site, teller, path, told.since)
                whole = whole and direction_of(self._sites[told.region], path) is not Direction.IGNORE
                held = any(each.path == path and each.sequence == 0 for each in teller.stamped)  # it is told to nobody
                register = teller.registers.get(path)
                known = register is not None and register.known is not None
                if whole and path in told.paths and known and not held:
                    detail = f"{site.region} makes a baseline of what {told.region} knows"
                    raise Violation("known elsewhere", path, detail)
        return self.history.name_again(content, event.stamp)

    def _may_miss(self, site: Site, teller: Tables, path: MetaPath, since: Millis) -> bool:
        """Whether, by a liar, a region need not learn what another one knows before it looks at its store.

        What lay too far ahead of its clock when it was told, it does not take from a listing; whom it refuses, since
        he was silent when he was said to be forgotten, it does not wait for until an operator has admitted him; and in
        the name of the other region, where the liar can speak in it, it is told that there is nothing.
        """
        register = teller.registers.get(path)
        known = register.known if register is not None else None
        if self.liar is None or known is None:
            return False
        heard = site.disk.tables.peers.get(teller.identity.region)
        if heard is not None and heard.document.get("refused"):
            return True
        ahead = since + site.replica.settings.limits.max_clock_skew_ms
        return self.liar.world.mode.masked or known.stamp.updated_at_ms > ahead

    def _asserted(
        self, site: Site, before: Tables, event: MetadataChangeEvent, look: Look | None, contents: Contents
    ) -> Content:
        """A region has asserted a value: an operator, by what he was shown; or itself, by what it has read."""
        path, digest = event.path, digest_of_event(event)
        if look is not None:
            shown = look.lost if look.lost is not None or look.stamp is None else look.stored
            if digest != self.plain(shown):
                raise Violation("not shown", path, f"{site.region} asserted {event.stamp}, which no operator was shown")
            return self.history.asserted(path, digest, look.past, site.region)
        register = before.registers.get(path)
        seen = [contents[path]] if path in contents else []
        if register is not None and register.known is not None:
            named = self.history.named.get((path, register.known.stamp))
            seen += [named] if named is not None else []
            seen += self.history.merged(path, replace(register.known, digest=self.plain(register.known.digest)))
        past = [one.reach() if one.region == site.region else one.past for one in seen]
        return self.history.asserted(path, digest, frozenset().union(*past), site.region)

    def kept_anywhere(self, sites: Collection[Site]) -> None:
        """The bus may lose for ever what tells a region of a conflict: it is kept where it was seen.

        A region whose change another one has overwritten, knowing it, has replaced it for those who missed that, too.
        """
        self._keepers = tuple(sites)

    def _came_in(self, site: Site, path: MetaPath, old: Content, new: Content) -> None:
        """What stood at a path that came in gives way to who has seen it, or where a person has seen both."""
        found = site.came_in.get(path)
        if found is None or old.digest == new.digest or new.stamp is None:
            return
        stands: Content | None = old
        while stands is not None and stands is not found:  # equal again, after another value, is not what came in
            stands = stands.over if stands.digest == found.digest else None
        if stands is None:
            return
        seen = any(each.digest == old.digest for each in new.past)
        if not seen and (site.region, path, new.stamp, old.digest) not in self._confirmed:
            raise Violation("guard", path, f"{new.stamp} replaces what has come into {site.region}: nobody saw both")

    def overwritten(self, site: Site, path: MetaPath, old: Content, new: Content) -> None:
        """A daemon's write has landed over another value: its author knew that value, or it is kept whole.

        Kept counts what a kept one's author had seen: somebody has replaced it knowingly. It is kept here, or where it
        comes from: by the counters, a later change of its own region includes it, and that region has its conflict. Who
        has asserted its value again, knowing it, is where it comes from, too.
        """
        self._story.tell(site.region, "overwrites", path, old, "with", new, new.stamp)
        self.met["overwritten"] += 1
        history = self.history
        self._came_in(site, path, old, new)
        if _made_up(old):
            return
        stamp = old.stamp
        if old.outside and stamp is not None and not self.lost and not stamp.is_baseline:
            taken_back = (path, stamp) in history.withdrawn
            if not taken_back and not old.held and not self.on_bus(path, stamp):
                raise Violation("overwritten unpublished", path, f"{stamp} of {site.region} by {new.stamp}")
        if old.digest is None and self.lost:
            return  # a delete that nobody had published may be undone
        old = self._but_for_own_fields(old)
        if history.knew(new, old) or old in self._blind or history.unnoticed(old):
            return
        names = history.indistinct(old).names
        taken_back = any(name.stamp is not None and (path, name.stamp) in history.withdrawn for name in names)
        # what is written where it went with its topic, between two reads, is told as written over it
        if taken_back or any(name in each.store.went for each in self._sites.values() for name in names):
            return
        everybody = {**self._gone, **self._sites}
        again = [each for each in history.contents if self._asserts_again(each, old)]
        authors = [name.stamp.region for name in (*names, *again) if name.stamp is not None and not name.invented]
        home = {everybody[region] for region in authors if region in everybody}  # a liar's is nobody's
        keepers = self._keepers or {site, *home}
        rows = [row for each in keepers for row in each.disk.conflicts(path)]
        for row in [*rows, *(row for each in keepers for row in each.disk.lost if row.path == path)]:
            whole = row.loser_digest is None or row.value is not None
            if whole and self._lost_by(row) == old.digest:
                if row.value is None or digest_of(path, row.value) == old.digest:
                    return
                raise Violation("garbled", path, f"the conflict row of {row.loser} holds another value")
            loser = history.named.get((path, row.loser))
            if loser is not None and whole and history.knew(loser, old):
                return
        changes = (each for each in history.contents if each.path == path and each not in names and self._stands(each))
        if any(each.digest != old.digest and history.knew(each, old) for each in changes):
            return  # somebody who had seen it has replaced it; that change is judged for itself
        raise Violation("silent loss", path, f"{old} of {site.region} was overwritten by {new.stamp} and kept nowhere")

    def _but_for_own_fields(self, old: Content) -> Content:
        """What stood there before somebody changed fields alone that a region may have for itself: these go along.

        A region that has them for itself takes such a change without writing anything, so that what is written there at
        the same time does not meet it. Whether a field is lost is judged apart, see :class:`ExclusionRules`.
        """
        if isinstance(self.fields, ExclusionRules):
            while old.outside and old.over is not None and old.over.digest == old.digest is not None:
                old = old.over
        return old

    def _lost_by(self, row: ConflictRow) -> Digest | None:
        """The digest of what a conflict has lost."""
        if row.value is not None and self.fields is not None:
            self.fields.keep_row(row)
        return self.plain(row.loser_digest)

    def _asserts_again(self, change: Content, old: Content) -> bool:
        """Whether it is the same value once more, of somebody who had seen it (a restored conflict, a revive)."""
        return (
            change.path == old.path
            and change.digest == old.digest
            and self._stands(change)
            and self.history.knew(change, old)
        )

    def _stands(self, content: Content) -> bool:
        """Whether it is a change that a region has stamped, and nobody has taken back."""
        stamp = content.stamp
        return content.outside and stamp is not None and (content.path, stamp) not in self.history.withdrawn

    def unprotected(self, content: Content) -> None:
        """The store's compare-and-set let this content be replaced unread: nobody can keep it."""
        self._blind.add(content)

    def withdrawn(self, path: MetaPath, stamp: Stamp) -> None:
        """A person took a held change back."""
        self.history.withdrawn.add((path, stamp))

    # -- at the end

    def judge(self, world: World) -> None:
        """After everything was delivered and drained.

        Raises:
            Violation: The first rule that does not hold.
        """
        for site in world.sites.values():
            if site.disk.tables.membership.left_at is not None and not site.has_left:
                raise Violation("stands still", "", f"{site.region} has left the group, which nobody has asked it to")
            self._at_rest(world, site)
            self._conflicts(site)
        self._published(world)
        for site in world.sites.values():
            self._spoken_for(site)
        for path in sorted({path for path, _ in self.history.named}):
            self._converged(world, path)
        if self.fields is not None:
            self.fields.judge(world)

    def _spoken_for(self, site: Site) -> None:
        """Of all that was written where a region publishes, something is known: nobody else can tell it."""
        registers = site.disk.tables.registers
        for path, node in site.store.nodes.items():
            content = node.content
            if content is None or not content.outside or direction_of(site, path) not in _LEAVING:
                continue
            register = registers.get(path)
            if register is None or (register.known is None and register.hold is None):
                raise Violation("unspoken", path, f"{content} stands in {site.region}, and nobody speaks for it")

    def plain(self, digest: Digest | None) -> Digest | None:
        """The digest by which contents are told apart: of a value without fields that not every broker knows."""
        return digest if self.fields is None else self.fields.plain(digest)

    def _at_rest(self, world: World, site: Site) -> None:
        tables = site.disk.tables
        if world.mode.compares:
            self._summed(world, site, tables)
        if tables.outbox:
            event = next(iter(tables.outbox.values()))
            raise Violation("not at rest", event.path, f"{site.region} has {len(tables.outbox)} rows in its outbox")
        for register in tables.registers.values():
            if world.mode.forgets and register.forgettable and len(world.sites) > 1:
                raise Violation("never forgotten", register.path, f"{site.region} keeps {register}")
            if register.intent is not None:
                raise Violation("not at rest", register.path, f"{site.region} has an open intent")
            if register.wish is not None:
                raise Violation("not at rest", register.path, f"{site.region} has an open wish")
            waits = waits_rightly(world, site, register) or direction_of(site, register.path) not in _LANDING
            if register.due and not waits:
                raise Violation("not at rest", register.path, f"{site.region} has a write due: {register}")

    def _classes_summed(self, world: World, site: Site, tables: Tables) -> None:
        """So are the trees of the classes that it shares with others, and there is one of each."""
        if not world.mode.compares:
            return
        own, wanted = site.scope or world.scope, dict[str, DigestTree]()
        for other in world.sites.values():
            theirs = other.scope or world.scope
            changes: Changes = {}
            for path, register in tables.registers.items():
                if own.contains(path) and theirs.contains(path):
                    note(changes, path, None, register.known.digest if register.known is not None else None)
            if (label := class_of(own, theirs).label) != label_of(own):
                wanted[label] = DigestTree()
                wanted[label].apply(changes)
        if parts_of(site.daemon.driver).antientropy.tree_state.of_classes != wanted:
            raise Violation("wrong sums", "", f"the trees of what {site.region} shares are not those of its registers")

    def _summed(self, world: World, site: Site, tables: Tables) -> None:
        """The tree, in memory and as kept, is what the registers sum up to."""
        scope, changes = site.scope or world.scope, dict[int, tuple[int, int]]()
        for path, register in tables.registers.items():
            if scope.contains(path):
                note(changes, path, None, register.known.digest if register.known is not None else None)
        self._classes_summed(world, site, tables)
        for what in ("kept", "in memory"):
            tree, expected = DigestTree(), DigestTree()
            expected.apply(changes)
            classes = len(SumsLabel.of(tables.tree.label).classes)
            for number, kept in tables.tree.pages.items():
                tree.apply(unpacked(kept) if number < GROUPS else {})
            for row in tables.tree.log:
                tree.apply(unpacked(parted_row(row, classes)[0]))
            found = tree if what == "kept" else parts_of(site.daemon.driver).antientropy.tree_state.tree
            if found != expected:
                raise Violation("wrong sums", "", f"the tree of {site.region} {what} is not that of its registers")

    def _conflicts(self, site: Site) -> None:
        if self.lost:
            return
        for row in site.disk.conflicts():
            if row.loser_digest is not None and row.value is None and not self._moot(site, row.path, row.loser):
                raise Violation("conflict without value", row.path, f"{site.region}: {row.loser} against {row.winner}")

    def _moot(self, site: Site, path: MetaPath, loser: Stamp) -> bool:
        """Whether the loser still stands in the store (its write waits), or somebody has replaced it knowingly."""
        register = site.disk.tables.registers.get(path)
        if register is not None and register.stored is not None and register.stored.stamp == loser:
            return True
        content = self.history.named.get((path, loser))
        return (
            content is None
            or content.invented
            or content in site.store.went
            or any(
                other.path == path and other is not content and (content in other.past or _again(content, other))
                for other in self.history.contents
            )
        )

    def _published(self, world: World) -> None:
        """Each change is on the bus as one event, whatever came twice."""
        numbers: dict[tuple[str, int], MetadataChangeEvent] = {}
        stamps: dict[tuple[MetaPath, Stamp], tuple[str, int]] = {}
        digests: dict[tuple[MetaPath, Stamp], Digest | None] = {}
        twins = self.history.twins
        for event in world.bus.events:
            key = (event.sender, event.sequence)
            if numbers.setdefault(key, event) != event and not self.lost:
                raise Violation("number reused", event.path, f"{key} names two events")
            name = (event.path, event.stamp)
            if name in self._echoes:
                raise Violation("echo", event.path, f"{event.stamp} is what a daemon had written itself")
            if digests.setdefault(name, digest_of_event(event)) != digest_of_event(event) and name not in twins:
                raise Violation("two values", event.path, f"{event.stamp} was published with two values")
            if stamps.setdefault(name, key) != key and name not in self._told_again:
                raise Violation("published twice", event.path, f"{event.stamp} under two numbers")
        for (path, stamp), content in self.history.named.items():
            if content.invented or (path, stamp) in self.history.withdrawn or (path, stamp) in stamps:
                continue
            moot = content.held and any(
                other is not content and other.region == content.region and content in other.past
                for other in self.history.contents
            )
            if stamp.region in self.lost:
                continue
            if not moot and not any(path in site.disk.tables.held for site in world.sites.values()):
                raise Violation("never published", path, f"{content} was stamped {stamp} and is not on the bus")

    def _same_everywhere(self, world: World, path: MetaPath) -> None:
        """Where databases were lost, stamps that nobody has heard of are lost too: all agree, on whatever is left."""
        carriers = [site for site in world.sites.values() if direction_of(site, path) is not Direction.IGNORE]
        known = {site.region: _known_of(site, path) for site in carriers}
        stamps = {version.stamp if version is not None else None for version in known.values()}
        living = {version.digest if version is not None else None for version in known.values()}
        if not living:
            return
        if len(living) > 1:
            raise Violation("wrong winner", path, f"the regions know different things: {stamps}")
        (expected,) = map(self.plain, living)
        for site in carriers:
            if direction_of(site, path) not in _LANDING or (
                direction_of(site, path) not in _LEAVING and not known[site.region]
            ):
                continue  # what nobody speaks for stays as it stands
            register = site.disk.tables.registers.get(path)
            if register is not None and register.due and waits_rightly(world, site, register):
                continue
            node = site.store.nodes.get(path)
            if (digest_of(path, node.value) if node is not None and node.value else None) != expected:
                raise Violation("diverged", path, f"the store of {site.region} does not hold what is known")

    def _nothing_rises(self, world: World, path: MetaPath) -> None:
        """Whatever a liar tells, no region goes back behind the greatest stamp that an honest one has given."""
        honest = [
            stamp
            for (at, stamp), content in self.history.named.items()
            if at == path and not content.invented and (at, stamp) not in self.history.withdrawn
        ]
        winner = functools.reduce(_greater, honest) if honest else None
        for site in world.sites.values() if winner is not None else ():
            if direction_of(site, path) is Direction.IGNORE:
                continue
            known = _known_of(site, path) or _known_in(site.disk.tables.forgotten.get(path))
            if winner is None or (known is not None and _greater(known.stamp, winner) == known.stamp):
                continue
            if (known.digest if known is not None else None) != self.history.named[path, winner].digest:
                detail = f"{site.region} knows {known.stamp if known else None}, an honest region stamped {winner}"
                raise Violation("wrong winner", path, detail)

    def _nobody_has(self, world: World, path: MetaPath) -> bool:
        """Whether deletes of a path were taken back, and no region has any of its values any more.

        Each region may have taken its own back; or the one that has not, only applies the path, and was edited by hand.
        """
        taken_back = {stamp.region for at, stamp in self.history.withdrawn if at == path}
        if not taken_back or taken_back == set(world.sites):
            return bool(taken_back)
        values = {content.digest for (at, _), content in self.history.named.items() if at == path and content.digest}
        return not any(_has(site, path, digest) for site in world.sites.values() for digest in values)

    def _undone(self, world: World, path: MetaPath, stamp: Stamp) -> bool:
        """Whether a value went with a delete that was taken back, before another region had it: nobody can tell it."""
        digest = self.history.named[path, stamp].digest
        if digest is None or not any(at == path and each.region == stamp.region for at, each in self.history.withdrawn):
            return False
        return not any(_has(site, path, digest) for site in world.sites.values())

    def _converged(self, world: World, path: MetaPath) -> None:
        stamps = [stamp for at, stamp in self.history.named if at == path and (at, stamp) not in self.history.withdrawn]
        frozen = [site for site in world.sites.values() if path in site.disk.tables.held]
        if not stamps or frozen or self._nobody_has(world, path):
            return
        if self.lost or self.liar is not None:
            self._same_everywhere(world, path)
            if not self.lost:
                self._nothing_rises(world, path)
            return
        stamps = [stamp for stamp in stamps if not self._undone(world, path, stamp)] or stamps
        winner = stamps[0]
        for stamp in stamps[1:]:
            winner = stamp if later(stamp, winner, TieOrder.SMALLER_REGION) else winner
        expected = self.history.named[path, winner].digest
        for site in world.sites.values():
            register = site.disk.tables.registers.get(path)
            known = register.known if register is not None else None
            if direction_of(site, path) not in _LANDING:
                continue  # its store is its own
            same = known is not None and known.stamp == winner
            if world.mode.compares:  # equal values are equal, whatever their stamps; who is unknown is as good as dead
                same = self.plain(known.digest if known is not None else None) == expected
            forgotten = register is None and expected is None and path in site.disk.tables.forgotten
            if not same and not forgotten:
                detail = f"{site.region} knows {known.stamp if known else None}, the greatest stamp is {winner}"
                raise Violation("wrong winner", path, detail)
            if register is not None and register.due and waits_rightly(world, site, register):
                continue
            node = site.store.nodes.get(path)
            digest = digest_of(path, node.value) if node is not None and node.value else None
            if known is None and path in site.disk.tables.forgotten and direction_of(site, path) not in _LEAVING:
                continue  # what is written there since then, nobody speaks for
            if digest != expected:
                raise Violation("diverged", path, f"the store of {site.region} does not hold {winner}")


def _made_up(content: Content) -> bool:
    """Whether a liar has made it up, so that it may be lost; what is written in its place and is equal is no change."""
    carried = content.carries is not None and content.carries.invented
    return content.invented or carried or (content.stamp is None and any(same.invented for same in content.same))


def _greater(one: Stamp, other: Stamp) -> Stamp:
    return one if later(one, other, TieOrder.SMALLER_REGION) else other


def _known_of(site: Site, path: MetaPath) -> Version | None:
    return _known_in(site.disk.tables.registers.get(path))


def _known_in(register: Register | None) -> Version | None:
    return register.known if register is not None else None


def _has_value(site: Site, register: Register) -> bool:
    """Whether a region could tell the value that another one lacks."""
    known, theirs = register.known, _known_of(site, register.path)
    node = site.store.nodes.get(register.path)
    stored = digest_of(register.path, node.value) if node is not None and node.value else None
    if known is None or theirs is None or theirs.stamp != known.stamp:
        return False
    return theirs.value is not None or stored == known.digest


def _has(site: Site, path: MetaPath, digest: Digest) -> bool:
    """Whether a region knows a value, or its store holds it."""
    known, node = _known_of(site, path), site.store.nodes.get(path)
    stored = digest_of(path, node.value) if node is not None and node.value else None
    return digest in {stored, known.digest if known is not None and known.value else None}


def _again(loser: Content, other: Content) -> bool:
    """Whether the loser's value won after all, by another hand."""
    if loser.stamp is None or other.stamp is None or loser.digest != other.digest:
        return False
    return later(other.stamp, loser.stamp, TieOrder.SMALLER_REGION)


def waits_rightly(world: World, site: Site, register: Register) -> bool:
    """Whether a due write is held for a person, or parked below a parent that the group has deleted."""
    if register.hold is not None:
        return True
    parked = register.parked
    if parked is None:
        return False
    if parked.reason is ParkReason.VALUE_MISSING:
        return not any(_has_value(each, register) for each in world.sites.values())
    if parked.reason is ParkReason.CHILDREN_ALIVE:
        below = child_prefixes(register.path)
        living = any(path.startswith(below) for path, node in site.store.nodes.items() if node.value)
        if living and direction_of(site, register.path) not in _LEAVING:
            return True  # a region that may not publish the parent does not assert it above what was made there
        return any(
            other.due and other.hold is not None and other.path.startswith(f"{register.path}/")
            for other in site.disk.tables.registers.values()
        )
    resource = classify(register.path)
    if resource is not None and resource.parent and direction_of(site, resource.parent) is Direction.IGNORE:
        return resource.parent not in site.store.nodes
    parent = site.disk.tables.registers.get(resource.parent) if resource is not None and resource.parent else None
    return parent is None or (
        not parent.stored_alive and (parent.known is None or not parent.known.alive or parent.due)
    )


def direction_of(site: Site, path: MetaPath) -> Direction:
    """Which way a path flows in a region, as its daemon was told."""
    return site.scope.direction(path) if site.scope is not None else Direction.BOTH


def needs_a_person(site: Site, path: MetaPath, before: bytes | None, after: bytes | None) -> str:
    """Why a write may not be made by a daemon alone, by the values before and after; empty when it may."""
    names, resource = site.store.names, classify(path)
    serves, knows = site.replica.settings.clusters, frozenset(KNOWN)
    if names is not None:
        serves, knows = names.serves(), names.known()
    if misread(path, after):
        return "no broker can read it"
    if not serves or resource is None or before is None:
        return ""
    old = orjson.loads(before)
    if after is None:
        return "topics are there" if site.topics.get(path) is Topics.SOME else ""
    new = orjson.loads(after)
    if resource.kind is ResourceKind.PARTITIONED_TOPIC and new["partitions"] < old["partitions"]:
        return "there are fewer partitions"
    served, named = set(old.get("replication_clusters", ())), set(new.get("replication_clusters", ()))
    if serves & served - named:
        return "it leaves a cluster out"
    unknown = (named | set(new.get("allowedClusters", ()))) - served - set(old.get("allowedClusters", ()))
    return f"nobody knows {unknown}" if unknown - knows else ""


def digest_of_event(event: MetadataChangeEvent) -> Digest | None:
    """Digest of an event's value, as contents are told apart."""
    if event.value is None:
        return None
    return PROJECTIONS[event.resource].digest(without_newer(event.path, event.value))
