"""The schedules that broke simpler algorithms, by the number that the algorithm page gives them."""

from __future__ import annotations

from dataclasses import replace

import orjson
import pytest

from syncer.conflict.acts import Decision
from syncer.conflict.register import HoldReason, ParkReason
from syncer.conflict.scope import DEFAULT_RULES, Rule, Scope
from syncer.conflict.settings import DEFAULT_CLOCK_SKEW_MS, Direction
from syncer.errors import Fenced, PreconditionFailed
from syncer.model import MetaPath, Region, Stamp, baseline_time
from syncer.replication.driver import Driver
from syncer.state.contract.membership import JOINING
from syncer.state.contract.operations import OperationState
from tests.simulation.disk import Disk, DiskState, Trouble
from tests.simulation.faults import NARROW, PARK_GRACE_MS, WIDE
from tests.simulation.history import Violation
from tests.simulation.mutants import WITHOUT_FLOOR, WITHOUT_SECOND_ROUND, broken
from tests.simulation.script import ABA, ETCD, ZOOKEEPER, Script, second
from tests.simulation.store import StoreKind
from tests.simulation.world import BEGINNING_MS, LONE, NAMESPACE, TENANT
from tests.support.parts import parts_of

P = LONE
X, Y, Z, W = 1, 2, 3, 4
YEAR_MS = 365 * 24 * 3600 * 1000

both_stores = pytest.mark.parametrize("kind", [ZOOKEEPER, ETCD])


@both_stores
def test_schedule_01_late_base(kind: StoreKind) -> None:
    w = Script(kind, kind, kind)
    w.at(10)
    w.write("a", P, X)
    x = w.tell("a")
    w.at(20)
    w.write("a", P, Y)
    y = w.tell("a")
    w.deliver("c", y, x, x)
    assert w.decisions("c", Decision.IGNORED) == 1  # once, however often it comes
    w.end()
    w.holds(P, Y)
    w.no_conflicts()


@both_stores
def test_schedule_02_third_region(kind: StoreKind) -> None:
    w = Script(kind, kind, kind)
    w.at(10)
    w.write("a", P, X)
    x = w.tell("a")
    w.deliver("b", x)
    w.apply("b")
    w.at(20)
    w.write("b", P, Y)
    y = w.tell("b")
    w.deliver("c", y, x)
    w.end()
    w.holds(P, Y)
    w.no_conflicts()


@both_stores
def test_schedule_03_folded_is_not_seen(kind: StoreKind) -> None:
    w = Script(kind, kind)
    w.everybody_has(P, W)
    w.at(50)
    w.write("a", P, X)
    w.deliver("b", w.tell("a"))
    w.at(60)
    w.write("b", P, Y)
    w.end()
    w.holds(P, Y)
    for region in ("a", "b"):
        assert w.lost_values(region, P) == [w.value(P, X)]


@pytest.mark.parametrize("created_at", [15, 25])
def test_schedule_04_absent_meets_tombstone(created_at: int) -> None:
    w = Script(ZOOKEEPER, ZOOKEEPER, ZOOKEEPER)
    w.at(10)
    w.write("a", P, X)
    w.tell("a")
    w.at(20)
    w.remove("a", P)
    tombstone = w.tell("a")
    w.at(created_at)
    w.write("c", P, Z)
    w.deliver("c", tombstone)
    w.at(30)
    w.end()
    w.holds(P, None if created_at < 20 else Z)
    kept = w.value(P, Z) if created_at < 20 else None
    assert kept in w.lost_values("c", P)
    assert [event.stamp.updated_at_ms for event in w.events_of("c")] == [second(created_at)]


@both_stores
def test_schedule_05_read_then_delete_then_answer(kind: StoreKind) -> None:
    w = Script(kind, kind)
    w.at(10)
    w.write("b", P, X)
    early = w.issue("b")
    w.remove("b", P)
    late = w.issue("b")
    w.answer("b", late)
    w.answer("b", early)
    w.end()
    w.holds(P, None)
    assert w.events_of("b") == []


@both_stores
def test_schedule_06_read_across_a_gap(kind: StoreKind) -> None:
    w = Script(kind, kind)
    w.at(10)
    w.write("b", P, X)
    early = w.issue("b")
    daemon = w.daemon("b")
    assert daemon.watch is not None
    daemon.watch.tear()
    w.remove("b", P)
    w.notice("b")
    daemon.arm()
    w.notice("b")
    while daemon.scan is not None:
        daemon.scan_on()
        if daemon.scan is not None and daemon.scan.finished:
            break
    w.answer("b", early)
    w.end()
    w.holds(P, None)
    assert w.events_of("b") == []


@both_stores
def test_schedule_07_scan_too_old(kind: StoreKind) -> None:
    w = Script(kind, kind)
    w.at(10)
    w.write("a", P, X)
    x = w.tell("a")
    daemon = w.daemon("b")
    assert daemon.watch is not None
    daemon.watch.tear()
    w.notice("b")
    daemon.arm()
    w.notice("b")
    daemon.scan_on()
    assert daemon.page is not None
    assert P not in {entry.path for entry in daemon.page.entries}
    w.deliver("b", x)
    w.apply("b")
    while daemon.scan is not None and not daemon.scan.finished:
        daemon.scan_on()
    w.end()
    w.holds(P, X)
    assert w.events_of("b") == []


@both_stores
@pytest.mark.parametrize("meanwhile", ["event", "local change"])
def test_schedule_08_decision_on_an_old_row(kind: StoreKind, meanwhile: str) -> None:
    w = Script(kind, kind, kind)
    w.everybody_has(P, W)
    w.at(10)
    w.write("a", P, X)
    w.forget("b")
    w.deliver("b", w.tell("a"))
    early = w.issue("b")
    w.at(20)
    if meanwhile == "event":
        w.write("c", P, Y)
        w.deliver("b", w.tell("c"))
    else:
        w.write("b", P, Y)
        w.learn("b")
    w.answer("b", early)
    assert w.daemon("b").driver.next_transaction() is None
    w.end()
    w.holds(P, Y)
    assert w.value(P, X) in w.lost_values("b", P)
    assert len(w.events_of("b")) == (meanwhile == "local change")


@both_stores
def test_schedule_09_watch_before_the_answer(kind: StoreKind) -> None:
    w = Script(kind, kind)
    w.at(10)
    w.write("a", P, X)
    w.deliver("b", w.tell("a"))
    request = w.send("b")
    w.land("b", request)
    w.at(20)
    w.write("b", P, Y)
    w.learn("b")
    w.daemon("b").take_written(and_store=True)
    w.end()
    w.holds(P, Y)
    w.no_conflicts()


@both_stores
def test_schedule_10_crash_between_write_and_answer_then_back(kind: StoreKind) -> None:
    w = Script(kind, kind)
    w.at(10)
    w.write("a", P, X)
    w.deliver("b", w.tell("a"))
    w.land("b", w.send("b"))
    w.daemon("b").crash()
    w.at(20)
    w.remove("b", P)
    w.restart("b")
    w.end()
    w.holds(P, None)
    w.no_conflicts()


@both_stores
def test_schedule_10_crash_between_write_and_answer_then_back_to_a_value(kind: StoreKind) -> None:
    w = Script(kind, kind)
    w.everybody_has(P, W)
    w.at(10)
    w.write("a", P, X)
    w.deliver("b", w.tell("a"))
    w.land("b", w.send("b"))
    w.daemon("b").crash()
    w.at(20)
    w.write("b", P, Y)
    w.at(21)
    w.write("b", P, W)
    w.restart("b")
    w.end()
    w.holds(P, W)
    w.no_conflicts()
    assert len(w.events_of("b")) == 1


@both_stores
def test_schedule_11_late_landing(kind: StoreKind) -> None:
    w = Script(kind, kind)
    w.everybody_has(P, W)
    w.at(10)
    w.write("a", P, X)
    w.deliver("b", w.tell("a"))
    late = w.send("b")
    w.daemon("b").crash()
    w.restart("b")
    w.at(20)
    w.write("a", P, Y)
    w.deliver("b", w.tell("a"))
    daemon = w.daemon("b")
    daemon.arm()
    request = w.send("b")
    w.land("b", late)
    assert late.refusal is not None
    w.land("b", request)
    daemon.take_written(and_store=True)
    w.end()
    w.holds(P, Y)
    assert w.events_of("b") == []


@both_stores
def test_schedule_12_digest_memory(kind: StoreKind) -> None:
    w = Script(kind, kind)
    for at, tag in ((10, X), (20, Y)):
        w.at(at)
        w.write("a", P, tag)
        w.deliver("b", w.tell("a"))
        w.apply("b")
    w.at(30)
    w.write("b", P, X)
    w.end()
    w.holds(P, X)
    w.no_conflicts()
    assert len(w.events_of("b")) == 1


@both_stores
def test_schedule_13_unseen_equal_pair(kind: StoreKind) -> None:
    w = Script(kind, kind)
    w.everybody_has(P, W)
    told = len(w.events_of("a"))
    w.at(10)
    w.write("a", P, Y)
    w.write("a", P, W)
    w.end()
    w.holds(P, W)
    assert len(w.events_of("a")) == told


def test_schedule_14_zookeeper_version_aba() -> None:
    w = Script(ETCD, ABA)
    w.everybody_has(P, W)
    w.at(10)
    w.write("a", P, X)
    w.deliver("b", w.tell("a"))
    request = w.send("b")
    w.remove("b", P)
    w.write("b", P, Y)
    w.land("b", request)
    assert request.refusal is None
    w.daemon("b").take_written(and_store=True)
    w.end()
    w.holds(P, X)
    assert [row.reason for row in w.conflicts("b")] == ["value-unknown"]
    assert w.decisions("b", Decision.ALARM) == 1


@both_stores
def test_schedule_15_two_actives_with_databases_of_their_own(kind: StoreKind) -> None:
    w = Script(kind, kind)
    site = w.sites[Region("b")]
    other = Disk(Region("b"))
    other.tables.identity = replace(other.tables.identity, database_id="db-other")
    stranger = Driver(site.replica, w.scope, DiskState(other), site.store.capabilities)
    parts_of(stranger).recovery.takes_over = False
    with pytest.raises(PreconditionFailed, match="another sidecar database"):
        stranger.raise_fence(site.store.entry(parts_of(stranger).core.fence_path), "store-b", site.clock())
    scan = stranger.armed()
    w.at(10)
    w.write("a", P, X)
    w.deliver("b", w.tell("a"))
    w.apply("b")
    stranger.noticed([P], site.clock())
    ticket = stranger.issue_page()
    entry = site.store.entry(P)
    assert entry is not None
    with pytest.raises(Fenced):
        stranger.take_page(scan, ticket, [entry], site.store.entry(parts_of(stranger).core.fence_path), site.clock())
    plan = stranger.plan_reads()
    assert plan is not None
    with pytest.raises(Fenced):
        stranger.take_answers(plan, {path: site.store.entry(path) for path in plan.paths}, site.clock())
    assert other.tables.stamped == []
    w.end()
    w.holds(P, X)


@both_stores
def test_schedule_16_take_over_on_one_database(kind: StoreKind) -> None:
    w = Script(kind, kind)
    w.everybody_has(P, W)
    w.at(10)
    w.write("b", P, X)
    former = w.daemon("b")
    early = w.issue("b")
    former.frozen = True
    w.restart("b")
    w.drain(w.sites[Region("b")])
    w.at(20)
    w.write("a", P, Z)
    w.deliver("b", w.tell("a"))
    w.apply("b")
    former.take_answers(early)
    assert not former.alive
    w.end()
    w.holds(P, Z)
    assert len(w.events_of("b")) == 1


@both_stores
def test_schedule_16b_take_over_with_a_write_unanswered(kind: StoreKind) -> None:
    w = Script(kind, kind)
    w.at(10)
    w.write("a", P, X)
    w.deliver("b", w.tell("a"))
    former = w.daemon("b")
    request = w.send("b")
    w.land("b", request)
    w.at(20)
    w.remove("b", P)
    w.restart("b")
    former.take_written(and_store=True)
    assert not former.alive
    w.end()
    w.holds(P, None)
    w.no_conflicts()


@both_stores
def test_schedule_17_tenant_deleted_namespace_created(kind: StoreKind) -> None:
    w = Script(kind, kind)
    w.everybody_has(TENANT, W)
    w.at(10)
    w.remove("a", TENANT)
    w.at(11)
    w.write("b", NAMESPACE, X)
    w.end()
    w.holds(TENANT, W)
    w.holds(NAMESPACE, X)
    assert w.decisions("b", Decision.REASSERTED) == 1
    assert w.decisions("a", Decision.REASSERTED) == 0
    assert w.story.now - second(0) >= PARK_GRACE_MS


def test_schedule_18_parent_gone_below_us() -> None:
    w = Script(ETCD, ZOOKEEPER)
    w.everybody_has(TENANT, W)
    w.at(10)
    w.write("a", NAMESPACE, X)
    w.deliver("b", w.tell("a"))
    request = w.send("b")
    w.remove("b", TENANT)
    w.land("b", request)
    daemon = w.daemon("b")
    daemon.take_written(and_store=True)
    asked: list[MetaPath] = []
    while (plan := daemon.driver.plan_reads()) is not None:
        asked += plan.origins
        assert len(asked) < 10, "it asks again and again"
        daemon.driver.take_answers(
            plan, {path: w.sites[Region("b")].store.entry(path) for path in plan.paths}, daemon.now
        )
        w.referee.stamped(
            w.sites[Region("b")],
            w.sites[Region("b")].disk.tables,
            {path: w.sites[Region("b")].store.content(path) for path in plan.origins},
        )
    assert {NAMESPACE, TENANT} <= set(asked)
    assert daemon.driver.next_transaction() is None
    w.end()
    w.holds(TENANT, W)
    w.holds(NAMESPACE, X)


def test_schedule_19_first_scan() -> None:
    w = Script(ETCD, ZOOKEEPER, started=False)
    w.at(1)
    w.write("a", P, X)
    w.start("b")
    w.drain(w.sites[Region("b")])
    w.at(100)
    w.write("b", P, Y)
    w.drain(w.sites[Region("b")])
    w.at(200)
    w.start("a")
    w.settle(operated=False)
    hold = w.sites[Region("a")].disk.tables.registers[P].hold
    assert hold is not None
    w.holds(P, X, "a")
    w.ask("a", "confirm", w.look("a", P))
    w.end()
    w.holds(P, Y)
    assert w.lost_values("a", P) == [w.value(P, X)]


def test_schedule_24_store_clock_a_year_ahead() -> None:
    """A store's time is believed up to what clocks may differ by: a year ahead would win over everything for a year."""
    w = Script(ZOOKEEPER, ZOOKEEPER)
    w.everybody_has(P, W)
    site = w.sites[Region("a")]
    site.skew_ms = YEAR_MS
    w.at(10)
    w.write("a", P, X)
    site.skew_ms = 0
    x = w.tell("a")
    assert x.stamp.updated_at_ms == second(10) + DEFAULT_CLOCK_SKEW_MS
    w.end()
    w.holds(P, X)


def test_schedule_06_found_by_a_scan() -> None:
    """What nobody saw change has the time when the watch was last whole: to be found late is no way to win."""
    w = Script(ETCD, ETCD)
    w.everybody_has(P, W)
    w.at(100)
    daemon = w.daemon("b")
    daemon.beat()
    assert daemon.watch is not None
    daemon.watch.tear()
    w.at(200)
    w.write("b", P, X)
    w.at(300)
    w.write("a", P, Y)
    y = w.tell("a")
    w.at(400)
    w.notice("b")
    daemon.arm()
    w.end()
    assert y.stamp.updated_at_ms == second(300)
    w.holds(P, Y)
    assert [event.stamp.updated_at_ms for event in w.events_of("b")] == [second(101)]
    assert w.value(P, X) in w.lost_values("b", P)


def test_schedule_24_year_ahead_clock() -> None:
    w = Script(ZOOKEEPER, ZOOKEEPER, ETCD)
    w.everybody_has(P, W)
    site = w.sites[Region("a")]
    site.skew_ms = YEAR_MS
    w.at(10)
    w.write("a", P, X)
    x = w.tell("a")
    site.skew_ms = 0
    w.deliver("b", x)
    assert w.held_for_later("b") == [P]
    w.release("b", P)
    w.daemon("b").operate()
    w.apply("b")
    w.at(20)
    w.write("b", P, Y)
    y = w.tell("b")
    assert y.stamp.updated_at_ms > x.stamp.updated_at_ms
    w.deliver("c", x, y)
    assert len(w.held_for_later("c")) == 2
    w.release("c", P)
    w.end()
    w.holds(P, Y)
    w.no_conflicts()


@both_stores
def test_schedule_25_clock_of_the_author_too_late(kind: StoreKind) -> None:
    w = Script(kind, kind)
    w.everybody_has(P, W)
    w.sites[Region("a")].skew_ms = 60_000
    w.at(10)
    w.write("a", P, X)
    w.deliver("b", w.tell("a"))
    assert w.held_for_later("b") == [P]
    w.at(20)
    w.write("b", P, Y)
    w.tell("b")
    w.end()
    w.holds(P, X)
    assert len(w.events_of("b")) == 1
    assert w.lost_values("b", P) == [w.value(P, Y)]


def knows(w: Script, region: str) -> bool:
    """Whether the region has a register of the path."""
    return P in w.sites[Region(region)].disk.tables.registers


@both_stores
def test_schedule_22_tombstone_dropped_by_clock_watermark(kind: StoreKind) -> None:
    w = Script(kind, kind, kind, forgets=True)
    w.everybody_has(P, W)
    w.at(10)
    w.write("c", P, X)
    w.learn("c")  # stamped, and in its outbox still
    w.at(20)
    w.remove("a", P)
    tombstone = w.tell("a")
    for region in ("b", "c"):
        w.deliver(region, tombstone)
    w.apply("b")
    for moment in range(1_000, 120_000, 10_000):
        w.at(moment)
        for region, others in (("a", "bc"), ("b", "ac"), ("c", "ab")):
            w.beat(region, *others)
            w.daemon(region).tick()
    assert knows(w, "a")
    assert knows(w, "b")
    w.publish("c")
    late = w.bus.events[-1]
    for region in ("a", "b"):
        w.deliver(region, late)
    w.end()
    w.holds(P, None)
    assert w.value(P, X) in w.lost_values("a", P)
    assert not any(knows(w, region) for region in "abc")


def overtaken(kind: StoreKind) -> Script:
    """A tombstone is seated everywhere, and an older change, overtaken by its author's heartbeat, is on its way."""
    w = Script(kind, kind, kind, forgets=True)
    w.everybody_has(P, W)
    w.at(5_000)
    w.remove("a", P)
    tombstone = w.tell("a")
    w.deliver("b", tombstone)
    w.apply("b")
    w.at(10_000)
    w.daemon("a").tick()
    w.sites[Region("c")].skew_ms = -9_000
    w.write("c", P, X)
    older = w.tell("c")
    assert older.stamp.updated_at_ms < tombstone.stamp.updated_at_ms
    w.deliver("c", tombstone)
    w.apply("c")
    for moment in (20_000, 30_000, 40_000):
        w.at(moment)
        for region, others in (("a", "bc"), ("b", "ac"), ("c", "ab")):
            w.beat(region, *others)
            w.daemon(region).tick()
    return w


@both_stores
def test_schedule_22_older_change_overtaken_by_a_heartbeat(kind: StoreKind) -> None:
    w = overtaken(kind)
    assert knows(w, "a")
    w.end()
    w.holds(P, None)
    assert w.value(P, X) in w.lost_values("a", P)
    assert not any(knows(w, region) for region in "abc")


def test_schedule_22_needs_the_second_round() -> None:
    with broken(WITHOUT_SECOND_ROUND):
        w = overtaken(ZOOKEEPER)
        assert not knows(w, "a")
        with pytest.raises(Violation):
            w.end()


def made_anew(kind: StoreKind) -> Script:
    """A delete at 20,000 is forgotten everywhere; then a region whose clock is far behind makes the path anew."""
    w = Script(kind, kind, kind, forgets=True)
    w.everybody_has(P, W)
    w.at(20_000)
    w.remove("a", P)
    w.settle()
    assert not any(knows(w, region) for region in "abc")
    w.sites[Region("b")].skew_ms = -2 * (w.story.now - BEGINNING_MS)
    w.write("b", P, X)
    w.tell("b")
    return w


@both_stores
def test_a_path_that_was_forgotten_starts_above_what_was_forgotten(kind: StoreKind) -> None:
    w = made_anew(kind)
    assert w.bus.events[-1].stamp.updated_at_ms > second(20_000)
    w.end()
    w.holds(P, X)


def test_a_path_that_was_forgotten_would_start_below_without_the_floor() -> None:
    with broken(WITHOUT_FLOOR), pytest.raises(Violation, match="causality"):
        made_anew(ZOOKEEPER)


@both_stores
def test_schedule_17_a_tenant_is_not_deleted_before_it_was_read_what_lives_below_it(kind: StoreKind) -> None:
    w = Script(kind, kind)
    w.everybody_has(TENANT, W)
    w.daemon("b").crash()
    w.at(10)
    w.write("b", NAMESPACE, X)
    w.remove("a", TENANT)
    gone = w.tell("a")
    w.restart("b")
    daemon = w.daemon("b")
    daemon.arm()
    w.notice("b")
    w.deliver("b", gone)
    w.learn("b")
    assert daemon.driver.next_transaction() is None
    w.end()
    w.holds(TENANT, W)
    w.holds(NAMESPACE, X)


@both_stores
def test_schedule_27_only_local_fields_change(kind: StoreKind) -> None:
    w = Script(kind, kind)
    w.everybody_has(TENANT, W)
    w.everybody_has(NAMESPACE, W)
    w.at(10)
    w.write("a", NAMESPACE, X)
    w.deliver("b", w.tell("a"))
    told = len(w.events_of("b"))
    request = w.send("b")
    w.write("b", NAMESPACE, W, local=32)
    w.land("b", request)
    assert request.refusal is not None
    w.end()
    w.holds(NAMESPACE, X)
    assert len(w.events_of("b")) == told
    bundles = {
        region: orjson.loads(w.sites[Region(region)].store.nodes[NAMESPACE].value)["bundles"]["numBundles"]
        for region in ("a", "b")
    }
    assert bundles == {"a": 4, "b": 32}


@both_stores
def test_schedule_28_publish_crash(kind: StoreKind) -> None:
    w = Script(kind, kind)
    w.at(10)
    w.write("a", P, X)
    w.learn("a")
    daemon = w.daemon("a")
    daemon.publish()
    assert daemon.publishing is not None
    w.bus.land(daemon.publishing)
    daemon.crash()
    w.restart("a")
    w.end()
    first, again = w.events_of("a")
    assert first == again
    w.holds(P, X)
    assert w.decisions("b", Decision.ADOPTED) - w.decisions("b", Decision.MERGED) == 2  # the keeper, and x once


@both_stores
def test_schedule_30_loser_seated_winner_arrives(kind: StoreKind) -> None:
    w = Script(kind, kind)
    w.everybody_has(TENANT, W)
    w.at(10)
    w.write("b", NAMESPACE, Y, local=32)
    w.tell("b")
    w.at(20)
    w.write("a", NAMESPACE, X)
    w.forget("b")
    w.deliver("b", w.tell("a"))
    site = w.sites[Region("b")]
    assert w.lost_values("b", NAMESPACE) == [None]
    reading = w.issue("b")
    site.disk.trouble = Trouble.CRASH_AFTER
    w.answer("b", reading)
    assert not site.daemons
    assert w.lost_values("b", NAMESPACE) == [w.value(NAMESPACE, Y, local=32)]
    assert site.disk.tables.registers[NAMESPACE].intent is not None
    w.end()
    w.holds(NAMESPACE, X)


@both_stores
def test_schedule_20_sidecar_lost(kind: StoreKind) -> None:
    w = Script(kind, kind)
    w.everybody_has(P, W)
    w.at(50)
    w.write("a", P, Z)
    w.deliver("b", w.tell("a"))
    w.daemon("b").crash()
    w.at(100)
    w.write("a", P, X)
    w.tell("a")
    w.at(150)
    w.write("b", P, Y)  # its own write, or anybody's: without the database nobody can tell
    w.wipe(w.sites[Region("b")], None)
    w.end()
    w.holds(P, X)
    assert [row.reason for row in w.conflicts("b") if row.path == P] == ["unknown-provenance"]
    assert w.lost_values("b", P) == [w.value(P, Y)]
    identity = w.sites[Region("b")].disk.tables.identity
    assert identity.generation == 2
    assert w.events_of(identity.database_id.removeprefix("db-")) == []


@both_stores
def test_schedule_20_a_value_that_is_lost_with_the_delete_of_its_only_copy(kind: StoreKind) -> None:
    """B lists x, which A had not written when it lost its database; B's delete of x is held, and taken back."""
    w = Script(kind, kind, compares=True, limits=replace(WIDE, max_deletes=0, min_deletes=0))
    a, b = w.sites[Region("a")], w.sites[Region("b")]
    w.write("b", P, X)
    w.deliver("a", w.tell("b"))
    w.wipe(a, None)
    w.write("a", P, Y)
    w.restart("a")
    while w.daemon("a").driver.hearing:
        w.daemon("a").tick()
        w.drain(b)
        while w.bus.waiting[a.region]:
            w.daemon("a").receive()
            w.daemon("a").acknowledge()
    w.remove("b", P)
    w.learn("b")
    hold = b.disk.tables.registers[P].hold
    assert hold is not None
    assert hold.local
    w.ask("b", "undo", w.look("b", P))
    w.end()
    w.holds(P, Y)
    assert w.decisions("a", Decision.UNSUPPLIED) == 1


def _hears(w: Script, region: str) -> None:
    """A region whose database was lost hears its peers, and does nothing else."""
    w.restart(region)
    while w.daemon(region).driver.hearing:
        w.daemon(region).tick()
        for site in (*(each for each in w.sites.values() if each.region != region), w.sites[Region(region)]):
            while w.bus.waiting[site.region]:
                site.daemon.receive()
                site.daemon.acknowledge()
            site.daemon.correspond()


@both_stores
def test_schedule_20_a_value_that_is_lost_with_its_region_while_another_one_knows_an_older_one(kind: StoreKind) -> None:
    """C lists x to B, whose database was lost, and is lost itself before it tells x; A has the value of before."""
    w = Script(kind, kind, kind, compares=True)
    w.everybody_has(P, W)
    b, c = w.sites[Region("b")], w.sites[Region("c")]
    w.write("c", P, X)
    w.learn("c")
    w.wipe(b, None)
    w.write("b", P, Y)
    _hears(w, "b")
    known = b.disk.tables.registers[P].known
    assert known is not None
    assert known.stamp.region == "c"
    w.loses_for_good("c")
    w.end()
    assert c.disk.tables.outbox
    w.holds(P, W)
    assert w.lost_values("b", P) == [w.value(P, Y)]
    assert w.decisions("b", Decision.UNSUPPLIED) == 1
    assert w.decisions("b", Decision.REASSERTED) == 0


def _goes_on(w: Script, rounds: int = 12) -> None:
    """Everybody does all that can be done, and no person acts."""
    for _ in range(rounds):
        for site in w.sites.values():
            if not site.daemons:
                w.start(site.region)
            w.drain(site)
        w.advance(PARK_GRACE_MS // 2)


@both_stores
def test_a_lost_database_makes_a_baseline_of_what_only_a_region_knows_that_has_yet_to_join(kind: StoreKind) -> None:
    w = Script(kind, kind, kind, compares=True, started=False)
    a, c = w.sites[Region("a")], w.sites[Region("c")]
    c.disk.set_facts(paused=JOINING)
    w.write("c", P, X)
    _goes_on(w)
    assert c.disk.tables.registers[P].known is not None
    w.wipe(a, None)
    w.write("a", P, Y)
    _goes_on(w)
    w.holds(P, Y, "a", "b")
    w.holds(P, X, "c")
    w.end()
    (value,) = {site.store.nodes[P].value for site in w.sites.values()}
    assert {w.value(P, X), w.value(P, Y)} == {value, *w.lost_values("c", P)}


@both_stores
def test_two_regions_reject_what_first_contact_holds_and_neither_has_seen_the_other(kind: StoreKind) -> None:
    """B asserts its value above that of A as it was found, not above what A has asserted since by a faster clock."""
    w = Script(kind, kind, kind, started=False)
    a, b = w.sites[Region("a")], w.sites[Region("b")]
    w.write("a", P, Y)
    w.write("b", P, Z)
    w.sites[Region("c")].cut_off_until = w.story.now + 1
    for site in w.sites.values():
        w.restart(site.region)
        w.drain(site)
    w.at(10)
    a.skew_ms = 5_000
    w.write("c", P, X)
    w.deliver("a", w.tell("c"))
    stamps = []
    for site in (a, b):
        w.learn(site.region)
        hold = site.disk.tables.registers[P].hold
        assert hold is not None
        assert hold.reason is HoldReason.FIRST_CONTACT
        w.ask(site.region, "reject", w.look(site.region, P))
        site.daemon.operate()
        w.learn(site.region)
        stamps.append(site.disk.tables.stamped[-1].stamp)
    assert stamps == [Stamp(second(5_010), a.region), Stamp(second(10), b.region)]
    w.end()
    w.holds(P, Y)
    assert w.value(P, Z) in w.lost_values("b", P)


@both_stores
def test_schedule_21_counter_of_a_lost_database(kind: StoreKind) -> None:
    """What it stamped before is not what it stamps now: nobody takes the one for the other's ancestor."""
    w = Script(kind, kind)
    w.everybody_has(P, W)
    w.at(1_000_000)
    w.write("b", P, X)
    w.tell("b")
    w.settle()
    w.daemon("b").crash()
    lone = MetaPath("/admin/resourcegroups/only-here")
    w.write("b", lone, Y)
    w.wipe(w.sites[Region("b")], None)
    w.settle()
    known = w.sites[Region("a")].disk.tables.registers[lone].known
    assert known is not None
    assert known.by == "b~2"
    w.end()


@both_stores
def test_schedule_21_counter_restarts(kind: StoreKind) -> None:
    w = Script(kind, kind)
    lone = MetaPath("/admin/resourcegroups/only-here")
    w.at(10)
    w.write("b", P, X)
    w.tell("b")
    w.settle()
    w.daemon("b").crash()
    w.write("b", lone, Y)
    w.wipe(w.sites[Region("b")], None)
    w.settle()
    w.holds(lone, Y)
    baseline = w.sites[Region("a")].disk.tables.registers[lone].known
    assert baseline is not None
    assert (baseline.stamp.updated_at_ms, baseline.by) == (baseline_time(2), "b~2")
    w.write("b", P, Z)
    w.end()
    w.holds(P, Z)
    known = w.sites[Region("a")].disk.tables.registers[P].known
    assert known is not None
    assert known.by == "b~2"
    w.no_conflicts()


@both_stores
def test_two_rebuilds_at_once_wait_for_the_third_region_and_not_for_each_other(kind: StoreKind) -> None:
    w = Script(kind, kind, kind)
    w.everybody_has(P, W)
    for region in ("a", "b"):
        w.wipe(w.sites[Region(region)], None)
    w.write("a", P, Y)
    w.end()
    w.holds(P, W)
    assert w.lost_values("a", P) == [w.value(P, Y)]
    assert all(site.disk.tables.identity.first_scan_done for site in w.sites.values())
    assert not any(operation.kind == "rebuild" for operation in w.sites[Region("a")].disk.tables.operations.values())


@both_stores
def test_a_rebuild_writes_nothing_before_its_peers_were_heard(kind: StoreKind) -> None:
    w = Script(kind, kind)
    w.everybody_has(P, W)
    w.wipe(w.sites[Region("b")], None)
    w.remove("b", P)
    w.daemon("a").crash()
    w.restart("b")
    w.drain(w.sites[Region("b")])
    driver = w.daemon("b").driver
    assert driver.hearing
    assert w.daemon("b").watch is None
    assert driver.plan_reads() is None
    assert w.sites[Region("b")].disk.tables.registers == {}
    w.end()
    w.holds(P, W)
    w.no_conflicts()


@both_stores
def test_an_old_copy_is_known_by_the_receipts_in_the_fence(kind: StoreKind) -> None:
    w = Script(kind, kind)
    w.everybody_has(P, W)
    b = w.sites[Region("b")]
    copy = b.disk.tables.copy()
    w.at(10)
    w.write("a", P, X)
    w.deliver("b", w.tell("a"))
    w.apply("b")
    w.wipe(b, copy)
    w.restart("b")
    assert w.daemon("b").driver.hearing
    w.end()
    w.holds(P, X)
    w.no_conflicts()
    assert w.events_of(b.disk.tables.identity.database_id.removeprefix("db-")) == []


@both_stores
def test_an_old_copy_is_known_by_what_the_peers_have_of_it(kind: StoreKind) -> None:
    w = Script(kind, kind)
    w.everybody_has(P, W)
    b = w.sites[Region("b")]
    copy = b.disk.tables.copy()
    w.at(10)
    w.write("b", P, X)
    w.tell("b")
    w.wipe(b, copy)
    w.end()
    w.holds(P, X)
    assert b.disk.tables.identity.generation == 2
    assert len([event for event in w.bus.events if event.value == w.value(P, X)]) == 1


@both_stores
def test_an_old_copy_of_a_database_that_had_heard_its_peers_gets_what_came_since_like_any_other(
    kind: StoreKind,
) -> None:
    """Nobody has anything of such a copy, so nothing can tell that it is one; it has only missed what came since."""
    w = Script(kind, kind, compares=True)
    b = w.sites[Region("b")]
    w.wipe(b, None)
    w.restart("b")
    while w.daemon("b").driver.hearing:
        w.daemon("b").tick()
        w.drain(w.sites[Region("a")])
        while w.bus.waiting[b.region]:
            w.daemon("b").receive()
            w.daemon("b").acknowledge()
    copy = b.disk.tables.copy()
    w.write("b", P, Y)
    w.at(10_000)
    w.write("a", P, X)
    w.deliver("b", w.tell("a"))
    w.wipe(b, copy)
    w.end()
    w.holds(P, X)
    assert b.disk.tables.identity.database_id == copy.identity.database_id
    assert w.value(P, Y) in w.lost_values("a", P)


@both_stores
def test_a_crash_between_a_write_and_its_answer_is_no_old_copy(kind: StoreKind) -> None:
    w = Script(kind, kind)
    w.everybody_has(P, W)
    w.at(10)
    w.write("a", P, X)
    w.deliver("b", w.tell("a"))
    w.land("b", w.send("b"))
    w.daemon("b").crash()
    w.end()
    w.holds(P, X)
    assert w.sites[Region("b")].disk.tables.identity.generation == 1


@both_stores
def test_a_write_by_memory_is_refused_by_a_change_that_nobody_has_noticed(kind: StoreKind) -> None:
    w = Script(kind, kind)
    w.everybody_has(P, W)
    w.at(10)
    w.write("b", P, Y)
    w.at(20)
    w.write("a", P, X)
    w.deliver("b", w.tell("a"))
    daemon = w.daemon("b")
    assert not daemon.readings
    daemon.send()
    assert daemon.request is not None
    w.land("b", daemon.request)
    assert daemon.request.refusal is not None
    daemon.take_written()
    w.end()
    w.holds(P, X)
    assert w.value(P, Y) in w.lost_values("b", P)
    assert len(w.events_of("b")) == 1


@both_stores
def test_what_a_write_by_memory_replaces_is_kept_with_its_intent(kind: StoreKind) -> None:
    w = Script(kind, kind)
    w.everybody_has(TENANT, W)
    w.at(10)
    w.write("b", NAMESPACE, Y, local=32)
    w.tell("b")
    w.at(20)
    w.write("a", NAMESPACE, X)
    w.deliver("b", w.tell("a"))
    assert w.lost_values("b", NAMESPACE) == [w.value(NAMESPACE, Y, local=32)]
    assert w.sites[Region("b")].disk.tables.registers[NAMESPACE].intent is not None
    w.end()
    w.holds(NAMESPACE, X)


def test_values_that_a_store_cannot_tell_apart_are_read_before_they_are_overwritten() -> None:
    w = Script(ETCD, ABA)
    w.everybody_has(P, W)
    w.at(10)
    w.write("a", P, X)
    w.deliver("b", w.tell("a"))
    assert w.daemon("b").driver.next_transaction() is None
    w.end()
    w.holds(P, X)


def test_a_delete_is_read_before_it_is_done() -> None:
    w = Script(ETCD, ETCD)
    w.everybody_has(P, W)
    w.at(10)
    w.remove("a", P)
    w.deliver("b", w.tell("a"))
    assert w.daemon("b").driver.next_transaction() is None
    w.end()
    w.holds(P, None)


@both_stores
def test_schedule_29_apply_only_scope(kind: StoreKind) -> None:
    w = Script(kind, kind)
    w.daemon("b").crash()
    w.scope, whole = Scope((Rule(P, Direction.APPLY), *DEFAULT_RULES)), w.scope
    w.everybody_has(P, W)  # "b" starts again, by this scope
    w.scope = whole
    w.at(50)
    w.write("a", P, X)
    told = w.tell("a")
    w.at(100)
    w.write("b", P, Y)  # an edit that may not leave the region
    w.deliver("b", told)
    w.learn("b")
    w.end()
    w.holds(P, X)
    assert [row.reason for row in w.conflicts("b") if row.path == P] == ["drift"]
    assert w.lost_values("b", P) == [w.value(P, Y)]
    assert w.decisions("b", Decision.DRIFT) == 1
    assert w.events_of("b") == []


@both_stores
def test_two_edits_of_one_moment_that_may_not_leave_are_both_kept(kind: StoreKind) -> None:
    w = Script(kind, kind)
    w.daemon("b").crash()
    w.scope, whole = Scope((Rule(P, Direction.APPLY), *DEFAULT_RULES)), w.scope
    w.everybody_has(P, W)  # "b" starts again, by this scope
    w.scope = whole
    w.at(50)
    w.write("a", P, X)
    told = w.tell("a")
    w.at(100)
    w.write("b", P, Y)
    w.learn("b")
    w.write("b", P, Z)
    w.learn("b")
    w.deliver("b", told)
    w.end()
    w.holds(P, X)
    assert w.lost_values("b", P) == [w.value(P, Y), w.value(P, Z)]
    assert len({row.loser for row in w.conflicts("b")}) == 2, "each edit has a name of its own"


def scoped(*rules: tuple[str, Direction]) -> Scope:
    """The default scope, with rules before it."""
    return Scope((*(Rule(pattern, direction) for pattern, direction in rules), *DEFAULT_RULES))


@both_stores
def test_a_region_that_only_applies_a_tenant_does_not_bring_it_back_for_what_was_made_there(kind: StoreKind) -> None:
    w = Script(kind, kind)
    w.everybody_has(TENANT, W)
    w.rescope(w.sites[Region("b")], scoped((TENANT, Direction.APPLY), (f"{TENANT}/**", Direction.APPLY)))
    w.restart("b")
    w.settle()
    w.write("b", NAMESPACE, X)  # made by hand, and it may not leave the region
    w.learn("b")
    w.remove("a", TENANT)
    w.end()
    register = w.sites[Region("b")].disk.tables.registers[TENANT]
    assert TENANT not in w.sites[Region("a")].store.nodes
    assert register.parked is not None
    assert register.parked.reason is ParkReason.CHILDREN_ALIVE
    assert w.events_of("b") == []


@both_stores
def test_held_deletes_are_not_confirmed_where_they_may_not_leave_any_more(kind: StoreKind) -> None:
    w = Script(kind, kind, compares=True, limits=NARROW)
    b = w.sites[Region("b")]
    paths = [MetaPath(f"/admin/policies/t{number}") for number in range(4)]
    for path in paths:
        w.everybody_has(path, W)
    w.at(1_000)
    for path in paths:
        w.remove("b", path)
    w.learn("b")
    held = [path for path in paths if b.disk.tables.registers[path].hold is not None]
    assert held
    w.rescope(b, scoped(("/admin/policies/**", Direction.APPLY)))
    w.restart("b")
    number = w.ask("b", "confirm", w.look("b", held[0]))
    w.daemon("b").operate()
    answer = w.answer_of("b", number)
    assert answer.state is OperationState.FAILED
    assert "may not leave this region" in answer.answer
    for path in held:
        w.ask("b", "undo", w.look("b", path))
    w.end()
    assert all(path in site.store.nodes for path in held for site in w.sites.values())


@both_stores
def test_what_waits_in_the_outbox_stays_when_the_scope_is_narrowed_and_is_kept(kind: StoreKind) -> None:
    w = Script(kind, kind, compares=True)
    w.everybody_has(P, W)
    w.at(1_000)
    w.write("b", P, X)
    w.learn("b")
    b = w.sites[Region("b")]
    assert len(b.disk.tables.outbox) == 1
    w.rescope(b, scoped((P, Direction.APPLY)))
    w.end()
    assert w.events_of("b") == []
    assert w.lost_values("b", P) == [w.value(P, X)]
    w.holds(P, W)


@both_stores
def test_what_was_let_go_under_a_scope_that_was_never_met_is_met_at_first(kind: StoreKind) -> None:
    w = Script(kind, kind, compares=True)
    w.everybody_has(P, W)
    w.at(1_000)
    w.write("a", P, X)
    w.deliver("b", w.tell("a"))  # folded, not written yet
    b = w.sites[Region("b")]
    w.rescope(b, scoped((P, Direction.IGNORE), ("/admin/clusters/**", Direction.BOTH)))
    w.restart("b")
    w.rescope(b, scoped())  # ends before it has read its store
    w.end()
    assert not any(event.path == P and not event.stamp.is_baseline for event in w.events_of("b"))
    w.holds(P, X)
