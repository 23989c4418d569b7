"""What a member says of times and of what it has seen, and none of it true: no path runs ahead, no loser is lost."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from syncer.bus.wire.messages import Heartbeat
from syncer.conflict.acts import Decision
from syncer.conflict.causality.vectors import MAX_COUNTERS
from syncer.conflict.settings import DEFAULT_CLOCK_SKEW_MS
from syncer.errors import Fenced
from syncer.model import Counter, MetadataChangeEvent, Millis, Region, Seen, Stamp, counter_of
from tests.simulation.script import ETCD, Script, second
from tests.simulation.store import digest_of
from tests.simulation.test_schedules import YEAR_MS, P, W, X, Y, Z
from tests.support.parts import parts_of

A, C = counter_of(Region("a"), 1), counter_of(Region("c"), 1)
YEAR_9999 = Millis(253_000_000_000_000)


class Lied(Script):
    """Three regions that have a value of ``c``, whose daemon says nothing more: the rest is said in its name."""

    def __init__(self) -> None:
        super().__init__(ETCD, ETCD, ETCD)
        self.said = 0
        self.everybody_has(P, W)
        self.at(10)
        self.write("c", P, X)
        self.honest = self.tell("c")
        for region in ("a", "b"):
            self.deliver(region, self.honest)
            self.apply(region)
        self.at(20)

    def lie(self, time: int, seen: Seen, *regions: str) -> MetadataChangeEvent:
        """Say a change, of this time and as if all this had been seen."""
        self.said += 1
        said = replace(
            self.honest,
            value=self.value(P, Z),
            stamp=Stamp(Millis(time), Region("c")),
            seen={**seen, C: Millis(time)},
            sender="db-liar",
            sequence=self.said,
        )
        self.bus.log.append(said)
        for region in regions:
            self.deliver(region, said)
        return said

    def known(self, region: str) -> Stamp:
        """The stamp of what a region knows."""
        register = self.sites[Region(region)].disk.tables.registers[P]
        assert register.known is not None
        return register.known.stamp

    def held(self, region: str) -> int:
        """How many events a region holds."""
        return len(self.sites[Region(region)].disk.tables.future)


def test_two_hundred_changes_carry_a_path_no_further_ahead_than_one() -> None:
    w = Lied()
    for number in range(1, 201):
        w.at(20 + 2 * number)
        w.lie(second(20) + 29_000 * number, {}, "a")
        assert w.known("a").updated_at_ms <= second(20 + 2 * number) + DEFAULT_CLOCK_SKEW_MS
    assert w.held("a") == 199
    w.write("a", P, Y)
    y = w.tell("a")
    assert y.stamp.updated_at_ms == second(420), "who edits it is not carried along"


def test_the_last_of_many_edits_of_a_path_that_lies_ahead_needs_nobody() -> None:
    """What was said in between is lost: it is held for less time than the edits took, and no operator is asked."""
    w = Script(ETCD, ETCD, ETCD)
    w.everybody_has(P, W)
    site = w.sites[Region("a")]
    site.skew_ms = YEAR_MS
    w.at(10)
    w.write("a", P, X)
    x = w.tell("a")
    site.skew_ms = 0
    for region in ("b", "c"):
        w.deliver(region, x)
        w.release(region, P)
        w.daemon(region).operate()
        w.apply(region)
    for number in range(50):
        w.at(20 + number)
        w.write("b", P, Y if number % 2 else Z)
        last = w.tell("b")
    w.deliver("c", last)
    assert w.held_for_later("c") == [P]
    w.at(20 + 50 + 50)
    w.daemon("c").driver.tick(w.sites[Region("c")].clock())
    assert w.held_for_later("c") == []
    w.end()
    w.holds(P, Y)
    w.no_conflicts()


def test_a_forged_vector_is_held_and_overwrites_nothing_in_silence() -> None:
    w = Lied()
    w.at(30)
    w.write("a", P, Y)
    y = w.tell("a")
    w.deliver("b", y)
    w.lie(second(40), {A: YEAR_9999}, "b")
    assert w.held("b") == 1
    w.release("b", P)
    w.daemon("b").operate()
    assert w.known("b").region == Region("c")
    assert [row.loser for row in w.conflicts("b")] == [y.stamp]
    register = w.sites[Region("b")].disk.tables.registers[P]
    assert register.known is not None
    assert A not in register.known.seen, "so nobody inherits it"


def test_what_was_believed_once_makes_no_later_loser_vanish() -> None:
    """A database of an earlier version, in which everything was believed."""
    w = Lied()
    lie = w.lie(second(50), {}, "b")
    tables = w.sites[Region("b")].disk.tables
    register = tables.registers[P]
    assert register.known is not None
    tables.registers[P] = replace(register, known=replace(register.known, seen={A: YEAR_9999, C: second(50)}))
    w.at(30)
    w.write("a", P, Y)
    y = w.tell("a")
    w.deliver("b", y)
    assert w.known("b") == lie.stamp
    assert [row.loser for row in w.conflicts("b")] == [y.stamp]


def test_a_claim_of_what_this_region_never_gave_out_is_seen_through() -> None:
    """It is within the skew, so nobody else can tell."""
    w = Lied()
    w.write("b", P, W)
    theirs = w.tell("b")
    w.deliver("a", theirs)
    w.apply("a")
    w.lie(second(20_000), {A: second(15_000), theirs.by: theirs.stamp.updated_at_ms}, "a")
    assert [row.loser for row in w.conflicts("a")] == [theirs.stamp], "nothing else of its vector is believed either"
    w.at(5_000)
    w.write("a", P, Y)
    y = w.tell("a")
    assert w.known("a") == Stamp(second(20_000), Region("c"))
    assert y.stamp in [row.loser for row in w.conflicts("a")]


def test_a_change_of_this_region_that_somebody_claims_to_have_seen_before_is_kept() -> None:
    """A database of an earlier version, in which that was believed."""
    w = Lied()
    w.lie(second(20_000), {}, "a")
    tables = w.sites[Region("a")].disk.tables
    register = tables.registers[P]
    assert register.known is not None
    seen = {A: second(15_000), C: second(20_000)}
    tables.registers[P] = replace(register, known=replace(register.known, seen=seen))
    parts_of(w.daemon("a").driver).local.watch.ledger.changed([P])
    w.at(5_000)
    w.write("a", P, Y)
    y = w.tell("a")
    assert y.stamp in [row.loser for row in w.conflicts("a")]
    assert w.decisions("a", Decision.CONFLICT_LOST) == 1


def test_a_vector_that_fills_a_message_is_cut_before_anybody_inherits_it() -> None:
    w = Lied()
    crowd = {Counter(f"r{number}~1"): second(10) for number in range(20_000)}
    w.lie(second(30), {**crowd, C: w.honest.stamp.updated_at_ms}, "a")
    register = w.sites[Region("a")].disk.tables.registers[P]
    assert register.known is not None
    assert len(register.known.seen) == MAX_COUNTERS
    assert register.known.seen[C] == second(30)


def test_what_lies_in_the_year_9999_is_ended_by_an_operator() -> None:
    """While it is held, it could be a delete that is not seated: no tombstone is dropped."""
    w = Lied()
    w.at(30)
    said = w.lie(second(40), {A: YEAR_9999}, "b")
    assert w.held("b") == 1
    w.sites[Region("b")].disk.ask("decline", path=P, stamp=str(said.stamp))
    w.daemon("b").operate()
    assert w.held("b") == 0
    assert w.known("b") == w.honest.stamp
    w.sites[Region("b")].disk.ask("decline", path=P, stamp=str(said.stamp))
    w.daemon("b").operate()
    assert [each.state for each in w.sites[Region("b")].disk.tables.operations.values()][-2:] == ["done", "failed"]


def said_by(w: Script, region: str, **told: object) -> Heartbeat:
    """A heartbeat of this region, with something else in it, is on the bus."""
    w.daemon(region).beat_heart()
    beat = w.bus.log[-1]
    assert isinstance(beat, Heartbeat)
    w.bus.arrive(replace(beat, **told))  # type: ignore[arg-type] # fields of a heartbeat
    forged = w.bus.log[-1]
    assert isinstance(forged, Heartbeat)
    return forged


def test_what_one_member_says_of_another_is_held_and_nobody_stands_still() -> None:
    w = Script(ETCD, ETCD, ETCD)
    for time in (10, 20):
        w.at(time)
        for region in ("a", "b", "c"):
            w.beat(region, "a", "b", "c")
    forged = said_by(w, "c", refused=(("b", "db-b"),))
    w.deliver("a", forged)
    w.deliver("b", forged)
    b = w.sites[Region("b")].disk.tables
    assert (b.membership.left_at, b.identity.paused) == (None, None)
    assert parts_of(w.daemon("a").driver).group.peers.refuses("db-b") is None
    assert list(parts_of(w.daemon("a").driver).group.hearsay.held) == ["b"]


def test_a_database_is_given_up_once_for_a_change_that_nobody_can_tell_from_its_own() -> None:
    w = Script(ETCD, ETCD, ETCD)
    w.at(10)
    w.write("b", P, W)
    true = w.tell("b")
    driver, clock = w.daemon("b").driver, w.sites[Region("b")].clock
    for database in ("db-b", "db-b-2"):
        forged = replace(true, sender=database, sequence=2**50)
        w.bus.lie(forged)
        driver.consume([w.bus.arrived(len(w.bus.log) - 1, forged)], clock())
        with suppress(Fenced):
            driver.tick(clock())
    assert parts_of(driver).core.identity.database_id == "db-b-2"
    assert "database-doubted" in parts_of(driver).telemetry.conditions


def test_of_two_values_of_one_stamp_the_same_one_stands_everywhere_and_the_other_is_kept() -> None:
    for told in (W, X, Y, Z):
        _one_stamp_two_values(told)


def _one_stamp_two_values(told: int) -> None:
    w = Script(ETCD, ETCD)
    w.at(10)
    w.write("a", P, 77)
    honest = w.tell("a")
    assert honest.value is not None
    told_value = w.value(P, told)
    forged = replace(honest, value=told_value, sender="db-liar", sequence=1)
    w.bus.lie(forged)
    w.history.told(P, forged.stamp, forged.by, forged.seen, digest_of(P, told_value))
    w.deliver("b", forged)
    w.apply("b")
    w.deliver("b", honest)
    w.deliver("a", forged)
    w.settle()
    stored = {node.value for site in w.sites.values() if (node := site.store.nodes.get(P)) is not None}
    assert len(stored) == 1
    kept = {value for region in ("a", "b") for value in w.lost_values(region, P)}
    assert stored | kept == {honest.value, told_value}
