"""Averages refuse what would spoil them for good."""

from __future__ import annotations

import math

import pytest

from syncer.balancer.averages import UNSEEN, BundleAverages, TimeAverage, broker_averages
from syncer.balancer.load import BundleStats, Rates, Usages
from syncer.balancer.settings import UsageSettings
from syncer.errors import LoadDataInvalid


@pytest.mark.parametrize(("most", "samples"), [(0, 0), (-1, 0), (10, -1)])
def test_an_average_of_no_samples_is_refused(most: int, samples: int) -> None:
    with pytest.raises(LoadDataInvalid, match=rf"maxSamples {most} and numSamples {samples}"):
        TimeAverage(UNSEEN, most, samples)


@pytest.mark.parametrize("value", [math.nan, -0.1, math.inf])
@pytest.mark.parametrize("figure", ["rate_in", "rate_out", "throughput_in", "throughput_out"])
def test_a_sample_that_cannot_be_true_is_refused(value: float, figure: str) -> None:
    sample = Rates(**{figure: value})
    with pytest.raises(LoadDataInvalid, match="never averaged"):
        BundleAverages().updated(BundleStats(sample))
    with pytest.raises(LoadDataInvalid, match="never averaged"):
        broker_averages(None, Usages(), sample, UsageSettings())


def test_no_traffic_is_a_sample() -> None:
    assert BundleAverages().updated(BundleStats(Rates())).short == TimeAverage(Rates(), 10, 1)
