"""Findings between the same buckets of several snapshots, as rows of :data:`spark_snapshot.diff.regions.COLUMNS`.

A bucket holds all that any region says of its paths, so each is judged where it is read, by
:func:`spark_snapshot.diff.verdict.judge`. Runs in a worker of Spark; imports little, for that is what a small
comparison waits for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from spark_snapshot.diff.buckets import NARROW, Suspects, suspects
from spark_snapshot.diff.verdict import PathVerdict, RegionRow, judge
from spark_snapshot.format.words import PathClass, StampOrigin
from syncer.model import Millis, Region, Stamp, TieOrder

_TEXT: Final = pa.string()
_FIELDS: Final[list[tuple[str, pa.DataType]]] = [
    ("path", _TEXT),
    ("kind", _TEXT),
    ("tenant", _TEXT),
    ("class", _TEXT),
    ("underlying", _TEXT),
    ("winner", _TEXT),
    ("winner_ms", pa.int64()),
    ("winner_author", _TEXT),
    ("winner_digest", pa.binary()),
    ("origin", _TEXT),
    ("reason", _TEXT),
    ("losers", pa.list_(_TEXT)),
    ("holds", pa.map_(_TEXT, _TEXT)),
    ("paths", pa.int64()),
    ("living", pa.int64()),
]
FOUND: Final = pa.schema(_FIELDS)
"""A finding; or, without a path, the counts of a bucket: all its paths, and how many of them live in some region."""

FOUND_DDL: Final = (
    "path string, kind string, tenant string, class string, underlying string, winner string, winner_ms bigint, "
    "winner_author string, winner_digest binary, origin string, reason string, losers array<string>, "
    "holds map<string, string>"
)
"""A finding alone, as Spark spells it."""

DDL: Final = f"{FOUND_DDL}, paths bigint, living bigint"
"""The same with the counts."""

_BATCH_ROWS: Final = 8_192
_NO_COUNTS: Final = (None, None)

_Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """Judges buckets; what ``mapInArrow`` calls.

    Args:
        files: Of each bucket its file in each region; ``None`` where it has no row.
        regions: Their names, in order.
        ties: Who wins when two stamps have the same time.
    """

    files: Sequence[Sequence[str | None]]
    regions: tuple[Region, ...]
    ties: TieOrder

    def __call__(self, buckets: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield rows of ``FOUND`` for rows of bucket numbers.

        Raises:
            OSError: A file is gone or damaged.
            pyarrow.ArrowException: Likewise.
        """
        for batch in buckets:
            for bucket in batch.column(0).to_numpy():
                found = suspects(self.files[int(bucket)])
                yield _batch([(*[None] * (len(FOUND) - 2), found.paths, found.living)])
                yield from self._judged(found)

    def _judged(self, found: Suspects) -> Iterator[pa.RecordBatch]:
        for first in range(0, len(found.rows[0]), _BATCH_ROWS):
            sides = [_states(rows.slice(first, _BATCH_ROWS)) for rows in found.rows]
            named = [_named(rows.slice(first, _BATCH_ROWS)) for rows in found.rows]
            paired = zip(zip(*named, strict=True), *sides, strict=True)
            rows = (self._row(next(filter(None, of)), states) for of, *states in paired)
            yield _batch([row for row in rows if row is not None])

    def _row(self, named: tuple[str, str, str], states: Sequence[RegionRow | None]) -> _Row | None:
        verdict = judge(dict(zip(self.regions, states, strict=True)), self.ties)
        if verdict is None or verdict.finding is PathClass.SAME:
            return None
        return *row_of(named, verdict), *_NO_COUNTS


def row_of(named: tuple[str, str, str], verdict: PathVerdict) -> tuple[Any, ...]:
    """A verdict as a row of ``FOUND``, without the counts.

    Args:
        named: Path, kind and tenant.
        verdict: What was found there.
    """
    stamp = verdict.version.stamp
    return (
        *named,
        verdict.finding,
        verdict.underlying,
        verdict.winner,
        stamp.updated_at_ms,
        stamp.region,
        verdict.version.digest,
        verdict.version.origin,
        verdict.reason,
        verdict.losers,
        list(verdict.holds.items()),
    )


def found_table(rows: Sequence[_Row]) -> pa.Table:
    """Rows of ``FOUND``, without the counts."""
    return pa.Table.from_batches([_batch([(*row, *_NO_COUNTS) for row in rows])]).drop_columns(["paths", "living"])


def _named(rows: pa.Table) -> list[tuple[str, str, str] | None]:
    """Path, kind and tenant of each row; ``None`` where there is none."""
    columns = (rows.column(name).to_pylist() for name in NARROW[:3])
    return [None if each[0] is None else each for each in zip(*columns, strict=True)]


def _states(rows: pa.Table) -> list[RegionRow | None]:
    origins = {each.value: each for each in StampOrigin}
    columns = (rows.column(name).to_pylist() for name in NARROW[3:])
    return [
        None
        if at is None
        else RegionRow(digest=digest, stamp=Stamp(Millis(at), Region(author)), origin=origins[origin], hold=hold)
        for digest, at, author, origin, hold in zip(*columns, strict=True)
    ]


def _batch(rows: Sequence[_Row]) -> pa.RecordBatch:
    columns = zip(*rows, strict=True) if rows else ((),) * len(FOUND)
    return pa.record_batch(
        [pa.array(column, each.type) for column, each in zip(columns, FOUND, strict=True)], schema=FOUND
    )
