"""Values of a store made rows: each is a ledger, a reference, or one that cannot be decoded, and none is lost."""

from __future__ import annotations

import gc
from collections.abc import Callable

import pyarrow as pa
import pytest

from spark_snapshot.audit.decoding import LedgerRows, references_of
from spark_snapshot.audit.rows import LEDGERS, REFERENCES, UNDECODABLE
from syncer.ledgers.decoding.messages import MESSAGES
from syncer.ledgers.metadata import LedgerMetadata, LedgerOrigin, LedgerState, Quorums, Segment
from syncer.wanted.contract import REFUSED
from syncer.wanted.ledgers import LedgerPathKind
from tests.property.ledgers import binary_value, packed

LEDGER = LedgerMetadata(
    42,
    LedgerState.CLOSED,
    Quorums(3, 2, 1),
    (Segment(0, ("a:1", "b:1", "c:1")), Segment(9, ("a:1", "b:1", "b:1"))),
    17,
    900,
    LedgerOrigin(
        format_version=3,
        creation_token=5,
        custom={
            "application": b"pulsar",
            "component": b"managed-ledger",
            "pulsar/managed-ledger": b"acme/orders/persistent/t",
        },
    ),
)
PATH = "/ledgers/00/0000/L0042"
TOPIC = "/managed-ledgers/acme/orders/persistent/t"


def batch(*rows: tuple[str, str, bytes]) -> pa.RecordBatch:
    paths, kinds, values = zip(*rows, strict=True) if rows else ((), (), ())
    return pa.record_batch(
        {
            "path": pa.array(paths, pa.string()),
            "kind": pa.array(kinds, pa.string()),
            "value": pa.array(values, pa.binary()),
            "created_ms": pa.array([7] * len(paths), pa.int64()),
        }
    )


def flaws_of(flaws: pa.RecordBatch) -> list[tuple[str, str]]:
    assert flaws.schema == UNDECODABLE
    return [(row["path"], row["kind"]) for row in flaws.to_pylist() if row["why"]]


def test_a_ledger_is_a_row() -> None:
    found, flaws = LedgerRows().rows(batch((PATH, LedgerPathKind.LEDGER, binary_value(LEDGER))))
    assert (found.schema, flaws.num_rows) == (LEDGERS, 0)
    (row,) = found.to_pylist()
    assert row == {
        "ledger_id": 42,
        "state": "closed",
        "ensemble": 3,
        "write_quorum": 2,
        "ack_quorum": 1,
        "last_entry": 17,
        "length_bytes": 900,
        "created_ms": 7,
        "format_version": 3,
        "creation_token": 5,
        "application": "pulsar",
        "component": "managed-ledger",
        "topic": "persistent://acme/orders/t",
        "segments": [
            {"first_entry": 0, "bookies": ["a:1", "b:1", "c:1"]},
            {"first_entry": 9, "bookies": ["a:1", "b:1", "b:1"]},
        ],
    }


def test_what_cannot_be_decoded_or_read_is_a_row_and_the_rest_is_decoded() -> None:
    given = batch(
        ("/ledgers/00/0000/L0001", LedgerPathKind.LEDGER, b"garbage"),
        (PATH, LedgerPathKind.LEDGER, binary_value(LEDGER)),
        ("/ledgers/00/0000/no-ledger", LedgerPathKind.LEDGER, b"x"),
        ("/ledgers/00/0007", REFUSED, b""),
        ("/ledgers/idgen", LedgerPathKind.LEDGER, b""),
    )
    found, flaws = LedgerRows().rows(given)
    assert found.column("ledger_id").to_pylist() == [42]
    assert flaws_of(flaws) == [
        ("/ledgers/00/0000/L0001", "ledger"),
        ("/ledgers/00/0000/no-ledger", "ledger"),
        ("/ledgers/00/0007", REFUSED),
    ]


def test_another_root_is_that_of_other_ledgers() -> None:
    given = batch(("/here/ledgers/00/0000/L0042", LedgerPathKind.LEDGER, binary_value(LEDGER)))
    assert [each.num_rows for each in LedgerRows().rows(given)] == [0, 0]
    assert [each.num_rows for each in LedgerRows("/here/ledgers").rows(given)] == [1, 0]


@pytest.mark.parametrize("decode", [LedgerRows().rows, references_of])
def test_of_nothing_nothing_comes(decode: Callable[[pa.RecordBatch], tuple[pa.RecordBatch, pa.RecordBatch]]) -> None:
    assert [each.num_rows for each in decode(batch())] == [0, 0]


def test_the_collector_is_left_as_it_was() -> None:
    assert gc.isenabled()
    LedgerRows().rows(batch((PATH, LedgerPathKind.LEDGER, binary_value(LEDGER))))
    assert gc.isenabled()


def test_references_are_rows_by_role() -> None:
    topic = MESSAGES["ManagedLedgerInfo"]()
    topic.ledgerInfo.add(ledgerId=1, entries=10, size=100, timestamp=1_000)
    moved = topic.ledgerInfo.add(ledgerId=2)
    moved.offloadContext.complete = True
    moved.offloadContext.bookkeeperDeleted = True
    topic.ledgerInfo.add(ledgerId=3)
    cursor = MESSAGES["ManagedCursorInfo"](cursorsLedgerId=4)
    cursor.properties.add(name=b"CompactedTopicLedger", value=5)
    cursor.cursorProperties.add(name=b"#pulsar.internal.delayed.bucket_0_9", value=b"6")
    cursor.cursorProperties.add(name=b"#pulsar.internal.delayed.bucket_10_19", value=b"9" * 30)
    inline = MESSAGES["ManagedCursorInfo"](cursorsLedgerId=-1)
    schema = MESSAGES["SchemaLocator"]()
    schema.info.version = 0
    schema.info.position.ledgerId, schema.info.position.entryId, schema.info.hash = 7, 0, b""
    given = batch(
        (TOPIC, LedgerPathKind.MANAGED_LEDGER, packed(topic.SerializeToString(), 3)),
        (f"{TOPIC}/sub", LedgerPathKind.CURSOR, cursor.SerializeToString()),
        (f"{TOPIC}/inline", LedgerPathKind.CURSOR, inline.SerializeToString()),
        ("/schemas/acme/orders/t", LedgerPathKind.SCHEMA, schema.SerializeToString()),
        ("/managed-ledgers/acme/orders/persistent/new", LedgerPathKind.MANAGED_LEDGER, b""),
    )
    found, flaws = references_of(given)
    assert (found.schema, flaws.num_rows) == (REFERENCES, 0)
    rows = found.to_pylist()
    assert {row["topic"] for row in rows} == {"persistent://acme/orders/t"}
    shown = ("ledger_id", "role", "entries", "size_bytes", "closed_ms", "offloaded", "bookkeeper_deleted")
    assert [tuple(row[name] for name in shown) for row in rows] == [
        (1, "data", 10, 100, 1_000, False, False),
        (2, "data", None, None, None, True, True),
        (3, "data", None, None, None, False, False),
        (4, "cursor", None, None, None, False, False),
        (5, "compacted", None, None, None, False, False),
        (6, "delayed-index", None, None, None, False, False),
        (7, "schema", None, None, None, False, False),
    ]


def test_what_may_refer_to_ledgers_and_is_not_understood_is_told() -> None:
    given = batch(
        (TOPIC, LedgerPathKind.MANAGED_LEDGER, b"\xff"),
        (f"{TOPIC}/sub", LedgerPathKind.CURSOR, b"\xff"),
        ("/schemas/acme/orders/t", LedgerPathKind.SCHEMA, b"\xff"),
        ("/managed-ledgers/plain", LedgerPathKind.UNFAMILIAR, b"x"),
        ("/schemas", REFUSED, b""),
        ("/ledgers/available/host:3181", LedgerPathKind.BOOKIE, b""),
    )
    found, flaws = references_of(given)
    assert flaws_of(flaws) == [
        (TOPIC, "managed-ledger"),
        (f"{TOPIC}/sub", "cursor"),
        ("/schemas/acme/orders/t", "schema"),
        ("/managed-ledgers/plain", "unfamiliar"),
        ("/schemas", REFUSED),
    ]
    assert found.num_rows == 0
