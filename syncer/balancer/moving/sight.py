"""The cluster as a run of moves has just seen it."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from syncer.model import Millis


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleSight:
    """A bundle as it was just seen.

    Attributes:
        exists: Whether its namespace is still cut so.
        owner: ``None``: no broker says that it owns it.
        throughput: Bytes a second in and out; ``None``: unknown.
    """

    exists: bool
    owner: str | None = None
    throughput: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSight:
    """The cluster as it was just seen.

    Attributes:
        at_ms: When the look began.
        dynamic: Settings that were set for all brokers at run time.
        brokers: Those that are active; of those that were asked only the ones that are started.
        bundles: Those that were looked at.
        boundaries: Of each namespace of these, where it is cut; none when it does not exist.
        claim: Name of the run that has claimed the cluster's balancing; empty: none has. ``None``: none can, as the
            cluster has no place for it.
        most_bundles: As many may a namespace have; ``None``: it was not looked at.
    """

    at_ms: Millis
    dynamic: Mapping[str, str]
    brokers: AbstractSet[str] = frozenset()
    bundles: Mapping[str, BundleSight] = field(default_factory=dict)
    boundaries: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    claim: str | None = None
    most_bundles: int | None = None
