"""Metrics of the histories of load that this daemon records; all are 0 while it records none.

A cluster is no label: of several the oldest sample counts, and the sizes are added.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from syncer.metrics.family import Family, gauge

RECORDED: Final = gauge("load_history_recorded", "Clusters whose load is recorded here.")
SAMPLED: Final = gauge(
    "load_history_sampled_timestamp_seconds",
    "When the last sample of load was kept; of several clusters the longest ago.",
)
BYTES: Final = gauge("load_history_bytes", "What the histories of load take on the disk.")
TROUBLES: Final = gauge(
    "load_history_troubled", "Clusters whose load cannot be recorded now; the condition load-history-troubled says why."
)
MOVES: Final = gauge("move_predictions", "Moves of bundles of ours whose observed and predicted seconds are kept.")
RATIO: Final = gauge(
    "move_prediction_ratio",
    "Observed seconds of a move over the predicted ones, the median; of several clusters the worst; 0: unknown.",
)
FAMILIES: Final = (RECORDED, SAMPLED, BYTES, TROUBLES, MOVES, RATIO)


def samples(
    *, sampled_ms: list[int | None], sizes: list[int], troubled: int, moves: int, ratios: list[float]
) -> Iterator[tuple[Family, float]]:
    """What to set each gauge to.

    Args:
        sampled_ms: Of each history, when its last sample was kept; None: none yet.
        sizes: Of each history, in bytes.
        troubled: How many cannot be recorded.
        moves: Whose outcomes are kept.
        ratios: Of each cluster where it is known.
    """
    known = [each for each in sampled_ms if each is not None]
    yield RECORDED, len(sampled_ms)
    yield SAMPLED, min(known) / 1000 if len(known) == len(sampled_ms) and known else 0.0
    yield BYTES, sum(sizes)
    yield TROUBLES, troubled
    yield MOVES, moves
    yield RATIO, max(ratios, key=lambda each: max(each, 1 / each) if each else 0.0, default=0.0)
