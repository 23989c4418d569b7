"""A region that is far behind on the bus: not compared while it catches up, compared all the same if it never does."""

from __future__ import annotations

from dataclasses import replace

import pytest

from syncer.bus.wire.messages import Heartbeat, TreeMessage
from syncer.conflict.causality.consumed import Consumed
from syncer.model import Millis, Region
from syncer.replication.antientropy.exchanges import WAITING_BEATS, Exchange, Pace, PeerReading, unread
from syncer.replication.group.bus_lag import BusLag
from tests.support.parts import parts_of
from tests.unit.replication.antientropy.test_protocol import BEAT_MS, T0, Pair, both_have, path_of

PACE = Pace()
LONGEST_BEATS = PACE.longest_ms // BEAT_MS
LATE_BEATS = PACE.late_ms // BEAT_MS


def steps_of(pair: Pair, region: str) -> list[str]:
    return [said.step for said in pair.heard if isinstance(said, TreeMessage) and said.region == region]


def differing(behind: str) -> Pair:
    """Equal but for one value in each region, one of which is behind."""
    pair = Pair()
    both_have(pair)
    pair.beat(2)
    pair.behind = {behind}
    pair.beat(LATE_BEATS + 1)
    assert not pair.steps
    pair.east.has(path_of("only-east"), 1, 5)
    pair.west.has(path_of("only-west"), 1, 5)
    return pair


@pytest.mark.parametrize("behind", ["east", "west"])
def test_who_is_behind_neither_begins_nor_answers_until_it_has_caught_up(behind: str) -> None:
    pair = differing(behind)
    pair.beat(LONGEST_BEATS - LATE_BEATS - 2)
    assert steps_of(pair, behind) == []
    assert not pair.events
    pair.behind = set()
    pair.beat(3 * 30)
    assert pair.equal


@pytest.mark.parametrize("behind", ["east", "west"])
def test_who_never_catches_up_is_compared_all_the_same(behind: str) -> None:
    pair = differing(behind)
    pair.beat(3 * LONGEST_BEATS)
    assert pair.equal
    assert pair.behind == {behind}


def beat(pair: Pair, region: str = "west", **reached: int) -> Heartbeat:
    site = pair.west if region == "west" else pair.east
    said = site.driver.heartbeat(Millis(pair.now), "1")
    return replace(said, reached={f"db-{name}": number for name, number in reached.items()})


def test_what_a_peer_has_yet_to_read_is_counted_by_sender() -> None:
    told = beat(Pair(), east=40, north=900, south=0, west=7)
    ours = {"db-north": 1_000, "db-south": 5_000, "db-west": 9_999}
    assert unread(told, ours, "db-east", 50) == {"db-east": 10, "db-north": 100}


def catching_up(comparison: Exchange, **numbers: int) -> bool:
    comparison.reading.note(numbers, {sender: 100_000 - number for sender, number in numbers.items()}, PACE)
    return comparison.reading.catching_up


def test_a_peer_catches_up_as_long_as_it_reads_and_has_much_to_read() -> None:
    comparison = Exchange()
    for number in range(1, 100_000, 5_000):
        assert catching_up(comparison, east=number) is (100_000 - number > PACE.behind)
    assert not catching_up(comparison, east=100_000 - PACE.behind)


def test_what_was_lost_is_waited_for_no_longer_than_a_few_heartbeats() -> None:
    """Although the peer reads on what others say."""
    comparison = Exchange()
    waited = [catching_up(comparison, east=10, north=99_000 + step) for step in range(2 * WAITING_BEATS)]
    assert waited == [True] * WAITING_BEATS + [False] * WAITING_BEATS


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("behind", [True, False])
def test_no_comparison_begins_with_who_catches_up_but_one_in_the_longest_pause(first: bool, behind: bool) -> None:
    comparison = Exchange(differs_since_ms=T0, beats=1_000, reading=PeerReading(catching_up=not behind))

    def due(after_ms: int) -> bool:
        comparison.heard_at_ms = Millis(T0 + after_ms)
        return comparison.due(PACE, Millis(T0 + after_ms), first=first, behind=behind)

    assert not due(PACE.longest_ms - 1)
    assert due(PACE.longest_ms)
    comparison.begin(PACE, Millis(T0 + PACE.longest_ms))
    assert not due(2 * PACE.longest_ms - 1)
    assert due(2 * PACE.longest_ms)
    comparison.begin(PACE, Millis(T0 + 2 * PACE.longest_ms))
    comparison.reading.catching_up = False  # it has caught up
    comparison.heard_at_ms = now = Millis(comparison.attempts.next_at_ms)
    assert comparison.due(PACE, now, first=first), "and waits no longer than anybody"
    assert comparison.attempts.next_at_ms < T0 + 2 * PACE.longest_ms + PACE.patience_ms


def test_a_peer_that_is_catching_up_is_not_asked() -> None:
    """East has read all that south has said, and west is reading it."""
    pair = Pair()
    both_have(pair)
    pair.beat(2)
    pair.east.has(path_of("only-east"), 1, 5)
    with pair.east.state.transaction() as tx:
        tx.save_consumed({"db-south": Consumed(through=100_000)})
    for step in range(1, 30):
        pair.now += BEAT_MS
        pair.east.hear([beat(pair, south=step * 100)], Millis(pair.now))
        pair.east.hear([pair.east.driver.heartbeat(Millis(pair.now), "1")], Millis(pair.now))
        pair.east.work(Millis(pair.now))
    assert parts_of(pair.east.driver).antientropy.exchanges.of(Region("west")).reading.catching_up
    assert not [said for said in pair.east.said if isinstance(said, TreeMessage)]
    for _ in range(2 * WAITING_BEATS):  # it reads no further
        pair.now += BEAT_MS
        pair.east.hear([beat(pair, south=5_000)], Millis(pair.now))
        pair.east.hear([pair.east.driver.heartbeat(Millis(pair.now), "1")], Millis(pair.now))
        pair.east.work(Millis(pair.now))
    assert [said.step for said in pair.east.said if isinstance(said, TreeMessage)][:1] == ["groups"]


# -- the echo


def behind(echo: BusLag, after_ms: int) -> int | None:
    since = echo.behind(Millis(T0 + after_ms), 1_000)
    return None if since is None else since - T0


def test_a_region_is_behind_while_what_it_said_has_not_come_back() -> None:
    echo = BusLag()
    assert behind(echo, 99_999) is None, "it has said nothing"
    for sent in (0, 500, 1_000):
        echo.said(Millis(T0 + sent))
    assert behind(echo, 1_000) is None
    assert behind(echo, 1_001) == 1_001
    echo.heard(T0 + 499)  # the first of them at least: behind all the same
    assert behind(echo, 1_600) == 1_001, "it has been so all the time"
    echo.heard(T0 + 500)
    assert behind(echo, 1_500) is None, "what is under way now is not late"
    assert behind(echo, 1_502) == 1_502
    echo.heard(T0 + 1_000)
    assert behind(echo, 99_999) is None


def test_a_heartbeat_of_an_earlier_life_proves_nothing() -> None:
    echo = BusLag()
    echo.said(Millis(T0))
    echo.heard(T0 - 1)
    assert behind(echo, 1_001) == 1_001


def test_one_that_was_lost_is_made_up_for_by_the_next() -> None:
    echo = BusLag()
    echo.said(Millis(T0))
    echo.said(Millis(T0 + 10_000))
    assert behind(echo, 10_000) == 10_000
    echo.heard(T0 + 10_000)
    assert behind(echo, 10_001) is None


def test_a_clock_that_was_set_back_does_not_hide_it_for_long() -> None:
    echo = BusLag()
    echo.said(Millis(T0))
    echo.said(Millis(T0 - 50_000))
    assert behind(echo, -49_000) is None
    assert behind(echo, -48_999) == -48_999
    echo.heard(T0 - 50_000)
    assert behind(echo, 0) is None
