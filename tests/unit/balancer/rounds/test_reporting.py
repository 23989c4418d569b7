"""A broker reports again when a figure changed by more than the threshold, or its report is old."""

from __future__ import annotations

from dataclasses import replace

import pytest

from syncer.balancer.load import BundleStats, Rates
from syncer.balancer.rounds.reporting import MINUTE_MS, ReportedLoad, report_due, top_bundles
from syncer.balancer.settings import ReportSettings

LAST = ReportedLoad(at_ms=0, usage=0.5, traffic=Rates(50.0, 50.0, 500.0, 500.0), bundles=10)


@pytest.mark.parametrize(
    ("now", "due"),
    [
        (LAST, False),
        (replace(LAST, at_ms=15 * MINUTE_MS), False),
        (replace(LAST, at_ms=15 * MINUTE_MS + 1), True),
        (replace(LAST, usage=0.625), True),
        (replace(LAST, usage=0.59), False),
        (replace(LAST, bundles=9), False),
        (replace(LAST, bundles=8), True),
        (replace(LAST, traffic=Rates(60.0, 50.0, 500.0, 500.0)), False),
        (replace(LAST, traffic=Rates(61.0, 50.0, 500.0, 500.0)), True),
        (replace(LAST, traffic=Rates(50.0, 50.0, 500.0, 399.0)), True),
    ],
)
def test_a_report_is_due_beyond_the_threshold(now: ReportedLoad, due: bool) -> None:
    assert report_due(LAST, now, ReportSettings()) is due


def test_the_first_of_anything_is_reported_and_nothing_of_nothing_is_not() -> None:
    idle = replace(LAST, traffic=Rates(), bundles=0)
    assert not report_due(idle, idle, ReportSettings())
    assert report_due(idle, replace(idle, bundles=1), ReportSettings())


def test_the_busiest_bundles_are_named_from_the_least_busy_on() -> None:
    def stats(entering: float, leaving: float = 0.0, rate: float = 1.0) -> BundleStats:
        return BundleStats(Rates(rate, 0.0, entering, leaving))

    bundles = [
        ("idle", BundleStats(Rates())),
        ("small", stats(1e6)),
        ("great", stats(9e6)),
        ("alike", stats(1.05e6, 5e6)),
        ("middle", stats(3e6)),
    ]
    assert top_bundles(bundles, 3) == [("alike", 6.05e6), ("middle", 3e6), ("great", 9e6)]
    assert [name for name, _ in top_bundles(bundles, 10)] == ["small", "alike", "middle", "great"]
