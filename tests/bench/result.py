"""What a bench says: a table of figures, and a table of bars with peer, ratio, bar and verdict; whether all bars hold.

A bar is a ratio to a peer of the same run, never a speed: it holds on a machine half as fast, and on a busy one.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median, quantiles

VERDICTS = ("ratio of", "to the peer of the same run", "ratio", "bar", "verdict")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A ratio to a peer, measured in the same run.

    Args:
        name: What is measured.
        peer: What it is divided by.
        ratio: What came out.
        bar: What it is held against.
        at_least: The ratio must not be below the bar; otherwise it must not be above.
        aim: A harder bar that is wished for; missing it fails nothing.
    """

    name: str
    peer: str
    ratio: float
    bar: float
    at_least: bool = True
    aim: float | None = None

    @property
    def holds(self) -> bool:
        """Whether the measured ratio is on the right side."""
        return self._reaches(self.bar)

    @property
    def verdict(self) -> str:
        """``holds`` or ``MISSED``; beside it what became of the aim."""
        said = "holds" if self.holds else "MISSED"
        if self.aim is None:
            return said
        return f"{said}; aim {self.aim:g} {'reached' if self._reaches(self.aim) else 'not reached'}"

    def row(self) -> tuple[str, ...]:
        """Its line of the table."""
        side = "at least" if self.at_least else "at most"
        return self.name, self.peer, f"{self.ratio:.2f}", f"{side} {self.bar:g}", self.verdict

    def _reaches(self, mark: float) -> bool:
        return self.ratio >= mark if self.at_least else self.ratio <= mark


@dataclass(slots=True)
class Result:
    """Figures of one run."""

    name: str
    rows: list[tuple[str, ...]] = field(default_factory=list)
    bars: list[Bar] = field(default_factory=list)
    figures: dict[str, object] = field(default_factory=dict)

    def show(self, columns: Sequence[str], out: Path) -> bool:
        """Print both tables, keep all of it as JSON; whether every bar holds."""
        _print([tuple(columns), *self.rows])
        print()
        _print([VERDICTS, *(bar.row() for bar in self.bars)])
        out.mkdir(parents=True, exist_ok=True)
        document = {
            "name": self.name,
            "machine": {"python": platform.python_version(), "system": platform.system()},
            "figures": self.figures,
            "bars": [asdict(bar) | {"holds": bar.holds} for bar in self.bars],
        }
        (out / f"{self.name}.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
        return all(bar.holds for bar in self.bars)


def _print(rows: Sequence[tuple[str, ...]]) -> None:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def ratio_in_turns(ours: Sequence[float], peers: Sequence[float]) -> float:
    """Median of the rounds' ratios: what slows a whole round slows both sides of it, and counts for nothing."""
    return median(mine / theirs for mine, theirs in zip(ours, peers, strict=True))


def percentiles_ms(latencies_s: Sequence[float]) -> tuple[float, float]:
    """Median and 99th percentile, in milliseconds."""
    cuts = quantiles(latencies_s, n=100, method="inclusive")
    return cuts[49] * 1000, cuts[98] * 1000
