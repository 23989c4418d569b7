"""The cure of a topic: each class of traffic gets the weakest that is enough, a wave the strongest of its topics."""

from __future__ import annotations

import pytest

from syncer.migration.brake import KICK_WAIT_S, Brake, BrakeRefusal, FlipTiming, pause_s, release_s
from syncer.migration.cure import (
    BACKOFF_S,
    Cure,
    CureRefusal,
    Looks,
    back_after_s,
    cure_of,
    cures_of,
    hold_s,
    shared_connections,
    tries_again_s,
)
from syncer.migration.evidence import ClientSeen, Flow, LedgerSeen, StatsAnswer, TopicSeen
from syncer.migration.roll_call import Who
from syncer.replacing import replace
from tests.unit.migration.pictures import CONSUMER, PRODUCER, topic

TIMING = FlipTiming(check_period_s=2.0, window_s=1.4)
OTHER = replace(PRODUCER, name="blue-0-2", address="/10.0.0.3:5000", mean_entry_bytes=4_000)


def flow(entries: int, size: int = 200) -> Flow:
    return Flow(
        entries_added=entries,
        pending_adds=0,
        last=f"7:{entries - 1}",
        ledger_state="LedgerOpened",
        entries=entries,
        size_bytes=size * entries,
    )


def seen(*producers: ClientSeen, name: str = "a", entries: int = 100) -> TopicSeen:
    return replace(topic(name), producers=producers, flow=flow(entries))


def looks(first: TopicSeen, came: int = 20, size: int = 200) -> Looks:
    assert first.flow is not None
    second = replace(
        first.flow,
        entries_added=first.flow.entries_added + came,
        entries=first.flow.entries + came,
        size_bytes=first.flow.size_bytes + came * size,
    )
    return Looks(first=first, second=replace(first, flow=second), apart_s=1.0)


STEADY = looks(seen(PRODUCER))


def test_one_steady_and_even_producer_is_braked() -> None:
    found = cure_of(STEADY, TIMING, can_kick=False)
    assert found.cure is Cure.BRAKE
    assert found.why is None
    assert isinstance(found.brake, Brake)
    assert found.rate == found.brake.rate
    assert pause_s(200, found.brake.rate) >= TIMING.pause_s
    assert found.longest_gap_s(TIMING) == found.brake.longest_s


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (looks(seen(PRODUCER), came=9), BrakeRefusal.SILENT),
        (looks(seen(PRODUCER), came=-90), BrakeRefusal.SILENT),
        (looks(seen(PRODUCER, OTHER)), BrakeRefusal.SILENT),
        (looks(seen(PRODUCER), size=2_000), BrakeRefusal.UNEVEN),
        (looks(seen(), came=3), BrakeRefusal.SILENT),
    ],
)
def test_others_are_gated_braked_and_sent_away(given: Looks, why: BrakeRefusal) -> None:
    found = cure_of(given, TIMING, can_kick=True)
    assert (found.cure, found.why) == (Cure.GATE_AND_BRAKE, why)
    assert found.rate == found.kick_rate
    assert found.longest_gap_s(TIMING) == found.kick_pause_s + back_after_s(hold_s(TIMING))
    refused = cure_of(given, TIMING, can_kick=False)
    assert (refused.cure, refused.why) == (Cure.REFUSED, CureRefusal.NO_KICK)
    assert refused.longest_gap_s(TIMING) == 0.0


def test_the_mean_entry_of_the_largest_stands_still_at_the_kick_and_a_second_longer() -> None:
    found = cure_of(looks(seen(PRODUCER, OTHER)), TIMING, can_kick=True)
    assert pause_s(OTHER.mean_entry_bytes, found.kick_rate) == pytest.approx(KICK_WAIT_S + 1, abs=0.02)
    assert found.kick_pause_s >= release_s([OTHER.mean_entry_bytes] * 2, found.kick_rate)
    nothing = looks(replace(seen(replace(PRODUCER, mean_entry_bytes=0.0)), flow=flow(0)), came=0)
    assert cure_of(nothing, TIMING, can_kick=True).kick_rate == 250


def test_where_nobody_publishes_the_gate_is_enough() -> None:
    found = cure_of(looks(seen(), came=0), TIMING, can_kick=True)
    assert (found.cure, found.rate) == (Cure.GATE, None)
    assert found.longest_gap_s(TIMING) == back_after_s(hold_s(TIMING))


def test_a_topic_that_was_looked_at_once_has_no_steady_producer() -> None:
    once = Looks(first=STEADY.first, second=STEADY.first, apart_s=0.0)
    assert cure_of(once, TIMING, can_kick=True).why is BrakeRefusal.SILENT


CLOSED = LedgerSeen(terminated="7:8", migrated=False)


@pytest.mark.parametrize(
    ("first", "why"),
    [
        (replace(topic(), answer=StatsAnswer.UNASKED), CureRefusal.NOT_LOADED),
        (replace(topic(), flow=None), CureRefusal.NOT_LOADED),
        (replace(topic(), ledger=None), CureRefusal.NOT_LOADED),
        (replace(topic(), ledger=CLOSED), CureRefusal.CLOSED),
        (replace(topic(), flow=replace(flow(9), ledger_state="Terminated")), CureRefusal.CLOSED),
        (replace(topic(), waiting_producers=1), CureRefusal.WAITING),
        (replace(topic(), producers=(replace(PRODUCER, chunks_per_s=0.1),)), CureRefusal.CHUNKS),
        (replace(topic(), ongoing_transactions=1), CureRefusal.TRANSACTIONS),
    ],
)
def test_some_are_refused(first: TopicSeen, why: CureRefusal) -> None:
    found = cure_of(Looks(first=first, second=first, apart_s=1.0), TIMING, can_kick=True)
    assert (found.cure, found.why, found.rate) == (Cure.REFUSED, why, None)


def test_a_wave_has_one_cure() -> None:
    silent = looks(seen(name="b"), came=0)
    assert {each.cure for each in cures_of([STEADY, STEADY], TIMING, can_kick=False)} == {Cure.BRAKE}
    assert {each.cure for each in cures_of([STEADY], TIMING, can_kick=True, alone=False)} == {Cure.GATE_AND_BRAKE}
    mixed = cures_of([STEADY, silent], TIMING, can_kick=True)
    assert [each.cure for each in mixed] == [Cure.GATE_AND_BRAKE, Cure.GATE]
    assert mixed[0].rate == mixed[0].kick_rate
    refused = cures_of([STEADY, silent], TIMING, can_kick=False)
    assert [each.why for each in refused] == [CureRefusal.NO_KICK, CureRefusal.NO_KICK]


@pytest.mark.parametrize(("hold", "back"), [(0.0, 0.3), (2.7, 6.3), (2.8, 12.7), (5.6, 12.7), (11.4, 25.5), (60, 51.1)])
def test_who_was_held_comes_at_a_step_of_its_backoff(hold: float, back: float) -> None:
    assert back_after_s(hold) == back
    assert back in BACKOFF_S


@pytest.mark.parametrize(("passed", "step"), [(0.0, 0.1), (0.1, 0.1), (6.4, 12.7), (51.2, 51.1)])
def test_who_was_sent_away_tries_again_at_the_next_step(passed: float, step: float) -> None:
    assert tries_again_s(passed) == step


def test_whoever_shares_a_connection_that_is_stopped_is_named() -> None:
    near = replace(topic("a"), producers=(PRODUCER, OTHER))
    far = replace(topic("b"), producers=(replace(PRODUCER, name="else"),), subscriptions={})
    cures = cures_of([looks(near), looks(replace(far, producers=()), came=0)], TIMING, can_kick=True)
    assert shared_connections([near, far], cures) == {
        PRODUCER.address: (Who("a", "", PRODUCER.name), Who("b", "", "else")),
    }
    assert CONSUMER.address not in shared_connections([near], cures)


def test_without_flows_there_are_no_means() -> None:
    bare = replace(topic(), flow=None)
    nothing = Looks(first=bare, second=bare, apart_s=1.0)
    assert (nothing.means, nothing.entries) == ((), 0)
