"""Two regions, one path each, a store each: whatever happens in whatever order, they end equal and nothing is lost.

The stores are written to from outside at any moment, also between the daemon's read and its write. Events arrive late,
in any order, and more than once. Clocks differ.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from syncer.conflict.acts import Decision, FillConflict, Journal, Moment, Need, Outcome, Publish, RecordConflict
from syncer.conflict.causality.order import later
from syncer.conflict.guards import Facts
from syncer.conflict.register import Hold, HoldReason, Register, Shown
from syncer.conflict.replica import Replica
from syncer.conflict.settings import Limits, Settings
from syncer.conflict.shown import Look, check_shown, look_at
from syncer.errors import PreconditionFailed
from syncer.model import Digest, MetadataChangeEvent, Millis, Region, Revision, Stamp, TieOrder
from syncer.stores.contract import Entry, Put, Write, Written
from tests.property.strategies import NOW, TENANT, tenant_digest, tenant_value

REGIONS = ("a", "b")
region_names = st.sampled_from(REGIONS)
ROUNDS = 30


@dataclass
class Store:
    """One path of one store, with revisions and the store's own clock.

    ``behind``: the changes that led to what it holds, as an outside writer would see it. The replica is not asked.
    """

    value: bytes | None = None
    revision: int = 0
    modified_at: Millis = NOW
    behind: frozenset[Stamp] = frozenset()

    def put(self, value: bytes | None, now: Millis) -> None:
        self.value, self.revision, self.modified_at = value, self.revision + 1, now

    def read(self) -> Entry | None:
        if self.value is None:
            return None
        return Entry(
            path=TENANT, value=self.value, revision=Revision(str(self.revision)), modified_at_ms=self.modified_at
        )

    def apply(self, write: Write, now: Millis) -> Written | None:
        """Write if the revision is the expected one; ``None``: refused."""
        found = self.read()
        if (found.revision if found else None) != write.expected:
            return None
        self.put(write.value if isinstance(write, Put) else None, now)
        written = self.read()
        return Written(path=TENANT, revision=written.revision if written else None)


@dataclass
class Site:
    """A region: its store, what its replica knows, its outbox, and the conflicts it has kept."""

    replica: Replica
    skew: int
    store: Store = field(default_factory=Store)
    register: Register = field(default_factory=lambda: Register(path=TENANT))
    outbox: list[MetadataChangeEvent] = field(default_factory=list)
    conflicts: list[RecordConflict] = field(default_factory=list)
    asserting: frozenset[Stamp] = frozenset()
    """What was shown to the operator who has last had the region's value win."""


class TwoRegions(RuleBasedStateMachine):
    """Each rule is one step of one region, of its outside writers, or of the bus."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = int(NOW)
        self.values = 0
        self.ties = TieOrder.SMALLER_REGION
        limits = Limits(max_flips=10**6)
        self.regions = {
            name: Site(Replica(Settings(region=Region(name), limits=limits, ties=self.ties)), skew)
            for name, skew in zip(REGIONS, (0, 7), strict=True)
        }
        self.bus: list[MetadataChangeEvent] = []
        self.looks: list[tuple[Site, RecordConflict, Shown, frozenset[Stamp]]] = []
        self.held: list[tuple[Site, Look, frozenset[Stamp]]] = []
        """What operators were shown, and what was behind it."""
        self.published: dict[Stamp, MetadataChangeEvent] = {}
        self.behind: dict[Stamp, frozenset[Stamp]] = {}
        self.overwritten: frozenset[Stamp] = frozenset()
        """What outside writers have replaced by the very value that had won: theirs is no change, and names nothing."""

    def now(self, region: Site) -> Millis:
        return Millis(self.clock + region.skew)

    def keep(
        self,
        region: Site,
        outcome: Outcome,
        *,
        restored: frozenset[Stamp] = frozenset(),
        asserted: frozenset[Stamp] = frozenset(),
    ) -> None:
        """Store what one transaction of the shell would store.

        Args:
            region: Where.
            outcome: What was decided.
            restored: What was shown to an operator who has restored something.
            asserted: What was shown to an operator who has what the store holds win.
        """
        region.register = outcome.register
        for act in outcome.acts:
            if isinstance(act, Journal) and act.decision is Decision.MET:
                self.overwritten |= region.store.behind
            if isinstance(act, Publish):
                behind = restored or asserted or region.store.behind
                own = behind | {act.event.stamp}
                self.behind[act.event.stamp] = own
                if not restored:
                    region.store.behind = own
        stored = region.register.stored
        if stored is not None and outcome.write is None:
            region.store.behind |= self.behind[stored.stamp]
        for act in outcome.acts:
            if isinstance(act, Publish):
                assert act.event.stamp not in self.published, "a stamp names one value for ever"
                self.published[act.event.stamp] = act.event
                region.outbox.append(act.event)
            elif isinstance(act, RecordConflict):
                region.conflicts.append(act)
            elif isinstance(act, FillConflict):
                region.conflicts = [
                    replace(row, value=act.value) if row.value is None and row.loser_digest == act.digest else row
                    for row in region.conflicts
                ]
            elif isinstance(act, Journal):
                assert act.decision is not Decision.ALARM

    def observe(self, region: Site) -> None:
        now = self.now(region)
        seen = Moment(now=now, seen_at=now, first_scan_done=True)
        self.keep(region, region.replica.observe(region.register, region.store.read(), seen))

    def take(self, region: Site, event: MetadataChangeEvent) -> None:
        self.keep(region, region.replica.fold(region.register, event, self.now(region)))

    def bring(self, region: Site, race: bytes | int | None = 0) -> None:
        """Read, decide, write. ``race``: somebody writes this between the read and the write (0: nobody)."""
        facts = Facts(now=self.now(region), outbox_open=bool(region.outbox))
        waiting = region.replica.waits(region.register, facts)
        if waiting is not None:
            self.keep(region, waiting)
            return
        self.observe(region)
        facts = replace(facts, outbox_open=bool(region.outbox))
        outcome = region.replica.apply_due(region.register, region.store.read(), facts, "batch")
        if any(isinstance(act, Publish) for act in outcome.acts):
            stood = tenant_digest(region.store.value)
            assert region.register.shown is not None
            assert region.register.shown.digest == stood, "what wins everywhere is what was shown"
            self.keep(region, outcome, asserted=region.asserting)
            return
        self.keep(region, outcome)
        if not isinstance(race, int):
            region.store.put(race, self.now(region))
        if outcome.write is None:
            ended = any(isinstance(act, Journal) and act.decision is Decision.OVERTAKEN for act in outcome.acts)
            assert outcome.need is (Need.READ if ended else Need.NOTHING)
            return
        answer = region.store.apply(outcome.write, self.now(region))
        if answer is None:
            assert not isinstance(race, int), "nobody else wrote, and the write was refused"
            self.keep(region, region.replica.refused(region.register, None, self.now(region)))
        else:
            intent = region.register.intent
            assert intent is not None
            region.store.behind = self.behind[intent.version.stamp]
            self.keep(region, region.replica.written(region.register, answer, self.now(region)))

    def new_value(self, *, fresh: bool) -> bytes:
        self.values += fresh
        return tenant_value(self.values if fresh else 0)

    @rule(name=region_names, fresh=st.booleans(), lives=st.booleans(), step=st.integers(0, 3))
    def somebody_writes(self, name: str, fresh: bool, lives: bool, step: int) -> None:
        self.clock += step
        region = self.regions[name]
        region.store.put(self.new_value(fresh=fresh) if lives else None, self.now(region))

    def something_comes(self, name: str) -> None:
        """Somebody writes, and the other region is told."""
        self.somebody_writes(name=name, fresh=True, lives=True, step=1)
        self.the_store_is_read(name=name)
        self.the_bus_acknowledges(name=name)
        for region in self.regions.values():
            self.take(region, self.bus[-1])

    @rule(name=region_names)
    def the_store_is_read(self, name: str) -> None:
        self.observe(self.regions[name])

    @rule(name=region_names)
    def the_bus_acknowledges(self, name: str) -> None:
        region = self.regions[name]
        self.bus += region.outbox
        region.outbox = []

    @precondition(lambda self: self.bus)
    @rule(name=region_names, data=st.data())
    def an_event_arrives(self, name: str, data: st.DataObject) -> None:
        self.take(self.regions[name], data.draw(st.sampled_from(self.bus)))

    @rule(name=region_names)
    def the_store_is_brought_to_what_is_known(self, name: str) -> None:
        self.bring(self.regions[name])

    @rule(name=region_names, lives=st.booleans())
    def somebody_writes_between_read_and_write(self, name: str, lives: bool) -> None:
        self.bring(self.regions[name], self.new_value(fresh=True) if lives else None)

    @rule(name=region_names)
    def an_operator_looks_at_a_conflict(self, name: str) -> None:
        region = self.regions[name]
        whole = [row for row in region.conflicts if row.value is not None or row.loser_digest is None]
        if whole:
            row = whole[-1]
            self.looks.append((region, row, region.register.shows, self.behind[row.loser] | self.seen_at(region)))

    @precondition(lambda self: self.looks)
    @rule(data=st.data())
    def the_loser_of_a_conflict_is_restored(self, data: st.DataObject) -> None:
        """By somebody who has looked at it at any time before: only where it still is as he was shown it."""
        look = data.draw(st.sampled_from(self.looks))
        region, row, shown, seen = look
        self.looks.remove(look)
        try:
            check_shown(region.register, shown, "")
        except PreconditionFailed:
            return
        outcome = region.replica.restore(region.register, row.value, row.loser_seen, self.now(region))
        self.keep(region, outcome, restored=seen)

    @rule(name=region_names)
    def what_is_due_is_held(self, name: str) -> None:
        region = self.regions[name]
        register, known = region.register, region.register.known
        if known is not None and register.due and register.hold is None and register.wish is None:
            hold = Hold(reason=HoldReason.FLAPPING, stamp=known.stamp, since_ms=self.now(region), detail="")
            region.register = replace(register, hold=hold)

    @rule(name=region_names)
    def an_operator_looks_at_what_is_held(self, name: str) -> None:
        region = self.regions[name]
        if region.register.hold is not None:
            self.held.append((region, look_at(region.register, region.register.hold), self.seen_at(region)))

    @precondition(lambda self: self.held)
    @rule(data=st.data(), confirms=st.booleans())
    def what_is_held_is_decided(self, data: st.DataObject, confirms: bool) -> None:
        """Likewise; what is rejected is asserted at some later read."""
        look = data.draw(st.sampled_from(self.held))
        region, shown, seen = look
        self.held.remove(look)
        decide = region.replica.confirm if confirms else region.replica.reject
        try:
            outcome = decide(region.register, shown)
        except PreconditionFailed:
            return
        region.asserting = seen
        self.keep(region, outcome)

    def seen_at(self, region: Site) -> frozenset[Stamp]:
        """What is behind that which an operator of a region is shown."""
        shown = region.register.shows
        stamps = [stamp for stamp in (shown.known, shown.stored) if stamp is not None]
        return frozenset().union(*(self.behind[stamp] for stamp in stamps))

    @invariant()
    def known_is_the_greatest_that_was_folded(self) -> None:
        for region in self.regions.values():
            known, stored = region.register.known, region.register.stored
            if known is not None and stored is not None:
                assert not later(stored.stamp, known.stamp, self.ties)

    def teardown(self) -> None:
        self.settle()
        self.check_equal()
        self.check_nothing_is_lost()

    def settle(self) -> None:
        """Outside writers stop, the bus delivers everything to everybody, the daemons go on until nothing is due."""
        for _ in range(ROUNDS):
            for region in self.regions.values():
                self.observe(region)
                self.bus += region.outbox
                region.outbox = []
            for region in self.regions.values():
                for event in reversed(self.bus):
                    self.take(region, event)
                if region.register.hold is not None:
                    look = look_at(region.register, region.register.hold)
                    self.keep(region, region.replica.confirm(region.register, look))
                self.bring(region)
            if not any(region.register.due or region.outbox for region in self.regions.values()):
                return
        raise AssertionError("the regions do not come to rest")

    def check_equal(self) -> None:
        held = {tenant_digest(region.store.value) for region in self.regions.values()}
        assert len(held) == 1
        if self.published:
            greatest, *others = self.published
            for stamp in others:
                greatest = stamp if later(stamp, greatest, self.ties) else greatest
            known = {region.register.known.stamp for region in self.regions.values() if region.register.known}
            assert known == {greatest}
            assert held == {tenant_digest(self.published[greatest].value)}

    def check_nothing_is_lost(self) -> None:
        """Every published value won, was seen by a later author, or is kept whole in some region's conflicts."""
        kept: set[Digest | None] = set()
        for region in self.regions.values():
            for row in region.conflicts:
                if row.loser_digest is None or row.value is not None:
                    kept.add(row.loser_digest)
        final = {tenant_digest(region.store.value) for region in self.regions.values()}
        for event in self.published.values():
            digest = tenant_digest(event.value)
            assert self.seen_by_another(event.stamp) or digest in final or digest in kept
        for row in (row for region in self.regions.values() for row in region.conflicts):
            whole = row.value is not None or row.loser_digest is None
            assert whole or row.loser_digest in final or self.seen_by_another(row.loser)

    def seen_by_another(self, stamp: Stamp) -> bool:
        """Whether somebody changed the path over this very change."""
        return stamp in self.overwritten or any(
            stamp in behind for other, behind in self.behind.items() if other != stamp
        )


def something_to_decide(*, held: bool) -> TwoRegions:
    """There is something to decide about, and an operator has looked at it."""
    world = TwoRegions()
    for name in REGIONS:
        world.something_comes(name)
    loser = next(name for name, region in world.regions.items() if region.register.due)
    if held:
        world.what_is_due_is_held(name=loser)
        world.an_operator_looks_at_what_is_held(name=loser)
    else:
        world.bring(world.regions[loser])
        world.an_operator_looks_at_a_conflict(name=loser)
    return world


steps = st.tuples(st.sampled_from(["comes", "written", "brought", "looked", "restored", "decided"]), region_names)


@settings(max_examples=2 * settings().max_examples)
@given(st.booleans(), st.lists(steps, max_size=8), st.data())
def test_what_an_operator_was_not_shown_is_never_lost(
    held: bool, between: list[tuple[str, str]], data: st.DataObject
) -> None:
    """Whatever is written, read, brought and decided between a look and the end."""
    world = something_to_decide(held=held)
    for step, name in between:
        match step:
            case "comes":
                world.something_comes(name)
            case "written":
                world.somebody_writes(name=name, fresh=True, lives=True, step=1)
            case "brought":
                world.bring(world.regions[name])
            case "looked":
                world.an_operator_looks_at_a_conflict(name=name)
                world.an_operator_looks_at_what_is_held(name=name)
            case "restored" if world.looks:
                world.the_loser_of_a_conflict_is_restored(data=data)
            case "decided" if world.held:
                world.what_is_held_is_decided(data=data, confirms=data.draw(st.booleans()))
    world.teardown()


def test_a_loser_that_somebody_replaces_by_the_winner_is_seen_and_not_lost() -> None:
    world = TwoRegions()
    world.somebody_writes(name="a", fresh=True, lives=True, step=0)
    world.the_store_is_read(name="a")
    world.somebody_writes(name="b", fresh=False, lives=True, step=1)
    world.the_store_is_read(name="b")
    a, b = world.regions.values()
    world.take(a, b.outbox[0])
    (row,) = a.conflicts
    assert row.value is None
    a.store.put(b.store.value, world.now(a))
    world.teardown()
    assert a.conflicts[0] == row, "what it was is not known here any more"
    assert [row.loser for row in b.conflicts if row.value is not None] == [row.loser]


TestTwoRegions = TwoRegions.TestCase
TestTwoRegions.settings = settings(max_examples=2 * settings().max_examples, stateful_step_count=20)
