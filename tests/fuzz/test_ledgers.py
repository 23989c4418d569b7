"""Whatever lies where ledgers and topics do: a ledger, a node, or an answer that says why it is none."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from syncer.ledgers.decoding.compression import MAGIC
from syncer.ledgers.decoding.entries import ledger_entry
from syncer.ledgers.decoding.managed import managed_cursor, managed_ledger, schema_ledgers
from syncer.ledgers.decoding.undecodable import Undecodable
from syncer.ledgers.managed import ManagedCursor, ManagedLedger, SchemaLedgers
from syncer.ledgers.metadata import LedgerMetadata
from syncer.ledgers.nodes import StoreNode
from syncer.ledgers.paths import ledger_path
from tests.fuzz.shares import drawing
from tests.property.ledgers import NODE_PATHS, NODE_VALUES, ledger_values, managed_values

Of = Callable[[str, bytes], object]
HEADER = b"BookieMetadataFormatVersion\t"

paths = st.sampled_from([f"/ledgers/{path}" for path in NODE_PATHS]) | st.text(max_size=40).map("/ledgers/".__add__)
starts = st.sampled_from([b"", HEADER, HEADER + b"1\n", HEADER + b"2\n", HEADER + b"3\n", MAGIC, b"5\n", b"3\n"])
garbage = st.builds(bytes.__add__, starts, st.binary(max_size=80))
sound = ledger_values() | managed_values() | st.sampled_from(NODE_VALUES)


@st.composite
def spoilt(draw: st.DrawFn) -> bytes:
    """A sound value, cut off, or with bytes that stand for others, or twice in part."""
    value = draw(sound)
    at = draw(st.integers(0, len(value)))
    match draw(st.integers(0, 2)):
        case 0:
            return value[:at]
        case 1:
            return value[:at] + draw(st.binary(max_size=3)) + value[at + draw(st.integers(0, 3)) :]
    return value[:at] + value[at // 2 :]


def held(value: bytes, path: str) -> None:
    """Every reader answers by its own types, and an answer that is a refusal names the path."""
    for where in (path, f"/ledgers/{ledger_path(7)}"):
        found = ledger_entry(where, value, None)
        assert found is None or isinstance(found, LedgerMetadata | StoreNode | Undecodable)
        if isinstance(found, Undecodable):
            assert found.path == where
            assert found.why
        if isinstance(found, LedgerMetadata):
            assert found.quorums.ensemble >= found.quorums.write >= found.quorums.ack
            assert found.segments
    assert isinstance(managed_ledger(path, value), ManagedLedger | Undecodable)
    assert isinstance(managed_cursor(path, value), ManagedCursor | Undecodable)
    assert isinstance(schema_ledgers(path, value), SchemaLedgers | Undecodable)


@drawing("ledgers", 2)
@given(garbage, paths)
def test_garbage_is_answered(value: bytes, path: str) -> None:
    held(value, path)


@drawing("ledgers", 2)
@given(spoilt(), paths)
def test_spoilt_values_are_answered(value: bytes, path: str) -> None:
    held(value, path)
