"""Fragments that BookKeeper's own checker would find damaged: what its workers copy.

A fragment is a segment with the indexes of its bad bookies: those that are away, though they hold no entry of it, and
those that lack the first or the last of their entries.

Source: LedgerChecker, LedgerFragment, BookKeeper 4.17.2, with a verification of 0 percent, its default.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from syncer.ledgers.metadata import LedgerMetadata, Segment
from syncer.ledgers.placement.write_sets import first_stored, last_stored, write_set


class DamagedFragment(NamedTuple):
    """A segment to be copied; ``first_stored`` and ``last_stored`` are None where bad bookies hold none of it."""

    first_entry: int
    last_entry: int
    first_stored: int | None
    last_stored: int | None
    closed: bool
    bookies: tuple[tuple[int, str], ...]


def damaged_fragments(
    ledger: LedgerMetadata, lost: AbstractSet[str], confirmed: int, written: int
) -> Iterator[DamagedFragment]:
    """Yield what the checker would find, in the order of the segments.

    Args:
        ledger: The ledger.
        lost: Bookies that are away; all others hold all that they should up to the last entry that was written.
        confirmed: The last entry that the checker knows to be confirmed; a closed ledger's last one.
        written: The last entry that was written, confirmed or not.
    """
    segments = ledger.segments
    for number, segment in enumerate(segments, 1):
        if number < len(segments):
            last = segments[number].first_entry - 1
        else:
            last = confirmed if ledger.is_closed else max(confirmed, segment.first_entry)
            if last == segment.first_entry and not _may_exist(ledger, segment, lost, written):
                return
        fragment = _fragment(ledger, segment, last, lost, confirmed, written)
        if fragment.bookies:
            yield fragment


def _may_exist(ledger: LedgerMetadata, segment: Segment, lost: AbstractSet[str], written: int) -> bool:
    """Whether somebody of its write set does not say that the first entry of the last segment is not there."""
    first = segment.first_entry
    if first <= written:
        return ledger.quorums.write > 0
    return any(
        segment.bookies[index] in lost for index in write_set(first, ledger.quorums.ensemble, ledger.quorums.write)
    )


def _fragment(
    ledger: LedgerMetadata, segment: Segment, last: int, lost: AbstractSet[str], confirmed: int, written: int
) -> DamagedFragment:
    (ensemble, write, _), first = ledger.quorums, segment.first_entry
    bad, firsts, lasts = [], [], []
    for index, bookie in enumerate(segment.bookies):
        stored = first_stored(index, first, last, ensemble, write)
        ends = last_stored(index, first, last, ensemble, write)
        if bookie in lost or (ends is not None and ends > written):
            bad.append((index, bookie))
            if stored is not None and ends is not None:
                firsts.append(stored)
                lasts.append(ends)
    newest = ledger.segments[-1]
    closed = ledger.is_closed or (segment.bookies != newest.bookies and confirmed >= newest.first_entry - 1)
    return DamagedFragment(first, last, min(firsts, default=None), max(lasts, default=None), closed, tuple(bad))
