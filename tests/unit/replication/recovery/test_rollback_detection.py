"""What a fence and a database tell of each other: which of them was put back from a copy, and what is not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncer.bus.wire.messages import Heartbeat
from syncer.conflict.causality.consumed import Consumed
from syncer.conflict.projection import PROJECTIONS
from syncer.conflict.register import Register
from syncer.conflict.replica import Replica
from syncer.conflict.scope import Scope
from syncer.conflict.settings import Settings
from syncer.errors import Fenced, PreconditionFailed
from syncer.model import (
    Counter,
    EventType,
    MetadataChangeEvent,
    MetaPath,
    Millis,
    Region,
    ResourceKind,
    Revision,
    Stamp,
    TieOrder,
)
from syncer.paths import fence_path
from syncer.replication.driver import Driver
from syncer.replication.fence import RECEIPTS, Fence, HeldFence, raised
from syncer.replication.inbound.arrived import Arrived
from syncer.replication.local.observe import state_event
from syncer.replication.local.rollback_counter import INTERVAL_MS, RollbackCounter
from syncer.replication.recovery import rebuild
from syncer.replication.recovery.progress import Phase
from syncer.state.memory import MemoryDatabase, MemoryState
from syncer.stores.contract import Entry, Put, Written
from tests.support.parts import parts_of
from tests.unit.replication.antientropy.test_protocol import CAPABILITIES, T0, path_of, value_of, version

EAST, WEST = Region("east"), Region("west")
FENCE = fence_path(EAST)
LATER = Millis(T0 + INTERVAL_MS)
VALUE = b'{"adminRoles":["x"],"allowedClusters":[]}'


class World:
    """One region: its database, and a store that keeps its fence; both can be copied and put back."""

    def __init__(self) -> None:
        self.database = MemoryDatabase(EAST, "east-db")
        self.entry: Entry | None = None
        self.written = 0
        self.driver = self.started()

    def started(self, *expected: Region) -> Driver:
        """A daemon that starts: it has read the fence, not yet raised it."""
        state = MemoryState(self.database)
        state.activate()
        self.driver = Driver(Replica(Settings(region=EAST)), Scope(), state, CAPABILITIES, expected=expected)
        return self.driver

    def active(self, *expected: Region) -> Driver:
        """A daemon that has become the writer."""
        driver = self.started(*expected)
        put = driver.raise_fence(self.entry, "store", T0)
        driver.activated(put, self.write(put), T0)
        return driver

    def write(self, put: Put) -> Written:
        """The store takes a write of the fence."""
        assert put.expected == (self.entry.revision if self.entry is not None else None)
        self.written += 1
        revision = Revision(str(self.written))
        self.entry = Entry(path=FENCE, value=put.value, revision=revision, modified_at_ms=None)
        return Written(path=FENCE, revision=revision)

    def mark(self, now: Millis = T0) -> None:
        """The daemon sets a mark."""
        put = self.driver.mark(now)
        assert put is not None
        self.driver.marked(put, self.write(put), now)

    @property
    def fence(self) -> Fence:
        """What the store holds."""
        assert self.entry is not None
        return Fence.decode(self.entry.value)

    def identity(self) -> Any:
        """What the database says of itself."""
        return self.database.facts[""]


@pytest.fixture
def world() -> World:
    """A region whose daemon is active and has set a mark."""
    world = World()
    world.active()
    world.mark()
    return world


# -- at the start


def test_a_fence_and_its_database_agree_and_the_fence_is_raised_with_a_new_mark(world: World) -> None:
    before = world.fence.mark
    world.active()
    assert world.driver.rebuilding is None
    identity = world.identity()
    assert world.fence.mark == identity.mark == identity.marked == before + 1


@pytest.mark.parametrize(("before", "after"), [(3, 1_700_000_000), (1_800_000_000, 1_800_000_001)])
def test_a_fence_number_rises_by_one_and_beyond_all_that_were_given_out_where_a_database_begins_anew(
    world: World, before: int, after: int
) -> None:
    world.active()
    assert world.fence.number == 2
    present = Entry(
        path=FENCE,
        value=replace(world.fence, number=before).encode(),
        revision=Revision("9"),
        modified_at_ms=None,
    )
    identity = parts_of(world.driver).core.identity
    now = Millis(1_700_000_000_999)
    assert raised(present, identity, "store", now, rebuilding=False).number == before + 1
    assert raised(present, identity, "store", now, rebuilding=True).number == after


def test_a_store_that_lacks_a_mark_is_refused_and_nothing_is_changed(world: World) -> None:
    old = world.entry
    world.mark()
    world.entry = old
    before = world.identity()
    driver = world.started()
    with pytest.raises(PreconditionFailed, match="the store is older than the sidecar database"):
        driver.raise_fence(world.entry, "store", T0)
    assert replace(world.identity(), epoch=before.epoch) == before
    assert world.entry is old


def test_a_database_that_lacks_a_mark_begins_anew_without_any_peer(world: World) -> None:
    old = world.identity()
    world.mark()
    world.database.facts[""] = old
    world.active()
    assert "an old copy: the fence holds mark" in (world.driver.rebuilding or "")
    assert world.driver.hearing
    assert world.identity().database_id != "east-db"
    assert world.identity().mark == world.identity().marked == world.fence.mark


@pytest.mark.parametrize("steps", range(3))
def test_a_crash_at_any_step_of_a_mark_makes_nothing_look_old(world: World, steps: int) -> None:
    put = world.driver.mark(LATER)  # the database has given it out
    assert put is not None
    answer = world.write(put) if steps > 0 else None  # it stands in the fence
    if steps > 1:
        world.driver.marked(put, answer, LATER)  # the database has noted that
    world.active()
    assert world.driver.rebuilding is None
    assert parts_of(world.driver).core.identity.database_id == "east-db"


def test_a_crash_between_raising_the_fence_and_its_answer_makes_nothing_look_old(world: World) -> None:
    driver = world.started()
    world.write(driver.raise_fence(world.entry, "store", T0))
    world.active()
    assert world.driver.rebuilding is None


def test_an_old_store_is_known_after_a_rebuild_too_by_the_former_database_that_its_fence_names(world: World) -> None:
    old = world.entry
    world.database = MemoryDatabase(EAST, "fresh")
    world.active()
    assert world.driver.rebuilding is not None
    world.entry = old
    world.active()  # nothing of the store was taken so far: the rebuild goes on
    assert world.driver.hearing
    kept = rebuild.of(parts_of(world.driver).recovery)
    assert kept is not None
    with parts_of(world.driver).core.state.transaction() as tx:
        tx.set_identity(rebuild=replace(kept, phase=Phase.DONE).encode())
    world.entry = old
    with pytest.raises(PreconditionFailed, match="has taken the place of"):
        world.started().raise_fence(old, "store", T0)


# -- while it runs


def _read(world: World, fence: Entry | None) -> None:
    """A path is read, and the fence after it."""
    world.driver.noticed([path_of(1)], T0)
    plan = world.driver.plan_reads()
    assert plan is not None
    value = Entry(path=path_of(1), value=VALUE, revision=Revision("9"), modified_at_ms=T0)
    world.driver.take_answers(plan, {path_of(1): value, FENCE: fence}, T0)


def test_what_is_read_with_an_older_fence_is_not_stamped(world: World) -> None:
    world.driver.armed()
    old = world.entry
    world.mark()
    with pytest.raises(PreconditionFailed, match="the store is older"):
        _read(world, old)
    assert world.driver.outbox(10) == []
    assert world.driver.plan_reads() is not None, "the path is dirty still"


def test_a_fence_of_an_older_store_is_known_although_its_revision_was_given_out_again(world: World) -> None:
    """A store that was put back counts its revisions from there once more."""
    world.driver.armed()
    old = world.entry
    world.mark()
    assert old is not None
    assert world.entry is not None
    with pytest.raises(PreconditionFailed, match="the store is older"):
        _read(world, replace(old, revision=world.entry.revision))
    assert world.driver.outbox(10) == []


def test_nothing_is_written_after_a_gap_before_the_fence_was_read(world: World) -> None:
    """What has cut the watch may have put another store in the place of ours; a mark would hide that for ever."""
    driver = world.driver
    driver.armed()
    driver.noticed([path_of(1)], T0)
    before = driver.plan_reads()
    assert before is not None
    parts_of(driver).local.rollback_counter.advanced = True
    assert driver.rollback_counter_due(LATER)
    driver.gap()
    assert not driver.rollback_counter_due(LATER)
    scan = driver.armed()
    driver.take_answers(before, {path_of(1): None, FENCE: world.entry}, T0)  # asked before the gap
    assert not driver.rollback_counter_due(LATER)
    driver.take_page(scan, driver.issue_page(), [], world.entry, T0)
    assert driver.rollback_counter_due(LATER)
    again = driver.plan_reads()
    assert again is not None
    driver.take_answers(again, {path_of(1): None, FENCE: world.entry}, T0)
    driver.gap()
    assert driver.plan_reads() is None
    driver.armed()
    alone = driver.plan_reads()
    assert alone is not None
    assert alone.paths == (FENCE,), "also where the store holds nothing, and nothing is to be read"
    driver.take_answers(alone, {FENCE: world.entry}, T0)
    assert driver.rollback_counter_due(LATER)
    assert driver.plan_reads() is None


def test_what_a_scan_finds_with_an_older_fence_is_not_stamped(world: World) -> None:
    scan = world.driver.armed()
    old = world.entry
    world.mark()
    page = [Entry(path=path_of(1), value=VALUE, revision=Revision("9"), modified_at_ms=T0)]
    with pytest.raises(PreconditionFailed, match="the store is older"):
        world.driver.take_page(scan, world.driver.issue_page(), page, old, T0)
    assert world.driver.outbox(10) == []


def test_a_read_that_was_under_way_when_the_mark_was_set_counts(world: World) -> None:
    world.driver.armed()
    world.driver.noticed([path_of(1)], T0)
    plan = world.driver.plan_reads()
    before = world.entry
    assert plan is not None
    world.mark()
    value = Entry(path=path_of(1), value=VALUE, revision=Revision("9"), modified_at_ms=T0)
    world.driver.take_answers(plan, {path_of(1): value, FENCE: before}, T0)
    assert len(world.driver.outbox(10)) == 1


@pytest.mark.parametrize("entry", [None, "another"])
def test_what_is_read_with_another_ones_fence_is_not_stamped(world: World, entry: str | None) -> None:
    world.driver.armed()
    value = replace(world.fence, number=9).encode()
    fence = Entry(path=FENCE, value=value, revision=Revision("99"), modified_at_ms=None) if entry else None
    with pytest.raises(Fenced):
        _read(world, fence)


def test_a_mark_whose_answer_was_lost_is_found_or_written_again(world: World) -> None:
    put = world.driver.mark(LATER)
    assert put is not None
    again = world.driver.probe_rollback_counter(world.entry)
    assert again is not None, "it has not landed"
    assert again.value == put.value
    world.write(again)
    assert world.driver.probe_rollback_counter(world.entry) is None, "it stands there"
    world.driver.marked(None, None, LATER)
    assert world.identity().marked == world.identity().mark == world.fence.mark


@pytest.mark.parametrize("told", [False, True])
def test_a_mark_under_way_takes_back_nothing_of_what_the_fence_is_to_say_since(world: World, *, told: bool) -> None:
    """Else a store that was compared whole since its names were changed stays one that was not."""
    put = world.driver.mark(LATER)
    assert put is not None
    core = parts_of(world.driver).core
    assert core.fence is not None
    core.fence = HeldFence(replace(core.fence.fence, at="compared", untold=("1.7",)), core.fence.revision)
    answer = world.write(put)
    if told:
        world.driver.marked(put, answer, LATER)
    else:
        assert world.driver.probe_rollback_counter(world.entry) is None
    assert core.fence is not None
    assert core.fence.fence.mark == world.fence.mark
    world.mark(LATER)
    assert (world.fence.at, world.fence.untold) == ("compared", ("1.7",))


def test_what_differs_by_names_is_not_published_yet_while_the_outbox_holds_it_also_at_the_next_start(
    world: World,
) -> None:
    world.driver.armed()
    _read(world, world.entry)
    assert len(world.driver.outbox(10)) == 1
    world.active()
    assert parts_of(world.driver).core.renaming
    rows = world.driver.outbox(10)
    world.driver.published(rows, LATER)
    world.driver.heartbeat(LATER, "1")
    assert not parts_of(world.driver).core.renaming


def test_a_mark_is_looked_for_in_no_older_store(world: World) -> None:
    old = world.entry
    world.mark()
    world.driver.mark(LATER)
    with pytest.raises(PreconditionFailed, match="the store is older"):
        world.driver.probe_rollback_counter(old)


def test_a_mark_is_due_once_in_an_interval_and_only_when_something_was_stored(world: World) -> None:
    driver = world.driver
    assert not driver.rollback_counter_due(LATER)
    driver.armed()
    _read(world, world.entry)
    assert not driver.rollback_counter_due(Millis(LATER - 1))
    assert driver.rollback_counter_due(LATER)
    world.mark(LATER)
    assert not driver.rollback_counter_due(Millis(LATER + INTERVAL_MS))


def test_a_clock_that_is_set_back_does_not_keep_marks_away() -> None:
    rollback_counter = RollbackCounter()
    rollback_counter.given_out(LATER)
    assert not rollback_counter.due(T0)
    rollback_counter.advanced = True
    assert rollback_counter.due(T0)


def test_no_mark_is_set_without_a_fence(world: World) -> None:
    parts_of(world.driver).core.fence = None
    parts_of(world.driver).local.rollback_counter.advanced = True
    assert not world.driver.rollback_counter_due(LATER)
    assert world.driver.mark(LATER) is None
    before = world.identity()
    world.driver.marked(None, None, LATER)
    assert world.identity() == before


@given(st.integers(0, 30), st.integers(0, 30), st.booleans())
def test_of_two_states_of_a_fence_the_earlier_one_precedes(first: int, second: int, marks: bool) -> None:
    def after(steps: int) -> Fence:
        fence = Fence(number=1, database_id="d", generation=1, store_id="s")
        for step in range(steps):
            fence = replace(fence, mark=step + 1) if marks and step % 2 else fence.landing(f"1.{step + 1}")
        return fence

    seen, known = after(first), after(second)
    landed = known.landed[-1] if known.landed else None
    assert seen.precedes(landed, known.mark) is (first < second)
    assert len(seen.landed) <= RECEIPTS


def test_a_fence_of_an_older_version_has_no_mark() -> None:
    value = b'{"number":3,"database":"d","generation":1,"store":"s","landed":[]}'
    fence = Fence.decode(value)
    assert (fence.mark, fence.landed) == (0, ())
    assert Fence.decode(replace(fence, mark=7).encode()).mark == 7


# -- generations


def _beat(generations: dict[str, tuple[int, str]]) -> Arrived:
    beat = Heartbeat(
        region=WEST,
        sender="west-db",
        generation=1,
        sent_at_ms=T0,
        last_sequence=0,
        watermark=T0,
        projections={str(kind): projection.id for kind, projection in PROJECTIONS.items()},
        scope=Scope().fingerprint,
        tie_order=TieOrder.SMALLER_REGION,
        mode="active",
        version="1",
        generations=generations,
    )
    return Arrived(message=beat, position="1")


def test_a_generation_that_another_database_had_is_left(world: World) -> None:
    world.driver.consume([_beat({"east": (7, "former")})], T0)
    world.driver.tick(T0)
    assert parts_of(world.driver).core.replica.settings.by == "east~8"
    assert (world.identity().generation, world.identity().database_id) == (8, "east-db")
    world.driver.consume([_beat({"east": (8, "east-db")})], T0)
    world.driver.tick(T0)
    assert world.identity().generation == 8, "its own one it keeps"
    assert world.driver.rollback_counter_due(LATER)
    world.mark(LATER)
    assert world.fence.generation == 8


def test_a_database_whose_very_generation_was_anothers_begins_anew(world: World) -> None:
    """What it has stamped since looks as if it had been seen: nobody can tell it from what the other one stamped."""
    world.driver.consume([_beat({"east": (1, "former")})], T0)
    assert parts_of(world.driver).recovery.progress.lost is None, "the word of one begins nothing"
    world.driver.consume([_of_former()], T0)
    with pytest.raises(Fenced):
        world.driver.tick(T0)
    assert world.identity().generation == 2
    assert world.driver.hearing


def _of_former() -> Arrived:
    """A change that another database of this region stamped under its very counter."""
    event = state_event(Register(path=path_of("1"), known=version(path_of("1"), 1, 4, "east")), value_of(1))
    assert event is not None
    return Arrived(message=replace(event, sender="former", sequence=1), position="2")


@pytest.mark.parametrize("told", [{}, {"west": (9, "x")}, {"east": (0, "former")}])
def test_a_lower_generation_does_not_matter(world: World, told: dict[str, tuple[int, str]]) -> None:
    world.driver.consume([_beat(told)], T0)
    world.driver.tick(T0)
    assert world.identity().generation == 1


def test_a_region_that_is_new_to_its_store_begins_anew_when_a_peer_knows_its_generation() -> None:
    world = World()
    driver = world.active(WEST)
    assert driver.starting
    driver.consume([_beat({"east": (1, "former")})], T0)
    with pytest.raises(Fenced):
        driver.tick(T0)
    assert world.identity().generation == 2
    world.active(WEST)
    assert world.driver.hearing


def test_a_peer_tells_the_highest_generation_that_it_has_heard_after_a_restart_too(world: World) -> None:
    world.driver.consume([_beat({})], T0)
    later = replace(_beat({}).message, sender="west-db-2", generation=5)  # type: ignore[type-var]
    lower = replace(_beat({}).message, sender="west-db-3", generation=5)  # type: ignore[type-var]
    for message in (later, lower):
        world.driver.consume([Arrived(message=message, position="2")], T0)
    assert world.driver.heartbeat(T0, "1").generations == {"west": (5, "west-db-2")}
    world.active()
    assert world.driver.heartbeat(T0, "1").generations == {"west": (5, "west-db-2")}


# -- numbers that are used again


def _change(time: int, *, sequence: int, value: bytes = VALUE, path: MetaPath | None = None) -> Arrived:
    by = Counter("west~1")
    stamp = Stamp(Millis(T0 + time), WEST)
    event = MetadataChangeEvent(
        type=EventType.MODIFIED,
        resource=ResourceKind.TENANT,
        resource_name="t",
        path=path or path_of(1),
        value=value,
        stamp=stamp,
        by=by,
        seen={by: stamp.updated_at_ms},
        sender="west-db",
        sequence=sequence,
    )
    return Arrived(message=event, position=str(sequence))


def _known(world: World, path: MetaPath) -> Any:
    with parts_of(world.driver).core.state.transaction() as tx:
        register = tx.registers([path]).get(path)
    return register.known if register is not None else None


def test_a_number_that_comes_again_is_a_duplicate_unless_what_it_names_was_never_folded(world: World) -> None:
    driver = world.driver
    driver.consume([_change(5, sequence=1), _change(6, sequence=2, path=path_of(2))], T0)
    before = dict(parts_of(driver).telemetry.tally)
    driver.consume([_change(5, sequence=1), _change(5, sequence=1), _change(4, sequence=2)], T0)
    assert parts_of(driver).telemetry.tally["ignored", "duplicate"] - before.get(("ignored", "duplicate"), 0) == 3
    driver.consume([_change(9, sequence=1), _change(9, sequence=2, path=path_of(3))], T0)
    assert _known(world, path_of(1)).stamp == Stamp(Millis(T0 + 9), WEST)
    assert _known(world, path_of(3)).stamp == Stamp(Millis(T0 + 9), WEST)
    with parts_of(driver).core.state.transaction() as tx:
        assert tx.consumed({"west-db"})["west-db"] == Consumed(2)


def test_a_number_that_comes_again_for_a_path_that_was_forgotten_is_a_duplicate(world: World) -> None:
    driver = world.driver
    with parts_of(driver).core.state.transaction() as tx:
        tx.save_consumed({"west-db": Consumed(3)})
    parts_of(driver).core.floor = Millis(T0 + 7)
    driver.consume([_change(7, sequence=3)], T0)
    assert _known(world, path_of(1)) is None
    driver.consume([_change(8, sequence=3)], T0)
    assert _known(world, path_of(1)) is not None
