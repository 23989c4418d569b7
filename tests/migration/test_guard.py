"""The guard and the warm-up: nothing moves, every topic is loaded, and the first real window is a short one."""

from __future__ import annotations

from typing import Final

import pytest

from syncer.admin.balancing_claim import CLAIM_NAMESPACE, claim_key
from syncer.admin.stillness import STILL
from syncer.errors import AdminError, BalancingOwned, PreconditionFailed
from syncer.migration.brake import FlipTiming
from syncer.migration.evidence import StatsAnswer
from syncer.migration.running.former import FormerValues
from syncer.migration.running.guard import Guard, Guarded
from syncer.migration.running.looking import Looking
from syncer.migration.running.marking import Marking
from syncer.migration.running.warm_up import WarmedUp, WarmUp
from tests.migration import truth
from tests.migration.calls import SimulatedCalls
from tests.migration.clock import SimulatedClock
from tests.migration.clusters.broker import BrokerSettings
from tests.migration.clusters.namespace import Namespace
from tests.migration.flips import CountedCalls, Killed, MemoryJournal, calls_of
from tests.migration.plays import LONG, NAMESPACE, NamespacePlay
from tests.migration.rest import AdminApi
from tests.migration.rest_faults import ROUGH

pytestmark = pytest.mark.anyio
SEEDS: Final = 40 if LONG else 8
TIMING: Final = FlipTiming(check_period_s=2.0, window_s=1.4)
SCRATCH: Final = "acme/migration-warm-up"
SHEDDING: Final = "loadBalancerSheddingEnabled"


def guard_of(play: NamespacePlay, calls: CountedCalls, journal: MemoryJournal) -> tuple[Guard, FormerValues]:
    clock = SimulatedClock(play.timeline)
    former = FormerValues(calls, clock, journal)
    return Guard(calls, clock, former), former


async def guarded(play: NamespacePlay, calls: CountedCalls, journal: MemoryJournal) -> Guarded:
    guard, former = guard_of(play, calls, journal)
    await former.load()
    return await guard.guard("blue", truth.urls(play.green.urls), [NAMESPACE])


async def released(play: NamespacePlay, journal: MemoryJournal) -> None:
    guard, former = guard_of(play, calls_of(play.blue), journal)
    await former.load()
    await guard.release()


async def warmed(play: NamespacePlay, calls: CountedCalls, journal: MemoryJournal) -> WarmedUp:
    clock = SimulatedClock(play.timeline)
    former = FormerValues(calls, clock, journal)
    marking = Marking(calls, clock, former, Looking(calls, clock), TIMING)
    green = SimulatedCalls(AdminApi(play.green))
    return await WarmUp(calls, green, clock, journal, marking).run("blue", "acme")


# The guard


async def test_balancing_is_frozen_and_as_it_was_once_it_is_released() -> None:
    play, journal = NamespacePlay(0), MemoryJournal()
    play.blue.dynamic[SHEDDING] = "true"
    found = await guarded(play, calls_of(play.blue), journal)
    assert found == Guarded(frozen=tuple(STILL))
    assert found.holds
    assert play.blue.dynamic == STILL
    await released(play, journal)
    assert play.blue.dynamic == {SHEDDING: "true"}
    assert journal.kept == {}


async def test_a_run_of_moves_that_holds_the_settings_is_waited_for() -> None:
    """It would put them back in the middle of the migration, which then strands what moves."""
    play, journal = NamespacePlay(0), MemoryJournal()
    play.blue.dynamic |= STILL
    system = Namespace(CLAIM_NAMESPACE, {"properties": {claim_key("blue"): "west 7"}})
    play.blue.namespaces[CLAIM_NAMESPACE] = system
    with pytest.raises(BalancingOwned, match="west 7 keeps blue"):
        await guarded(play, calls_of(play.blue), journal)
    assert journal.kept == {}
    system.policies["properties"] = {claim_key("green"): "west 7"}
    assert (await guarded(play, calls_of(play.blue), journal)).holds


async def test_a_guard_that_stands_is_left_as_it_is() -> None:
    play, journal = NamespacePlay(0), MemoryJournal()
    await guarded(play, calls_of(play.blue), journal)
    kept, calls = dict(journal.kept), calls_of(play.blue)
    assert (await guarded(play, calls, journal)).frozen == ()
    assert {method for method, _ in calls.made} == {"GET"}
    assert journal.kept == kept


async def test_every_topic_is_loaded() -> None:
    play = NamespacePlay(0, brokers=2)
    for name in play.topics:
        loaded = play.blue.topic(name)
        assert loaded is not None
        loaded.broker.topics.pop(name)
    found = await guarded(play, calls_of(play.blue), MemoryJournal())
    assert sorted(found.loaded) == sorted(play.topics)
    assert all(play.blue.topic(name) is not None for name in play.topics)


async def test_a_topic_that_is_not_loaded_any_more_is_named() -> None:
    play = NamespacePlay(0, settings=BrokerSettings(check_period_s=0))
    for producer in play.producers:
        producer.stop()
    play.mark()
    play.call("PUT", f"/admin/v2/namespaces/{NAMESPACE}/unload")
    found = await guarded(play, calls_of(play.blue), MemoryJournal())
    assert not found.holds
    assert found.unloaded == dict.fromkeys(play.topics, StatsAnswer.MIGRATED)


async def test_blue_is_told_where_clients_go_and_nothing_is_marked() -> None:
    play = NamespacePlay(0)
    play.blue.marks.clear()
    await guarded(play, calls_of(play.blue), MemoryJournal())
    mark = play.blue.marks["blue"]
    assert mark.url == play.green.urls
    assert not mark.migrated
    assert not play.blue.namespaces[NAMESPACE].marked


async def test_a_cluster_that_is_marked_as_a_whole_is_not_guarded() -> None:
    play = NamespacePlay(0)
    play.call("POST", "/admin/v2/clusters/blue/migrate?migrated=true", play.green.urls.json)
    with pytest.raises(PreconditionFailed, match="marked as a whole"):
        await guarded(play, calls_of(play.blue), MemoryJournal())


async def test_a_guard_that_is_killed_at_any_call_is_put_back() -> None:
    kill_at, killed = 0, True
    while killed:
        kill_at += 1
        for after in (False, True):
            play, journal = NamespacePlay(0), MemoryJournal()
            play.blue.dynamic[SHEDDING] = "true"
            calls, killed = CountedCalls(AdminApi(play.blue), kill_at, after=after), False
            try:
                await guarded(play, calls, journal)
            except* Killed:
                killed = True
            await released(play, journal)
            assert play.blue.dynamic == {SHEDDING: "true"}, kill_at
            assert journal.kept == {}
    assert kill_at > len(STILL)


# The warm-up


@pytest.mark.parametrize("brokers", [1, 3])
async def test_every_broker_has_migrated_before_the_first_real_topic(brokers: int) -> None:
    for seed in range(SEEDS):
        play, journal = NamespacePlay(seed, brokers=brokers), MemoryJournal()
        found = await warmed(play, calls_of(play.blue), journal)
        assert found.cold == ()
        assert found.topics.keys() == {each.address for each in play.blue.brokers}
        assert all(each.warm for each in play.blue.brokers)
        assert 0 < found.took_s < TIMING.pause_s + 1
        assert SCRATCH not in play.blue.namespaces
        assert not [name for name in play.blue.ledgers if SCRATCH in name]
        assert journal.kept == {}
        assert not play.migrated()
        assert play.end().harmless


async def test_what_blue_has_made_at_green_is_deleted_too() -> None:
    play = NamespacePlay(0, settings=BrokerSettings(makes_resources=True))
    play.green.known["blue"] = {}
    await warmed(play, calls_of(play.blue), MemoryJournal())
    assert SCRATCH not in play.green.namespaces
    assert not [name for name in play.green.ledgers if SCRATCH in name]


async def test_brokers_that_look_for_no_marks_stay_cold() -> None:
    play = NamespacePlay(0, settings=BrokerSettings(check_period_s=0))
    found = await warmed(play, calls_of(play.blue), MemoryJournal())
    assert found.topics == {}
    assert found.cold == tuple(each.address for each in play.blue.brokers)
    assert SCRATCH not in play.blue.namespaces


async def test_a_warm_up_on_a_bad_day_leaves_nothing_behind() -> None:
    failed = 0
    for seed in range(SEEDS):
        play, journal = NamespacePlay(seed, brokers=2), MemoryJournal()
        try:
            await warmed(play, calls_of(play.blue, ROUGH, seed), journal)
        except AdminError:
            failed += 1
        await warmed(play, calls_of(play.blue), journal)
        assert SCRATCH not in play.blue.namespaces
        assert journal.kept == {}
        assert play.end().harmless
    assert failed < SEEDS


async def test_a_warm_up_that_is_killed_is_cleaned_up_by_the_next() -> None:
    kill_at = 0
    while True:
        kill_at += 2
        play, journal = NamespacePlay(0, brokers=2), MemoryJournal()
        killed = False
        try:
            await warmed(play, CountedCalls(AdminApi(play.blue), kill_at, after=kill_at % 4 == 0), journal)
        except* Killed:
            killed = True
        if not killed:
            break
        found = await warmed(play, calls_of(play.blue), journal)
        assert found.cold == ()
        assert SCRATCH not in play.blue.namespaces, kill_at
        assert journal.kept == {}
    assert kill_at > 10
