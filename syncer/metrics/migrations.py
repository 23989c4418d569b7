"""Metrics of the migration that is open, of the daemon that carries it; all are 0 while none is.

    report of the service of migrations ─▶ samples ─▶ gauges

Nothing is named in a label that a cluster decides: neither topics, nor namespaces, nor clients.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from syncer.metrics.family import OTHER, Family, gauge

PHASES: Final = (
    "planned", "preflight", "prepared", "guarded", "canary", "wave", "draining", "verified", "soaking", "closed",
    "paused", "aborting", "rolled-back", "failed",
)  # fmt: skip
TOPIC_STATES: Final = (
    "open", "braked", "terminated", "draining", "drained", "redirected", "gone", "stranded", "fenced", "unknown",
)  # fmt: skip
STOPS: Final = (
    "asked", "blocked", "topics-not-loaded", "wave-not-moved", "gap-too-long", "replication-backlog",
    "topics-ill", "clients-missing", "last-position-moved", "drain-too-long", "broker-deadlocked", "not-all-moved",
    "green-incomplete", "green-not-read", "admin-error", "admin-unreachable", "admin-access-denied",
    "migration-claimed",
)  # fmt: skip

PHASE: Final = gauge("migration_phase", "Whether the open migration is in this phase (1).", "phase", PHASES)
BEGAN: Final = gauge("migration_phase_began_timestamp_seconds", "When the open migration came into its phase.")
TURNED: Final = gauge(
    "migration_turned_timestamp_seconds", "When the open migration has noted something last, or has seen that it waits."
)
STOPPED: Final = gauge(
    "migration_stopped", "Whether the open migration has stopped for this reason (1): an operator is asked.",
    "code", STOPS,
)  # fmt: skip
TROUBLED: Final = gauge("migration_troubled", "Whether the open migration is not carried on, and tried again (1).")
WAVES: Final = gauge("migration_waves", "Steps of the open migration that move clients, the canary among them.")
MOVED: Final = gauge("migration_waves_moved", "Those of them whose clients were moved.")
TOPICS: Final = gauge("migration_topics", "Topics of marked namespaces by how far each is.", "state", TOPIC_STATES)
MISSING: Final = gauge("migration_missing_clients", "Clients of waves that were moved who have not come to green.")
GAP: Final = gauge(
    "migration_longest_gap_seconds", "For how long a producer of a wave so far was to be without an answer at most."
)
LEFT: Final = gauge("migration_drain_entries", "Entries that marked namespaces have yet to be read of at blue.")
HELD_UP: Final = gauge("migration_drain_held_up", "Subscriptions at blue that do not become empty by themselves.")

FAMILIES: Final = (PHASE, BEGAN, TURNED, STOPPED, TROUBLED, WAVES, MOVED, TOPICS, MISSING, GAP, LEFT, HELD_UP)
_PLAIN: Final = (
    (WAVES, "waves"), (MOVED, "moved"), (MISSING, "missing"), (GAP, "longest_gap_s"), (LEFT, "entries_left"),
    (HELD_UP, "held_up"),
)  # fmt: skip


def samples(report: Mapping[str, object] | None) -> Iterator[tuple[Family, float, str]]:
    """What to set each gauge to: metric, value, and label.

    Args:
        report: Of the service of migrations; ``None``: no migration is open, or another daemon carries it.
    """
    found = report or {}
    for family, key in _PLAIN:
        yield family, _number(found.get(key)), ""
    for family, key in ((BEGAN, "since_ms"), (TURNED, "turned_at_ms")):
        yield family, _number(found.get(key)) / 1000, ""
    yield TROUBLED, float(found.get("trouble") is not None), ""
    stop, topics = found.get("stop"), found.get("topics")
    yield from ((PHASE, float(each == found.get("phase")), each) for each in PHASES)
    yield from ((STOPPED, float(each == stop), each) for each in STOPS)
    yield STOPPED, float(stop is not None and stop not in STOPS), OTHER
    counts = topics if isinstance(topics, Mapping) else {}
    yield from ((TOPICS, _number(counts.get(each)), each) for each in TOPIC_STATES)


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
