"""Averages: what load managers keep of reports.

A time average counts updates, not time: the leader updates every bundle whenever any broker's report changes.

Source: TimeAverageMessageData, BundleData, BrokerLoadData, Pulsar 4.0.8.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from syncer.balancer.load import Rates
from syncer.errors import LoadDataInvalid

if TYPE_CHECKING:
    from syncer.balancer.load import BundleStats, Usages
    from syncer.balancer.settings import UsageSettings

SHORT_SAMPLES: Final = 10
LONG_SAMPLES: Final = 1000
UNSEEN: Final = Rates(50.0, 50.0, 50_000.0, 50_000.0)
"""What a bundle is taken for before its first report."""


@dataclass(frozen=True, slots=True)
class TimeAverage:
    """Average of a bundle's traffic over its last samples, as Pulsar approaches it."""

    traffic: Rates
    max_samples: int
    samples: int = 0

    def __post_init__(self) -> None:
        """Refuse counts that no average has.

        Raises:
            LoadDataInvalid: It keeps no sample, or has fewer than none.
        """
        if self.max_samples < 1 or self.samples < 0:
            raise LoadDataInvalid(
                f"a time average has maxSamples {self.max_samples} and numSamples {self.samples}; they are at least 1"
                " and 0"
            )

    def updated(self, sample: Rates) -> TimeAverage:
        """Count one more sample; the first one replaces what was assumed.

        Args:
            sample: What a report says.

        Raises:
            LoadDataInvalid: It cannot be true, and would stay in the average.
        """
        _refuse_unsound(sample)
        number = min(self.samples + 1, self.max_samples)
        old = self.traffic
        traffic = Rates(
            ((number - 1) * old.rate_in + sample.rate_in) / number,
            ((number - 1) * old.rate_out + sample.rate_out) / number,
            ((number - 1) * old.throughput_in + sample.throughput_in) / number,
            ((number - 1) * old.throughput_out + sample.throughput_out) / number,
        )
        return TimeAverage(traffic, self.max_samples, number)


@dataclass(frozen=True, slots=True)
class BundleAverages:
    """Short and long averages of a bundle."""

    short: TimeAverage = TimeAverage(UNSEEN, SHORT_SAMPLES)
    long: TimeAverage = TimeAverage(UNSEEN, LONG_SAMPLES)
    topics: int = 0

    def updated(self, stats: BundleStats) -> BundleAverages:
        """Count one more report of the bundle.

        Args:
            stats: What its broker reports of it.

        Raises:
            LoadDataInvalid: Its traffic cannot be true.
        """
        return BundleAverages(self.short.updated(stats.traffic), self.long.updated(stats.traffic), stats.topics)


@dataclass(frozen=True, slots=True)
class BrokerAverages:
    """Moving averages that a broker of the extensible manager reports of itself."""

    usage: float
    throughput: float


def _refuse_unsound(sample: Rates) -> None:
    if not sample.sound:
        raise LoadDataInvalid(f"a sample of traffic is {sample}: rates below zero, infinite or NaN are never averaged")


def moved(history: float | None, value: float, weight: float) -> float:
    """Move an exponential average by a value; the first value is taken as it is."""
    return value if history is None else history * weight + (1 - weight) * value


def broker_averages(
    known: BrokerAverages | None, usages: Usages, traffic: Rates, settings: UsageSettings
) -> BrokerAverages:
    """Move a broker's averages by what it has just measured.

    Args:
        known: Its averages until now, or None at its first measure.
        usages: What it uses now.
        traffic: What it serves now.
        settings: Weights of resources and of history.

    Raises:
        LoadDataInvalid: The traffic cannot be true, and would stay in the average.
    """
    _refuse_unsound(traffic)
    usage = usages.weighted_with_heap(settings)
    return BrokerAverages(
        moved(known.usage if known else None, usage, settings.history),
        moved(known.throughput if known else None, traffic.throughput, settings.history),
    )
