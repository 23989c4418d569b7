"""Calibration: how much longer our own moves took than the tariff says, and since when that is known.

A move is looked at every so often, so its end is known within a span alone. What lies in the span is no error.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING, Final

from syncer.balancer.cost.estimate import Basis, Estimate
from syncer.balancer.cost.tariff import UnloadTimes

if TYPE_CHECKING:
    from syncer.balancer.history.outcomes import MoveOutcome

LEAST_COUNT: Final = 10
"""Fewer moves tell nothing of the next one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """Median of observed to usual seconds, over so many moves, the first and last of which were asked for then."""

    ratio: float
    count: int
    since_ms: int
    until_ms: int


def calibration(outcomes: Iterable[MoveOutcome]) -> Calibration | None:
    """Reckon the factor between the tariff and what was observed; None where too few moves were.

    Args:
        outcomes: Our own moves.
    """
    known = [(each.asked_ms, ratio) for each in outcomes if (ratio := each.ratio_to(each.usual_s)) is not None]
    if len(known) < LEAST_COUNT:
        return None
    times = [asked_ms for asked_ms, _ in known]
    return Calibration(
        ratio=median(ratio for _, ratio in known), count=len(known), since_ms=min(times), until_ms=max(times)
    )


def calibrated(times: UnloadTimes, found: Calibration | None) -> UnloadTimes:
    """Correct the seconds of a tariff by what was observed here.

    Args:
        times: Of the tariff.
        found: The factor; None leaves them as they are.
    """
    if found is None:
        return times

    def corrected(figure: Estimate) -> Estimate:
        return figure if figure.value is None else Estimate(figure.value * found.ratio, Basis.CALIBRATED)

    return replace(
        times,
        close=corrected(times.close),
        close_of_a_topic=corrected(times.close_of_a_topic),
        load=corrected(times.load),
        load_of_a_topic=corrected(times.load_of_a_topic),
    )
