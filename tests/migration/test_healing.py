"""Healing leaves alone what is about to be migrated, and flips anew what it has opened."""

from __future__ import annotations

from typing import Final

import pytest

from syncer.migration.running.former import FormerValues
from syncer.migration.running.healing import ILL, UNMARKED, Healing
from syncer.migration.running.looking import Looking
from syncer.migration.running.marking import Marking
from syncer.migration.running.report import FlipOutcome
from syncer.migration.topics import TopicState
from tests.migration.clock import SimulatedClock
from tests.migration.clusters import rounds
from tests.migration.clusters.ledger import LedgerState
from tests.migration.flips import TIMING, MemoryJournal, calls_of, flip_of
from tests.migration.plays import NAMESPACE, ONE_EVEN, NamespacePlay, topic

pytestmark = pytest.mark.anyio
STEP_MS: Final = 150


def healing_of(play: NamespacePlay, journal: MemoryJournal, window_s: float = TIMING.window_s) -> Healing:
    calls, clock = calls_of(play.blue), SimulatedClock(play.timeline)
    looking = Looking(calls, clock)
    marking = Marking(calls, clock, FormerValues(calls, clock, journal), looking, TIMING)
    return Healing(calls, clock, journal, looking, marking, window_s=window_s)


async def test_nothing_is_healed_while_ledgers_are_being_closed() -> None:
    """Looked at every so often after the mark, brokers close their topics at different times."""
    for after_ms in range(0, 4_000, STEP_MS):
        play, journal = NamespacePlay(after_ms, ONE_EVEN, brokers=3), MemoryJournal()
        for producer in play.producers:
            producer.stop()
        play.timeline.run(1_000)
        play.mark()
        play.timeline.run(after_ms)
        states = (await healing_of(play, journal).round([NAMESPACE])).states
        assert play.blue.namespaces[NAMESPACE].marked, after_ms
        assert not ILL.intersection(states.values()), after_ms
        assert journal.events == []


async def test_only_what_is_closed_for_long_is_unloaded() -> None:
    """One topic's ledger was closed and never marked; at the second look another's is being closed."""
    for after_ms in range(0, 4_000, STEP_MS):
        play, journal = NamespacePlay(after_ms, ONE_EVEN), MemoryJournal()
        for producer in play.producers:
            producer.stop()
        play.timeline.run(1_000)
        fenced = play.topics[0]
        play.blue.ledgers[fenced].state = LedgerState.TERMINATED
        play.timeline.run(after_ms)
        play.mark()
        await healing_of(play, journal).round([NAMESPACE])
        assert journal.kept.get(f"{UNMARKED}{NAMESPACE}", {}) in ({}, {fenced: TopicState.FENCED}), after_ms


@pytest.mark.parametrize(("window_s", "well"), [(TIMING.window_s, False), (6.0, True)])
async def test_a_broker_that_is_slow_to_close_ledgers_is_given_the_time_that_it_was_seen_to_take(
    monkeypatch: pytest.MonkeyPatch, window_s: float, *, well: bool
) -> None:
    monkeypatch.setattr(rounds, "COLD_WINDOW_MS", (5_500, 6_000))
    play, journal = NamespacePlay(4, ONE_EVEN), MemoryJournal()
    for producer in play.producers:
        producer.stop()
    play.timeline.run(1_000)
    play.mark()
    ledgers = [play.blue.ledgers[name] for name in play.topics]
    assert play.timeline.until(lambda: all(each.state is LedgerState.TERMINATED for each in ledgers), within_ms=3_000)
    await healing_of(play, journal, window_s).round([NAMESPACE])
    assert play.blue.namespaces[NAMESPACE].marked is well


async def test_a_namespace_that_was_healed_and_has_an_open_topic_is_flipped_anew() -> None:
    play, journal = NamespacePlay(2), MemoryJournal()
    assert (await flip_of(play, journal, calls_of(play.blue)).flip([NAMESPACE])).outcome is FlipOutcome.MIGRATED
    await healing_of(play, journal).unmark(NAMESPACE, {})
    play.add_topic(topic("open"))
    assert await healing_of(play, journal).unread([NAMESPACE]) == ()
    await healing_of(play, journal).round([NAMESPACE])
    assert not play.blue.namespaces[NAMESPACE].marked
    report = await flip_of(play, journal, calls_of(play.blue)).flip([NAMESPACE])
    assert report.outcome is FlipOutcome.MIGRATED
    assert play.blue.ledgers[topic("open")].marked
    assert [key for key in journal.kept if key.startswith(UNMARKED)] == []


async def test_a_mark_that_was_set_again_by_a_flip_that_was_killed_is_taken_for_set() -> None:
    play, journal = NamespacePlay(3), MemoryJournal()
    await flip_of(play, journal, calls_of(play.blue)).flip([NAMESPACE])
    await journal.remember(f"{UNMARKED}{NAMESPACE}", {})
    await flip_of(play, journal, calls_of(play.blue)).recover([NAMESPACE])
    assert await healing_of(play, journal).healing([NAMESPACE]) == ()
    assert play.blue.namespaces[NAMESPACE].marked
