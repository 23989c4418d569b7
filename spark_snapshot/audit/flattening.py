"""Ledgers as columns of Arrow, and back: a batch is flattened list by list, not ledger by ledger."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, chain
from typing import Any, Final

import pyarrow as pa

from spark_snapshot.audit.columns import Numbers
from spark_snapshot.audit.rows import BOOKIES, LEDGERS, SEGMENT
from syncer.ledgers.metadata import LedgerMetadata, LedgerOrigin, LedgerState, Quorums, Segment
from syncer.ledgers.owners import owner_of

_STATES: Final = {each.value: each for each in LedgerState}


def flattened(ledgers: Sequence[LedgerMetadata]) -> list[pa.Array[Any]]:
    """Make the columns of ``LEDGERS``.

    Args:
        ledgers: The ledgers.
    """
    if not ledgers:
        return [pa.array([], each.type) for each in LEDGERS]
    ids, states, quorums, segments, lasts, lengths, origins = zip(*ledgers, strict=True)
    versions, created, _, tokens, _, _, customs = zip(*origins, strict=True)
    columns = [
        ids,
        states,
        *zip(*quorums, strict=True),
        lasts,
        lengths,
        created,
        versions,
        tokens,
        *zip(*map(owner_of, customs), strict=True),
    ]
    types = [each.type for each in LEDGERS]
    arrays: list[pa.Array[Any]] = [pa.array(column, of) for column, of in zip(columns, types[:-1], strict=True)]
    return [*arrays, _segments(segments)]


def _segments(segments: Sequence[Sequence[Segment]]) -> pa.Array[Any]:
    firsts, ensembles = zip(*chain.from_iterable(segments), strict=True)
    bookies = listed(_offsets(ensembles), pa.array(list(chain.from_iterable(ensembles)), pa.string()), BOOKIES)
    each: Any = pa.StructArray.from_arrays([pa.array(firsts, pa.int64()), bookies], fields=list(SEGMENT))
    return listed(_offsets(segments), each, LEDGERS.field("segments").type)


def _offsets(lists: Iterable[Sequence[object]]) -> list[int]:
    return list(accumulate(map(len, lists), initial=0))


def listed(offsets: Sequence[int] | Numbers, values: pa.Array[Any], of: pa.DataType) -> pa.Array[Any]:
    """Make a column of lists.

    Args:
        offsets: Where each list begins among the values, and the end of the last one.
        values: Of all lists.
        of: The type of the lists.
    """
    lists: Any = pa.ListArray  # the types know no list of a struct
    made: pa.Array[Any] = lists.from_arrays(pa.array(offsets, pa.int32()), values, type=of)
    return made


def ledgers_of(rows: pa.RecordBatch) -> Iterator[LedgerMetadata]:
    """Make ledgers of columns again; what the table does not keep is empty.

    Args:
        rows: Of ``LEDGERS``.
    """
    for row in rows.to_pylist():
        yield LedgerMetadata(
            row["ledger_id"],
            _STATES[row["state"]],
            Quorums(row["ensemble"], row["write_quorum"], row["ack_quorum"]),
            tuple(Segment(each["first_entry"], tuple(each["bookies"])) for each in row["segments"]),
            row["last_entry"],
            row["length_bytes"],
            LedgerOrigin(
                format_version=row["format_version"],
                created_ms=row["created_ms"],
                creation_token=row["creation_token"],
            ),
        )
