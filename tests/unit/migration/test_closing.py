"""The moment before the mark: who is known to stand still, and whose acknowledgement may yet come."""

from __future__ import annotations

import pytest

from syncer.migration.brake import COUNTED, pause_s
from syncer.migration.closing import Braked, may_close, running, stopped_until
from syncer.migration.evidence import Flow, SubscriptionSeen
from syncer.model import Millis
from syncer.replacing import replace
from tests.unit.migration.pictures import CONSUMER, PRODUCER, topic

RATE = 100
SET, SEEN = Millis(1_000), Millis(1_010)
ADDRESS = PRODUCER.address


def flow(entries: int, size: int = 1_000, *, pending: int = 0, state: str = "LedgerOpened") -> Flow:
    return Flow(
        entries_added=entries,
        pending_adds=pending,
        last=f"7:{entries - 1}",
        ledger_state=state,
        entries=entries,
        size_bytes=size * entries,
    )


def braked(before: int, then: int, now: int, *, name: str = "a", size: int = 1_000, address: str = ADDRESS) -> Braked:
    seen = replace(topic(name), producers=(replace(PRODUCER, address=address),))
    return Braked(
        topic=seen,
        rate=RATE,
        set_ms=SET,
        seen_ms=SEEN,
        before=flow(before, size),
        then=flow(then, size),
        now=flow(now, size),
    )


def after(began: Millis, stored: int) -> Millis:
    return Millis(began + int(pause_s(COUNTED * stored, RATE) * 1000))


def test_what_comes_once_the_rate_stands_is_owed_whatever_its_size() -> None:
    assert stopped_until([braked(5, 6, 8)]) == {ADDRESS: after(SEEN, 2_000)}


def test_one_entry_that_came_while_the_rate_was_set_has_stopped_a_producer_that_never_rests() -> None:
    assert stopped_until([braked(5, 6, 6)]) == {ADDRESS: after(SET, 1_000)}


@pytest.mark.parametrize("entries", [0, 2])
def test_none_and_several_that_came_while_it_was_set_say_nothing(entries: int) -> None:
    assert stopped_until([braked(5, 5 + entries, 5 + entries)]) == {}


def test_of_several_on_one_connection_the_certain_one_counts() -> None:
    large = braked(5, 6, 6, name="large", size=5_000)
    assert stopped_until([large, braked(5, 5, 6)]) == {ADDRESS: after(SEEN, 1_000)}


def test_of_several_that_may_have_stopped_a_connection_the_shortest_counts() -> None:
    large = braked(5, 6, 6, name="large", size=5_000)
    assert stopped_until([large, braked(5, 6, 6)]) == {ADDRESS: after(SET, 1_000)}
    assert stopped_until([large, braked(5, 7, 7)]) == {}


def test_a_topic_whose_connection_another_has_stopped_does_not_run() -> None:
    stopped, silent = braked(5, 6, 7, name="stopped"), braked(5, 5, 5, name="silent")
    until = after(SEEN, 1_000)
    assert running([stopped, silent], until) == ()
    assert running([stopped, silent], Millis(until + 1)) == ("stopped", "silent")
    elsewhere = braked(5, 5, 5, name="elsewhere", address="/10.0.0.9:1")
    assert running([stopped, elsewhere], until) == ("elsewhere",)


@pytest.mark.parametrize("now", [flow(7, pending=1), flow(7, state="Terminated")])
def test_a_topic_with_something_under_way_or_closed_already_counts_as_running(now: Flow) -> None:
    assert running([replace(braked(5, 6, 7), now=now)], SEEN) == ("a",)


def test_when_the_rate_is_off_a_producer_is_released_once_all_is_paid() -> None:
    found = braked(5, 6, 7)
    assert found.released_ms == SEEN + 20_000
    assert replace(found, topic=replace(found.topic, producers=())).address == ""


EMPTY = SubscriptionSeen(kind="Failover", backlog=0, consumers=(CONSUMER,))


@pytest.mark.parametrize(
    ("now", "safe"),
    [
        (EMPTY, True),
        (replace(EMPTY, unacked=1), False),
        (replace(EMPTY, backlog=3), False),
        (replace(EMPTY, backlog=3, consumers=()), True),
        (replace(EMPTY, backlog=60_000), True),
        (replace(EMPTY, backlog=60_000, kind="Shared"), False),
    ],
)
def test_a_subscription_is_empty_or_far_from_it_or_nobody_reads_it(now: SubscriptionSeen, safe: bool) -> None:
    assert may_close(now, now, passed_s=1.0, within_s=4.0) is safe


def test_a_count_of_unacknowledged_messages_that_stands_still_without_a_backlog_is_none() -> None:
    now = replace(EMPTY, kind="Shared", unacked=2)
    assert may_close(now, now, passed_s=0.3, within_s=4.0)
    for before in (replace(now, unacked=3), replace(now, backlog=1), None):
        assert not may_close(before, now, passed_s=0.3, within_s=4.0)


def test_consumers_whose_connection_is_stopped_acknowledge_nothing() -> None:
    now = replace(EMPTY, backlog=3)
    assert may_close(now, now, passed_s=1.0, within_s=4.0, stopped={CONSUMER.address})
    shared = replace(now, kind="Key_Shared")
    assert not may_close(shared, shared, passed_s=1.0, within_s=4.0, stopped={CONSUMER.address})


def test_how_far_is_far_depends_on_how_fast_it_is_read() -> None:
    now = replace(EMPTY, backlog=100_000)
    assert not may_close(replace(now, backlog=110_000), now, passed_s=1.0, within_s=4.0)
    assert may_close(replace(now, backlog=101_000), now, passed_s=1.0, within_s=4.0)
    assert not may_close(None, now, passed_s=1.0, within_s=4.0)
    assert not may_close(None, now, passed_s=0.0, within_s=4.0)
