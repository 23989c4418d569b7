"""The judgement of a batch of ledgers, by column: equal to :func:`syncer.ledgers.judging.ledger.judge` of each.

Most segments have no lost bookie and need no look at their entries. Of the others those of one ensemble's size and one
write quorum are judged together: a row for each segment, a column for each residue of entries.

Entries so absurd that sums of them leave 64 bits are judged one by one, by the pure judge.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pyarrow as pa

from spark_snapshot.audit.columns import FAR, MOST, Flags, LedgerColumns, Numbers, numbers
from spark_snapshot.audit.flattening import ledgers_of, listed
from spark_snapshot.audit.rows import BOOKIES, JUDGEMENTS
from syncer.ledgers.judging.ledger import LedgerJudgement, ReplicaClass, judge

_CLASSES: Final = pa.array([each.value for each in ReplicaClass], pa.string())
_EMPTY, _NO_REPLICA, _BELOW_ACK, _BELOW_WRITE, _WHOLE = range(5)  # the order of ReplicaClass


@dataclass(frozen=True, slots=True)
class LostBookies:
    """Bookies that are lost: those of a set, or all that are not in it.

    Args:
        bookies: The set.
        others: All others are lost, as where the set is of those that are there.
    """

    bookies: AbstractSet[str]
    others: bool = False

    def __contains__(self, bookie: object) -> bool:
        return (bookie in self.bookies) is not self.others

    def among(self, bookies: AbstractSet[str]) -> frozenset[str]:
        """The lost ones of some.

        Args:
            bookies: Their ids.
        """
        return frozenset(bookies - self.bookies if self.others else bookies & self.bookies)


def judgements(rows: pa.RecordBatch, lost: LostBookies) -> pa.RecordBatch:
    """Judge a batch.

    Args:
        rows: Of ``LEDGERS``.
        lost: Bookies that are lost.

    Returns:
        Rows of ``JUDGEMENTS``, one for each ledger, in their order.
    """
    if not rows.num_rows:
        return pa.RecordBatch.from_pylist([], schema=JUDGEMENTS)
    ledgers = LedgerColumns.of(rows)
    absurd = ledgers.beyond(FAR)
    if absurd.any():
        return _in_turn(rows, absurd, lost)
    return _by_column(rows, ledgers, lost)


def _in_turn(rows: pa.RecordBatch, absurd: Flags, lost: LostBookies) -> pa.RecordBatch:
    """Judge runs of usual ledgers by column, and those between them one by one."""
    edges = [0, *(np.flatnonzero(np.diff(absurd)) + 1).tolist(), len(absurd)]
    parts = []
    for begin, end in pairwise(edges):
        part = rows.slice(begin, end - begin)
        parts.append(_one_by_one(part, lost) if absurd[begin] else _by_column(part, LedgerColumns.of(part), lost))
    return pa.Table.from_batches(parts).combine_chunks().to_batches()[0]


def _one_by_one(rows: pa.RecordBatch, lost: LostBookies) -> pa.RecordBatch:
    topics = rows.column("topic").to_pylist()
    found = [
        _row(judge(ledger, lost.among(ledger.bookies())), topic)
        for ledger, topic in zip(ledgers_of(rows), topics, strict=True)
    ]
    columns: list[pa.Array[Any]] = [
        pa.array(column, each.type) for column, each in zip(zip(*found, strict=True), JUDGEMENTS, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=JUDGEMENTS)


def _row(found: LedgerJudgement, topic: str | None) -> tuple[object, ...]:
    lost_bytes = found.bytes_of(found.lost_entries)
    return (
        found.ledger_id,
        topic,
        found.replica_class.value,
        min(found.entries, MOST),
        [min(entries, MOST) for entries in found.by_replicas_left],
        min(found.lost_entries, MOST),
        min(found.below_ack_quorum, MOST),
        min(found.below_write_quorum, MOST),
        found.least_replicas,
        found.length_bytes,
        lost_bytes,
        found.recoverable,
        found.is_single_copy,
        sorted(found.named),
    )


def _by_column(rows: pa.RecordBatch, ledgers: LedgerColumns, lost: LostBookies) -> pa.RecordBatch:
    gone = np.array([name in lost for name in ledgers.names], dtype=np.bool_)[ledgers.bookies]
    segments = ledgers.segments
    entries = np.maximum(segments.last - segments.first + 1, 0)
    before = np.concatenate([[0], np.cumsum(gone)])
    touched = np.flatnonzero(before[segments.start[1:]] > before[segments.start[:-1]])
    blocked = np.zeros(len(ledgers), dtype=np.bool_)
    blocked[(ledgers.ack <= 0) & (ledgers.ensemble > 0)] = True
    counts, place = _all_left(ledgers, entries, touched)
    for chosen, ensemble, write in ledgers.alike(touched):
        missing = _missing(gone, segments.start[chosen], ensemble, write)
        here = segments.ledger[chosen]
        alike = segments.entries_alike(chosen, ensemble)
        np.add.at(counts, (place[here] + write)[:, None] - missing, alike)
        newest = ledgers.newest[here] == chosen
        blocked[here[newest]] |= missing.max(axis=1)[newest] >= ledgers.ack[here[newest]]
    return _table(rows, ledgers, counts, place, blocked, _named(ledgers, gone))


def _all_left(ledgers: LedgerColumns, entries: Numbers, touched: Numbers) -> tuple[Numbers, Numbers]:
    """Counts of entries by replicas left, of all ledgers one behind the other, and where each one's begin.

    Entries of segments without a lost bookie are counted; all their replicas are left.
    """
    place = np.concatenate([[0], np.cumsum(ledgers.write + 1)])
    counts = np.zeros(int(place[-1]), dtype=np.int64)
    untouched = entries.copy()
    untouched[touched] = 0
    counts[place[1:] - 1] = np.add.reduceat(untouched, ledgers.start[:-1])
    return counts, place[:-1]


def _missing(gone: Flags, start: Numbers, ensemble: int, write: int) -> Numbers:
    """For each segment and each residue of entries the lost bookies of the write set."""
    rows = gone[start[:, None] + np.arange(ensemble)].astype(np.int64)
    sums = np.concatenate(
        [np.zeros((len(rows), 1), dtype=np.int64), np.cumsum(np.concatenate([rows, rows[:, :write]], axis=1), axis=1)],
        axis=1,
    )
    return np.asarray(sums[:, write : write + ensemble] - sums[:, :ensemble])


def _named(ledgers: LedgerColumns, gone: Flags) -> pa.Array[Any]:
    """Lost bookies of each ledger, in the order of their names."""
    order = sorted(range(len(ledgers.names)), key=ledgers.names.__getitem__)
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    members = np.flatnonzero(gone)
    segment = np.searchsorted(ledgers.segments.start, members, side="right") - 1
    pairs = np.unique(ledgers.segments.ledger[segment] * len(order) + rank[ledgers.bookies[members]])
    ledger, which = pairs // max(len(order), 1), pairs % max(len(order), 1)
    offsets = np.searchsorted(ledger, np.arange(len(ledgers) + 1))
    names = pa.array([ledgers.names[each] for each in order], pa.string()).take(pa.array(which))
    return listed(offsets, names, BOOKIES)


def _table(
    rows: pa.RecordBatch,
    ledgers: LedgerColumns,
    counts: Numbers,
    place: Numbers,
    blocked: Flags,
    named: pa.Array[Any],
) -> pa.RecordBatch:
    count = len(ledgers)
    total = np.add.reduceat(counts, place)
    dead = counts[place]
    below_write = total - counts[place + ledgers.write]
    below_ack = _below(counts, place, np.clip(ledgers.ack, 0, ledgers.write + 1))
    classes = np.full(count, _WHOLE, dtype=np.int64)
    classes[below_write > 0] = _BELOW_WRITE
    classes[below_ack > 0] = _BELOW_ACK
    classes[dead > 0] = _NO_REPLICA
    classes[total == 0] = _EMPTY
    by_left = listed(np.append(place, len(counts)), pa.array(counts), JUDGEMENTS.field("by_replicas_left").type)
    columns: list[Any] = [
        rows.column("ledger_id"),
        rows.column("topic"),
        _CLASSES.take(pa.array(classes, pa.int64())),
        pa.array(total),
        by_left,
        pa.array(dead),
        pa.array(below_ack),
        pa.array(below_write),
        pa.array(_least(counts, place, ledgers.write), pa.int32()),
        rows.column("length_bytes"),
        _lost_bytes(rows.column("length_bytes"), dead, total),
        pa.array(~blocked, mask=ledgers.closed),
        pa.array(ledgers.write <= 1),
        named,
    ]
    return pa.RecordBatch.from_arrays(columns, schema=JUDGEMENTS)


def _below(counts: Numbers, place: Numbers, bound: Numbers) -> Numbers:
    """Sum the counts of each ledger below a bound of its own."""
    sums = np.concatenate([[0], np.cumsum(counts)])
    return np.asarray(sums[place + bound] - sums[place])


def _least(counts: Numbers, place: Numbers, write: Numbers) -> Numbers:
    """The fewest replicas of an entry of each ledger; the write quorum where there is no entry."""
    ledger = np.repeat(np.arange(len(place)), write + 1)
    left = np.arange(len(counts)) - place[ledger]
    return np.asarray(np.minimum.reduceat(np.where(counts > 0, left, write[ledger]), place))


def _lost_bytes(length: pa.Array[Any], dead: Numbers, total: Numbers) -> pa.Array[Any]:
    """The share of lost entries in the length, rounded down; products may leave 64 bits, so Python makes them."""
    known = numbers(length.fill_null(0))
    found = np.where(dead == total, known, 0)
    found[total == 0] = 0
    partly = np.flatnonzero((dead > 0) & (dead < total))
    shares = zip(known[partly].tolist(), dead[partly].tolist(), total[partly].tolist(), strict=True)
    found[partly] = [size * lost // entries for size, lost, entries in shares]
    return pa.array(found, mask=np.asarray(length.is_null().to_numpy(zero_copy_only=False)))
