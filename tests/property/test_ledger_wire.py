"""Ledgers that are decoded a batch at a time are those of the pure decoder, whatever the values are; none is lost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_snapshot.audit.columns import flags
from spark_snapshot.audit.decoding import LedgerRows
from spark_snapshot.audit.flattening import flattened
from spark_snapshot.audit.ledger_wire import ledger_rows
from spark_snapshot.audit.rows import LEDGERS
from syncer.ledgers.decoding.entries import ledger_entry
from syncer.ledgers.decoding.undecodable import Undecodable
from syncer.ledgers.metadata import LedgerMetadata
from syncer.ledgers.paths import ledger_path
from syncer.wanted.contract import REFUSED
from syncer.wanted.ledgers import LedgerPathKind
from tests.property.ledgers import binary_value, ledger_values, ledgers, uneven_ledgers
from tests.support.ledger_fields import PREFIX, encoded, fields_of, varint

TELLING: Final = (0, 1, 8, 0x0A, 0x10, 0x12, 0x32, 0x5A, 0x7F, 0x80, 0xFF)
"""Bytes that mean something where a field begins, or a number ends."""
NUMBERS: Final = (0, 1, 2, 3, 4, 5, 9, 127, 128, 2**31 - 1, 2**31, 2**32 + 1, 2**62, -1, -(2**31), -(2**63))
TAILS: Final = (
    b"", b"\x10\x05", b"\x10\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", b"\x0a\x04bk-1", b"\x12\x01v", b"\x18\x01",
    b"\x0a\x7fz", b"\x10", b"\x0a", b"\xff",
)  # fmt: skip
"""What is put behind a segment, custom metadata, or a password."""
KEYS: Final = (
    "application", "component", "pulsar/managed-ledger", "pulsar/compactedTopic", "pulsar/delayedIndexTopic",
    "pulsar/schemaId", "other",
)  # fmt: skip
OWNED: Final = (
    b"pulsar", b"managed-ledger", b"acme/orders/persistent/t%20x", b"acme/c/orders/persistent/t/cursor",
    b"acme/orders/t", b"no/topic", b"\xff\xfe", b"n" * 130, b"",
)  # fmt: skip


@st.composite
def owned_values(draw: st.DrawFn) -> bytes:
    """Values whose custom metadata are such as Pulsar writes, and such as it does not."""
    ledger = draw(ledgers())
    custom = draw(st.dictionaries(st.sampled_from(KEYS), st.sampled_from(OWNED), max_size=4))
    return binary_value(ledger._replace(origin=ledger.origin._replace(custom=custom)))


@st.composite
def damaged_values(draw: st.DrawFn) -> bytes:
    """Values with a byte that is another one, a part twice or left out, or cut off; some are taken nevertheless."""
    value = bytearray(draw(owned_values() | uneven_ledgers().map(binary_value)))
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(len(PREFIX), max(len(PREFIX), len(value) - 1)))
        match draw(st.integers(0, 3)):
            case 0 if at < len(value):
                value[at] = draw(
                    st.sampled_from([0, 1, 8, 0x0A, 0x10, 0x12, 0x32, 0x5A, 0x7F, 0x80, 0xFF, value[at] ^ 1])
                )
            case 1:
                value[at:at] = value[at : at + draw(st.integers(1, 12))]
            case 2:
                del value[at : at + draw(st.integers(1, 6))]
            case _:
                del value[at:]
    return bytes(value)


@st.composite
def rebuilt_values(draw: st.DrawFn) -> bytes:
    """Values that are messages, with fields left out, twice, in another order, with other numbers or other parts."""
    fields = fields_of(draw(owned_values() | uneven_ledgers().map(binary_value)))
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(fields) - 1))
        tag, content = fields[at]
        match draw(st.integers(0, 4)):
            case 0:
                fields.insert(draw(st.integers(0, len(fields))), (tag, content))
            case 1 if len(fields) > 1:
                del fields[at]
            case 2:
                fields = draw(st.permutations(fields))
            case 3 if isinstance(content, int):
                fields[at] = tag, draw(st.sampled_from(NUMBERS))
            case _ if isinstance(content, bytes):
                fields[at] = tag, draw(st.sampled_from(["", "ab"])).encode() + content + draw(st.sampled_from(TAILS))
    data = b"".join(map(encoded, fields))
    size = max(0, len(data) + draw(st.sampled_from([0, 0, 0, 0, -1, -3, 1])))
    return PREFIX + varint(size) + data + draw(st.sampled_from([b"", b"behind"]))


VALUES: Final = (
    owned_values()
    | uneven_ledgers().map(binary_value)
    | ledger_values()
    | damaged_values()
    | rebuilt_values()
    | rebuilt_values()
    | st.binary(max_size=40)
)
PATHS: Final = st.sampled_from(
    ["", "00/0000/L0042", "00/0000/L0007", "21/4748/L3646", "00/0000/X0007", "00/000/L00077", "0x/0000/L0001"]
) | st.integers(0, 2**62).map(ledger_path)
ROWS: Final = st.lists(
    st.tuples(
        PATHS, st.sampled_from([LedgerPathKind.LEDGER.value] * 5 + [REFUSED]), VALUES, st.none() | st.integers(0, 9)
    ),
    max_size=6,
)


def batch(rows: Sequence[tuple[str, str, bytes, int | None]], root: str) -> pa.RecordBatch:
    paths, kinds, values, created = zip(*rows, strict=True) if rows else ((), (), (), ())
    columns: dict[str, Any] = {
        "path": pa.array([f"{root}/{path}" for path in paths], pa.string()),
        "kind": pa.array(kinds, pa.string()),
        "value": pa.array(values, pa.binary()),
        "created_ms": pa.array(created, pa.int64()),
    }
    return pa.record_batch(columns)


@settings(max_examples=300, deadline=None)
@given(ROWS, st.sampled_from(["/ledgers", "/" + "a" * 80]), st.integers(0, 3))
def test_a_batch_is_decoded_as_its_values_are_one_by_one(
    rows: list[tuple[str, str, bytes, int | None]], root: str, skipped: int
) -> None:
    found, flaws = LedgerRows(root).rows(batch(rows, root).slice(skipped))
    each = [
        (path, kind, ledger_entry(f"{root}/{path}", value, created, root))
        for path, kind, value, created in rows[skipped:]
    ]
    known = [one for _, kind, one in each if kind != REFUSED and isinstance(one, LedgerMetadata)]
    wanted = pa.RecordBatch.from_arrays(flattened(known), schema=LEDGERS)
    assert sorted(map(repr, found.to_pylist())) == sorted(map(repr, wanted.to_pylist()))
    refused = [f"{root}/{path}" for path, kind, _ in each if kind == REFUSED]
    damaged = [one.path for _, kind, one in each if kind != REFUSED and isinstance(one, Undecodable)]
    assert sorted(map(str, flaws.column("path").to_pylist())) == sorted(refused + damaged)


@settings(max_examples=300, deadline=None)
@given(st.lists(rebuilt_values(), min_size=1, max_size=10))
def test_messages_that_nobody_writes_are_taken_or_refused_as_one_by_one(some: list[bytes]) -> None:
    given_rows = [(ledger_path(number), LedgerPathKind.LEDGER.value, value, None) for number, value in enumerate(some)]
    found, _ = LedgerRows().rows(batch(given_rows, "/ledgers"))
    each = [ledger_entry(f"/ledgers/{path}", value, None) for path, _, value, _ in given_rows]
    known = [one for one in each if isinstance(one, LedgerMetadata)]
    wanted = pa.RecordBatch.from_arrays(flattened(known), schema=LEDGERS)
    assert sorted(map(repr, found.to_pylist())) == sorted(map(repr, wanted.to_pylist()))


@given(st.lists(ledgers(), min_size=1, max_size=5))
def test_what_bookkeeper_writes_is_decoded_together(some: list[LedgerMetadata]) -> None:
    rows = [(ledger_path(number), "ledger", binary_value(each), None) for number, each in enumerate(some)]
    given_rows = batch(rows, "/ledgers")
    columns = (given_rows.column(name) for name in ("path", "value", "created_ms"))
    path, value, created = columns
    found, fine = ledger_rows(path, value, created, flags(pa.array([True] * len(some))), "/ledgers")
    assert found.num_rows == len(some)
    assert fine.all()
