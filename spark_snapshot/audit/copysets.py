"""The copysets of ledgers, by column: as :class:`syncer.ledgers.losses.copysets.Copysets`, with entries and bytes.

A set of bookies is one number while it is counted: ten bits for each of its bookies, ascending. Ledgers whose sets do
not go into that, or that one must look at more closely (a bookie named twice in an ensemble, one that is not closed),
are taken one by one by the pure rules; they are few.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Any, Final

import numpy as np
import pyarrow as pa

from spark_snapshot.audit.columns import MOST, Flags, LedgerColumns, Numbers
from spark_snapshot.audit.flattening import ledgers_of
from spark_snapshot.audit.rows import COPYSETS
from syncer.ledgers.judging.replicas import extents
from syncer.ledgers.losses.copysets import BookieBits, blocking_sets, losing_sets
from syncer.ledgers.metadata import LedgerMetadata
from syncer.ledgers.placement.write_sets import entries_alike, write_set

MOST_HELD: Final = 200_000
"""Sets that a table holds before those that are alike are put together."""

_BITS: Final = 10
_MOST_BOOKIES: Final = (1 << _BITS) - 1
_MOST_IN_A_SET: Final = 6
_LARGE: Final = 1 << 38
"""Entries and bytes of a ledger within it: sums of all that a task counts stay within 64 bits."""
_SMALL: Final = 1 << 31
"""Products of numbers below it stay within 64 bits."""


class CopysetKind(StrEnum):
    """The harm that the loss of a set of bookies does."""

    LOSING = "losing"
    BLOCKING = "blocking"


class CopysetTable:
    """Sets of bookies of many ledgers, each with its ledgers, entries and bytes; as large as there are sets.

    Attributes:
        left_out: Ledgers with absurd quorums, whose sets are not looked for.
    """

    def __init__(self) -> None:
        self.left_out = 0
        self._numbers: dict[str, int] = {}
        self._keys: Numbers = np.empty(0, dtype=np.int64)
        self._sums: Numbers = np.empty((0, 3), dtype=np.int64)
        self._apart: dict[tuple[CopysetKind, tuple[str, ...]], list[int]] = {}

    def add(self, rows: pa.RecordBatch) -> None:
        """Count the sets of a batch.

        Args:
            rows: Of ``LEDGERS``.
        """
        if not rows.num_rows:
            return
        ledgers = LedgerColumns.of(rows)
        numbers = np.array([self._number(name) for name in ledgers.names] or [0], dtype=np.int64)
        lengths = np.asarray(rows.column("length_bytes").fill_null(0).to_numpy(zero_copy_only=False), dtype=np.int64)
        odd = _odd(ledgers, lengths, many=len(self._numbers) > _MOST_BOOKIES)
        keys, sums = _sets(ledgers, numbers, lengths, ~odd)
        self._keys, self._sums = np.concatenate([self._keys, keys]), np.concatenate([self._sums, sums])
        if len(self._keys) > MOST_HELD:
            self._merge()
        for ledger in ledgers_of(rows.filter(pa.array(odd))):
            self._add_apart(ledger)

    def rows(self) -> pa.Table:
        """Rows of ``COPYSETS``, each set once."""
        self._merge()
        names = {number: name for name, number in self._numbers.items()}
        found = dict(self._apart)
        for key, sums in zip(self._keys.tolist(), self._sums.tolist(), strict=True):
            bookies = tuple(sorted(names[each] for each in _unpacked(key)))
            held = found.get((CopysetKind.LOSING, bookies), (0, 0, 0))
            found[CopysetKind.LOSING, bookies] = [min(a + b, MOST) for a, b in zip(held, sums, strict=True)]
        columns: Sequence[Any] = [
            [kind.value for kind, _ in found],
            [list(bookies) for _, bookies in found],
            *(zip(*found.values(), strict=True) if found else ((), (), ())),
        ]
        return pa.table(
            [pa.array(column, each.type) for column, each in zip(columns, COPYSETS, strict=True)], schema=COPYSETS
        )

    def _number(self, bookie: str) -> int:
        return self._numbers.setdefault(bookie, len(self._numbers))

    def _merge(self) -> None:
        keys, which = np.unique(self._keys, return_inverse=True)
        sums = np.zeros((len(keys), 3), dtype=np.int64)
        np.add.at(sums, which.reshape(-1), self._sums)
        self._keys, self._sums = keys, sums

    def _add_apart(self, ledger: LedgerMetadata) -> None:
        """Count the sets of one ledger by the pure rules."""
        bits = BookieBits()
        losing, blocking = losing_sets(ledger, bits), blocking_sets(ledger, bits)
        if losing is None or blocking is None:
            self.left_out += 1
        if losing is not None:
            least = {tuple(sorted(bits.named(each))) for each in losing}
            entries = _entries_by_set(ledger)
            total = sum(entries.values())
            for bookies, count in entries.items():
                size = (ledger.length_bytes or 0) * count // total
                self._count(CopysetKind.LOSING, bookies, (int(bookies in least), count, size))
        for each in blocking or ():
            self._count(CopysetKind.BLOCKING, tuple(sorted(bits.named(each))), (1, 0, 0))

    def _count(self, kind: CopysetKind, bookies: tuple[str, ...], sums: tuple[int, int, int]) -> None:
        held = self._apart.setdefault((kind, bookies), [0, 0, 0])
        held[:] = [min(a + b, MOST) for a, b in zip(held, sums, strict=True)]


def _entries_by_set(ledger: LedgerMetadata) -> dict[tuple[str, ...], int]:
    """Certain entries of a ledger by the bookies that hold them; those that nobody holds are in no set."""
    found: dict[tuple[str, ...], int] = {}
    write = max(ledger.quorums.write, 0)
    for (first, bookies), last in extents(ledger):
        ensemble = len(bookies)
        for residue in range(ensemble if write else 0):
            count = entries_alike(residue, first, last, ensemble)
            if count:
                held = tuple(sorted({bookies[index] for index in write_set(residue, ensemble, write)}))
                found[held] = found.get(held, 0) + count
    return found


def _odd(ledgers: LedgerColumns, lengths: Numbers, *, many: bool) -> Flags:
    """Ledgers to be taken one by one."""
    segments = ledgers.segments
    found = ~ledgers.closed | (ledgers.write > _MOST_IN_A_SET) | (ledgers.write < 1) | (lengths > _LARGE) | many
    found |= ledgers.beyond(_LARGE)
    segment = np.repeat(np.arange(len(segments.first)), segments.size)
    pairs = np.sort(segment * len(ledgers.names) + ledgers.bookies)
    twice = pairs[1:][pairs[1:] == pairs[:-1]] // max(len(ledgers.names), 1)
    found[segments.ledger[twice]] = True
    return np.asarray(found)


def _sets(ledgers: LedgerColumns, number: Numbers, lengths: Numbers, usual: Flags) -> tuple[Numbers, Numbers]:
    """Sets of the usual ledgers, one for each ledger that has it, with 1, entries and bytes."""
    segments = ledgers.segments
    wanted = np.flatnonzero(usual[segments.ledger] & (segments.last >= segments.first))
    owners, keys, entries = [], [], []
    for chosen, ensemble, write in ledgers.alike(wanted):
        members = number[ledgers.bookies[segments.start[chosen][:, None] + np.arange(ensemble)]]
        first, last = segments.first[chosen], segments.last[chosen]
        if ensemble == write:
            keys.append(_packed(members))
            entries.append(last - first + 1)
            owners.append(segments.ledger[chosen])
            continue
        windows = (np.arange(ensemble)[:, None] + np.arange(write)) % ensemble
        keys.append(_packed(members[:, windows]).reshape(-1))
        entries.append(segments.entries_alike(chosen, ensemble).reshape(-1))
        owners.append(np.repeat(segments.ledger[chosen], ensemble))
    if not keys:
        return np.empty(0, dtype=np.int64), np.empty((0, 3), dtype=np.int64)
    return _of_each_ledger(np.concatenate(owners), np.concatenate(keys), np.concatenate(entries), lengths)


def _of_each_ledger(owners: Numbers, keys: Numbers, entries: Numbers, lengths: Numbers) -> tuple[Numbers, Numbers]:
    """Put the same set of several segments of a ledger together."""
    there = entries > 0
    owners, keys, entries = owners[there], keys[there], entries[there]
    order = np.lexsort((keys, owners))
    owners, keys, entries = owners[order], keys[order], entries[order]
    new = np.ones(len(keys), dtype=np.bool_)
    new[1:] = (owners[1:] != owners[:-1]) | (keys[1:] != keys[:-1])
    begins = np.flatnonzero(new)
    entries = np.add.reduceat(entries, begins) if len(begins) else entries
    owners, keys = owners[begins], keys[begins]
    total = np.zeros(len(lengths), dtype=np.int64)
    np.add.at(total, owners, entries)
    sizes = _shares(lengths[owners], entries, total[owners])
    return keys, np.stack([np.ones(len(keys), dtype=np.int64), entries, sizes], axis=1)


def _shares(lengths: Numbers, entries: Numbers, total: Numbers) -> Numbers:
    """The share of entries in a length, rounded down."""
    whole, rest = np.divmod(lengths, total)
    found = whole * entries + rest * entries // total
    large = np.flatnonzero(total >= _SMALL)
    triples = zip(lengths[large].tolist(), entries[large].tolist(), total[large].tolist(), strict=True)
    found[large] = [length * some // of for length, some, of in triples]
    return np.asarray(found)


def _packed(members: Numbers) -> Numbers:
    """Sets of numbers along the last axis, each made one number; the first place is never 0."""
    ordered = np.sort(members, axis=-1) + 1
    found = np.zeros(ordered.shape[:-1], dtype=np.int64)
    for place in range(ordered.shape[-1]):
        found = (found << _BITS) | ordered[..., place]
    return found


def _unpacked(key: int) -> Iterator[int]:
    while key:
        yield (key & _MOST_BOOKIES) - 1
        key >>= _BITS
