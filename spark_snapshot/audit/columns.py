"""A batch of ledgers by column: its ledgers, their segments, and the bookies of these, as arrays of numbers.

Arrow keeps a list of lists as three arrays: all bookies, where each segment's begin, where each ledger's segments do.
Numpy works on them where they lie.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Self, TypeAlias

import numpy as np
import pyarrow as pa

from syncer.ledgers.metadata import NO_ENTRY

Numbers: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]
Flags: TypeAlias = np.ndarray[Any, np.dtype[np.bool_]]

MOST: Final = 2**63 - 1
"""The greatest number of a column."""
FAR: Final = 1 << 60
"""Entries within it: the sums of a ledger stay within 64 bits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentColumns:
    """All segments of a batch, in the order of its ledgers.

    Args:
        ledger: The number of its ledger in the batch.
        first: Its first entry.
        last: The last entry that is certain of it; before the first, there is none.
        start: Where its bookies begin among all; one more than there are segments.
    """

    ledger: Numbers
    first: Numbers
    last: Numbers
    start: Numbers

    @property
    def size(self) -> Numbers:
        """The bookies of each."""
        return np.diff(self.start)

    def entries_alike(self, chosen: Numbers, ensemble: int) -> Numbers:
        """For some segments the entries of each residue, as in :mod:`syncer.ledgers.placement.write_sets`.

        Args:
            chosen: The segments, all of one ensemble's size.
            ensemble: The size.
        """
        first, last = self.first[chosen][:, None], self.last[chosen][:, None]
        residues = np.arange(ensemble)
        found = (last - residues) // ensemble - (first - 1 - residues) // ensemble
        return np.asarray(np.where(last < first, 0, found))


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerColumns:
    """Ledgers of a batch.

    Args:
        ensemble: Bookies of a segment.
        write: The write quorum; none is below 0.
        ack: The ack quorum.
        closed: No entry can be added any more.
        start: Where its segments begin among all; one more than there are ledgers.
        segments: All of them.
        bookies: All that segments name; a number each, by ``names``.
        names: The bookies.
    """

    ensemble: Numbers
    write: Numbers
    ack: Numbers
    closed: Flags
    start: Numbers
    segments: SegmentColumns
    bookies: Numbers
    names: tuple[str, ...]

    @classmethod
    def of(cls, rows: pa.RecordBatch) -> Self:
        """Lay out a batch.

        Args:
            rows: Of ``LEDGERS``, or those of its columns that tell of quorums, of the end and of segments.
        """
        column: Any = rows.column("segments")
        start = numbers(column.offsets) - column.offsets[0].as_py()
        each: Any = column.flatten()
        first, lists = each.field("first_entry"), each.field("bookies")
        places = numbers(lists.offsets) - lists.offsets[0].as_py()
        found: Any = lists.flatten().dictionary_encode()
        closed = ~flags(rows.column("last_entry").is_null())
        ledger = np.repeat(np.arange(rows.num_rows, dtype=np.int64), np.diff(start))
        begins = numbers(first)
        return cls(
            ensemble=numbers(rows.column("ensemble")),
            write=np.maximum(numbers(rows.column("write_quorum")), 0),
            ack=numbers(rows.column("ack_quorum")),
            closed=closed,
            start=start,
            segments=SegmentColumns(
                ledger=ledger,
                first=begins,
                last=_ends(begins, start, ledger, closed, numbers(rows.column("last_entry").fill_null(0))),
                start=places,
            ),
            bookies=numbers(found.indices),
            names=tuple(found.dictionary.to_pylist()),
        )

    def __len__(self) -> int:
        return len(self.write)

    def alike(self, chosen: Numbers) -> Iterator[tuple[Numbers, int, int]]:
        """Yield segments by the size of their ensemble and by their write quorum.

        Args:
            chosen: Of which segments.
        """
        here = self.segments.ledger[chosen]
        pairs = np.stack([self.ensemble[here], self.write[here]], axis=1)
        kinds, which = np.unique(pairs, axis=0, return_inverse=True)
        for number, (ensemble, write) in enumerate(kinds.tolist()):
            yield chosen[which.reshape(-1) == number], ensemble, write

    def beyond(self, bound: int) -> Flags:
        """The ledgers with an entry further from 0 than a bound.

        Args:
            bound: The bound.
        """
        found = np.zeros(len(self), dtype=np.bool_)
        for entries in (self.segments.first, self.segments.last):
            found[self.segments.ledger[(entries > bound) | (entries < -bound)]] = True
        return found

    @property
    def newest(self) -> Numbers:
        """The number of each ledger's last segment."""
        return self.start[1:] - 1


def _ends(first: Numbers, start: Numbers, ledger: Numbers, closed: Flags, end: Numbers) -> Numbers:
    """The last entry of each segment that is certain, as :func:`syncer.ledgers.judging.replicas.extents` has it."""
    last = np.empty_like(first)
    last[:-1] = first[1:] - 1
    newest = start[1:] - 1
    last[newest] = np.where(closed, end, NO_ENTRY)
    of_closed = closed[ledger]
    last[of_closed] = np.minimum(last, end[ledger])[of_closed]
    return last


def numbers(column: pa.Array[Any]) -> Numbers:
    """A column without nulls as numbers.

    Args:
        column: Of integers.
    """
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.int64)


def flags(column: pa.Array[Any]) -> Flags:
    """A column without nulls as truths.

    Args:
        column: Of booleans.
    """
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.bool_)
