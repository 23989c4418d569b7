"""Metrics of runs of moves, of the daemon that carries them, and of questions about clusters.

    runs in the sidecar database ─▶ report, moves that have ended ─▶ gauges, counters, seconds

Nothing is named in a label that a cluster decides: neither bundles, nor brokers, nor clusters.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from syncer.metrics.family import Family, Kind, counter, gauge

PHASES: Final = ("waiting", "pausing", "moving", "restoring")
OPEN_STANDINGS: Final = ("waiting", "asked", "missed-once")
OUTCOMES: Final = (
    "done", "already-there", "moved-by-others", "bundle-gone", "owned-by-nobody", "load-changed", "target-gone",
    "not-at-the-target", "not-made", "refused", "left", "not-begun",
)  # fmt: skip
QUESTIONS: Final = (
    "load", "doctor", "advice", "drain", "comparison", "plan",
    "ledgers-audit", "ledgers-explain", "ledgers-loss", "ledgers-decommission", "ledgers-under-replicated",
    "ledgers-orphans",
)  # fmt: skip
READY_BUCKETS_S: Final = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 30.0, 60.0)

PHASE: Final = gauge("move_run_phase", "Whether the open run of moves is in this phase (1).", "phase", PHASES)
BEGAN: Final = gauge("move_run_began_timestamp_seconds", "When the open run of moves was asked for; 0: none is open.")
TURNED: Final = gauge(
    "move_run_turned_timestamp_seconds",
    "When a bundle of the open run of moves was unloaded or its move has ended last; before the first, when it began.",
)
HOLDS: Final = gauge(
    "move_run_holds_settings", "Whether the open run of moves keeps Pulsar from moving and splitting bundles (1)."
)
FAILED: Final = gauge(
    "move_run_failed",
    "Whether the latest run of moves ends or has ended early, and not because an operator has asked for it (1).",
)
MOVES: Final = gauge(
    "move_run_moves", "Moves of the open run by how far each is; of those that are over see the counter.", "state",
    OPEN_STANDINGS,
)  # fmt: skip
ENDED: Final = counter("bundle_moves", "Moves of runs that have ended, by their outcome.", "result", OUTCOMES)
READY: Final = Family(
    name="syncer_bundle_move_ready_seconds",
    kind=Kind.HISTOGRAM,
    help="From the unload of a bundle until its new owner serves it, of moves of which both are known.",
    label="what",
    values=("predicted", "observed"),
    buckets=READY_BUCKETS_S,
)
ASKED: Final = counter("cluster_questions", "Questions about clusters that were asked over HTTP.", "what", QUESTIONS)

FAMILIES: Final = (PHASE, BEGAN, TURNED, HOLDS, FAILED, MOVES, ENDED, READY, ASKED)


def samples(report: Mapping[str, object]) -> Iterator[tuple[Family, float, str]]:
    """What to set each gauge to: metric, value, and label.

    Args:
        report: Of runs of moves; empty: none is open, or another daemon carries it.
    """
    for family, key in ((BEGAN, "began_ms"), (TURNED, "turned_ms")):
        yield family, _number(report.get(key)) / 1000, ""
    for family, key in ((HOLDS, "holds_settings"), (FAILED, "failed")):
        yield family, float(report.get(key) is True), ""
    yield from ((PHASE, float(each == report.get("phase")), each) for each in PHASES)
    counts = report.get("standings")
    counts = counts if isinstance(counts, Mapping) else {}
    yield from ((MOVES, _number(counts.get(each)), each) for each in OPEN_STANDINGS)


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
