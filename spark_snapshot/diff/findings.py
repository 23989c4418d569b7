"""Findings between the same buckets of several snapshots, as rows of :data:`spark_snapshot.diff.regions.COLUMNS`.

A bucket holds all that any region says of its paths, so each is judged where it is read, by
:func:`spark_snapshot.diff.verdict.judge`. Runs in a worker of Spark; imports little, for that is what a small
comparison waits for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from spark_snapshot.diff.buckets import NARROW, Suspects, suspects
from spark_snapshot.diff.verdict import PathVerdict, RegionRow, judge
from spark_snapshot.format.words import PathClass, StampOrigin
from syncer.model import Millis, Region, Stamp, TieOrder

if TYPE_CHECKING:
    from spark_snapshot.diff.sharing import CarryingRegions
    from syncer.conflict.settings import Direction

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
    ("tally", pa.map_(_TEXT, pa.int64())),
]
FOUND: Final = pa.schema(_FIELDS)
"""A finding; or, without a path, counts: all paths of a bucket, how many live in some region, and who shares them."""

FOUND_DDL: Final = (
    "path string, kind string, tenant string, class string, underlying string, winner string, winner_ms bigint, "
    "winner_author string, winner_digest binary, origin string, reason string, losers array<string>, "
    "holds map<string, string>"
)
"""A finding alone, as Spark spells it."""

DDL: Final = f"{FOUND_DDL}, paths bigint, living bigint, tally map<string, bigint>"
"""The same with the counts."""
COUNTS: Final = ("paths", "living", "tally")

_BATCH_ROWS: Final = 8_192
_NO_COUNTS: Final = (None,) * len(COUNTS)

_Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """Judges buckets; what ``mapInArrow`` calls.

    Args:
        files: Of each bucket its file in each region; ``None`` where it has no row.
        regions: Their names, in order.
        ties: Who wins when two stamps have the same time.
        carriers: Who carries a path; ``None``: all.
    """

    files: Sequence[Sequence[str | None]]
    regions: tuple[Region, ...]
    ties: TieOrder
    carriers: CarryingRegions | None = None

    def __call__(self, buckets: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield rows of ``FOUND`` for rows of bucket numbers.

        Raises:
            OSError: A file is gone or damaged.
            pyarrow.ArrowException: Likewise.
        """
        for batch in buckets:
            for bucket in batch.column(0).to_numpy():
                found = suspects(self.files[int(bucket)], self.carriers)
                yield counts_batch(found.paths, found.living, found.tally)
                yield from self._judged(found)

    def _judged(self, found: Suspects) -> Iterator[pa.RecordBatch]:
        for first in range(0, len(found.rows[0]), _BATCH_ROWS):
            sides = [_states(rows.slice(first, _BATCH_ROWS)) for rows in found.rows]
            named = [_named(rows.slice(first, _BATCH_ROWS)) for rows in found.rows]
            paired = zip(zip(*named, strict=True), *sides, strict=True)
            ways = repeat(None) if found.ways is None else found.ways[first : first + _BATCH_ROWS]
            rows = (
                self._row(next(filter(None, of)), states, way) for (of, *states), way in zip(paired, ways, strict=False)
            )
            yield _batch([row for row in rows if row is not None])

    def _row(
        self, named: tuple[str, str, str], states: Sequence[RegionRow | None], ways: Mapping[Region, Direction] | None
    ) -> _Row | None:
        verdict = judge(dict(zip(self.regions, states, strict=True)), self.ties, ways)
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
    return pa.Table.from_batches([findings_batch(rows)]).drop_columns(list(COUNTS))


def findings_batch(rows: Sequence[Sequence[Any]]) -> pa.RecordBatch:
    """Findings without counts as rows of ``FOUND``."""
    return _batch([(*row, *_NO_COUNTS) for row in rows])


def counts_batch(paths: int, living: int, tally: Mapping[str, int]) -> pa.RecordBatch:
    """Counts as a row of ``FOUND``, without a path."""
    return _batch([(*[None] * (len(FOUND) - len(COUNTS)), paths, living, list(tally.items()))])


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
