"""Outcomes: our own moves, the seconds that were predicted for each beside those that were observed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveOutcome:
    """A move that was made: it took from ``earliest_s`` to ``latest_s``, between two looks.

    ``predicted_s`` is what its plan said, ``usual_s`` what the tariff says without calibration; None: unknown.
    """

    bundle: str
    asked_ms: int
    predicted_s: float | None
    usual_s: float | None
    earliest_s: float
    latest_s: float

    def ratio_to(self, told_s: float | None) -> float | None:
        """Divide what was observed by what was told; 1 where that lies within what was observed.

        Args:
            told_s: Seconds; None or 0 have no ratio.
        """
        if not told_s:
            return None
        return min(max(told_s, self.earliest_s), self.latest_s) / told_s


def prediction_ratio(outcomes: Iterable[MoveOutcome]) -> float | None:
    """Take the median of observed to predicted seconds; None where no move has both.

    Args:
        outcomes: Our own moves.
    """
    ratios = [ratio for each in outcomes if (ratio := each.ratio_to(each.predicted_s)) is not None]
    return median(ratios) if ratios else None
