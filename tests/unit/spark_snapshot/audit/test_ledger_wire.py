"""What is not as BookKeeper writes it is not decoded together with what is: the pure decoder says what it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
import pyarrow as pa
import pytest

from spark_snapshot.audit.decoding import LedgerRows
from spark_snapshot.audit.flattening import flattened
from spark_snapshot.audit.ledger_wire import ledger_rows
from spark_snapshot.audit.rows import LEDGERS
from syncer.ledgers.decoding.entries import ledger_entry
from syncer.ledgers.metadata import LedgerMetadata
from tests.property.ledgers import binary_value
from tests.support.ledger_fields import WireField, fields_of, value_of
from tests.unit.spark_snapshot.audit.test_decoding import LEDGER, PATH, batch

SEGMENT, CUSTOM, WRITE, ENSEMBLE, LENGTH, LAST, STATE, ACK, CTIME = 0x32, 0x5A, 0x08, 0x10, 0x18, 0x20, 0x28, 0x48, 0x50
USUAL: Final = fields_of(binary_value(LEDGER))
Fields = list[WireField]


def without(tag: int) -> Fields:
    return [each for each in USUAL if each[0] != tag]


def put(tag: int, number: int) -> Fields:
    return [*without(tag), (tag, number)]


def changed(tag: int, change: Callable[[bytes], bytes]) -> Fields:
    return [
        (each, change(content) if each == tag and isinstance(content, bytes) else content) for each, content in USUAL
    ]


def only(tag: int, content: bytes) -> Fields:
    return [*without(tag), (tag, content)]


NO_TEXT: Final = only(CUSTOM, b"\x0a\x01\xff\x12\x01\xff")
"""A key that is no text is shown with a replacement, as Java does."""
UNUSUAL: Final = {
    "no write quorum": without(WRITE),
    "no ensemble": without(ENSEMBLE),
    "no length": without(LENGTH),
    "no state": without(STATE),
    "no segment": without(SEGMENT),
    "a state that is none": put(STATE, 7),
    "a write quorum beyond the ensemble": put(WRITE, 4),
    "an ack quorum beyond the write quorum": put(ACK, 3),
    "an ack quorum below zero": put(ACK, -1),
    "an ensemble that its segments do not have": put(ENSEMBLE, 4),
    "an ensemble of more than 32 bits": put(ENSEMBLE, 2**32 + 3),
    "the least length": put(LENGTH, -(2**63)),
    "the least time": put(CTIME, -(2**63)),
    "a field that is unknown": [*USUAL, (0x68, 1)],
    "a custom key twice": [*USUAL, *(each for each in USUAL if each[0] == CUSTOM)][: len(USUAL) + 1],
    "two custom keys that are no text, and look the same": [
        *without(CUSTOM),
        (CUSTOM, b"\x0a\x01\xff\x12\x01v"),
        (CUSTOM, b"\x0a\x01\xfe\x12\x01v"),
    ],
    "custom metadata with a third field": changed(CUSTOM, lambda content: content + b"\x18\x01"),
    "custom metadata with two values": changed(CUSTOM, lambda content: content + b"\x12\x01v"),
    "custom metadata with the value first": only(CUSTOM, b"\x12\x06pulsar\x0a\x0bapplication"),
    "custom metadata without a value": only(CUSTOM, b"\x0a\x0bapplication"),
    "custom metadata that are cut off": only(CUSTOM, b"\x0a\x0bapplication\x12\x07pulsar"),
    "segments with a third field": changed(SEGMENT, lambda content: content + b"\x18\x01"),
    "segments with two first entries": changed(SEGMENT, lambda content: content + b"\x10\x7f"),
    "segments with a bookie behind the first entry": changed(SEGMENT, lambda content: content + b"\x0a\x03d:1"),
    "segments without a first entry": changed(SEGMENT, lambda content: content[:-2]),
    "segments that are cut off": changed(SEGMENT, lambda content: content[:-1]),
    "a bookie that is none": changed(SEGMENT, lambda content: content.replace(b"c:1", b"c 1")),
    "segments out of order": [*without(SEGMENT), *[each for each in USUAL if each[0] == SEGMENT][::-1]],
    "a segment twice": [*USUAL, *[each for each in USUAL if each[0] == SEGMENT][-1:]],
}


def together(value: bytes, *behind: bytes) -> tuple[pa.RecordBatch, bool]:
    rows = batch((PATH, "ledger", value), *(("/elsewhere", "ledger", each) for each in behind))
    path, held, created_ms = (rows.column(name) for name in ("path", "value", "created_ms"))
    found, fine = ledger_rows(path, held, created_ms, np.ones(rows.num_rows, dtype=np.bool_), "/ledgers")
    return found, bool(fine[0])


def one_by_one(value: bytes) -> list[LedgerMetadata]:
    found = ledger_entry(PATH, value, 7)
    return [found] if isinstance(found, LedgerMetadata) else []


def test_what_bookkeeper_writes_is_decoded_together() -> None:
    for fields in (
        USUAL,
        USUAL[::-1],
        without(ACK),
        without(LAST),
        without(CTIME),
        without(CUSTOM),
        put(LAST, -1),
        NO_TEXT,
    ):
        ordered = sorted(fields, key=lambda each: each[0] == SEGMENT and each[1] != USUAL[5][1])
        found, fine = together(value_of(ordered))
        assert fine
        assert found == pa.RecordBatch.from_arrays(flattened(one_by_one(value_of(ordered))), schema=LEDGERS)


@pytest.mark.parametrize("fields", UNUSUAL.values(), ids=UNUSUAL.keys())
def test_what_is_unusual_is_left_to_the_pure_decoder(fields: Fields) -> None:
    value = value_of(fields)
    assert not together(value)[1]
    found, flaws = LedgerRows().rows(batch((PATH, "ledger", value)))
    known = one_by_one(value)
    assert found.to_pylist() == pa.RecordBatch.from_arrays(flattened(known), schema=LEDGERS).to_pylist()
    assert flaws.num_rows == 1 - len(known)


def test_a_message_that_is_longer_than_its_value_does_not_take_what_is_of_the_next() -> None:
    value = value_of(USUAL)
    assert 0x80 <= value[30] < 0xFE
    longer = value[:30] + bytes([value[30] + 2]) + value[31:]
    assert together(longer + b"\x60\x05")[1]
    assert not together(longer, b"\x60\x05")[1]
    assert not together(value[:30] + bytes([value[30] - 1]) + value[31:])[1]
