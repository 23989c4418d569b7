"""Values of a store made rows: ledgers, references to them, and what cannot be decoded. Runs in a worker of Spark.

A value that cannot be decoded is a row of its own, and so is a path that may not be read: an audit that does not show
them would say that all is well.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from spark_snapshot.audit.columns import flags
from spark_snapshot.audit.flattening import flattened
from spark_snapshot.audit.ledger_wire import ledger_rows
from spark_snapshot.audit.rows import LEDGERS, REFERENCES, UNDECODABLE
from syncer.ledgers.decoding.entries import ledger_entry
from syncer.ledgers.decoding.managed import managed_cursor, managed_ledger, schema_ledgers
from syncer.ledgers.decoding.undecodable import Undecodable
from syncer.ledgers.managed import ManagedCursor, ManagedLedger, SchemaLedgers
from syncer.ledgers.metadata import LedgerMetadata
from syncer.ledgers.owners import ReferenceRole, topic_of_path
from syncer.ledgers.paths import LAST_ID, ROOT
from syncer.wanted.contract import REFUSED
from syncer.wanted.ledgers import LedgerPathKind

_REFUSED: Final = "it may not be read, nor what lies below it"
_UNFAMILIAR: Final = "Pulsar puts no value there"
_Flaw = tuple[str, str, str]
_Reference = tuple[int, str | None, str, int | None, int | None, int | None, bool, bool]


@dataclass(frozen=True, slots=True)
class LedgerRows:
    """Decodes ledgers, a batch at a time.

    Args:
        root: Where BookKeeper's own paths begin.
    """

    root: str = ROOT

    def rows(self, batch: pa.RecordBatch) -> tuple[pa.RecordBatch, pa.RecordBatch]:
        """Decode a batch.

        Args:
            batch: Rows of ``DATED_STORE``.

        Returns:
            Rows of ``LEDGERS``, and rows of ``UNDECODABLE``.
        """
        allowed = flags(pc.not_equal(batch.column("kind"), pa.scalar(REFUSED)))
        path, value, created_ms = (batch.column(name) for name in ("path", "value", "created_ms"))
        usual, decoded = ledger_rows(path, value, created_ms, allowed, self.root)
        others = batch.filter(pa.array(~decoded))
        if not others.num_rows:
            return usual, _of_columns([], UNDECODABLE)
        with _uncollected():
            ledgers, flaws = self._decoded(others)
            arrays = flattened(ledgers)
            del ledgers
        unusual = pa.RecordBatch.from_arrays(arrays, schema=LEDGERS)
        return _together(usual, unusual), _of_columns(flaws, UNDECODABLE)

    def _decoded(self, batch: pa.RecordBatch) -> tuple[list[LedgerMetadata], list[_Flaw]]:
        ledgers: list[LedgerMetadata] = []
        flaws: list[_Flaw] = []
        root = self.root
        for path, kind, value, created_ms in _columns(batch, "path", "kind", "value", "created_ms"):
            if kind == REFUSED:
                flaws.append((path, REFUSED, _REFUSED))
                continue
            found = ledger_entry(path, value, created_ms, root)
            if isinstance(found, LedgerMetadata):
                ledgers.append(found)
            elif isinstance(found, Undecodable):
                flaws.append((found.path, found.kind, found.why))
        return ledgers, flaws


def _together(one: pa.RecordBatch, other: pa.RecordBatch) -> pa.RecordBatch:
    if not (one.num_rows and other.num_rows):
        return one if one.num_rows else other
    [both] = pa.Table.from_batches([one, other]).combine_chunks().to_batches()
    return both


def references_of(batch: pa.RecordBatch) -> tuple[pa.RecordBatch, pa.RecordBatch]:
    """Decode a batch of what refers to ledgers.

    Args:
        batch: Rows of ``STORE`` or ``DATED_STORE``: managed ledgers, cursors and schemas. A value at an unfamiliar
            place may refer to ledgers, so it is one that cannot be decoded.

    Returns:
        Rows of ``REFERENCES``, and rows of ``UNDECODABLE``.
    """
    references: list[_Reference] = []
    flaws: list[_Flaw] = []
    for path, kind, value in _columns(batch, "path", "kind", "value"):
        match _referring(path, kind, value):
            case Undecodable() as found:
                flaws.append((found.path, found.kind, found.why))
            case str() as why:
                flaws.append((path, kind, why))
            case list() as found:
                references += found
    return _of_columns(references, REFERENCES), _of_columns(flaws, UNDECODABLE)


def _referring(path: str, kind: str, value: bytes) -> list[_Reference] | Undecodable | str | None:
    """References of a value; a text says why it cannot be decoded; None where it is none that refers to ledgers."""
    match kind:
        case LedgerPathKind.MANAGED_LEDGER:
            found: ManagedLedger | ManagedCursor | SchemaLedgers | Undecodable = managed_ledger(path, value)
        case LedgerPathKind.CURSOR:
            found = managed_cursor(path, value)
        case LedgerPathKind.SCHEMA:
            found = schema_ledgers(path, value)
        case LedgerPathKind.UNFAMILIAR:
            return _UNFAMILIAR
        case _:
            return _REFUSED if kind == REFUSED else None
    return found if isinstance(found, Undecodable) else list(_references(topic_of_path(path), found))


def _references(topic: str | None, found: ManagedLedger | ManagedCursor | SchemaLedgers) -> Iterator[_Reference]:
    match found:
        case ManagedLedger():
            for ledger_id, entries, size_bytes, closed_ms, offload in found.ledgers:
                offloaded, deleted = (False, False) if offload is None else (offload.complete, offload.deleted)
                yield ledger_id, topic, ReferenceRole.DATA, entries, size_bytes, closed_ms, offloaded, deleted
        case ManagedCursor():
            if found.ledger_id is not None:
                yield _plain(found.ledger_id, topic, ReferenceRole.CURSOR)
            if found.compacted_ledger_id is not None:
                yield _plain(found.compacted_ledger_id, topic, ReferenceRole.COMPACTED)
            for ledger_id in found.delayed_ledger_ids():
                if ledger_id <= LAST_ID:
                    yield _plain(ledger_id, topic, ReferenceRole.DELAYED_INDEX)
        case SchemaLedgers():
            for ledger_id in found.ledger_ids:
                yield _plain(ledger_id, topic, ReferenceRole.SCHEMA)


@contextmanager
def _uncollected() -> Iterator[None]:
    """Have nobody look for circles among a batch: there are none, and looking takes a third of the time."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def _plain(ledger_id: int, topic: str | None, role: ReferenceRole) -> _Reference:
    return ledger_id, topic, role, None, None, None, False, False


def _columns(batch: pa.RecordBatch, *names: str) -> Iterator[tuple[Any, ...]]:
    return zip(*(batch.column(name).to_pylist() for name in names), strict=True)


def _of_columns(rows: Sequence[tuple[Any, ...]], schema: pa.Schema) -> pa.RecordBatch:
    columns: Iterable[Any] = zip(*rows, strict=True) if rows else ((),) * len(schema)
    return pa.RecordBatch.from_arrays(
        [pa.array(column, each.type) for column, each in zip(columns, schema, strict=True)], schema=schema
    )
