"""The verdict on one path of any number of regions: what is found, who wins, who has to change.

Pure Python, without Spark. :mod:`spark_snapshot.diff.regions` says the same of millions of paths; this is its referee.

A region's state at a path is *absent* (no row), *dead* (a tombstone) or *alive* (a digest). The winner is the row with
the greatest stamp, by the order that the daemons decide by (:func:`syncer.conflict.causality.order.later`). Where one
stamp stands with two contents, which no sound history makes, a value wins over a delete and then the larger digest.

Where regions have different scopes, only those that carry the path are judged. What a region holds that it may not
publish wins over nothing that may leave its region; and who may not apply anything has nothing to change.

A row without a digest and without an author carries nothing but a hold: the region never had the path.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cmp_to_key
from typing import TYPE_CHECKING, Any

from spark_snapshot.format.words import PathClass, StampOrigin, WinReason
from syncer.conflict.causality.order import later
from syncer.model import Millis, Region, Stamp, TieOrder

if TYPE_CHECKING:
    from syncer.conflict.settings import Direction


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionRow:
    """A region's row at a path. ``digest is None``: a tombstone. ``hold``: why a change waits there for an operator."""

    digest: bytes | None
    stamp: Stamp
    origin: StampOrigin = StampOrigin.REGISTER
    hold: str | None = None

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> RegionRow:
        """The same of a row as Spark hands it to a worker, by the names of columns."""
        return cls(
            digest=row["digest"],
            stamp=Stamp(Millis(row["updated_ms"]), Region(row["author"])),
            origin=StampOrigin(row["origin"]),
            hold=row["hold"],
        )

    @property
    def alive(self) -> bool:
        """Whether the region holds a value."""
        return self.digest is not None

    @property
    def bare(self) -> bool:
        """Whether the region never had the path; the row is there for its hold."""
        return self.digest is None and not self.stamp.region


@dataclass(frozen=True, slots=True, kw_only=True)
class PathVerdict:
    """What is to be said of a path.

    Args:
        finding: What the path is.
        underlying: What it would be without the hold; ``None`` unless it is held.
        winner: A region that holds the winning version: one whose daemon has stamped it before one whose daemon has
            not, then the one with the smallest name.
        version: Its row.
        reason: Why it wins.
        losers: Regions that have to change, in the order of their names.
        holds: Why the path is held, by region.
    """

    finding: PathClass
    underlying: PathClass | None
    winner: Region
    version: RegionRow
    reason: WinReason
    losers: tuple[Region, ...]
    holds: Mapping[Region, str]


def judge(
    states: Mapping[Region, RegionRow | None], ties: TieOrder, ways: Mapping[Region, Direction] | None = None
) -> PathVerdict | None:
    """Judge one path.

    Args:
        states: Every region that is compared; ``None`` where it has no row.
        ties: Who wins when two stamps have the same time.
        ways: The regions that share the path, and which way it flows there; ``None``: all do, both ways.

    Returns:
        The verdict, or ``None`` when no region has ever had the path.
    """
    if ways is not None:
        states = {region: states[region] for region in ways}
    known = {region: state for region, state in states.items() if state is not None and not state.bare}
    if not known:
        return None
    telling = known if ways is None else _telling(known, ways)
    winner = _winner(telling, ties)
    best = known[winner]
    if best.alive:
        others = [region for region, state in states.items() if state is None or state.digest != best.digest]
    else:
        others = [region for region, state in known.items() if state.alive]
    unlike = {region: state for region, state in known.items() if state.digest != best.digest}
    losers = [region for region in others if ways is None or ways[region].applies]
    holds = {region: state.hold for region, state in states.items() if state is not None and state.hold is not None}
    if not others:
        finding = PathClass.SAME
    elif not best.alive:
        finding = PathClass.DELETED
    elif not unlike:
        finding = PathClass.ONLY_IN
    else:
        finding = PathClass.DIFFERS
    held = any(region in holds for region in losers)
    return PathVerdict(
        finding=PathClass.HELD if held else finding,
        underlying=finding if held else None,
        winner=winner,
        version=best,
        reason=_reason(best, unlike, telling, ties),
        losers=tuple(sorted(losers)),
        holds=dict(sorted(holds.items())),
    )


def _telling(known: Mapping[Region, RegionRow], ways: Mapping[Region, Direction]) -> Mapping[Region, RegionRow]:
    """What can spread: what a daemon has stamped or folded, and what a region publishes; all, where nothing can."""
    return {
        region: state
        for region, state in known.items()
        if state.origin is StampOrigin.REGISTER or ways[region].publishes
    } or known


def _winner(known: Mapping[Region, RegionRow], ties: TieOrder) -> Region:
    def compare(left: RegionRow, right: RegionRow) -> int:
        if left.stamp != right.stamp:
            return 1 if later(left.stamp, right.stamp, ties) else -1
        ours, theirs = (left.digest is not None, left.digest or b""), (right.digest is not None, right.digest or b"")
        return (ours > theirs) - (ours < theirs)

    greatest = max(known.values(), key=cmp_to_key(compare))
    return min(
        (region for region, state in known.items() if compare(state, greatest) == 0),
        key=lambda region: (known[region].origin is not StampOrigin.REGISTER, region),
    )


def _reason(
    best: RegionRow, unlike: Mapping[Region, RegionRow], telling: Mapping[Region, RegionRow], ties: TieOrder
) -> WinReason:
    others = [state for region, state in unlike.items() if region in telling]
    if not others:
        return WinReason.NOT_PUBLISHED if unlike else WinReason.ONLY

    def compare(left: Stamp, right: Stamp) -> int:
        return later(left, right, ties) - later(right, left, ties)

    rival = max((state.stamp for state in others), key=cmp_to_key(compare))
    if rival.updated_at_ms != best.stamp.updated_at_ms:
        return WinReason.NEWER
    return WinReason.REGION_ORDER if rival != best.stamp else WinReason.SAME_STAMP
