"""Values of topics, cursors and schemas: what is in them, and what is no value at all."""

from __future__ import annotations

import pytest

from syncer.ledgers.decoding.managed import managed_cursor, managed_ledger, schema_ledgers
from syncer.ledgers.decoding.messages import MESSAGES
from syncer.ledgers.decoding.undecodable import Undecodable, ValueKind
from syncer.ledgers.managed import EntryPosition, LedgerOfTopic, ManagedCursor, ManagedLedger, Offload, SchemaLedgers


def test_a_topic_tells_its_ledgers_its_end_and_what_was_offloaded() -> None:
    message = MESSAGES["ManagedLedgerInfo"]()
    first = message.ledgerInfo.add(ledgerId=7, entries=3, size=99, timestamp=5)
    first.offloadContext.complete = True
    first.offloadContext.bookkeeperDeleted = True
    first.offloadContext.driverMetadata.name = b"aws-s3"
    message.ledgerInfo.add(ledgerId=8, timestamp=0)
    message.terminatedPosition.ledgerId, message.terminatedPosition.entryId = 8, 4
    message.properties.add(key=b"k", value="ü".encode())
    assert managed_ledger("/t", message.SerializeToString()) == ManagedLedger(
        ledgers=(LedgerOfTopic(7, 3, 99, 5, Offload(complete=True, deleted=True, driver="aws-s3")), LedgerOfTopic(8)),
        terminated_at=EntryPosition(8, 4),
        properties={"k": "ü"},
    )


def test_an_empty_value_is_a_topic_without_a_ledger() -> None:
    assert managed_ledger("/t", b"") == ManagedLedger()


def test_a_cursor_tells_where_it_stands() -> None:
    message = MESSAGES["ManagedCursorInfo"](cursorsLedgerId=-1, markDeleteLedgerId=3, markDeleteEntryId=-1)
    deleted = message.individualDeletedMessages.add()
    deleted.lowerEndpoint.ledgerId, deleted.lowerEndpoint.entryId = 3, 5
    deleted.upperEndpoint.ledgerId, deleted.upperEndpoint.entryId = 3, 9
    assert managed_cursor("/c", message.SerializeToString()) == ManagedCursor(
        ledger_id=None,
        mark_delete=EntryPosition(3, -1),
        deleted_ranges=((EntryPosition(3, 5), EntryPosition(3, 9)),),
    )


def test_schemas_name_each_of_their_ledgers_once_newest_first() -> None:
    message = MESSAGES["SchemaLocator"]()
    entries = [message.info, *(message.index.add() for _ in range(3))]
    for number, (entry, ledger_id) in enumerate(zip(entries, [12, 3, 7, 12], strict=True)):
        entry.version, entry.hash = number, b""
        entry.position.ledgerId, entry.position.entryId = ledger_id, 0
    assert schema_ledgers("/s", message.SerializeToString()) == SchemaLedgers((12, 7, 3))


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (b"G", "single byte"),
        (b"\x0a", "single byte"),
        (b"Gx", "before its header does"),
        (b"Gx\x00\x00\x00\x09\x08\x01", "before its header does"),
        (b"Gx\xff\xff\xff\xff\x08\x01", "before its header does"),
        (b"Gx\x00\x00\x00\x02\x08\x01", "required fields are missing: uncompressedSize"),
        (b"Gx\x00\x00\x00\x04\x08\x09\x10\x01", "required fields are missing: compressionType"),
        (b"Gx\x00\x00\x00\x0d\x08\x03\x10" + b"\xff" * 9 + b"\x01", "-1 bytes are packed"),
        (b"Gx\x00\x00\x00\x08\x08\x03\x10\xff\xff\xff\xff\x07", "2147483647 bytes are packed"),
        (b"Gx\x00\x00\x00\x04\x08\x01\x10\x09nonsense", "not packed by LZ4"),
        (b"Gx\x00\x00\x00\x04\x08\x02\x10\x09nonsense", "no ZLIB stream"),
        (b"Gx\x00\x00\x00\x04\x08\x03\x10\x09nonsense", "not packed by ZSTD"),
        (b"Gx\x00\x00\x00\x04\x08\x04\x10\x09nonsense", "not packed by SNAPPY"),
        (b"Gx\x00\x00\x00\x04\x08\x00\x10\x09nonsense", "9 bytes are packed, and there are 8"),
        (b"\x0a\x7f\x00", "end too early"),
    ],
)
def test_what_is_no_value_is_an_answer_that_says_where_and_why(value: bytes, words: str) -> None:
    for kind, found in [
        (ValueKind.MANAGED_LEDGER, managed_ledger("/x", value)),
        (ValueKind.CURSOR, managed_cursor("/x", value)),
    ]:
        assert isinstance(found, Undecodable)
        assert (found.kind, found.path) == (kind, "/x")
        assert words in found.why


def test_schemas_that_are_none_are_an_answer_too() -> None:
    assert schema_ledgers("/s", b"\xff") == Undecodable(
        ValueKind.SCHEMA, "/s", "the bytes are no protobuf message, or end too early"
    )
