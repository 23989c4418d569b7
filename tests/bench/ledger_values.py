"""Synthetic ledgers as a store holds them, always the same for the same numbers: uneven, and some of them damaged.

Most have one segment, some up to forty; ensembles are of several sizes, over bookies that are not filled evenly. One in
a hundred is damaged. Bytes are written by hand, since protobuf's own messages would take longer than to decode them.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Final

from syncer.ledgers.paths import ROOT, ledger_path

BOOKIES: Final = 50
DAMAGED: Final = 0.01
_HEADER: Final = b"BookieMetadataFormatVersion\t3\n"
_QUORUMS: Final = ((3, 3, 2), (3, 2, 2), (5, 3, 2), (2, 2, 2), (3, 2, 1), (1, 1, 1))
_OF_QUORUMS: Final = (50, 20, 15, 8, 5, 2)
_SEGMENTS: Final = (1, 2, 3, 5, 10, 20, 40)
_OF_SEGMENTS: Final = (70, 14, 7, 5, 2.5, 1, 0.5)
_PULSARS: Final = ((b"application", b"pulsar"), (b"component", b"managed-ledger"))
_OPEN: Final = 0.02
_IN_RECOVERY: Final = 0.001


def bookie(number: int) -> str:
    """The id of a bookie."""
    return f"bookie-{number:02d}.bk.example:3181"


_MEMBERS: Final = [b"\x0a" + bytes([len(bookie(each))]) + bookie(each).encode() for each in range(BOOKIES)]
_WEIGHTS: Final = [1 + each % 5 for each in range(BOOKIES)]
_POOL: Final = [each for each, weight in enumerate(_WEIGHTS) for _ in range(weight)]


def values(start: int, end: int) -> Iterator[tuple[str, bytes]]:
    """Paths and values of ledgers, by their ids.

    Args:
        start: The first id.
        end: The last one is before it.
    """
    for ledger_id in range(start, end):
        chance = random.Random(ledger_id * 2_654_435_761)
        value = _value(ledger_id, chance)
        if chance.random() < DAMAGED:
            value = value[: chance.randrange(len(value))]
        yield f"{ROOT}/{ledger_path(ledger_id)}", value


def _value(ledger_id: int, chance: random.Random) -> bytes:
    [(ensemble, write, ack)] = chance.choices(_QUORUMS, _OF_QUORUMS)
    [count] = chance.choices(_SEGMENTS, _OF_SEGMENTS)
    first, segments = 0, []
    members = _ensemble(chance, ensemble)
    for number in range(count):
        if number:
            members = list(members)
            other = chance.choice(_POOL)
            if other not in members:
                members[chance.randrange(ensemble)] = other
        body = b"".join([*(_MEMBERS[each] for each in members), b"\x10", _varint(first)])
        segments.append(b"\x32" + _varint(len(body)) + body)
        first += chance.randrange(1, 5_000)
    last = first - 1 if chance.random() < 0.9 else first + chance.randrange(50_000)
    luck = chance.random()
    state = 1 if luck < _OPEN else 2 if luck < _OPEN + _IN_RECOVERY else 3
    length = (last + 1) * 700 if state == 3 else 0
    topic = f"tenant-{ledger_id % 97}/namespace-{ledger_id % 13}/persistent/topic-{ledger_id % 100_003}"
    custom = [*_PULSARS, (b"pulsar/managed-ledger", topic.encode())]
    fields = [
        b"\x08", bytes([write]), b"\x10", bytes([ensemble]), b"\x18", _varint(length),
        *((b"\x20", _varint(last)) if state == 3 else ()), b"\x28", bytes([state]), *segments,
        b"\x38\x03\x42\x00\x48", bytes([ack]), *(_custom(key, value) for key, value in custom),
    ]  # fmt: skip
    message = b"".join(fields)
    return _HEADER + _varint(len(message)) + message


def _ensemble(chance: random.Random, size: int) -> list[int]:
    found: list[int] = []
    while len(found) < size:
        each = chance.choice(_POOL)
        if each not in found:
            found.append(each)
    return found


def _custom(key: bytes, value: bytes) -> bytes:
    body = b"\x0a" + bytes([len(key)]) + key + b"\x12" + _varint(len(value)) + value
    return b"\x5a" + _varint(len(body)) + body


def _varint(number: int) -> bytes:
    found = bytearray()
    while number >= 0x80:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    found.append(number)
    return bytes(found)
