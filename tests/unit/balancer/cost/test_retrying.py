"""Clients try again at the steps of their back-off: Java's are Pulsar's own, others are given."""

from __future__ import annotations

import math
from itertools import islice

import pytest

from syncer.balancer.cost.retrying import JAVA_CONSUMER, JAVA_PRODUCER, GivenSteps, JavaSteps, first_step
from syncer.errors import LoadDataInvalid

LATEST = [100, 300, 700, 1500, 3100, 6300, 12_700, 25_500]
EARLIEST = [100, 281, 642, 1363, 2804, 5685, 11_446, 22_967]


@pytest.mark.parametrize("client", [JAVA_PRODUCER, JAVA_CONSUMER])
def test_javas_first_steps(client: JavaSteps) -> None:
    steps = list(islice(client.steps(), len(LATEST)))
    assert [step.latest_ms for step in steps] == LATEST
    assert [step.earliest_ms for step in steps] == EARLIEST


def test_a_consumer_goes_on_to_a_minute_and_a_producer_stops_once_before_its_timeout() -> None:
    consumer = [step.latest_ms for step in islice(JAVA_CONSUMER.steps(), 8, 12)]
    assert consumer == [51_100, 102_300, 162_300, 222_300]
    producer = list(islice(JAVA_PRODUCER.steps(), 8, 11))
    assert [step.latest_ms for step in producer] == [29_900, 81_100, 141_100]
    assert producer[0].earliest_ms == 22_967 + 6933 - 692


@pytest.mark.parametrize(("closed_ms", "wanted"), [(0, 100), (100, 100), (650, 700), (700, 700), (710, 1500)])
def test_a_closed_bundle_is_asked_for_at_a_step(closed_ms: float, wanted: int) -> None:
    assert first_step(JAVA_CONSUMER, closed_ms).latest_ms == wanted


def test_given_steps_go_on_at_their_last_delay() -> None:
    given = GivenSteps(latest_ms=[0, 50], then_every_ms=10)
    assert [first_step(given, closed).latest_ms for closed in (0, 1, 51, 65)] == [0, 50, 60, 70]


@pytest.mark.parametrize(("latest", "every"), [([], 1), ([5, 5], 1), ([5, 3], 1), ([-1], 1), ([1], 0)])
def test_given_steps_that_do_not_rise_are_refused(latest: list[int], every: int) -> None:
    with pytest.raises(LoadDataInvalid, match="must rise without end"):
        GivenSteps(latest_ms=latest, then_every_ms=every)


@pytest.mark.parametrize(("initial", "most"), [(0, 5), (6, 5)])
def test_javas_delays_that_do_not_rise_are_refused(initial: int, most: int) -> None:
    with pytest.raises(LoadDataInvalid, match="cannot begin with"):
        JavaSteps(initial_ms=initial, max_ms=most)


@pytest.mark.parametrize("closed_ms", [-1, math.nan, math.inf])
def test_a_bundle_that_is_never_closed_is_refused(closed_ms: float) -> None:
    with pytest.raises(LoadDataInvalid, match="cannot be closed"):
        first_step(JAVA_CONSUMER, closed_ms)
