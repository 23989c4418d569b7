"""The tables of an audit, as Arrow and as Spark have them.

Numbers are those of the values, which may be absurd: an audit shows what is there. A count of entries that is beyond 64
bits is the greatest number of 64 bits.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import pyarrow as pa
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

_SPARK: Final[dict[pa.DataType, DataType]] = {
    pa.string(): StringType(),
    pa.int64(): LongType(),
    pa.int32(): IntegerType(),
    pa.bool_(): BooleanType(),
}


def _schema(columns: Mapping[str, pa.DataType]) -> pa.Schema:
    return pa.schema(columns)


BOOKIES: Final = pa.list_(pa.string())
SEGMENT: Final = pa.struct([("first_entry", pa.int64()), ("bookies", BOOKIES)])

LEDGERS: Final = _schema(
    {
        "ledger_id": pa.int64(),
        "state": pa.string(),
        "ensemble": pa.int32(),
        "write_quorum": pa.int32(),
        "ack_quorum": pa.int32(),
        "last_entry": pa.int64(),
        "length_bytes": pa.int64(),
        "created_ms": pa.int64(),
        "format_version": pa.int32(),
        "creation_token": pa.int64(),
        "application": pa.string(),
        "component": pa.string(),
        "topic": pa.string(),
        "segments": pa.list_(SEGMENT),
    }
)
"""A ledger, as :class:`syncer.ledgers.metadata.LedgerMetadata`. ``last_entry`` and ``length_bytes``: null but of a
closed one. ``application``, ``component`` and ``topic``: by its own custom metadata, null where that does not say."""

UNDECODABLE: Final = _schema({"path": pa.string(), "kind": pa.string(), "why": pa.string()})
"""A value that cannot be decoded, or a path that may not be read (kind ``refused``)."""

REFERENCES: Final = _schema(
    {
        "ledger_id": pa.int64(),
        "topic": pa.string(),
        "role": pa.string(),
        "entries": pa.int64(),
        "size_bytes": pa.int64(),
        "closed_ms": pa.int64(),
        "offloaded": pa.bool_(),
        "bookkeeper_deleted": pa.bool_(),
    }
)
"""A topic's reference to a ledger. ``role``: of :class:`syncer.ledgers.owners.ReferenceRole`."""

JUDGEMENTS: Final = _schema(
    {
        "ledger_id": pa.int64(),
        "topic": pa.string(),
        "class": pa.string(),
        "entries": pa.int64(),
        "by_replicas_left": pa.list_(pa.int64()),
        "lost_entries": pa.int64(),
        "below_ack_quorum": pa.int64(),
        "below_write_quorum": pa.int64(),
        "least_replicas": pa.int32(),
        "length_bytes": pa.int64(),
        "lost_bytes": pa.int64(),
        "recoverable": pa.bool_(),
        "single_copy": pa.bool_(),
        "named": BOOKIES,
    }
)
"""A ledger as the loss of bookies leaves it, as :class:`syncer.ledgers.judging.ledger.LedgerJudgement`.

``topic``: as its own metadata says. ``recoverable``: null of a closed one. ``named``: lost bookies of any segment."""

COPYSETS: Final = _schema(
    {
        "kind": pa.string(),
        "bookies": BOOKIES,
        "ledgers": pa.int64(),
        "entries": pa.int64(),
        "bytes": pa.int64(),
    }
)
"""A set of bookies whose loss harms ledgers, by ``kind``: it loses entries (``losing``), or keeps ledgers that are not
closed from being recovered (``blocking``). ``bookies``: in the order of their names, each once. ``ledgers``: of which
it is one of the least sets, as :class:`syncer.ledgers.losses.copysets.Copysets` counts. ``entries`` and ``bytes``: of
what lies on exactly these bookies; the bytes of closed ledgers, by the share of entries."""

BOOKIE_LIST: Final = _schema(
    {
        "bookie": pa.string(),
        "state": pa.string(),
        "cookie": pa.bool_(),
        "rack": pa.string(),
        "named_by": pa.int64(),
    }
)
"""A bookie. ``state``: of :class:`syncer.ledgers.nodes.BookieState`. ``cookie``: it once had disks there.
``rack``: as operators told Pulsar, null where they did not. ``named_by``: of one that is away the ledgers that name it.
"""

UNSPREAD: Final = _schema({"ledger_id": pa.int64(), "topic": pa.string(), "segments": pa.int32()})
"""A ledger that is not spread over racks, or regions, as these are configured. ``topic``: as its own metadata says.
``segments``: how many of its segments are not."""


def as_spark(schema: pa.Schema) -> StructType:
    """The same schema, as Spark has it; anything may be null.

    Args:
        schema: Of the tables here.
    """
    return StructType([StructField(each.name, _type(each.type)) for each in schema])


def _type(of: pa.DataType) -> DataType:
    if isinstance(of, pa.ListType):
        return ArrayType(_type(of.value_type))
    if isinstance(of, pa.StructType):
        return StructType([StructField(each.name, _type(each.type)) for each in of])
    return _SPARK[of]
