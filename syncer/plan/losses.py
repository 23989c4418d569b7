"""Loss limits: how much of what was held may be gone before an operator is asked, by share and by number. Pure.

A source that lost nearly all that it held is most often another one than was meant: a wrong address, an empty replica,
a restore that ended early. A small source may lose a good share of itself on any day, and a large one a good number;
so only what exceeds both bounds is suspicious.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

DEFAULT_MAX_LOST_FRACTION: Final = 0.5
DEFAULT_MIN_LOST: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class LossBounds:
    """Bounds of a loss that passes without an operator.

    Args:
        max_fraction: A greater share must be gone, 0 to 1.
        min_lost: And so many paths at least.
    """

    max_fraction: float = DEFAULT_MAX_LOST_FRACTION
    min_lost: int = DEFAULT_MIN_LOST

    def exceeded(self, held: int, left: int) -> bool:
        """Whether the loss is one that an operator is asked about.

        Args:
            held: Paths before.
            left: Paths now.
        """
        lost = held - left
        return lost >= self.min_lost and lost > self.max_fraction * held

    def __str__(self) -> str:
        return f"more than {self.max_fraction:.0%} of them, and {self.min_lost} or more"
