"""Replicas left of the entries of a segment, by the residue of their ids: one step for each, none for each entry."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from syncer.ledgers.metadata import NO_ENTRY, LedgerMetadata, Segment
from syncer.ledgers.placement.write_sets import entries_alike, lost_of_write_sets


class SegmentExtent(NamedTuple):
    """A segment with the last entry that is certain of it; it is empty where that lies before the first."""

    segment: Segment
    last_entry: int


def extents(ledger: LedgerMetadata, confirmed: int | None = None) -> Iterator[SegmentExtent]:
    """Yield the segments of a ledger, each with its last entry that is certain.

    A closed ledger ends at its last entry. Of an unclosed one all segments but the last are complete; of the last one
    nothing is certain but what somebody has seen confirmed.

    Args:
        ledger: The ledger.
        confirmed: The last entry of an unclosed one that is known to be confirmed.
    """
    segments = ledger.segments
    end = ledger.last_entry
    for number, segment in enumerate(segments, 1):
        if number < len(segments):
            last = segments[number].first_entry - 1
            yield SegmentExtent(segment, last if end is None else min(last, end))
        elif end is not None:
            yield SegmentExtent(segment, end)
        else:
            yield SegmentExtent(segment, NO_ENTRY if confirmed is None else confirmed)


def lost_indexes(segment: Segment, lost: AbstractSet[str]) -> frozenset[int]:
    """The indexes of a segment's bookies that are lost.

    Args:
        segment: The segment.
        lost: Lost bookies.
    """
    return frozenset(index for index, bookie in enumerate(segment.bookies) if bookie in lost)


def replicas_left(extent: SegmentExtent, write: int, lost: AbstractSet[str]) -> list[int]:
    """Count the entries of a segment by how many of their replicas are left: from none to all.

    Args:
        extent: The segment.
        write: The write quorum, not below 0.
        lost: Lost bookies.
    """
    (first, bookies), last = extent
    counts = [0] * (write + 1)
    if last < first:
        return counts
    if lost.isdisjoint(bookies):
        counts[-1] = last - first + 1
        return counts
    ensemble = len(bookies)
    gone = lost_of_write_sets(lost_indexes(extent.segment, lost), ensemble, write)
    for residue, number in enumerate(gone):
        counts[-1 - number] += entries_alike(residue, first, last, ensemble)
    return counts


def lost_runs(extent: SegmentExtent, write: int, lost: AbstractSet[str]) -> Iterator[tuple[int, int]]:
    """Yield the ranges of a segment's entries of which no replica is left, ascending.

    There may be as many as entries; a caller takes as many as it shows.

    Args:
        extent: The segment.
        write: The write quorum, not below 0.
        lost: Lost bookies.
    """
    (first, bookies), last = extent
    if last < first or (write > 0 and lost.isdisjoint(bookies)):
        return
    ensemble = len(bookies)
    gone = lost_of_write_sets(lost_indexes(extent.segment, lost), ensemble, write)
    dead = [number >= write for number in gone]
    if all(dead):
        yield first, last
        return
    if not any(dead):
        return
    entry = first
    while entry <= last:
        if not dead[entry % ensemble]:
            entry += 1
            continue
        start = entry
        while entry <= last and dead[entry % ensemble]:
            entry += 1
        yield start, entry - 1
