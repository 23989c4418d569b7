"""Settings of one region's replica: identity, order, limits, scope. Values only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from syncer.conflict.changeover import NEWEST, ProjectionsInUse
from syncer.conflict.deletes.collected import CollectedTopics
from syncer.conflict.fields.brokers import Brokers
from syncer.model import Counter, MetaPath, Millis, Region, TieOrder, counter_of

DEFAULT_CLOCK_SKEW_MS: Final = Millis(30_000)
DEFAULT_PARK_GRACE_MS: Final = Millis(5 * 60_000)
DEFAULT_DELETE_WINDOW_MS: Final = Millis(60_000)
DEFAULT_FLIP_WINDOW_MS: Final = Millis(10 * 60_000)
NOTHING: Final = frozenset[str]()
"""No field."""


def nothing_excluded(path: MetaPath) -> frozenset[str]:
    """Exclude no field of any path."""
    del path
    return NOTHING


class Direction(StrEnum):
    """Which way a path flows between the store and the group."""

    BOTH = "both"
    PUBLISH = "publish"
    APPLY = "apply"
    IGNORE = "ignore"

    @property
    def publishes(self) -> bool:
        """Whether local changes leave the region."""
        return self in {Direction.BOTH, Direction.PUBLISH}

    @property
    def applies(self) -> bool:
        """Whether remote changes are written to the store."""
        return self in {Direction.BOTH, Direction.APPLY}


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds of the guards.

    Units: ``*_ms`` milliseconds; ``max_delete_fraction`` a share of the alive paths in scope, 0 to 1. The fraction
    counts from ``min_deletes`` deletes on, so that a small store can lose a few paths without an operator.
    """

    max_clock_skew_ms: Millis = DEFAULT_CLOCK_SKEW_MS
    park_grace_ms: Millis = DEFAULT_PARK_GRACE_MS
    max_deletes: int = 100
    max_delete_fraction: float = 0.10
    min_deletes: int = 10
    delete_window_ms: Millis = DEFAULT_DELETE_WINDOW_MS
    max_flips: int = 5
    flip_window_ms: Millis = DEFAULT_FLIP_WINDOW_MS


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Who this replica is and by which rules it decides.

    Args:
        region: Its id, unique in the whole system.
        generation: Of the sidecar database; no other one of the region has it.
        clusters: Names of the Pulsar clusters that the region's store serves.
        bus_paths: Paths of the bus's own tenant, namespace and topic.
        brokers: What the region's brokers know; ``None``: nobody drops fields here, so whatever lacks was removed.
        projections: By which digests are made.
        collected_topics: What becomes of deletes that a broker may have made; ``None``: no broker can be asked.
        excluded: Fields that are this region's own at a path; see :mod:`syncer.conflict.exclusion.rules`.
    """

    region: Region
    generation: int = 1
    clusters: frozenset[str] = frozenset()
    ties: TieOrder = TieOrder.SMALLER_REGION
    limits: Limits = field(default_factory=Limits)
    bus_paths: frozenset[MetaPath] = frozenset()
    brokers: Brokers | None = None
    collected_topics: CollectedTopics | None = None
    projections: ProjectionsInUse = NEWEST
    excluded: Callable[[MetaPath], frozenset[str]] = nothing_excluded

    @property
    def by(self) -> Counter:
        """The counter that this database's changes are counted by."""
        return counter_of(self.region, self.generation)
