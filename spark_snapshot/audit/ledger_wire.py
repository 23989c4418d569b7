"""Ledgers of version 3 decoded a batch at a time: fields, segments and bookies of all ledgers at once.

Only what is as BookKeeper writes it is decoded here; every other value, be it damaged or only unusual, is left to
:func:`syncer.ledgers.decoding.entries.ledger_entry`, which decides. What is decoded here is what that would say.

    value     header, its length, then fields in any order, of which segments and custom metadata are kept by place
    segment   bookies, then the first entry, nothing else
    custom    a key, then a value, nothing else
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from spark_snapshot.audit.columns import Flags, Numbers
from spark_snapshot.audit.flattening import listed
from spark_snapshot.audit.lockstep import Bytes, Values, begins_with, cut_out, values_of, varints
from spark_snapshot.audit.rows import BOOKIES, LEDGERS, SEGMENT
from syncer.ledgers.decoding.ledger import bookie_id
from syncer.ledgers.decoding.messages import UNSET_64, text
from syncer.ledgers.decoding.undecodable import ValueDamaged
from syncer.ledgers.metadata import LedgerState
from syncer.ledgers.owners import APPLICATION, COMPONENT, TOPIC_RULES

_HEADER: Final = b"BookieMetadataFormatVersion\t3\n"
_USUAL: Final = "00/0000/L0000"
"""A usual path below the root: of all ids that have a short one; a 0 stands for any digit."""
_ZERO, _NINE = ord("0"), ord("9")
_MOST_32: Final = 2**31 - 1
_MORE: Final = 0x80
_MEMBER, _FIRST = 0x0A, 0x10
_KEY, _VALUE = 0x0A, 0x12
_SEGMENT, _CUSTOM, _PASSWORD = 0x32, 0x5A, 0x42
_WRITE, _ENSEMBLE, _LENGTH, _LAST, _STATE, _DIGEST, _ACK, _CTIME, _TOKEN = range(9)
_TAGS: Final = {
    0x08: _WRITE, 0x10: _ENSEMBLE, 0x18: _LENGTH, 0x20: _LAST, 0x28: _STATE, 0x38: _DIGEST, 0x48: _ACK, 0x50: _CTIME,
    0x60: _TOKEN,
}  # fmt: skip
_NONE: Final = len(_TAGS)
"""The slot of what is no number."""
_UNKNOWN, _NUMBER, _BYTES = 0, 1, 2
_OPEN, _IN_RECOVERY, _CLOSED = 1, 2, 3
_STATES: Final = pa.array(
    [None, LedgerState.OPEN.value, LedgerState.IN_RECOVERY.value, LedgerState.CLOSED.value], pa.string()
)


def _slots() -> tuple[Any, Any]:
    kinds, slots = np.zeros(256, dtype=np.int8), np.full(256, _NONE, dtype=np.int64)
    for tag, slot in _TAGS.items():
        kinds[tag], slots[tag] = _NUMBER, slot
    for tag in (_SEGMENT, _CUSTOM, _PASSWORD):
        kinds[tag] = _BYTES
    return kinds, slots


_KINDS, _SLOTS = _slots()


class _Parts(NamedTuple):
    """Parts of values, in the order of their values: of which value each is, where it begins, and where it ends."""

    row: Numbers
    start: Numbers
    end: Numbers

    @classmethod
    def joined(cls, found: list[tuple[Numbers, Numbers, Numbers]]) -> _Parts:
        """Parts that were met step by step; those of one value stay in their order."""
        if not found:
            empty: Numbers = np.zeros(0, dtype=np.int64)
            return cls(empty, empty, empty)
        row, start, end = (np.concatenate(each) for each in zip(*found, strict=True))
        order = np.argsort(row, kind="stable")
        return cls(row[order], start[order], end[order])

    def only(self, chosen: Flags) -> _Parts:
        """Some of them."""
        return _Parts(self.row[chosen], self.start[chosen], self.end[chosen])


@dataclass(slots=True)
class _Reading:
    """A batch that is read.

    Args:
        data: All bytes.
        fine: The values that are, until now, as BookKeeper writes them.
        numbers: Fields that are numbers, by slot and value.
        there: Which of these are there.
        segments: Of all values.
        custom: Custom metadata of all values, an entry each.
    """

    data: Bytes
    fine: Flags
    numbers: Any
    there: Any
    segments: _Parts
    custom: _Parts

    def refuse(self, rows: Numbers) -> None:
        """Leave values to the other way."""
        self.fine[rows] = False


def ledger_rows(
    paths: pa.Array[Any], column: pa.Array[Any], created_ms: pa.Array[Any], wanted: Flags, root: str
) -> tuple[pa.RecordBatch, Flags]:
    """Decode the values of a batch that are as BookKeeper writes them, at paths as nearly all have them.

    Args:
        paths: Of the values.
        column: The values.
        created_ms: When the store made each, null where it does not tell.
        wanted: Which values are to be looked at.
        root: Where BookKeeper's own paths begin.

    Returns:
        Rows of ``LEDGERS``, and which values they are, in their order.
    """
    ids, usual = _ids(values_of(paths), root)
    values = values_of(column)
    reading = _fields(values, wanted & usual & begins_with(*values, _HEADER))
    _check_numbers(reading)
    segments = _segments(reading)
    owners = _owners(reading)
    return _batch(reading, ids, created_ms, segments, owners), reading.fine


def _ids(paths: Values, root: str) -> tuple[Numbers, Flags]:
    """Ids by usual paths; and which paths are usual."""
    data, starts, ends = paths
    fine = begins_with(data, starts, ends, f"{root}/".encode()) & (ends - starts == len(root) + 1 + len(_USUAL))
    ids = np.zeros(len(starts), dtype=np.int64)
    at = np.where(fine, starts + len(root) + 1, 0)
    for place, letter in enumerate(_USUAL):
        byte = data[at + place]
        if letter == "0":
            fine &= (byte >= _ZERO) & (byte <= _NINE)
            ids = ids * 10 + (byte.astype(np.int64) - _ZERO)
        else:
            fine &= byte == ord(letter)
    return ids, fine


def _fields(values: Values, fine: Flags) -> _Reading:
    """Walk the fields of all values, one of each in a step."""
    data, count = values.data, len(values.starts)
    numbers = np.zeros((_NONE + 1, count), dtype=np.int64)
    there = np.zeros((_NONE + 1, count), dtype=np.bool_)
    at: Numbers = np.zeros(count, dtype=np.int64)
    ends: Numbers = np.zeros(count, dtype=np.int64)
    live = np.flatnonzero(fine)
    size = varints(data, values.starts[live] + len(_HEADER))
    at[live] = size.ends
    ends[live] = size.ends + np.clip(size.numbers, 0, _MOST_32)
    wrong = size.broken | (size.numbers <= 0) | (ends[live] > values.ends[live])
    fine[live[wrong]] = False
    live = live[~wrong]
    parts: dict[int, list[tuple[Numbers, Numbers, Numbers]]] = {_SEGMENT: [], _CUSTOM: []}
    while len(live):
        here = at[live]
        tag = data[here]
        kind, slot = _KINDS[tag], _SLOTS[tag]
        found = varints(data, here + 1)
        numbers[slot, live] = found.numbers
        there[slot, live] = True
        of_bytes = kind == _BYTES
        after = found.ends + np.where(of_bytes, np.clip(found.numbers, 0, _MOST_32), 0)
        wrong = found.broken | (kind == _UNKNOWN) | (after > ends[live]) | (of_bytes & (found.numbers < 0))
        fine[live[wrong]] = False
        for wanted, some in parts.items():
            chosen = (tag == wanted) & ~wrong
            if chosen.any():
                some.append((live[chosen], found.ends[chosen], after[chosen]))
        at[live] = after
        live = live[~wrong & (after < ends[live])]
    return _Reading(data, fine, numbers, there, _Parts.joined(parts[_SEGMENT]), _Parts.joined(parts[_CUSTOM]))


def _check_numbers(reading: _Reading) -> None:
    """Leave the values whose numbers are not as usual to the other way."""
    numbers, there, fine = reading.numbers, reading.there, reading.fine
    write, ensemble, state = numbers[_WRITE], numbers[_ENSEMBLE], numbers[_STATE]
    numbers[_ACK] = np.where(there[_ACK], numbers[_ACK], write)
    fine &= there[_WRITE] & there[_ENSEMBLE] & there[_LENGTH] & there[_STATE]
    fine &= (state >= _OPEN) & (state <= _CLOSED)
    fine &= (ensemble <= _MOST_32) & (ensemble >= write) & (write >= numbers[_ACK]) & (numbers[_ACK] >= 0)
    fine &= (numbers[_LENGTH] != UNSET_64) & (numbers[_CTIME] != UNSET_64)


class _Segments(NamedTuple):
    """Segments of values, with their first entries; their bookies are codes of names."""

    parts: _Parts
    first: Numbers
    members: _Parts
    codes: Numbers
    names: list[str]


def _segments(reading: _Reading) -> _Segments:
    data, parts = reading.data, reading.segments.only(reading.fine[reading.segments.row])
    at, found = parts.start.copy(), []
    live = np.arange(len(at))
    while len(live):
        here = at[live]
        size = data[here + 1].astype(np.int64)
        member = (here + 1 < parts.end[live]) & (data[here] == _MEMBER) & (size < _MORE)
        live, here, size = live[member], here[member] + 2, size[member]
        found.append((live, here, here + size))
        at[live] = np.minimum(here + size, parts.end[live])
        reading.refuse(parts.row[live[here + size > parts.end[live]]])
    members = _Parts.joined(found)
    first = varints(data, at + 1)
    reading.refuse(parts.row[(at >= parts.end) | (data[at] != _FIRST) | first.broken | (first.ends != parts.end)])
    sizes = np.bincount(members.row, minlength=len(at))
    reading.refuse(parts.row[sizes != reading.numbers[_ENSEMBLE][parts.row]])
    behind = (parts.row[1:] == parts.row[:-1]) & (first.numbers[1:] <= first.numbers[:-1])
    reading.refuse(parts.row[1:][behind])
    reading.refuse(parts.row[first.numbers == UNSET_64])
    reading.fine &= np.bincount(parts.row, minlength=len(reading.fine)) > 0
    coded: Any = cut_out(data, members.start, members.end - members.start).dictionary_encode()
    names = [_bookie(each) for each in coded.dictionary.to_pylist()]
    codes: Numbers = coded.indices.to_numpy().astype(np.int64)
    wrong = np.array([each is None for each in names], dtype=np.bool_)
    if wrong.any():
        reading.refuse(parts.row[members.row[wrong[codes]]])
    return _Segments(parts, first.numbers, members, codes, [each or "" for each in names])


def _bookie(data: bytes) -> str | None:
    try:
        return bookie_id(data)
    except ValueDamaged:
        return None


def _owners(reading: _Reading) -> list[pa.Array[Any]]:
    """Applications, components and topics, of all values, as :func:`syncer.ledgers.owners.owner_of` has them."""
    data, parts = reading.data, reading.custom.only(reading.fine[reading.custom.row])
    size = data[parts.start + 1].astype(np.int64)
    key_end = parts.start + 2 + size
    inside = key_end + 1 < parts.end
    at = np.where(inside, key_end, 0)
    value = varints(data, at + 1)
    fits = inside & (data[parts.start] == _KEY) & (size < _MORE) & (data[at] == _VALUE) & ~value.broken
    fits &= (value.numbers >= 0) & (value.ends + np.clip(value.numbers, 0, _MOST_32) == parts.end)
    reading.refuse(parts.row[~fits])
    parts, size, starts = parts.only(fits), size[fits], value.ends[fits]
    coded: Any = cut_out(data, parts.start + 2, size).dictionary_encode()
    keys: dict[str, int] = {}
    same = [keys.setdefault(text(each), len(keys)) for each in coded.dictionary.to_pylist()]
    codes: Numbers = np.array(same, dtype=np.int64)[coded.indices.to_numpy()]
    pairs, counts = np.unique(parts.row * (len(keys) + 1) + codes, return_counts=True)
    reading.refuse(pairs[counts > 1] // (len(keys) + 1))
    sizes = parts.end - starts

    def told(key: str, read: Callable[[str], str | None]) -> tuple[Numbers, pa.Array[Any]]:
        """The values of a key as texts, each once, and of which values of the batch they are; -1: it has none."""
        which: Numbers = np.full(len(reading.fine), -1, dtype=np.int64)
        chosen = codes == keys.get(key, -1)
        found: Any = cut_out(data, starts[chosen], sizes[chosen]).dictionary_encode()
        which[parts.row[chosen]] = found.indices.to_numpy()
        return which, pa.array(
            [read(each.decode(errors="replace")) for each in found.dictionary.to_pylist()], pa.string()
        )

    topics: Numbers = np.full(len(reading.fine), -1, dtype=np.int64)
    names: list[pa.Array[Any]] = []
    for key, read in TOPIC_RULES:
        which, texts = told(key, read)
        new = (topics < 0) & (which >= 0)
        topics[new] = which[new] + sum(map(len, names))
        names.append(texts)
    plain = [_taken(*told(key, str)) for key in (APPLICATION, COMPONENT)]
    return [*plain, _taken(topics, pa.concat_arrays(names))]


def _taken(which: Numbers, texts: pa.Array[Any]) -> pa.Array[Any]:
    found: pa.Array[Any] = texts.take(pa.array(which, pa.int64(), mask=which < 0))
    return found


def _batch(
    reading: _Reading, ids: Numbers, created_ms: pa.Array[Any], segments: _Segments, owners: list[pa.Array[Any]]
) -> pa.RecordBatch:
    fine, numbers, there = reading.fine, reading.numbers[:, reading.fine], reading.there[:, reading.fine]
    open_ = numbers[_STATE] != _CLOSED
    chosen: Any = pa.array(np.flatnonzero(fine), pa.int64())
    made: Any = created_ms.take(chosen)
    known = np.where(there[_CTIME], numbers[_CTIME], made.fill_null(0).to_numpy())
    unknown = ~there[_CTIME] & made.is_null().to_numpy(zero_copy_only=False)
    columns: list[pa.Array[Any]] = [
        pa.array(ids[fine], pa.int64()),
        _STATES.take(pa.array(numbers[_STATE])),
        *(pa.array(numbers[slot], pa.int32()) for slot in (_ENSEMBLE, _WRITE, _ACK)),
        *(pa.array(numbers[slot], pa.int64(), mask=open_) for slot in (_LAST, _LENGTH)),
        pa.array(known, pa.int64(), mask=unknown),
        pa.array(np.full(len(open_), 3), pa.int32()),
        pa.array(numbers[_TOKEN], pa.int64()),
        *(each.take(chosen) for each in owners),
        _nested(reading, segments),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=LEDGERS)


def _nested(reading: _Reading, segments: _Segments) -> pa.Array[Any]:
    """The column of segments."""
    kept = reading.fine[segments.parts.row]
    inside = kept[segments.members.row]
    names: Any = pa.array(segments.names, pa.string())
    bookies = names.take(pa.array(segments.codes[inside], pa.int64()))
    per_segment = np.bincount(segments.members.row, minlength=len(kept))[kept]
    per_ledger = np.bincount(segments.parts.row, minlength=len(reading.fine))[reading.fine]
    lists = listed(_offsets(per_segment), bookies, BOOKIES)
    each: Any = pa.StructArray.from_arrays([pa.array(segments.first[kept], pa.int64()), lists], fields=list(SEGMENT))
    return listed(_offsets(per_ledger), each, LEDGERS.field("segments").type)


def _offsets(counts: Numbers) -> Numbers:
    found: Numbers = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=found[1:])
    return found
