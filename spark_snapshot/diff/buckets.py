"""The same bucket of several snapshots: which of its paths are not the same everywhere. Arrow alone, without Spark.

Paths and digests are compared column by column; only the rows of what differs leave it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from syncer.errors import SnapshotDamaged
from syncer.model import MetaPath, Region

if TYPE_CHECKING:
    from spark_snapshot.diff.sharing import CarryingRegions, Tally
    from syncer.conflict.settings import Direction

    _Ways = Mapping[Region, Direction]

NARROW: Final = ("path", "kind", "tenant", "digest", "updated_ms", "author", "origin", "hold")
_REPEATED: Final = ["kind", "tenant", "author", "origin", "hold"]

_Mask = np.ndarray[Any, np.dtype[np.bool_]]
_TYPES: Final[dict[str, pa.DataType]] = dict.fromkeys(NARROW, pa.string()) | {
    "digest": pa.binary(),
    "updated_ms": pa.int64(),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspects:
    """What is to be judged of a bucket.

    Args:
        paths: All its paths, in any region.
        living: How many of them live in some region.
        rows: Of each region a table of ``NARROW`` with a row for each suspect, in one order of paths; all null where
            the region has no row.
        ways: For each suspect the regions that share it, and which way it flows there; ``None``: all do, both ways.
        tally: How many paths each pair of regions shares, of those that are not equal everywhere.
    """

    paths: int
    living: int
    rows: tuple[pa.Table, ...]
    ways: tuple[_Ways, ...] | None = None
    tally: Tally = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class _Side:
    """A region's rows, and for each path of the union of all regions the number of its row; -1: none."""

    rows: pa.Table
    at: np.ndarray[Any, np.dtype[np.int64]]

    def digests(self) -> pa.Array[Any]:
        """Digest at each path of the union; null where the region has no row or a tombstone."""
        digests = self.rows.column("digest").combine_chunks()
        return digests.take(pa.array(self.at, mask=self.at < 0))


def suspects(files: Sequence[str | None], carriers: CarryingRegions | None = None) -> Suspects:
    """Find the paths of a bucket that are not alive and equal everywhere, nor dead or absent everywhere.

    Args:
        files: The bucket's file in each region, on this machine; ``None`` where it has no row.
        carriers: Who carries a path, by which everywhere means all who do; ``None``: all regions.

    Raises:
        SnapshotDamaged: A file is gone or damaged, a page is not as its checksum says, or a path is there twice.
    """
    tables = [_read(file) for file in files]
    paths, sides = _aligned(tables)
    digests = [side.digests() for side in sides]
    living = [_living(each) for each in digests]
    different = np.flatnonzero(~_alike(digests, living))
    alive = np.logical_or.reduce(living)
    ways, tally = None, Counter[str]()
    if carriers is not None:
        different, ways = _shared(carriers, paths, digests, different, tally)
    return Suspects(
        paths=len(paths),
        living=int(alive.sum()),
        rows=tuple(_picked(side, different) for side in sides),
        ways=ways,
        tally=tally,
    )


def _living(digests: pa.Array[Any]) -> _Mask:
    valid: Any = pc.is_valid(digests)
    return _flags(valid)


def _alike(digests: Sequence[pa.Array[Any]], living: Sequence[_Mask]) -> _Mask:
    """Where all are equal, or all null."""
    same = np.ones(len(digests[0]), dtype=np.bool_)
    for each, alive in zip(digests[1:], living[1:], strict=True):
        compared: Any = pc.equal(digests[0], each)
        same &= _flags(compared.fill_null(False)) | ~(alive | living[0])
    return same


def _shared(
    carriers: CarryingRegions,
    paths: Any,  # noqa: ANN401 - an array of Arrow
    digests: Sequence[pa.Array[Any]],
    different: np.ndarray[Any, np.dtype[np.intp]],
    tally: Tally,
) -> tuple[np.ndarray[Any, np.dtype[np.intp]], tuple[_Ways, ...]]:
    """Of paths that are not equal everywhere those that are not equal wherever they are carried; all are counted."""
    of_class: dict[tuple[tuple[Region, Direction], ...], list[int]] = {}
    for at, path in zip(different.tolist(), paths.take(pa.array(different)).to_pylist(), strict=True):
        of_class.setdefault(tuple(carriers.sharing(MetaPath(path)).items()), []).append(at)
    left: dict[int, _Ways] = {}
    for shared, places in of_class.items():
        ways = dict(shared)
        there = [each.take(pa.array(places)) for each in digests]
        living = [_living(each) for each in there]
        for flags, count in Counter(zip(*(each.tolist() for each in living), strict=True)).items():
            carriers.tallied(tally, ways, flags, count)
        if ways:
            sides = [at for at, (region, _) in enumerate(carriers.rules) if region in ways]
            alike = _alike([there[at] for at in sides], [living[at] for at in sides])
            left |= {places[at]: ways for at in np.flatnonzero(~alike).tolist()}
    ordered = sorted(left)
    return np.array(ordered, dtype=np.intp), tuple(left[at] for at in ordered)


def _read(file: str | None) -> pa.Table:
    if file is None:
        return pa.table({name: pa.array([], each) for name, each in _TYPES.items()})
    try:
        rows = pq.read_table(
            file,
            columns=list(NARROW),
            use_threads=False,
            memory_map=True,
            read_dictionary=_REPEATED,
            page_checksum_verification=True,
            partitioning=None,
        )
    except (OSError, pa.ArrowException) as exc:
        raise SnapshotDamaged(f"{file} cannot be read: {exc}") from exc
    paths = rows.column("path").combine_chunks()
    falling: Any = pc.any(pc.greater_equal(paths[:-1], paths[1:]))
    if falling.as_py():
        raise SnapshotDamaged(f"{file} has a path twice, or its paths are in no order")
    return rows


def _aligned(tables: Sequence[pa.Table]) -> tuple[Any, list[_Side]]:
    """The union of all regions' paths, in no order, and each region's rows by it."""
    union = tables[0].column("path").combine_chunks()
    places: list[np.ndarray[Any, np.dtype[np.int64]]] = [np.arange(len(union), dtype=np.int64)]
    for table in tables[1:]:
        own = table.column("path").combine_chunks()
        found: Any = pc.index_in(own, value_set=union)
        new = _flags(pc.is_null(found))
        where = found.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
        where[new] = len(union) + np.arange(int(new.sum()))
        if new.any():
            union = pa.concat_arrays([union, own.filter(pa.array(new))])
        at = np.full(len(union), -1, dtype=np.int64)
        at[where] = np.arange(len(own), dtype=np.int64)
        places.append(at)
    sides = [
        _Side(table, np.concatenate([at, np.full(len(union) - len(at), -1, dtype=np.int64)]))
        for table, at in zip(tables, places, strict=True)
    ]
    return union, sides


def _picked(side: _Side, different: np.ndarray[Any, np.dtype[np.intp]]) -> pa.Table:
    at = side.at[different]
    rows = side.rows.take(pa.array(at, mask=at < 0))
    return pa.table({name: rows.column(name).cast(each) for name, each in _TYPES.items()})


def _flags(flags: pa.Array[Any]) -> _Mask:
    return np.asarray(flags.to_numpy(zero_copy_only=False), dtype=np.bool_)
