"""Deliberate breaks of the flip: each does harm that is noticed, and without it the same plays end well."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Collection
from functools import partial
from typing import Any, Final

import pytest

from syncer.migration import closing
from syncer.migration.running import stopping
from syncer.migration.running.flip import Flip
from syncer.migration.running.former import GATE, ChangedSetting, FormerValues, Setting
from syncer.migration.running.healing import Healing, HealingRound
from syncer.migration.running.marking import Marking
from syncer.migration.running.rolls import Rolls
from syncer.migration.running.stopping import Standstill, Stopping
from syncer.migration.running.wave import WaveReading
from syncer.model import Millis
from tests.migration.clusters.broker import BrokerSettings
from tests.migration.clusters.consumer import SubscriptionWish
from tests.migration.clusters.process import Library
from tests.migration.clusters.rounds import check_migration
from tests.migration.clusters.subscription import SubscriptionKind
from tests.migration.flips import CountedCalls, Killed, MemoryJournal, calls_of, flip_of, left_behind
from tests.migration.plays import EVEN, LOAD, NAMESPACE, ONE_EVEN, NamespacePlay, SimTopic, topic
from tests.migration.rest import AdminApi

pytestmark = pytest.mark.anyio
SEEDS: Final = range(12)
LONGEST_GAP_MS: Final = 29_000
ONE: Final = (SimTopic(name="one", producers=(EVEN, EVEN), kinds=(SubscriptionKind.EXCLUSIVE,)),)
NAME: Final = topic("one")
BACKLOG: Final = "backlog"
OWN_RATE: Final = {"publishThrottlingRateInMsg": -1, "publishThrottlingRateInByte": 50_000_000}
_READ_MS: Final = 180_000
"""Within so long the slowest consumer has read all that was stored."""
Scenario = Callable[[int], Awaitable[bool]]


async def harmed(play: NamespacePlay, calls: CountedCalls | None = None) -> bool:
    """Flip it; whether anybody has anything to complain of."""
    before = left_behind(play)
    await flip_of(play, MemoryJournal(), calls or calls_of(play.blue)).flip([NAMESPACE])
    return judged(play, before)


def judged(play: NamespacePlay, before: dict[str, object]) -> bool:
    behind = left_behind(play)
    play.settle()
    play.timeline.until(lambda: not play.verdict().lost, within_ms=_READ_MS, every_ms=5_000)
    verdict = play.verdict()
    late = max(verdict.gaps_ms.values(), default=0) > LONGEST_GAP_MS
    return not verdict.harmless or verdict.failed > 0 or late or behind != before


# Plays


async def under_load(seed: int) -> bool:
    return await harmed(NamespacePlay(seed, LOAD))


async def evenly(seed: int) -> bool:
    return await harmed(NamespacePlay(seed, ONE_EVEN))


async def with_a_shared_backlog(seed: int) -> bool:
    """Consumers that share a long backlog are in the middle of it."""
    return await harmed(with_backlog(seed, SubscriptionKind.SHARED, work_ms=100))


async def with_a_short_backlog(seed: int) -> bool:
    """A consumer will have read everything a few seconds after nobody publishes any more."""
    return await harmed(with_backlog(seed, SubscriptionKind.EXCLUSIVE, work_ms=15 + seed))


async def with_values_of_its_own(seed: int) -> bool:
    play = NamespacePlay(seed, ONE)
    play.set(NAME, "publishRate", OWN_RATE)
    return await harmed(play)


async def killed(seed: int) -> bool:
    """Killed while producers are held, and begun anew."""
    play, journal = NamespacePlay(seed, ONE), MemoryJournal()
    before = left_behind(play)
    with contextlib.suppress(Killed, BaseExceptionGroup):
        await flip_of(play, journal, CountedCalls(AdminApi(play.blue), kill_at=11 + seed % 3)).flip([NAMESPACE])
    play.timeline.run(1_000)
    await flip_of(play, journal, calls_of(play.blue)).flip([NAMESPACE])
    return judged(play, before)


async def while_another_writes_the_quota(seed: int) -> bool:
    """Somebody makes of every quota one that throws away what is stored."""
    play = with_backlog(seed, None, quota_check_s=2)
    found = await harmed(play, MeddledCalls(AdminApi(play.blue)))
    late_reader(play)
    play.settle()
    return found or play.verdict().lost > 0


async def killed_once_a_rate_is_set(seed: int) -> bool:
    """Killed as soon as the rate of a topic that has one of its own was set, and begun anew."""
    play, journal = NamespacePlay(seed, ONE), MemoryJournal()
    play.set(NAME, "publishRate", OWN_RATE)
    before = left_behind(play)

    def killed() -> None:
        raise Killed

    with contextlib.suppress(Killed, BaseExceptionGroup):
        await flip_of(play, journal, CallsWithOneMore(play, ("POST", "publishRate"), killed)).flip([NAMESPACE])
    await flip_of(play, journal, calls_of(play.blue)).flip([NAMESPACE])
    return judged(play, before)


async def while_a_topic_is_made(seed: int) -> bool:
    """Somebody makes a topic, and publishes, when the others' producers were sent away."""
    play = NamespacePlay(seed, ONE)

    def make() -> None:
        name = topic("fresh")
        process = play.process(Library.JAVA, "10.0.0.7")
        play.add_consumer(process, name, "reader", SubscriptionWish(name="fresh"))
        play.add_producer(process, name, "fresh", EVEN)
        play.timeline.run(300)

    return await harmed(play, CallsWithOneMore(play, ("POST", "encryptionRequired"), make, body=False))


async def while_rounds_come_late(seed: int) -> bool:
    """A broker looks for marks long after it was waited for."""
    play = NamespacePlay(seed, ONE, settings=BrokerSettings(check_period_s=3_600))
    before = left_behind(play)
    await flip_of(play, MemoryJournal(), calls_of(play.blue)).flip([NAMESPACE])
    check_migration(play.blue.brokers[0])
    return judged(play, before)


async def while_a_client_ends(seed: int) -> bool:
    """A consumer ends for good when its namespace is marked; whether it is not named."""
    play = NamespacePlay(seed, ONE)
    consumer = play.consumers[0]

    def end() -> None:
        consumer.die("ended")
        consumer.process.close()

    calls = CallsWithOneMore(play, ("POST", "migration"), end)
    report = await flip_of(play, MemoryJournal(), calls).flip([NAMESPACE])
    return report.answered is None or consumer.name not in {who.name for who in report.answered.missed}


async def unloaded_after_the_mark(seed: int) -> bool:
    """A topic that nobody has read is unloaded when its namespace is marked; whoever reads it comes later."""
    play, journal = with_backlog(seed, None), MemoryJournal()
    steps: tuple[Callable[[], None], ...] = (partial(play.blue.unload, NAMESPACE), partial(late_reader, play))
    for does in (*steps, nobody_comes):
        await flip_of(play, journal, calls_of(play.blue)).flip([NAMESPACE])
        does()
        play.timeline.run(5_000)
    play.settle()
    return play.verdict().lost > 0


class CallsWithOneMore(CountedCalls):
    """Calls, behind the first of one kind of which something happens once.

    Args:
        behind: A method, and how the path ends.
        body: What it says; ``None``: anything.
    """

    def __init__(
        self, play: NamespacePlay, behind: tuple[str, str], happens: Callable[[], None], *, body: object = None
    ) -> None:
        super().__init__(AdminApi(play.blue))
        self._behind = behind
        self._body = body
        self._happens: Callable[[], None] | None = happens

    async def send(self, method: str, path: str, body: object = None) -> None:
        """Write."""
        await super().send(method, path, body)
        happens = self._happens
        said = self._body is None or body == self._body
        if happens is not None and said and (method, path.rpartition("/")[2]) == self._behind:
            self._happens = None
            happens()


class MeddledCalls(CountedCalls):
    """Calls beside somebody else's."""

    async def send(self, method: str, path: str, body: object = None) -> None:
        """Write."""
        await super().send(method, path, body)
        if body == dict(GATE):
            await super().send(method, path, {**GATE, "policy": "consumer_backlog_eviction"})


def with_backlog(
    seed: int, kind: SubscriptionKind | None, *, work_ms: int = 0, quota_check_s: int = 60
) -> NamespacePlay:
    """A subscription with a backlog, and perhaps somebody who slowly reads it."""
    play = NamespacePlay(seed, ONE, settings=BrokerSettings(quota_check_s=quota_check_s))
    play.call("PUT", f"/admin/v2/{NAME.replace('://', '/')}/subscription/{BACKLOG}", {"ledgerId": -1, "entryId": -1})
    play.timeline.run(4_000)
    if kind is not None:
        wish = SubscriptionWish(name=BACKLOG, kind=kind)
        play.add_consumer(play.process(Library.CPP_NEW, "10.0.0.9"), NAME, "slow", wish, work_ms=work_ms)
        play.timeline.run(1_000)
    return play


def nobody_comes() -> None:
    """Let everything be as it is."""


def late_reader(play: NamespacePlay) -> None:
    """Somebody comes who reads the backlog."""
    play.add_consumer(play.process(Library.JAVA), NAME, "late", SubscriptionWish(name=BACKLOG))


# Breaks

_let_go, _mark, _gate, _restore = Marking.let_go, Marking.mark, FormerValues.gate, FormerValues._restore


async def nothing(*_: object, **__: object) -> None:
    """Leave a step out."""


async def let_go_first(self: Marking, topics: Collection[str]) -> tuple[str, ...]:
    await self._former.put_all_back()
    return await _let_go(self, topics)


async def let_go_late(self: Marking, topics: Collection[str]) -> tuple[str, ...]:
    await self._clock.sleep(30)
    return await _let_go(self, topics)


async def still_at_once(self: Stopping, *_: object) -> Standstill:
    return Standstill(running={}, last={}, mark_by_ms=Millis(self._clock.now_ms() + 10_000))


async def set_before_it_is_remembered(self: FormerValues, name: str, rate: int) -> None:
    own = await self._calls.topic_policy(name, "publishRate")
    body = {"publishThrottlingRateInMsg": -1, "publishThrottlingRateInByte": rate}
    await self._calls.set_topic_policy(name, "publishRate", body)
    await self._remember(ChangedSetting(Setting.RATE, name), own)


async def heal_nothing(*_: object, **__: object) -> HealingRound:
    return HealingRound(states={}, topics={})


async def none_made(*_: object) -> list[str]:
    return []


async def mark_late(self: Marking, namespaces: Collection[str], *, by_ms: Millis) -> tuple[str, ...]:
    await self._clock.sleep(3)
    return await _mark(self, namespaces, by_ms=Millis(by_ms + 60_000))


async def remember_no_rate(self: FormerValues, name: str) -> None:
    await self._remember(ChangedSetting(Setting.RATE, name), None)


async def gate_unseen(self: FormerValues, name: str) -> None:
    await self._remember(ChangedSetting(Setting.QUOTA, name), None)
    await self._calls.set_topic_policy(name, "backlogQuota?backlogQuotaType=destination_storage", dict(GATE))


async def remember_without_journal(self: FormerValues, changed: ChangedSetting, value: object) -> None:
    self._former[changed] = value


async def restore_but_encryption(self: FormerValues, changed: ChangedSetting, former: object) -> None:
    if changed.setting is not Setting.ENCRYPTION:
        await _restore(self, changed, former)


def everything_may_close(*_: object, **__: object) -> bool:
    return True


BREAKS: Final[dict[str, tuple[object, str, Any, Scenario]]] = {
    "no brake before the kick": (FormerValues, "brake", nothing, under_load),
    "no gate": (FormerValues, "gate", nothing, under_load),
    "gate and brake off before ledgers are closed": (Marking, "let_go", let_go_first, under_load),
    "gate and brake off late": (Marking, "let_go", let_go_late, under_load),
    "marked before all is read": (stopping, "may_close", everything_may_close, with_a_short_backlog),
    "marked when the pause is nearly over": (Marking, "mark", mark_late, evenly),
    "a shared subscription that is not read": (closing, "_MANY_CONSUMERS", frozenset(), with_a_shared_backlog),
    "a rate that is not remembered": (FormerValues, "remember_rate", remember_no_rate, with_values_of_its_own),
    "encryption stays required": (FormerValues, "_restore", restore_but_encryption, under_load),
    "a gate that is not read back": (FormerValues, "gate", gate_unseen, while_another_writes_the_quota),
    "nothing in the journal": (FormerValues, "_remember", remember_without_journal, killed),
    "begun anew without a look at the journal": (Flip, "recover", nothing, killed),
    "marked before anybody is still": (Stopping, "by_gate", still_at_once, under_load),
    "a rate that is set before the former one is remembered": (
        FormerValues, "brake", set_before_it_is_remembered, killed_once_a_rate_is_set,
    ),
    "no second look for topics before the mark": (WaveReading, "made_since", none_made, while_a_topic_is_made),
    "a mark that is left where a topic stays open": (Marking, "unmark", nothing, while_rounds_come_late),
    "no roll before the mark": (Rolls, "take", nothing, while_a_client_ends),
    "nothing is healed": (Healing, "round", heal_nothing, unloaded_after_the_mark),
}  # fmt: skip
SCENARIOS: Final = {each.__name__: each for *_, each in BREAKS.values()}


@pytest.fixture(autouse=True)
def _short_backlogs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Backlogs of a play are far from their end with fewer entries than those of real clusters."""
    monkeypatch.setattr(closing, "_FAR", 20)


@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=SCENARIOS)
async def test_without_a_break_nobody_is_harmed(scenario: Scenario) -> None:
    assert [seed for seed in SEEDS if await scenario(seed)] == []


@pytest.mark.parametrize("name", BREAKS)
async def test_a_break_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, attribute, broken, scenario = BREAKS[name]
    monkeypatch.setattr(owner, attribute, broken)
    for seed in SEEDS:
        if await scenario(seed):
            return
    pytest.fail(f"{name}: nobody was harmed")
