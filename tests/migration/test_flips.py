"""Waves under load are moved, and nobody is harmed: on a good day, and on one on which calls fail."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pytest

from syncer.migration.cure import Cure, CureRefusal
from syncer.migration.running.report import FlipOutcome, FlipReport
from tests.migration.clusters.consumer import SubscriptionWish
from tests.migration.clusters.process import ClientState, Library
from tests.migration.clusters.producer import SimTraffic
from tests.migration.clusters.subscription import SubscriptionKind
from tests.migration.clusters.verdict import Verdict
from tests.migration.flips import CountedCalls, MemoryJournal, calls_of, flip_of, left_behind, unlucky, untouched
from tests.migration.plays import CALM, CROWD, KINDS, LOAD, LONG, NAMESPACE, ONE_EVEN, NamespacePlay, SimTopic, topic
from tests.migration.rest import AdminApi
from tests.migration.rest_faults import ROUGH

pytestmark = pytest.mark.anyio
SEEDS: Final = 300 if LONG else 20
RARELY: Final = 0.03
CALLS_S: Final = 0.5
"""What the calls of a client take that comes back."""
"""Of flips in which something is on its way when producers are sent away."""
IDLE: Final = (
    SimTopic(name="read", producers=(), kinds=KINDS),
    SimTopic(name="bare", producers=(), kinds=()),
)
SILENT: Final = (SimTopic(name="silent", producers=(SimTraffic(every_ms=8_000),), kinds=KINDS),)
LOADS: Final = {"load": LOAD, "even": ONE_EVEN, "crowd": CROWD, "idle": IDLE, "silent": SILENT}
all_loads = pytest.mark.parametrize("load", LOADS.values(), ids=LOADS)


async def flipped(play: NamespacePlay, calls: CountedCalls, journal: MemoryJournal) -> FlipReport:
    return await flip_of(play, journal, calls).flip([NAMESPACE])


def doubled(play: NamespacePlay, verdict: Verdict) -> bool:
    """Whether anything was doubled by bad luck; by anything else nobody may be harmed.

    Raises:
        AssertionError: Somebody was.
    """
    harms = (verdict.lost, verdict.disordered, verdict.dead, verdict.stuck)
    assert harms == (0, 0, (), ()), verdict
    assert not verdict.doubled or unlucky(play), verdict
    return verdict.doubled > 0


@all_loads
@pytest.mark.parametrize("together", [False, True], ids=["apart", "together"])
async def test_a_wave_is_moved_and_nobody_is_harmed(load: tuple[SimTopic, ...], *, together: bool) -> None:
    unlucky_ones = 0
    for seed in range(SEEDS):
        play, journal = NamespacePlay(seed, load, together=together), MemoryJournal()
        report = await flipped(play, calls_of(play.blue), journal)
        assert report.outcome is FlipOutcome.MIGRATED, (seed, report)
        assert (report.reasons, report.moved, report.ill) == ({}, {}, {})
        assert report.answered is not None
        assert report.answered.complete
        assert (left_behind(play), journal.unfinished) == ({}, {})
        verdict = play.end()
        unlucky_ones += doubled(play, verdict)
        assert verdict.failed == 0, seed
        assert max(verdict.gaps_ms.values(), default=0) < 29_000, (seed, verdict.gaps_ms)
        assert all(each.cluster is play.green for each in (*play.producers, *play.consumers)), seed
    assert unlucky_ones <= max(1, RARELY * SEEDS)


@pytest.mark.parametrize("library", [Library.JAVA, Library.CPP_OLD])
@pytest.mark.parametrize("load", [LOAD, ONE_EVEN, CROWD], ids=["load", "even", "crowd"])
async def test_clients_of_every_library_are_moved(library: Library, load: tuple[SimTopic, ...]) -> None:
    for seed in range(SEEDS // 4):
        play = NamespacePlay(seed, load, library)
        report = await flipped(play, calls_of(play.blue), MemoryJournal())
        assert report.outcome is FlipOutcome.MIGRATED
        doubled(play, play.end())


@all_loads
async def test_calls_that_fail_harm_nobody_and_what_was_set_is_put_back(load: tuple[SimTopic, ...]) -> None:
    unlucky_ones = moved = 0
    for seed in range(SEEDS):
        play, journal = NamespacePlay(seed, load), MemoryJournal()
        report = await flipped(play, calls_of(play.blue, ROUGH, seed), journal)
        moved += report.outcome is FlipOutcome.MIGRATED
        if report.outcome is not FlipOutcome.MIGRATED:
            assert report.outcome is FlipOutcome.TAKEN_BACK, (seed, report)
            assert report.reasons
            assert untouched(play), seed
        assert left_behind(play) == {}, seed
        assert not [key for key in journal.kept if key.startswith("former/")]
        unlucky_ones += doubled(play, play.end())
    assert moved > 0
    assert unlucky_ones <= max(1, RARELY * SEEDS)


async def test_what_was_taken_back_is_moved_another_time() -> None:
    for seed in range(SEEDS // 4):
        play, journal = NamespacePlay(seed, CROWD), MemoryJournal()
        rough, reports = calls_of(play.blue, ROUGH, seed), []
        for _ in range(8):
            reports.append(await flipped(play, rough, journal))
            if reports[-1].outcome is FlipOutcome.MIGRATED:
                break
        assert reports[-1].outcome is FlipOutcome.MIGRATED, (seed, reports)
        doubled(play, play.end())


async def test_what_is_moved_already_is_left_as_it_is() -> None:
    play, journal = NamespacePlay(0), MemoryJournal()
    await flipped(play, calls_of(play.blue), journal)
    calls = calls_of(play.blue)
    report = await flipped(play, calls, journal)
    assert report.outcome is FlipOutcome.MIGRATED
    assert {(method, path) for method, path in calls.made if method != "GET"} == {
        ("POST", f"/admin/v2/namespaces/{NAMESPACE}/migration")
    }
    doubled(play, play.end())


# What is said beforehand


async def test_what_is_foreseen_sets_nothing_and_bounds_what_happens() -> None:
    for seed in range(SEEDS // 2):
        play, journal = NamespacePlay(seed, CROWD), MemoryJournal()
        calls = calls_of(play.blue)
        foreseen = await flip_of(play, journal, calls).foresee([NAMESPACE])
        assert {method for method, _ in calls.made} == {"GET"}
        report = await flipped(play, calls, journal)
        longest = max(play.end().gaps_ms.values()) / 1000
        assert report.outcome is FlipOutcome.MIGRATED
        own_s = max(each.every_ms for each in CROWD[0].producers) / 1000
        assert longest <= foreseen.longest_gap_s + own_s + CALLS_S
        assert {each.cure for each in foreseen.cures} == {Cure.GATE_AND_BRAKE}
        assert foreseen.shared


async def test_a_topic_that_nothing_can_keep_still_is_refused_and_nothing_is_set() -> None:
    play, journal = NamespacePlay(0, CROWD), MemoryJournal()
    play.call("POST", f"/admin/v2/namespaces/{NAMESPACE}/encryptionRequired", True)
    calls = calls_of(play.blue)
    report = await flipped(play, calls, journal)
    assert report.outcome is FlipOutcome.REFUSED
    assert report.reasons == {topic("crowd"): CureRefusal.NO_KICK}
    assert {method for method, _ in calls.made} == {"GET"}


# What it costs


def many(count: int, producers: int, kinds: tuple[SubscriptionKind, ...]) -> tuple[SimTopic, ...]:
    return tuple(SimTopic(name=f"t{number}", producers=(CALM,) * producers, kinds=kinds) for number in range(count))


class CountingJournal(MemoryJournal):
    """Counts the calls that were made until something has happened."""

    def __init__(self, calls: CountedCalls) -> None:
        super().__init__()
        self.until: dict[object, int] = {}
        self._calls = calls

    async def note(self, event: Mapping[str, object]) -> None:
        """Keep an event."""
        await super().note(event)
        self.until[event["event"]] = len(self._calls.made)


@pytest.mark.parametrize(
    ("producers", "kinds", "most"),
    [
        (0, (), 10),
        (1, (SubscriptionKind.EXCLUSIVE,), 11),
        (2, (SubscriptionKind.EXCLUSIVE, SubscriptionKind.FAILOVER, SubscriptionKind.SHARED), 13),
    ],
    ids=["idle", "braked", "gated"],
)
async def test_requests_for_one_topic_more_until_it_was_let_go(
    producers: int, kinds: tuple[SubscriptionKind, ...], most: int
) -> None:
    """Ten, and one for each subscription; a gated topic needs twelve even if it has none."""
    needed = []
    for count in (10, 30):
        play = NamespacePlay(1, many(count, producers, kinds))
        calls = calls_of(play.blue)
        journal = CountingJournal(calls)
        assert (await flipped(play, calls, journal)).outcome is FlipOutcome.MIGRATED
        needed.append(journal.until["let-go"])
    assert (needed[1] - needed[0]) / 20 <= most


class LateCalls(CountedCalls):
    """Calls of which the first look behind a mark is answered late."""

    late = False

    async def get(self, path: str) -> Any:
        """Read."""
        if not self.late and path.endswith("internal-info") and self.simulated.namespaces[NAMESPACE].marked:
            self.late = True
            self.simulated.timeline.run(9_000)
        return await super().get(path)


async def test_a_call_that_is_answered_late_does_not_count_as_a_broker_that_is_slow() -> None:
    """By the longest time that brokers have needed the next waves are held: no wave could be, if that were ours."""
    for seed in range(5):
        play = NamespacePlay(seed, ONE_EVEN)
        calls = LateCalls(AdminApi(play.blue))
        report = await flipped(play, calls, MemoryJournal())
        assert (calls.late, report.outcome) == (True, FlipOutcome.MIGRATED)
        assert report.closing_s is not None
        assert report.closing_s < 4


async def test_who_was_sent_away_in_vain_publishes_again_before_anything_else_is_tried() -> None:
    """Held again at every step of their back-off they would never be let in, and their sends would time out."""
    play = NamespacePlay(0, CROWD)
    wish = SubscriptionWish(name="slow", kind=SubscriptionKind.SHARED)
    play.add_consumer(play.process(Library.JAVA, "10.0.0.9"), play.topics[0], "slow", wish, work_ms=100)
    play.timeline.run(5_000)
    report = await flipped(play, calls_of(play.blue), MemoryJournal())
    assert report.outcome is FlipOutcome.TAKEN_BACK
    assert all(each.state is ClientState.READY for each in play.producers)
    assert left_behind(play) == {}
