"""A flip as it was measured: what it does as it is, and what brake and gate make of it, over many seeds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Final

import pytest

from tests.migration.clusters.broker import BrokerSettings
from tests.migration.clusters.process import Library
from tests.migration.clusters.subscription import SubscriptionKind
from tests.migration.clusters.verdict import Verdict
from tests.migration.plays import (
    CROWD,
    EVEN,
    EVEN_BURSTS,
    LOAD,
    LONG,
    ONE_EVEN,
    NamespacePlay,
    SimTopic,
    flip_as_is,
    flip_braked,
    flip_gated,
)

SEEDS: Final = 60 if LONG else 6
BRAKED: Final = 1_000 if LONG else 200
CROWDS: Final = 300 if LONG else 25
HARMS: Final = ("lost", "doubled", "disordered", "dead", "stuck")
Flip = Callable[[NamespacePlay], Verdict]
GOES_ON: Final = BrokerSettings(deadlocks=0.0)


def harms(
    flip: Flip, seeds: int, library: Library = Library.CPP_NEW, load: tuple[SimTopic, ...] = LOAD
) -> Counter[str]:
    """How many of the plays did which harm, where no broker stops for ever."""
    met = Counter[str]()
    for seed in range(seeds):
        verdict = flip(NamespacePlay(seed, load, library, GOES_ON))
        met.update(harm for harm in HARMS if getattr(verdict, harm))
        met["harmed"] += not verdict.harmless
        met["unanswered"] += verdict.failed > 0
    return met


def warm_flip(play: NamespacePlay) -> Verdict:
    """Another namespace was flipped before."""
    for broker in play.blue.brokers:
        broker.warm = True
    return flip_as_is(play)


def test_the_first_flip_of_a_broker_kills_producers_and_doubles_messages() -> None:
    met = harms(flip_as_is, SEEDS)
    assert met["dead"] == met["doubled"] == met["harmed"] == met["unanswered"] == SEEDS
    assert met["lost"] == 0


def test_an_old_client_of_cpp_outlives_the_window() -> None:
    met = harms(flip_as_is, SEEDS, Library.CPP_OLD)
    assert met["dead"] == 0
    assert met["doubled"] > 0


def test_a_producer_of_java_dies_and_its_consumers_read_nothing_twice() -> None:
    met = harms(flip_as_is, SEEDS, Library.JAVA)
    assert met["dead"] > 0
    assert met["doubled"] == 0


def test_a_later_flip_doubles_disorders_and_fences_but_kills_nobody() -> None:
    met = harms(warm_flip, SEEDS * 3)
    assert met["dead"] == met["lost"] == 0
    assert all(met[harm] for harm in ("doubled", "disordered", "stuck", "unanswered"))
    assert met["harmed"] < SEEDS * 3


def test_what_is_doubled_is_nearly_all_that_was_stored() -> None:
    seen = []
    for seed in range(SEEDS):
        verdict = warm_flip(NamespacePlay(seed))
        seen += [each.doubled / (each.delivered or 1) for each in verdict.subscriptions.values() if each.doubled]
    assert max(seen) > 0.25


def test_one_even_producer_a_topic_is_safe_under_the_brake() -> None:
    for seed in range(BRAKED):
        verdict = flip_braked(NamespacePlay(seed, ONE_EVEN))
        assert verdict.harmless, (seed, verdict)
        assert verdict.failed == 0
        assert all(4_000 <= gap <= 6_000 for gap in verdict.gaps_ms.values()), (seed, verdict.gaps_ms)


ALONE: Final = (SimTopic(name="alone", producers=(EVEN,), kinds=(SubscriptionKind.EXCLUSIVE,)),)
"""A producer that shares its connection with nobody."""


@pytest.mark.parametrize(("wait_ms", "gap_ms"), [(400, 4_250), (4_500, 5_250)])
def test_a_mark_within_the_first_pause_or_the_second_is_safe(wait_ms: int, gap_ms: int) -> None:
    for seed in range(CROWDS):
        verdict = flip_braked(NamespacePlay(seed, ALONE), wait_ms)
        assert verdict.harmless, (seed, verdict)
        assert verdict.gaps_ms["alone-0"] == pytest.approx(gap_ms, abs=100)


def test_a_mark_from_which_the_window_reaches_the_end_of_the_first_pause_is_not() -> None:
    assert harms(lambda play: flip_braked(play, wait_ms=3_500), CROWDS, load=ALONE)["harmed"] > 0


def test_producers_of_one_connection_end_their_pauses_at_different_times() -> None:
    """Each is stopped after the other, so that no long wait is safe for all of them."""
    load = tuple(
        SimTopic(name=f"t{number}", producers=(EVEN_BURSTS,), kinds=(SubscriptionKind.EXCLUSIVE,))
        for number in range(4)
    )
    assert harms(lambda play: flip_braked(play, wait_ms=6_000), CROWDS, load=load)["harmed"] > 0


def test_many_and_silent_producers_are_not_safe_under_the_brake() -> None:
    assert harms(flip_braked, CROWDS * 2, load=CROWD)["harmed"] > 0


@pytest.mark.parametrize("library", Library)
@pytest.mark.parametrize("load", [CROWD, LOAD], ids=["crowd", "load"])
def test_everybody_is_safe_behind_the_gate(library: Library, load: tuple[SimTopic, ...]) -> None:
    for seed in range(CROWDS if load is CROWD else CROWDS // 5):
        verdict = flip_gated(NamespacePlay(seed, load, library))
        assert verdict.harmless, (seed, verdict)
        assert verdict.failed == 0
        assert max(verdict.gaps_ms.values()) < 30_000


def test_acknowledgements_behind_the_brake_hold_the_gate_up_and_nobody_is_harmed() -> None:
    for seed in range(CROWDS // 5):
        verdict = flip_gated(NamespacePlay(seed, together=True))
        assert verdict.harmless, (seed, verdict)
        assert max(verdict.gaps_ms.values()) < 30_000


def test_a_seed_plays_the_same_again() -> None:
    def told(seed: int) -> tuple[str, Verdict]:
        play = NamespacePlay(seed)
        verdict = flip_as_is(play)
        return play.timeline.digest, verdict

    assert told(3) == told(3)
    assert told(3) != told(4)
