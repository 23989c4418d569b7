"""The roll is called at green, as seldom as clients come themselves, and whoever does not come is named."""

from __future__ import annotations

from collections import Counter
from typing import Final

import pytest

from syncer.migration.roll_call import Who
from syncer.migration.running.looking import Looking
from syncer.migration.running.rolls import ROLL, ROLL_CALL_S, Rolls
from tests.migration.clock import SimulatedClock
from tests.migration.clusters.consumer import SubscriptionWish
from tests.migration.clusters.process import Library
from tests.migration.clusters.subscription import SubscriptionKind
from tests.migration.flips import CountedCalls, MemoryJournal, calls_of
from tests.migration.plays import CALM, NAMESPACE, NamespacePlay, SimTopic, topic

pytestmark = pytest.mark.anyio
MANY: Final = tuple(
    SimTopic(name=f"t{number}", producers=(CALM,), kinds=(SubscriptionKind.FAILOVER,)) for number in range(20)
)
LATE: Final = SubscriptionWish(name="late")


class Called:
    """A play whose clients are on the roll, and which was marked then."""

    def __init__(self) -> None:
        self.play = NamespacePlay(1, MANY)
        self.gone = self.play.process(Library.JAVA, "10.0.0.9")
        self.play.add_consumer(self.gone, topic("t7"), "absent", LATE)
        self.blue, self.green = calls_of(self.play.blue), calls_of(self.play.green)
        self.clock, self.journal = SimulatedClock(self.play.timeline), MemoryJournal()
        self.rolls = Rolls(Looking(self.blue, self.clock), Looking(self.green, self.clock), self.clock, self.journal)

    async def take_and_mark(self, *, gone: bool) -> None:
        """Keep who is there, and send them to green; somebody may go for good just before."""
        self.play.timeline.run(1_000)
        for producer in self.play.producers:
            producer.stop()
        seen = await Looking(self.blue, self.clock).topics(self.play.topics)
        await self.rolls.take([NAMESPACE], seen.values())
        if gone:
            self.gone.close()
            self.play.consumers.pop().die("stopped")
        self.play.timeline.run(1_000)
        self.play.mark()
        self.blue.made.clear()


def asked(calls: CountedCalls) -> Counter[str]:
    """How often each topic was asked about."""
    return Counter(path.partition(f"{NAMESPACE}/")[2].partition("/")[0] for _, path in calls.made)


async def test_a_topic_whose_clients_have_come_is_not_asked_again_and_blue_not_at_all() -> None:
    called = Called()
    await called.take_and_mark(gone=False)
    answered = await called.rolls.call([NAMESPACE])
    assert answered.complete
    assert len(answered.arrived) == 20 * 3 + 1
    counts = asked(called.green)
    first, *others = (counts[each.name] for each in sorted(MANY, key=lambda each: each.name))
    assert first <= 5, "while nobody has come yet one topic is asked for all"
    assert sum(others) <= 19 + 6, "and others again only if one of their clients has yet to come"
    assert {path.rpartition("/")[2] for _, path in called.green.made} == {"stats?getPreciseBacklog=true"}
    assert called.blue.made == []
    assert called.journal.kept == {}


async def test_whoever_does_not_come_is_named_and_blue_is_asked_once_for_him() -> None:
    called = Called()
    await called.take_and_mark(gone=True)
    begun_ms = called.clock.now_ms()
    answered = await called.rolls.call([NAMESPACE])
    assert ROLL_CALL_S <= (called.clock.now_ms() - begun_ms) / 1000 < ROLL_CALL_S + 2
    assert list(answered.missed) == [Who(topic("t7"), LATE.name, "absent")]
    assert answered.missed[Who(topic("t7"), LATE.name, "absent")].address.startswith("/10.0.0.9:")
    assert answered.staying == {}
    assert asked(called.blue) == {"t7": 1}
    assert asked(called.green)["t7"] <= 7
    assert sum(asked(called.green).values()) <= 20 + 2 * 7
    assert list(called.journal.kept) == [f"{ROLL}{NAMESPACE}"]
