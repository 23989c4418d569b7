"""Draining: time left, and who holds it up."""

from __future__ import annotations

import pytest

from syncer.migration.draining import (
    Drain,
    HeldUp,
    Level,
    Sending,
    drain_of,
    drains_foreseen,
    sending_foreseen,
    slowest_s,
)
from syncer.migration.evidence import Flow, ReplicatorSeen, TopicSeen
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


def written(entries: int | None, backlog: int, **changes: object) -> TopicSeen:
    """A topic to which so many entries were written since it was loaded, and what is left to read and to send."""
    base = Flow(entries_added=0, pending_adds=0, last="7:0", ledger_state="LedgerOpened", entries=0, size_bytes=0)
    return replace(
        topic(),
        flow=None if entries is None else replace(base, entries_added=entries),
        subscriptions={"audit": replace(SUBSCRIPTION, backlog=backlog, **changes)},  # type: ignore[arg-type]
        replicators={"north": ReplicatorSeen(backlog=backlog, connected=True)},
    )


@pytest.mark.parametrize(
    ("entries", "eta_s"), [((50, 50), 8.0), ((50, 150), 4.0), ((150, 50), 8.0), ((None, 50), 8.0), ((50, None), 8.0)]
)
def test_once_nothing_is_written_it_takes_as_long_as_what_was_read_meanwhile_says(
    entries: tuple[int | None, int | None], eta_s: float
) -> None:
    first, now = written(entries[0], 300), written(entries[1], 200)
    assert drains_foreseen(first, now, 4.0) == (Drain(topic=TOPIC, subscription="audit", left=200, eta_s=eta_s),)
    sending = Sending(topic=TOPIC, remote="north", left=200, eta_s=eta_s)
    assert sending_foreseen(first, now, 4.0) == (sending,)
    assert slowest_s([sending]) == eta_s


@pytest.mark.parametrize("counted_late", [0, 3])
def test_of_what_nobody_reads_or_sends_no_time_is_said(counted_late: int) -> None:
    first, now = written(100, 200), written(300 + counted_late, 400)
    assert [each.held_up for each in drains_foreseen(first, now, 4.0)] == [HeldUp.STANDS]
    assert [each.eta_s for each in sending_foreseen(first, now, 4.0)] == [None]
    gone = written(300, 400, consumers=())
    assert [each.held_up for each in drains_foreseen(gone, gone, 4.0)] == [HeldUp.NOBODY]


def test_what_has_come_since_the_first_look_is_listed_without_a_time_and_what_is_empty_is_not() -> None:
    first = replace(written(100, 0), subscriptions={}, replicators={})
    now = written(100, 7)
    assert drains_foreseen(first, now, 4.0) == (Drain(topic=TOPIC, subscription="audit", left=7),)
    assert sending_foreseen(first, now, 4.0) == (Sending(topic=TOPIC, remote="north", left=7),)
    assert (drains_foreseen(now, written(100, 0), 4.0), sending_foreseen(now, written(100, 0), 4.0)) == ((), ())
