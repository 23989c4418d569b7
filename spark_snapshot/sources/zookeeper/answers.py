"""Answers to requests for many values, taken apart in one loop: plain tuples, for millions of nodes are read."""

from __future__ import annotations

import struct
from typing import Any, Final, TypeAlias

from syncer.model import Millis

Value: TypeAlias = tuple[bytes, int, int, Millis, int, int, int]
"""What a node holds, then of its stat: created by, written by, written at, version, owner, number of children."""
DatedValue: TypeAlias = tuple[bytes, int, int, Millis, Millis, int, int, int]
"""The same with the time of its creation, which stands before that of the last write."""

_PART: Final = struct.Struct("!iBii")
"""A part's head: kind, whether the answer ends here, error; and behind it the value's length, or the error again."""
_END: Final = struct.pack("!iBi", -1, 1, -1)
_STAT: Final = struct.Struct("!qq8xqi8xq4xi8x")
_DATED_STAT: Final = struct.Struct("!qqqqi8xq4xi8x")

_PART_BYTES: Final = _PART.size
_STAT_BYTES: Final = _STAT.size
_GET_DATA: Final = 4
_FAILED: Final = -1


def values(raw: bytes, at: int, count: int) -> list[Value | int]:
    """What each of the nodes that were asked for holds, or ZooKeeper's code of its error; see :func:`_taken_apart`."""
    return _taken_apart(raw, at, count, _STAT)


def dated_values(raw: bytes, at: int, count: int) -> list[DatedValue | int]:
    """The same with times of creation."""
    return _taken_apart(raw, at, count, _DATED_STAT)


def _taken_apart(raw: bytes, at: int, count: int, stat: struct.Struct) -> list[Any]:
    """Take an answer apart.

    Args:
        raw: The answer to ``MultiRead.nodes``, and where in it the parts begin.
        at: That place.
        count: How many nodes were asked for.
        stat: What is wanted of each node's stat.

    Raises:
        struct.error: It ends too early.
        ValueError: It is no answer to that request.
    """
    part_at, stat_at = _PART.unpack_from, stat.unpack_from
    found: list[Any] = []
    for _ in range(count):
        kind, _, _, length = part_at(raw, at)
        at += _PART_BYTES
        if kind == _GET_DATA:
            end = at + length if length > 0 else at  # an absent value is empty
            found.append((raw[at:end], *stat_at(raw, end)))
            at = end + _STAT_BYTES
        elif kind == _FAILED:
            found.append(length)
        else:
            raise ValueError(f"a part of the kind {kind}")
    if raw[at:] != _END:
        raise ValueError(f"{len(raw) - at} bytes follow the last part")
    return found
