"""Bytes of many values read in lockstep by Numpy: each step takes one thing of every value that has more of them.

The bytes of all values lie behind each other, as Arrow keeps them, and places among them are arrays of numbers. What
does not fit is marked, not refused: whoever reads takes those values another way.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from spark_snapshot.audit.columns import Flags, Numbers

Bytes: TypeAlias = np.ndarray[Any, np.dtype[np.uint8]]

PADDING: Final = 64
"""Zeros behind the last value, so that a look beyond it is one at nothing."""
_MORE: Final = 0x80
_LOW: Final = 0x7F
_LAST_SHIFT: Final = 63


class Varints(NamedTuple):
    """Numbers of 64 bits, the places behind them, and which of them are none."""

    numbers: Numbers
    ends: Numbers
    broken: Flags


class Values(NamedTuple):
    """Values of a column: all their bytes, where each begins, and where it ends."""

    data: Bytes
    starts: Numbers
    ends: Numbers


def values_of(column: pa.Array[Any]) -> Values:
    """The bytes of a column where they lie, but for one copy; a null is empty.

    Args:
        column: Of binary values or of texts.
    """
    count, start = len(column), column.offset
    buffers: list[Any] = column.buffers()
    _, places, content = buffers
    if not count or places is None:
        empty: Numbers = np.zeros(0, dtype=np.int64)
        return Values(np.zeros(PADDING, dtype=np.uint8), empty, empty)
    offsets = np.frombuffer(places, dtype=np.int32)[start : start + count + 1].astype(np.int64)
    data = np.zeros(int(offsets[-1]) + PADDING, dtype=np.uint8)
    if content is not None:
        data[: int(offsets[-1])] = np.frombuffer(content, dtype=np.uint8)[: int(offsets[-1])]
    return Values(data, offsets[:-1], offsets[1:])


def varints(data: Bytes, at: Numbers) -> Varints:
    """Read a number of protobuf at each place.

    Args:
        data: The bytes, padded.
        at: The places.
    """
    byte = data[at]
    found = (byte & _LOW).astype(np.uint64)
    ends = at + 1
    more = np.flatnonzero(byte >= _MORE)
    broken = np.zeros(len(at), dtype=np.bool_)
    for shift in range(7, _LAST_SHIFT + 1, 7):
        if not len(more):
            break
        byte = data[np.minimum(ends[more], len(data) - 1)]
        found[more] |= (byte & _LOW).astype(np.uint64) << np.uint64(shift)
        ends[more] += 1
        if shift == _LAST_SHIFT:
            broken[more[byte > 1]] = True
        more = more[byte >= _MORE]
    broken[more] = True
    return Varints(found.view(np.int64), ends, broken)


def begins_with(data: Bytes, starts: Numbers, ends: Numbers, prefix: bytes) -> Flags:
    """Tell which values begin with some bytes.

    Args:
        data: The bytes, padded.
        starts: Where each begins.
        ends: Where each ends.
        prefix: The bytes.
    """
    found = ends - starts >= len(prefix)
    for place, byte in enumerate(prefix):
        found &= data[np.minimum(starts + place, len(data) - 1)] == byte
    return np.asarray(found, dtype=np.bool_)


def cut_out(data: Bytes, starts: Numbers, sizes: Numbers) -> pa.Array[Any]:
    """Make a column of parts of the bytes.

    Args:
        data: The bytes.
        starts: Where each part begins.
        sizes: How long each is.
    """
    places: Any = np.zeros(len(sizes) + 1, dtype=np.int32)
    np.cumsum(sizes, out=places[1:])
    shifts = np.repeat(starts - places[:-1], sizes)
    content: Any = data[shifts + np.arange(int(places[-1]), dtype=np.int64)]
    made: pa.Array[Any] = pa.Array.from_buffers(
        pa.binary(), len(sizes), [None, pa.py_buffer(places), pa.py_buffer(content)]
    )
    return made
