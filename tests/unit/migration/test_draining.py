"""Draining: time left, and who holds it up."""

from __future__ import annotations

import pytest

from syncer.migration.draining import Drain, HeldUp, Level, drain_of, slowest_s
from syncer.model import Millis
from syncer.replacing import replace
from tests.unit.migration.pictures import SUBSCRIPTION, TOPIC, topic

NOW, SETTLE = Millis(100_000), Millis(10_000)


def drains(first: Level | None, **changes: object) -> tuple[Drain, ...]:
    seen = replace(topic(), subscriptions={"audit": replace(SUBSCRIPTION, **changes)})  # type: ignore[arg-type]
    return drain_of(seen, {"audit": first} if first else {}, NOW, SETTLE)


def test_what_is_read_is_over() -> None:
    assert drains(None, backlog=0) == ()
    assert slowest_s([]) == 0.0


def test_the_time_left_is_what_is_left_at_the_pace_so_far() -> None:
    (drain,) = drains(Level(at_ms=Millis(80_000), backlog=300), backlog=100)
    assert drain == Drain(topic=TOPIC, subscription="audit", left=100, eta_s=10.0)
    assert slowest_s([drain, replace(drain, eta_s=4.0)]) == 10.0


@pytest.mark.parametrize("first", [None, Level(at_ms=NOW, backlog=100), Level(at_ms=Millis(95_000), backlog=100)])
def test_nothing_is_said_of_what_was_not_watched_for_long(first: Level | None) -> None:
    (drain,) = drains(first, backlog=100)
    assert (drain.eta_s, drain.held_up) == (None, None)
    assert slowest_s([drain]) is None


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"consumers": ()}, HeldUp.NOBODY),
        ({}, HeldUp.STANDS),
        ({"unacked": 100}, HeldUp.UNACKNOWLEDGED),
        ({"unacked": 99}, HeldUp.STANDS),
        ({"delayed": 100}, HeldUp.DELAYED),
    ],
)
def test_who_holds_it_up_is_said(changes: dict[str, object], why: HeldUp) -> None:
    (drain,) = drains(Level(at_ms=Millis(80_000), backlog=100), backlog=100, **changes)
    assert (drain.held_up, drain.eta_s) == (why, None)
