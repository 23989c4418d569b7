"""Many messages at fault: each is set aside once, in order, the others are taken, and the daemon has its turns."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import closing
from typing import Any, cast
from unittest import mock

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncer.bus.contract import Delivery, Incoming
from syncer.bus.wire.messages import Control, Heartbeat
from syncer.conflict.causality.consumed import Consumed
from syncer.conflict.replica import Replica
from syncer.errors import InvariantBroken, StateUnavailable
from syncer.model import MetaPath, Millis, Region
from syncer.replication import bisection
from syncer.replication.antientropy import protocol
from syncer.replication.bisection import GIVEN_UP_AT_ONCE, TRIED_AT_ONCE, Settle, narrowed
from syncer.replication.group.peers import Peers
from syncer.replication.inbound.arrived import Arrived
from syncer.replication.inbound.isolation import UNTAKEN
from syncer.replication.inbound.prefetch import Prefetched
from syncer.replication.local import full_scan, observe
from syncer.replication.local.dirty import ReadCause
from syncer.replication.runtime.bus_loop import BusPumps
from syncer.replication.runtime.engine_thread import DriverThread
from syncer.replication.runtime.environment import Environment, Timing
from syncer.replication.status import DriverStatus
from syncer.state.contract.peers import PeerRow
from syncer.state.memory.transaction import MemoryTransaction
from syncer.stores.contract import Entry
from tests.shell.on_bus import heartbeat
from tests.support.parts import parts_of
from tests.unit.replication.antientropy.test_protocol import Site, path_of, value_of
from tests.unit.replication.inbound.test_isolation import NOW, SENDER, aside, event, had

GROUP = parts_of(Site("east").driver).group
MANY = 300


class Taking:
    """Takes numbers, but for the guilty ones."""

    def __init__(self, guilty: set[int]) -> None:
        self.guilty = guilty
        self.told: list[tuple[int, bool]] = []
        """Every number that was dealt with, and whether it was taken."""
        self.tried = 0
        self.given_up = 0

    def attempt(self, items: Sequence[int]) -> Settle:
        self.tried += len(items)
        if self.guilty & set(items):
            raise ValueError("odd")
        return lambda: self.told.extend((item, True) for item in items)

    def give_up(self, item: int, cause: Exception) -> Settle:
        assert str(cause) == "odd"
        self.given_up += 1
        return lambda: self.told.append((item, False))

    def all(self, items: Sequence[int]) -> int:
        """Call until nothing is left; how many calls it took."""
        for calls in itertools.count(1):
            before = self.given_up
            left = narrowed(GROUP, items, self.attempt, self.give_up)
            assert list(left) == list(items)[len(items) - len(left) :], "the last ones are left"
            assert len(left) < len(items), "something was done"
            assert self.given_up - before <= bisection.GIVEN_UP_AT_ONCE
            if not left:
                return calls
            items = left
        raise AssertionError


@given(st.lists(st.booleans(), min_size=1, max_size=60), st.integers(1, 9), st.integers(1, 40))
def test_each_guilty_one_is_given_up_once_and_the_others_are_taken_in_order(
    guilt: list[bool], at_once: int, tried: int
) -> None:
    guilty = {number for number, is_guilty in enumerate(guilt) if is_guilty}
    taking = Taking(guilty)
    with mock.patch.multiple(bisection, GIVEN_UP_AT_ONCE=at_once, TRIED_AT_ONCE=tried):
        taking.all(range(len(guilt)))
    assert taking.told == [(number, not is_guilty) for number, is_guilty in enumerate(guilt)]


def test_so_many_are_given_up_at_once_and_no_more() -> None:
    taking = Taking(set(range(1000)))
    assert taking.all(range(1000)) == 1000 // GIVEN_UP_AT_ONCE


@pytest.mark.parametrize("every", [20, 50, 500])
def test_looking_for_few_among_many_is_left_off_as_well(every: int) -> None:
    taking = Taking(set(range(every - 1, 2000, every)))
    calls = taking.all(range(2000))
    assert calls <= 1 + taking.tried // TRIED_AT_ONCE
    assert taking.tried <= 16 * 2000, "little of it is done over again"
    assert (calls == 1) == (taking.tried <= TRIED_AT_ONCE)


@pytest.mark.parametrize("fails_at", [1, 20, 70])
def test_what_no_message_can_cause_ends_a_call_wherever_it_is(fails_at: int) -> None:
    taking = Taking(set(range(100)))
    attempts = itertools.count(1)

    def attempt(items: Sequence[int]) -> Settle:
        if next(attempts) == fails_at:
            raise StateUnavailable("away")
        return taking.attempt(items)

    with pytest.raises(StateUnavailable):
        narrowed(GROUP, range(100), attempt, taking.give_up)


# -- a delivery


def test_a_delivery_of_guilty_messages_is_taken_slice_by_slice() -> None:
    site = Site("east")
    left: Sequence[Arrived] = [Arrived(message=event(number), position=f"p{number}") for number in range(1, MANY + 1)]
    calls, real = 0, Replica.fold

    def fold(self: Replica, register: Any, said: Any, *args: Any, **named: Any) -> Any:
        if said.sequence % 2:
            raise ValueError("odd")
        return real(self, register, said, *args, **named)

    with mock.patch.object(Replica, "fold", fold):
        while left:
            before = len(aside(site))
            left = site.driver.consume(left, NOW)
            assert len(aside(site)) - before <= GIVEN_UP_AT_ONCE
            calls += 1
    assert calls >= MANY // 2 // GIVEN_UP_AT_ONCE
    assert aside(site) == [("bus", f"p{number}", UNTAKEN) for number in range(1, MANY + 1, 2)]
    assert all(site.known(path_of(number)) is not None for number in range(2, MANY + 1, 2))
    assert had(site) == Consumed(MANY)


class Turns(DriverStatus):
    """A driver that needs three calls for a delivery, and a bus that delivers one."""

    def __init__(self) -> None:
        super().__init__(parts_of(Site("east").driver))
        self.done: list[str] = []

    def prefetch(self, arrived: Sequence[Arrived]) -> None:
        del arrived

    def consume(self, arrived: Sequence[Arrived], now: Millis, seen: Prefetched | None = None) -> Sequence[Arrived]:
        del now
        assert seen is None
        self.done.append(f"takes {arrived[0].position}")
        return arrived[1:]

    async def receive(self) -> AsyncIterator[Delivery]:
        messages = [
            Incoming(payload=b"", properties={}, position=f"p{number}", published_at_ms=NOW) for number in range(3)
        ]
        yield Delivery(messages=tuple(messages), token=None)

    async def acknowledge(self, delivery: Delivery) -> None:
        del delivery
        self.done.append("acknowledges")


@pytest.mark.anyio
async def test_others_have_their_turn_between_slices_and_it_is_acknowledged_after_the_last() -> None:
    turns = Turns()
    with closing(DriverThread()) as thread:
        stub = cast("Any", turns)
        around = Environment(
            driver=stub,
            thread=thread,
            store=cast("Any", None),
            bus=stub,
            probe=cast("Any", None),
            versions=cast("Any", None),
            region=Region("east"),
            timing=Timing(),
            version="1",
        )

        async def beat() -> None:
            while "acknowledges" not in turns.done:
                await thread.call(turns.done.append, "beats")

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(beat)
            await BusPumps(around).receiver()
    told = [each for each in turns.done if each != "beats"]
    assert told == ["takes p0", "takes p1", "takes p2", "acknowledges"]
    between = turns.done[turns.done.index("takes p0") : turns.done.index("takes p2")]
    assert "beats" in between


# -- what the store holds


def test_paths_that_are_left_are_read_again() -> None:
    site = Site("east")
    paths = [path_of(number) for number in range(1, MANY + 1)]
    entries = standing(site, paths)
    guilty = set(paths[::2])

    def breaking(real: Callable[..., Any], at: int) -> Callable[..., Any]:
        def broken(*args: Any, **named: Any) -> Any:
            if guilty & set(args[at]):
                raise ValueError("odd")
            return real(*args, **named)

        return broken

    parts = parts_of(site.driver)
    with mock.patch.object(observe, "_decide", breaking(observe._decide, 2)):
        scan = full_scan.begin(parts.local)
        full_scan.take_page(parts.local, scan, full_scan.issue(parts.local), entries, fence(site), NOW)
        assert len(parts.local.misfits.blocked) == GIVEN_UP_AT_ONCE
        assert scan.met == MANY
        read_all(site)
    assert parts.local.misfits.blocked == guilty
    assert all((site.known(path) is None) == (path in guilty) for path in paths)


def test_paths_that_the_database_cannot_keep_are_left_out_of_a_page_slice_by_slice() -> None:
    site = Site("east")
    paths = [path_of(number) for number in range(1, MANY + 1)]
    entries = standing(site, paths)
    guilty, met, parts = set(paths[::2]), MemoryTransaction.met, parts_of(site.driver)

    def broken(self: MemoryTransaction, found: Sequence[MetaPath]) -> None:
        if guilty & set(found):
            raise ValueError("odd")
        met(self, found)

    with mock.patch.object(MemoryTransaction, "met", broken):
        scan = full_scan.begin(parts.local)
        full_scan.take_page(parts.local, scan, full_scan.issue(parts.local), entries, fence(site), NOW)
    assert len(parts.local.misfits.blocked) == GIVEN_UP_AT_ONCE
    assert scan.met == MANY
    assert parts.local.dirty.from_scan == MANY - 2 * GIVEN_UP_AT_ONCE + 1, "the last of those is a guilty one"
    read_all(site)
    assert all(site.known(path) is not None for path in set(paths) - parts.local.misfits.blocked)


def standing(site: Site, paths: Sequence[MetaPath]) -> list[Entry]:
    for path in paths:
        site.put(path, value_of(1))
    return [site.entries[path] for path in paths]


def fence(site: Site) -> Any:
    return site.entries[parts_of(site.driver).core.fence_path]


def read_all(site: Site) -> None:
    while (plan := site.driver.plan_reads()) is not None:
        assert set(plan.origins.values()) == {ReadCause.SCAN}
        site.driver.take_answers(plan, {path: site.entries.get(path) for path in plan.paths}, NOW)


# -- what is taken back


def asked_for(site: Site, *said: Heartbeat | Control | Any) -> list[list[Region] | None]:
    """Which regions are read again, each time, while all of what is said breaks."""
    found: list[list[Region] | None] = []
    peers = MemoryTransaction.peers

    def noting(self: MemoryTransaction, regions: Any = None) -> list[PeerRow]:
        found.append(None if regions is None else sorted(regions))
        return peers(self, regions)

    with (
        mock.patch.object(MemoryTransaction, "peers", noting),
        mock.patch.object(Replica, "fold", side_effect=ValueError("odd")),
        mock.patch.object(protocol, "on_heartbeat", side_effect=InvariantBroken("no such sum")),
    ):
        site.driver.consume([Arrived(message=each, position=f"q{at}") for at, each in enumerate(said)], NOW)
    return found


def test_only_regions_that_an_attempt_has_changed_are_read_again() -> None:
    site = Site("east")
    site.driver.consume(
        [Arrived(message=heartbeat(f"r{at}", sender=f"{at:032x}"), position=f"h{at}") for at in range(20)], NOW
    )
    before = parts_of(site.driver).group.peers.report()
    assert asked_for(site, event(1), event(2)) == [], "a change changes no region"
    assert asked_for(site, heartbeat("r7", sender="7" * 32)) == [["r7"]]
    assert asked_for(site, heartbeat("new", sender=SENDER)) == [["new"]]
    after = parts_of(site.driver).group.peers.report()
    assert [each["region"] for each in after] == [each["region"] for each in before]
    assert parts_of(site.driver).group.peers.region_of("7" * 32) is None
    assert parts_of(site.driver).group.peers.region_of(SENDER) is None


databases = st.sampled_from("abcdefghijklm")
regions = st.sampled_from(["mars", "venus", "pluto"])
beats = st.builds(
    lambda region, sender, mode: heartbeat(region, sender=sender, mode=mode),
    regions,
    databases,
    st.sampled_from(["active", "left"]),
)


@given(st.lists(beats, max_size=12), st.lists(st.one_of(beats, st.tuples(regions, databases)), max_size=12))
def test_what_was_taken_back_is_as_if_it_were_read_anew(stored: list[Any], lost: list[Any]) -> None:
    peers, rows = Peers(GROUP.peers.ours), dict[Region, PeerRow]()
    for beat in stored:
        rows[beat.region] = peers.on_heartbeat(beat, NOW)
    peers.begin()
    written = dict(rows)
    for said in lost:
        if isinstance(said, Heartbeat):
            written[said.region] = peers.on_heartbeat(said, NOW)
        else:
            region, database = Region(said[0]), said[1]
            written[region] = peers.forget(region, [database], written.get(region), NOW)
            written[region] = peers.admit(region, [database], written.get(region), NOW)
            written[region] = peers.refuse(region, [database], written[region], NOW) or written[region]
            peers.note_claims(region, frozenset({(region, database)}))
            peers.note_asked(region, peers._peers[region].sender, 9)
    if peers.regions:
        peers.make_room(NOW)
    peers.take_back([row for region, row in rows.items() if region in peers.changed])
    anew = Peers(GROUP.peers.ours, list(rows.values()))
    assert peers.changed == frozenset()
    assert {region: peers._peers[region].row(region, {}) for region in sorted(peers._peers)} == {
        region: anew._peers[region].row(region, {}) for region in sorted(anew._peers)
    }
    assert set(peers._owners) == set(anew._owners)
    assert peers.disagreements(()) == anew.disagreements(())
