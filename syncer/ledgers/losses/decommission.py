"""Decommission: what must move when bookies are stopped for good, and what would block that for ever.

BookKeeper moves nothing before the bookie is down, and then waits until no segment names it. So it is said beforehand:
a ledger of which nothing is left to copy from, that nobody can recover, or for which no bookie is free, is never done.

More is copied than was on the bookie where an ensemble is larger than its write quorum: all entries of a segment from
the first to the last one that the bookie holds, whoever holds those between.

Source: BookieShell decommissionbookie, ReplicationWorker, LedgerFragmentReplicator, BookKeeper 4.17.2; BookKeeper issue
4872.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from syncer.ledgers.judging.ledger import is_recoverable
from syncer.ledgers.judging.replicas import SegmentExtent, extents, lost_indexes, replicas_left
from syncer.ledgers.metadata import LedgerMetadata, Segment
from syncer.ledgers.placement.adherence import RackPolicy
from syncer.ledgers.placement.racks import DEFAULT_RACK, RackMap
from syncer.ledgers.placement.write_sets import first_stored, last_stored

BLOCKED_SHOWN: Final = 1_000
"""Blocked ledgers that are kept by id; all are counted."""


class BlockedBy(StrEnum):
    """Why a ledger can never leave a bookie that is stopped."""

    NOTHING_TO_COPY_FROM = "nothing-to-copy-from"
    NOT_RECOVERABLE = "not-recoverable"
    NO_FREE_BOOKIE = "no-free-bookie"
    NO_FREE_RACK = "no-free-rack"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterBookies:
    """The bookies of a cluster: who can be read, who takes entries, and how they are to be spread."""

    readable: AbstractSet[str]
    writable: AbstractSet[str]
    racks: RackMap = field(default_factory=RackMap)
    policy: RackPolicy = field(default_factory=RackPolicy)


@dataclass(slots=True)
class DecommissionPlan:
    """What the end of some bookies moves: ledgers that name them, entries and bytes that are copied, what is blocked.

    ``unknown_bytes`` counts ledgers whose length is not known yet; their entries are counted as far as they are
    certain. ``blocked`` is by reason, ``examples`` names some of these ledgers.
    """

    bookies: tuple[str, ...]
    ledgers: int = 0
    entries: int = 0
    bytes: int = 0
    unknown_bytes: int = 0
    blocked: Counter[BlockedBy] = field(default_factory=Counter)
    examples: list[tuple[int, BlockedBy]] = field(default_factory=list)

    def seconds(self, bytes_per_s: float) -> float:
        """How long the copying takes at least.

        Args:
            bytes_per_s: Rate of all workers together, above 0.
        """
        return self.bytes / bytes_per_s

    @property
    def ends(self) -> bool:
        """Nothing blocks it."""
        return not self.blocked

    def block(self, ledger_id: int, reason: BlockedBy) -> None:
        """Count a ledger that is never done.

        Args:
            ledger_id: Its id.
            reason: Why.
        """
        self.blocked[reason] += 1
        if len(self.examples) < BLOCKED_SHOWN:
            self.examples.append((ledger_id, reason))


def decommission(
    ledgers: Iterable[LedgerMetadata],
    leaving: Sequence[str],
    cluster: ClusterBookies,
    gone_before: AbstractSet[str] = frozenset(),
) -> DecommissionPlan:
    """Tell what it moves to stop bookies, all at once.

    Args:
        ledgers: Of the cluster.
        leaving: Bookies that are stopped.
        cluster: All of its bookies, those that are leaving among them.
        gone_before: Bookies that were emptied before: nothing moves to them, nothing is on them.
    """
    plan = DecommissionPlan(tuple(leaving))
    stopped = frozenset(leaving)
    move = _Move(stopped, gone_before, cluster.writable - stopped - gone_before, cluster)
    for ledger in ledgers:
        touched = [extent for extent in extents(ledger) if not stopped.isdisjoint(extent.segment.bookies)]
        if touched:
            _take(plan, ledger, touched, move)
    return plan


def decommission_in_turn(
    ledgers: Sequence[LedgerMetadata], leaving: Sequence[str], cluster: ClusterBookies
) -> list[DecommissionPlan]:
    """Find the order in which to stop bookies one after the other, each emptied before the next one is stopped.

    What blocks least comes first, and of these what moves least: so most is done before anything blocks.

    Args:
        ledgers: Of the cluster.
        leaving: Bookies that are stopped.
        cluster: All of its bookies.
    """
    alone = {bookie: decommission(ledgers, [bookie], cluster) for bookie in dict.fromkeys(leaving)}
    order = sorted(alone, key=lambda bookie: (alone[bookie].blocked.total(), alone[bookie].bytes, bookie))
    return [decommission(ledgers, [bookie], cluster, frozenset(order[:number])) for number, bookie in enumerate(order)]


@dataclass(frozen=True, slots=True)
class _Move:
    """Bookies that are stopped, that were emptied before, and that may take what moves."""

    stopped: AbstractSet[str]
    gone_before: AbstractSet[str]
    free: AbstractSet[str]
    cluster: ClusterBookies


def _take(plan: DecommissionPlan, ledger: LedgerMetadata, touched: Sequence[SegmentExtent], move: _Move) -> None:
    """Count a ledger that names a bookie which is stopped."""
    ensemble, write = ledger.quorums.ensemble, max(ledger.quorums.write, 0)
    plan.ledgers += 1
    moved = 0
    for (first, bookies), last in touched:
        indexes = [index for index, bookie in enumerate(bookies) if bookie in move.stopped]
        moved += len(indexes) * _stretch(indexes, first, last, ensemble, write)
    plan.entries += moved
    if ledger.length_bytes is None or ledger.last_entry is None:
        plan.unknown_bytes += 1
    else:
        entries = ledger.last_entry - ledger.segments[0].first_entry + 1
        plan.bytes += ledger.length_bytes * moved // entries if entries > 0 else 0
    reason = _blocking(ledger, touched, move)
    if reason is not None:
        plan.block(ledger.ledger_id, reason)


def _stretch(indexes: Sequence[int], first: int, last: int, ensemble: int, write: int) -> int:
    """Count the entries from the first to the last one that any of these indexes holds: all are copied for each."""
    firsts = (first_stored(index, first, last, ensemble, write) for index in indexes)
    lasts = (last_stored(index, first, last, ensemble, write) for index in indexes)
    start = min((entry for entry in firsts if entry is not None), default=None)
    end = max((entry for entry in lasts if entry is not None), default=None)
    return 0 if start is None or end is None else end - start + 1


def _blocking(ledger: LedgerMetadata, touched: Sequence[SegmentExtent], move: _Move) -> BlockedBy | None:
    """The reason that keeps a ledger on a bookie for ever, if there is one."""
    named = ledger.bookies()
    lost = (named - move.cluster.readable) | (named & move.stopped)
    write = max(ledger.quorums.write, 0)
    if any(replicas_left(extent, write, lost)[0] for extent in touched):
        return BlockedBy.NOTHING_TO_COPY_FROM
    if not ledger.is_closed and not is_recoverable(ledger, lost):
        return BlockedBy.NOT_RECOVERABLE
    for extent in touched:
        segment = extent.segment
        # what was on a bookie that was emptied lies on one of the free ones now
        if len(move.free - set(segment.bookies)) < len(lost_indexes(segment, lost | move.gone_before)):
            return BlockedBy.NO_FREE_BOOKIE
        if move.cluster.policy.enforced and not _racks_suffice(segment, write, lost | move.gone_before, move):
            return BlockedBy.NO_FREE_RACK
    return None


def _racks_suffice(segment: Segment, write: int, lost: AbstractSet[str], move: _Move) -> bool:
    """Whether the bookies that stay and those that are free are in as many racks as a write quorum needs."""
    left = (move.free | set(segment.bookies)) - lost
    racks = {move.cluster.racks.rack(bookie) for bookie in left} - {DEFAULT_RACK}
    return len(racks) >= min(write, move.cluster.policy.min_racks)
