"""Waves of several namespaces and of partitions are moved, whatever else happens to blue at the same time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Final

import pytest

from syncer.errors import AdminUnreachable
from syncer.migration.running.report import FlipOutcome, FlipReport
from tests.migration.clusters.answers import Refusal
from tests.migration.clusters.consumer import Consumer, SubscriptionWish
from tests.migration.clusters.process import Library
from tests.migration.clusters.producer import SimTraffic
from tests.migration.clusters.subscription import SubscriptionKind
from tests.migration.clusters.verdict import Verdict
from tests.migration.flips import CountedCalls, MemoryJournal, calls_of, flip_of, left_behind, unlucky
from tests.migration.plays import (
    BURSTS,
    CALM,
    CROWD,
    EVEN,
    LONG,
    NAMESPACE,
    ONE_EVEN,
    RARE,
    NamespacePlay,
    SimTopic,
    topic,
)
from tests.migration.rest import AdminApi

pytestmark = pytest.mark.anyio
EVERY: Final = 1 if LONG else 3
SEEDS: Final = 60 if LONG else 6
IDLE: Final = (*ONE_EVEN[:2], SimTopic(name="idle", producers=(), kinds=(SubscriptionKind.SHARED,)))
BUSY: Final = (SimTopic(name="busy", producers=(BURSTS,) * 5, kinds=(SubscriptionKind.FAILOVER,)),)
MARK: Final = ("POST", f"/admin/v2/namespaces/{NAMESPACE}/migration")
Disturb = Callable[[NamespacePlay], None]


class DisturbedCalls(CountedCalls):
    """Calls before one of which something happens to the cluster.

    Attributes:
        before: The number of that call.
    """

    def __init__(self, api: AdminApi, before: int, happens: Callable[[], None]) -> None:
        super().__init__(api)
        self.before = before
        self.happened = False
        self._happens = happens

    async def get(self, path: str) -> Any:
        """Read."""
        self._disturb()
        return await super().get(path)

    async def send(self, method: str, path: str, body: object = None) -> None:
        """Write."""
        self._disturb()
        await super().send(method, path, body)

    def _disturb(self) -> None:
        if not self.happened and len(self.made) >= self.before:
            self.happened = True
            self._happens()


async def disturbed(
    load: Iterable[SimTopic], happens: Disturb, *, brokers: int = 1, every: int = EVERY
) -> list[tuple[int, NamespacePlay, DisturbedCalls, Verdict]]:
    """A play for each call of a flip before which something happens: all is moved in the end, and nothing stays set."""
    ended: list[tuple[int, NamespacePlay, DisturbedCalls, Verdict]] = []
    at = 0
    while True:
        play, journal = NamespacePlay(at, load, brokers=brokers), MemoryJournal()
        calls = DisturbedCalls(AdminApi(play.blue), at, partial(happens, play))
        at += every
        try:
            report = await flip_of(play, journal, calls).flip([NAMESPACE])
        except AdminUnreachable:
            assert play.blue.brokers[0].deadlocked, "whoever restarts it goes on: that is told of controllers"
            continue
        if not calls.happened:
            return ended
        report = await moved(play, journal, report)
        assert report.outcome is FlipOutcome.MIGRATED, (at, report)
        assert left_behind(play) == {}, at
        assert not [key for key in journal.unfinished if not key.startswith("roll/")], at
        ended.append((calls.before, play, calls, play.end()))


def start_again(consumers: Iterable[Consumer]) -> None:
    """Consumers are started again: they begin at blue."""
    for each in consumers:
        each.url = each.process.service.urls.pulsar
        each.drop_connection()


async def moved(play: NamespacePlay, journal: MemoryJournal, report: FlipReport) -> FlipReport:
    for _ in range(4):
        if report.outcome is FlipOutcome.MIGRATED and not report.ill:
            break
        if any("start them again" in why for why in report.reasons.values()):
            start_again(play.consumers)
        play.timeline.run(2_000)
        report = await flip_of(play, journal, calls_of(play.blue)).flip([NAMESPACE])
    return report


def harms(verdict: Verdict) -> tuple[object, ...]:
    return verdict.lost, verdict.doubled, verdict.disordered, verdict.dead, verdict.stuck


def path(name: str) -> str:
    return f"/admin/v2/{name.replace('://', '/')}"


# Topics that come, go and grow


def make_topic(play: NamespacePlay) -> None:
    """Somebody makes a topic, and publishes at once."""
    name = topic("fresh")
    status, _ = play.api.answer("PUT", path(name))
    if status == 204:
        process = play.process(Library.JAVA, "10.0.0.7")
        play.add_consumer(process, name, "fresh-0", SubscriptionWish(name="fresh", kind=SubscriptionKind.EXCLUSIVE))
        play.add_producer(process, name, "fresh", EVEN)


@pytest.mark.parametrize("load", [CROWD, ONE_EVEN], ids=["crowd", "even"])
async def test_a_topic_that_is_made_meanwhile_is_moved_as_well(load: tuple[SimTopic, ...]) -> None:
    """Not in the moment before the mark, nor while producers are sent away: a new one is refused then, and fails."""
    left_out = 0
    for at, play, calls, verdict in await disturbed(load, make_topic):
        sent_away = any(each.refusals[-1:] == [Refusal.ENCRYPTION] and not each.created for each in play.producers)
        if sent_away or calls.made[at] == MARK:
            left_out += 1
            continue
        assert harms(verdict) == (0, 0, 0, (), ()) or unlucky(play), (at, verdict)
    assert left_out <= 2


async def test_an_idle_topic_that_is_deleted_meanwhile_holds_nothing_up() -> None:
    def delete(play: NamespacePlay) -> None:
        play.api.answer("DELETE", f"{path(topic('idle'))}?force=true")

    for at, play, _, verdict in await disturbed(IDLE, delete):
        assert harms(verdict) == (0, 0, 0, (), ()) or unlucky(play), (at, verdict)


async def test_partitions_that_are_added_meanwhile_are_moved_as_well() -> None:
    for at in range(0, 120, 4 * EVERY):
        play, journal = NamespacePlay(at, ONE_EVEN[:1]), MemoryJournal()
        add_partitions(play, NAMESPACE, "parted", (CALM, CALM))
        play.timeline.run(2_000)

        def grow(play: NamespacePlay = play) -> None:
            play.api.answer("POST", f"{path(topic('parted'))}/partitions", 3)
            add_clients(play, f"{topic('parted')}-partition-2", (CALM,))

        calls = DisturbedCalls(AdminApi(play.blue), at, grow)
        report = await flip_of(play, journal, calls).flip([NAMESPACE])
        assert (await moved(play, journal, report)).outcome is FlipOutcome.MIGRATED
        assert left_behind(play) == {}
        if calls.happened and calls.made[at] != MARK:
            assert play.end().lost == 0, at


# Brokers and consumers


@pytest.mark.parametrize("brokers", [1, 2])
async def test_a_broker_that_restarts_costs_what_it_always_does(brokers: int) -> None:
    """What was on its way is stored twice; nobody is lost, and what was stranded is read.

    Consumers are sent to green where the broker is started anew between the mark and the end of their topic: they are
    started again where the flip says so.
    """

    def restart(play: NamespacePlay) -> None:
        play.blue.brokers[0].restart(down_ms=800)

    for at, _, _, verdict in await disturbed(CROWD, restart, brokers=brokers):
        assert (verdict.lost, verdict.disordered, verdict.dead, verdict.stuck) == (0, 0, (), ()), (at, verdict)


async def test_a_broker_s_own_round_over_quotas_sends_nobody_away_who_publishes() -> None:
    """Whenever it comes: who is held by the gate alone has something on its way, which would be stored twice."""

    def check_quotas(play: NamespacePlay) -> None:
        for broker in play.blue.brokers:
            broker.check_quotas()

    for at, play, _, verdict in await disturbed(BUSY, check_quotas, every=1):
        assert not unlucky(play), at
        assert verdict.harmless, (at, verdict)


@pytest.mark.parametrize("kind", SubscriptionKind)
async def test_a_consumer_that_comes_before_the_last_look_is_moved_as_well(kind: SubscriptionKind) -> None:
    def come(play: NamespacePlay) -> None:
        wish = SubscriptionWish(name="late", kind=kind)
        play.add_consumer(play.process(Library.CPP_NEW, "10.0.0.8"), play.topics[0], "late", wish)

    for at, play, calls, verdict in await disturbed(CROWD, come):
        looks = [number for number, (_, what) in enumerate(calls.made) if "/stats" in what]
        marked = calls.made.index(MARK) if MARK in calls.made else len(calls.made)
        if at <= max(number for number in looks if number < marked):
            assert harms(verdict) == (0, 0, 0, (), ()) or unlucky(play), (at, verdict)


# Waves of several namespaces, and partitions


def add_clients(play: NamespacePlay, name: str, producers: Iterable[SimTraffic]) -> None:
    writing, reading = play.process(Library.CPP_NEW, "10.0.1.1"), play.process(Library.CPP_NEW, "10.0.1.2")
    for kind in (SubscriptionKind.FAILOVER, SubscriptionKind.KEY_SHARED):
        play.add_consumer(reading, name, f"{name}-{kind.value}", SubscriptionWish(name=kind.value, kind=kind))
    for number, traffic in enumerate(producers):
        play.add_producer(writing, name, f"{name}-{number}", traffic)


def add_partitions(play: NamespacePlay, namespace: str, name: str, traffic: Iterable[SimTraffic]) -> None:
    """A partitioned topic, one producer to each partition."""
    base, count = f"persistent://{namespace}/{name}", 0
    for number, each in enumerate(traffic):
        part, count = f"{base}-partition-{number}", number + 1
        play.add_topic(part, SubscriptionKind.FAILOVER, SubscriptionKind.KEY_SHARED)
        add_clients(play, part, (each,))
    for cluster in (play.blue, play.green):
        cluster.namespaces[namespace].partitions[base] = count


@pytest.mark.parametrize("brokers", [1, 3])
async def test_three_namespaces_with_uneven_partitions_are_moved_at_once(brokers: int) -> None:
    wave = [NAMESPACE, "acme/two", "acme/three"]
    for seed in range(SEEDS):
        play, journal = NamespacePlay(seed, ONE_EVEN[:1], brokers=brokers), MemoryJournal()
        for namespace in wave[1:]:
            play.add_namespace(namespace)
            add_partitions(play, namespace, "parted", (EVEN, BURSTS, RARE, CALM))
        play.timeline.run(2_500)
        report = await flip_of(play, journal, calls_of(play.blue)).flip(wave)
        assert report.outcome is FlipOutcome.MIGRATED, (seed, report)
        assert report.answered is not None
        assert report.answered.complete
        assert (left_behind(play), journal.unfinished) == ({}, {})
        verdict = play.end()
        assert harms(verdict) == (0, 0, 0, (), ()) or unlucky(play), (seed, verdict)
