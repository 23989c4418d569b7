"""From when on a version is folded: the limit is one of the clock, and a path that lies ahead stays editable."""

from __future__ import annotations

from dataclasses import replace

import pytest

from syncer.conflict.acts import HoldEvent
from syncer.conflict.causality.skew import SUCCESSOR_MS, admitted_at
from syncer.conflict.register import Register
from syncer.model import Counter, MetadataChangeEvent, Millis, counter_of
from tests.property.strategies import NOW
from tests.unit.registers import (
    HERE,
    SKEW,
    THERE,
    THIRD,
    X,
    Y,
    at,
    event,
    none_of,
    only,
    register,
    replica,
    settled_on,
    version,
)

YEAR: Millis = Millis(365 * 86_400_000)


def until(before: Register, incoming: MetadataChangeEvent, now: Millis = NOW) -> int:
    """How long from now on an event waits; 0: it is folded at once."""
    outcome = replica().fold(before, incoming, now)
    if none_of(outcome, HoldEvent):
        return 0
    assert outcome.register == before
    moment = only(outcome, HoldEvent).until
    assert moment == replica().admitted_at(before, incoming, now) > now
    return int(moment - now)


def test_two_thousand_changes_carry_a_path_no_further_than_one() -> None:
    """Each 29 s beyond the one before, all within 4 s."""
    before, now, held = settled_on(X, at(0, THERE)), NOW, 0
    for number in range(1, 2_001):
        now = Millis(NOW + 2 * number)
        known = before.known
        assert known is not None
        outcome = replica().fold(before, event(Y, at(29_000 * number, THIRD), known.stamp), now)
        held += not none_of(outcome, HoldEvent)
        before = outcome.register
        assert before.known is not None
        assert before.known.stamp.updated_at_ms <= now + SKEW
    assert held == 1_999


@pytest.mark.parametrize(("beyond", "waits"), [(1, 0), (SUCCESSOR_MS, 0), (SUCCESSOR_MS + 1, 1), (100, 90)])
def test_a_successor_of_what_lies_ahead_passes_at_once_or_after_as_long_as_it_is_beyond(
    beyond: int, waits: int
) -> None:
    before = register(known=version(X, at(YEAR, THERE)))
    assert until(before, event(Y, at(YEAR + beyond, THIRD), at(YEAR, THERE))) == waits


@pytest.mark.parametrize(("beyond", "waits"), [(-1, 0), (0, 0), (1, 1), (100, 100)])
def test_what_is_concurrent_with_it_passes_when_it_is_no_later_or_after_as_long_as_it_is_beyond(
    beyond: int, waits: int
) -> None:
    before = register(known=version(X, at(YEAR, THERE)))
    assert until(before, event(Y, at(YEAR + beyond, THIRD))) == waits


def test_the_only_one_heard_of_many_edits_passes_after_less_time_than_they_took() -> None:
    """Fifty edits of a path that lies a year ahead, of which only the last is heard."""
    before = register(known=version(X, at(YEAR, THERE)))
    last = event(Y, at(YEAR + 50, THIRD), at(YEAR, THERE))
    assert until(before, last) == 40
    grown = register(known=version(Y, at(YEAR + 45, THIRD), at(YEAR, THERE)))
    assert until(grown, last) == 0, "or at once when more is known"


def test_an_event_that_only_time_brings_near_waits_for_that() -> None:
    assert until(register(), event(X, at(YEAR, THERE))) == YEAR - SKEW
    assert until(settled_on(X, at(-5, THERE)), event(Y, at(YEAR, THERE))) == YEAR - SKEW
    assert until(settled_on(X, at(SKEW, THERE)), event(Y, at(YEAR, THIRD))) == YEAR - SKEW
    assert until(settled_on(X, at(2 * SKEW, THERE)), event(Y, at(YEAR, THIRD))) == YEAR - 2 * SKEW
    assert until(settled_on(X, at(2 * SKEW, THERE)), event(Y, at(YEAR, THERE))) == YEAR - 2 * SKEW - SUCCESSOR_MS


def test_a_vector_may_not_speak_of_the_future_either() -> None:
    before = settled_on(X, at(0, THERE))

    def claiming(counter: Counter, beyond: int) -> MetadataChangeEvent:
        sound = event(Y, at(5, THIRD), at(0, THERE))
        return replace(sound, seen={**sound.seen, counter: Millis(NOW + beyond)})

    for region in (HERE, THERE, THIRD):
        assert until(before, claiming(counter_of(region, 1), SKEW)) == 0
    assert until(register(), claiming(counter_of(THERE, 1), YEAR)) == YEAR - SKEW
    assert until(before, claiming(counter_of(THIRD, 1), YEAR)) == YEAR - SKEW
    assert until(before, claiming(counter_of(THIRD, 2), YEAR)) == YEAR - SKEW
    assert until(before, claiming(counter_of(THERE, 1), YEAR)) == YEAR - SKEW


@pytest.mark.parametrize("counter", [counter_of(HERE, 1), counter_of(THERE, 1), counter_of(THIRD, 2)])
def test_a_time_in_a_vector_that_is_known_already_is_not_held_again(counter: Counter) -> None:
    """Of this region's own counter what it has given out; of others what is known of the path."""
    there = version(X, at(YEAR if counter == counter_of(THERE, 1) else 0, THERE))
    lie = {**there.seen, counter_of(THIRD, 2): Millis(NOW + YEAR)} if counter == counter_of(THIRD, 2) else there.seen
    before = register(known=replace(there, seen=lie), own=Millis(NOW + YEAR))
    for beyond, waits in ((SUCCESSOR_MS, 0), (SUCCESSOR_MS + 5, 5)):
        claims = replace(event(Y, at(5, THIRD)), seen={**event(Y, at(5, THIRD)).seen})
        claims = replace(claims, seen={**claims.seen, counter: Millis(NOW + YEAR + beyond)})
        assert until(before, claims) == waits


def test_it_may_be_asked_of_what_is_not_held() -> None:
    calm = version(X, at(0, THERE))
    assert admitted_at(replica().settings, register(), calm, NOW) == NOW - SKEW
