"""What a bench says: a table, and a line per bar, ``NAME: ratio R (bar B)``; whether all bars hold."""

from __future__ import annotations

import json
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import quantiles


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A ratio against the peer, measured in the same run.

    ``at_least``: the ratio must not be below the bar; otherwise it must not be above.
    """

    name: str
    ratio: float
    bar: float
    at_least: bool = True

    @property
    def holds(self) -> bool:
        """Whether the measured ratio is on the right side."""
        return self.ratio >= self.bar if self.at_least else self.ratio <= self.bar

    def __str__(self) -> str:
        side = "at least" if self.at_least else "at most"
        return f"{self.name}, {side}: ratio {self.ratio:.2f} (bar {self.bar:g})"


@dataclass(slots=True)
class Result:
    """Figures of one run."""

    name: str
    rows: list[tuple[str, ...]] = field(default_factory=list)
    bars: list[Bar] = field(default_factory=list)
    figures: dict[str, object] = field(default_factory=dict)

    def show(self, columns: Sequence[str], out: Path) -> bool:
        """Print the table and the bars, keep all of it as JSON; whether every bar holds."""
        widths = [max(len(row[at]) for row in [tuple(columns), *self.rows]) for at in range(len(columns))]
        for row in [tuple(columns), *self.rows]:
            print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
        print()
        for bar in self.bars:
            print(f"{bar}{'' if bar.holds else '   MISSED'}")
        out.mkdir(parents=True, exist_ok=True)
        document = {
            "name": self.name,
            "machine": {"python": platform.python_version(), "system": platform.system()},
            "figures": self.figures,
            "bars": [asdict(bar) | {"holds": bar.holds} for bar in self.bars],
        }
        (out / f"{self.name}.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
        return all(bar.holds for bar in self.bars)


def percentiles_ms(latencies_s: Sequence[float]) -> tuple[float, float]:
    """Median and 99th percentile, in milliseconds."""
    cuts = quantiles(latencies_s, n=100, method="inclusive")
    return cuts[49] * 1000, cuts[98] * 1000
