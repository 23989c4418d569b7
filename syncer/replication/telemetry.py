"""Telemetry: counts, lags and durations for the metrics, and alarms for the status."""

from __future__ import annotations

from collections import Counter as Tally
from collections import deque
from dataclasses import dataclass, field
from typing import Final

from syncer.model import Region
from syncer.stores.topic_policies import TopicPoliciesStanding

MEASURES_KEPT: Final = 20_000


@dataclass(slots=True)
class Telemetry:
    """What a daemon counts and measures of itself; all of it begins anew with the daemon.

    Args:
        conditions: Alarms that stand until they are taken out, or the daemon is started again; by code, for the status.
        tally: Counts since the start, for metrics, by name and label.
        lags: Author's region and seconds from its stamp to our store, of the latest writes; the metrics take them away.
        topic_policies: How those fare that brokers keep in system topics; ``None``: none are carried from there.
        timings: Stage and seconds of the latest batches; likewise.
    """

    conditions: dict[str, str] = field(default_factory=dict)
    tally: Tally[tuple[str, str]] = field(default_factory=Tally)
    topic_policies: TopicPoliciesStanding | None = None
    lags: deque[tuple[Region, float]] = field(default_factory=lambda: deque(maxlen=MEASURES_KEPT))
    timings: deque[tuple[str, float]] = field(default_factory=lambda: deque(maxlen=MEASURES_KEPT))
