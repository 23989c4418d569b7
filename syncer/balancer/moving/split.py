"""A split of a run: a bundle that is cut in two where the plan says, so that one half can go, and how far that is.

Both halves stay with their broker, which cuts no client off (``unload=false``); only the half that moves is unloaded
afterwards. A bundle that is cut twice is two splits, the second one of a half: the extensible manager takes one
position at a time, and refuses more (Pulsar issue 22254).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from syncer.balancer.ranges import boundary_text, namespace_of_bundle, range_of_bundle, range_text
from syncer.errors import BoundariesInvalid, PlanInvalid
from syncer.model import Millis

AGAIN: Final = "Make the plan again with 'syncer balancer advise', look at it, and apply that one."


class SplitStanding(StrEnum):
    """How far a split is, or how it ended."""

    WAITING = "waiting"
    ASKED = "asked"
    """It is announced: it was asked for, or is about to be."""
    DONE = "done"
    """The namespace is cut there."""
    ALREADY = "already-split"
    """It was cut there before anything was asked."""
    OTHERWISE = "split-otherwise"
    """The bundle is no more, and its range is not cut as the plan has it."""
    NOT_MADE = "not-made"
    """The bundle is a half of another split, which did not come about."""
    FOREIGN = "moved-by-others"
    """Another broker than the plan's owned it."""
    FREE = "owned-by-nobody"
    CHANGED = "load-changed"
    """Its load is far from that of the plan."""
    FULL = "namespace-full"
    """The namespace has as many bundles as ``loadBalancerNamespaceMaximumBundles`` allows."""
    REFUSED = "refused"
    """The cluster refused it."""
    MISSED = "not-split"
    """It was asked for, and the bundle is still whole; it is not asked for again."""
    LEFT = "left"
    """The run was stopped before it was known what came of it."""
    NOT_BEGUN = "not-begun"
    """The run was stopped before."""


OPEN_SPLITS: Final = frozenset({SplitStanding.WAITING, SplitStanding.ASKED})
MADE: Final = frozenset({SplitStanding.DONE, SplitStanding.ALREADY})
"""Standings with which the halves are there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedSplit:
    """One split.

    Attributes:
        bundle: Its full name, ``tenant/namespace/0x00000000_0x40000000``.
        source: Its owner when the plan was made; the halves stay there.
        position: Where it is cut; the upper half begins with it.
        throughput: Bytes a second in and out when the plan was made; ``None``: unknown.
        reason: Why it is split, for people.

    Raises:
        PlanInvalid: No bundle is named so, the position is not inside it, or a figure cannot be true.
    """

    bundle: str
    source: str
    position: int
    throughput: float | None
    reason: str = ""

    def __post_init__(self) -> None:
        low, high = range_of_planned(self.bundle)
        if not low < self.position < high:
            raise PlanInvalid(f"{self.bundle} cannot be cut at {boundary_text(self.position)}", hint=AGAIN)
        if not self.source:
            raise PlanInvalid(f"{self.bundle} would be split by no broker", hint=AGAIN)
        if self.throughput is not None and not (math.isfinite(self.throughput) and self.throughput >= 0):
            raise PlanInvalid(f"{self.bundle} has a figure that is below zero, or no number", hint=AGAIN)

    @property
    def halves(self) -> tuple[str, str]:
        """Full names of both halves."""
        low, high = range_of_bundle(self.bundle)
        namespace = namespace_of_bundle(self.bundle)
        lower, upper = range_text(low, self.position), range_text(self.position, high)
        return f"{namespace}/{lower}", f"{namespace}/{upper}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitProgress:
    """How far one split is.

    Attributes:
        asked_ms: When it was announced; ``None``: it was not.
        ended_ms: When it was seen that it had ended.
        words: What the cluster said, where it refused.
    """

    standing: SplitStanding = SplitStanding.WAITING
    asked_ms: Millis | None = None
    ended_ms: Millis | None = None
    words: str = ""


def split_progress_from(document: Mapping[str, Any]) -> SplitProgress:
    """The progress that a document was made of."""
    return SplitProgress(**{**document, "standing": SplitStanding(document["standing"])})


def range_of_planned(bundle: str) -> tuple[int, int]:
    """Read the range of a bundle that a plan names.

    Raises:
        PlanInvalid: No bundle of a namespace is named so.
    """
    try:
        low, high = range_of_bundle(bundle)
    except BoundariesInvalid as exc:
        raise PlanInvalid(exc.message, hint=AGAIN) from exc
    if low >= high or not namespace_of_bundle(bundle):
        raise PlanInvalid(f"{bundle!r} is no bundle of a namespace", hint=AGAIN)
    return low, high
