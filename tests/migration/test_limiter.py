"""The token bucket does what its formulas say, and what the brake's own arithmetic expects."""

from __future__ import annotations

import pytest

from syncer.migration.brake import pause_s, release_s
from tests.migration.clusters.limiter import PublishLimiter
from tests.migration.clusters.timeline import Timeline

RESOLUTION_MS = 17


class Stopped:
    """A connection that remembers when it was stopped and released."""

    def __init__(self, timeline: Timeline) -> None:
        self.timeline = timeline
        self.stopped_at: int | None = None
        self.released_at: int | None = None

    def stop(self) -> None:
        self.stopped_at = self.timeline.now

    def go(self) -> None:
        self.released_at = self.timeline.now


def limiter(rate: int) -> tuple[Timeline, PublishLimiter]:
    timeline = Timeline(0)
    made = PublishLimiter(timeline)
    made.set(rate, -1)
    return timeline, made


def release_of(connection: Stopped) -> int:
    assert connection.released_at is not None
    return connection.released_at


@pytest.mark.parametrize(("size", "rate"), [(1_000, 166), (200, 40), (200, 1), (70, 61), (100_000, 16_666)])
def test_one_entry_buys_the_pause_that_the_brake_expects(size: int, rate: int) -> None:
    timeline, limits = limiter(rate)
    connection = Stopped(timeline)
    limits.published(connection, size, 1)
    timeline.run(300_000)
    assert release_of(connection) == pytest.approx(pause_s(size, rate) * 1000, abs=max(RESOLUTION_MS, 1000 / rate))


def test_an_entry_below_the_rate_is_free() -> None:
    timeline, limits = limiter(500)
    connection = Stopped(timeline)
    limits.published(connection, 400, 1)
    assert connection.stopped_at is None


def test_all_are_released_together_when_the_debt_of_all_is_paid() -> None:
    timeline, limits = limiter(100)
    connections = [Stopped(timeline) for _ in range(3)]
    for connection in connections:
        limits.published(connection, 600, 1)
        timeline.run(200)
    timeline.run(60_000)
    assert len({release_of(each) for each in connections}) == 1
    assert release_of(connections[0]) == pytest.approx(release_s([600] * 3, 100) * 1000, abs=3 * RESOLUTION_MS)


def test_a_policy_that_is_written_again_lets_everybody_go_at_the_first_timer() -> None:
    timeline, limits = limiter(100)
    early, late = Stopped(timeline), Stopped(timeline)
    limits.published(early, 500, 1)
    timeline.run(3_500)
    limits.published(late, 500, 1)
    timeline.run(100)
    limits.set(100, -1)
    timeline.run(60_000)
    assert release_of(late) == release_of(early) == pytest.approx(4_010, abs=RESOLUTION_MS)


def test_taking_the_rate_off_does_not_end_the_pause_that_runs() -> None:
    timeline, limits = limiter(100)
    connection = Stopped(timeline)
    limits.published(connection, 1_000, 1)
    timeline.run(1_000)
    limits.set(-1, -1)
    timeline.run(60_000)
    assert release_of(connection) == pytest.approx(9_010, abs=RESOLUTION_MS)


def test_a_rate_in_messages_counts_those_of_a_batch() -> None:
    timeline = Timeline(0)
    limits = PublishLimiter(timeline)
    limits.set(-1, 1)
    connection = Stopped(timeline)
    limits.published(connection, 10, 42)
    timeline.run(100_000)
    assert release_of(connection) == pytest.approx(42_000, abs=1_000)
