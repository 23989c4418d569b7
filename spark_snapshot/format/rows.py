"""The rows that the package speaks in: what a store holds, what a daemon's registers say, and a snapshot's of both.

A snapshot has one row for each path that its region holds, and one for each tombstone that it knows. Digests are those
of the replicated part (:mod:`syncer.conflict.projection`), so equal digests mean equal values in every region, and a
comparison needs the values only of what differs.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql.types import BinaryType, LongType, StringType, StructField, StructType

from spark_snapshot.format.words import StampOrigin

__all__ = ["DATED_STORE", "REGISTERS", "SNAPSHOT", "STORE", "StampOrigin"]


def _field(name: str, kind: type[StringType | LongType | BinaryType], *, nullable: bool = False) -> StructField:
    return StructField(name, kind(), nullable)


STORE: Final = StructType(
    [
        _field("path", StringType),
        _field("kind", StringType),
        _field("tenant", StringType),
        _field("digest", BinaryType),
        _field("modified_ms", LongType, nullable=True),
        _field("revision", StringType),
        _field("value", BinaryType),
    ]
)
"""A resource as a store holds it. ``tenant``: empty for what has none. ``modified_ms``: null where it keeps no time.

``digest`` is :func:`syncer.plan.diffing.fingerprint`: 16 bytes of the projection, or ``raw:`` and 16 of the bytes where
the value cannot be read.
"""

DATED_STORE: Final = StructType([*STORE, _field("created_ms", LongType, nullable=True)])
"""The same where times of creation are asked for. ``created_ms``: null where the store does not keep them."""

REGISTERS: Final = StructType(
    [
        _field("path", StringType),
        _field("kind", StringType),
        _field("tenant", StringType),
        _field("digest", BinaryType, nullable=True),
        _field("updated_ms", LongType),
        _field("author", StringType),
        _field("by", StringType),
        _field("seen", StringType),
        _field("known_ms", LongType),
        _field("known_author", StringType),
        _field("hold", StringType, nullable=True),
        _field("gone", BinaryType, nullable=True),
    ]
)
"""What a daemon's register says its store holds (the seated version): null digest means known to be absent.

``known_*`` is the greatest stamp ever folded: another than the seated one where a write is due, parked or held.
``seen`` is a JSON object of counter to milliseconds, with sorted keys. ``digest`` is that of the completed value, and
``gone`` what completes the store's one: JSON of the kept fields that it lacks; null: none.
"""

SNAPSHOT: Final = StructType(
    [
        _field("path", StringType),
        _field("kind", StringType),
        _field("tenant", StringType),
        _field("digest", BinaryType, nullable=True),
        _field("updated_ms", LongType),
        _field("author", StringType),
        _field("origin", StringType),
        _field("hold", StringType, nullable=True),
        _field("by", StringType),
        _field("seen", StringType),
        _field("modified_ms", LongType, nullable=True),
        _field("revision", StringType, nullable=True),
        _field("value", BinaryType, nullable=True),
    ]
)
"""One path of one region. Null digest: a tombstone, which has no value. ``author`` is the region of the stamp."""
