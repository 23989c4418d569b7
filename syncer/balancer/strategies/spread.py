"""Spread: mean and standard deviation of the brokers' usages, and how a transfer changes it.

Source: TransferShedder.LoadStats, Pulsar 4.0.8.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from syncer.balancer.java import root


@dataclass(frozen=True, slots=True)
class Spread:
    """Mean and standard deviation, by the sum of squares."""

    squares: float = 0.0
    brokers: int = 0
    mean: float = 0.0
    std: float = 0.0

    @classmethod
    def of(cls, usages: Sequence[float]) -> Spread:
        """Reckon the spread of at least one usage."""
        total = squares = 0.0
        for usage in usages:
            total += usage
            squares += usage * usage
        mean = total / len(usages)
        return cls(squares, len(usages), mean, root(squares / len(usages) - mean * mean))

    def levelled(self, high: float, low: float, moved: float) -> Spread:
        """Reckon the spread after some usage went over from one broker to another.

        Args:
            high: Usage of the broker that gave.
            low: Usage of the broker that got.
            moved: What went over.
        """
        squares = self.squares - (high * high + low * low)
        left = _at_least_zero(high - moved)
        got = low + moved
        squares += left * left + got * got
        return replace(self, squares=squares, std=root(abs(squares / self.brokers - self.mean * self.mean)))


def _at_least_zero(value: float) -> float:
    return value if value > 0 or math.isnan(value) else 0.0
