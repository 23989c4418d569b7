"""One side of the bench ``diff`` in a process of its own: ``python -m tests.bench.diff_side SIDE WHAT DIRECTORY``.

The last line that it prints is a JSON object: seconds of work, and rows found (for ``take``: rows written). The work
of the sides that use Spark is measured in a session that has done as much on a few rows; ``first`` is ours without.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from pathlib import Path
from typing import Final

import duckdb
from pyspark.sql import SparkSession

from spark_snapshot.capture.writing import write_snapshot
from spark_snapshot.diff.comparison import compared
from spark_snapshot.format.layout import comparable, latest, open_snapshot
from spark_snapshot.format.manifest import Described, StoreFacts, described_scope
from spark_snapshot.format.places import place
from spark_snapshot.runtime.session import SessionSettings, opened
from syncer.conflict.scope import Scope
from syncer.model import TieOrder
from tests.bench.diff_rows import REGIONS, T0

MEMORY: Final = "2g"
DUCKDB_MEMORY: Final = "4GB"
EXTENSION_PARTITIONS: Final = 16
_COMPARED: Final = ("path", "value", "updated_ms", "author")

_ONE_PASS: Final = """
COPY (
  WITH e AS (SELECT path, kind, tenant, updated_ms, author, origin, hold, {content} AS content FROM '{east}'),
       w AS (SELECT path, kind, tenant, updated_ms, author, origin, hold, {content} AS content FROM '{west}'),
  joined AS (
    SELECT coalesce(e.path, w.path) AS path, coalesce(e.kind, w.kind) AS kind, coalesce(e.tenant, w.tenant) AS tenant,
      w.path IS NOT NULL AND (e.path IS NULL OR w.updated_ms > e.updated_ms
        OR (w.updated_ms = e.updated_ms AND w.author < e.author)) AS west_wins,
      e.path IS NULL OR w.path IS NULL AS alone, e, w
    FROM e FULL OUTER JOIN w USING (path) WHERE e.content IS DISTINCT FROM w.content
  ), won AS (SELECT *, CASE WHEN west_wins THEN w ELSE e END AS best, CASE WHEN west_wins THEN e ELSE w END AS other
             FROM joined)
  SELECT path, kind, tenant,
    CASE WHEN other.hold IS NOT NULL THEN 'held' WHEN best.content IS NULL THEN 'deleted' WHEN alone THEN 'only-in'
      ELSE 'differs' END AS class,
    CASE WHEN west_wins THEN 'west' ELSE 'east' END AS winner, best.updated_ms AS winner_ms,
    best.author AS winner_author, best.content AS winner_content, best.origin AS origin,
    CASE WHEN alone THEN 'only' WHEN best.updated_ms > other.updated_ms THEN 'newer' ELSE 'region-order' END AS reason,
    CASE WHEN west_wins THEN ['east'] ELSE ['west'] END AS losers, e.hold AS east_hold, w.hold AS west_hold
  FROM won
) TO '{out}' (FORMAT parquet)
"""


def main() -> int:
    """Do what the command line says."""
    side, what, directory = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    if side == "duckdb":
        work_s, rows = _duckdb(
            "CASE WHEN value IS NOT NULL THEN hash(value) END" if what == "value" else "digest", directory
        )
    else:
        run = {"take": _take, "extension": _extension}.get(side, _ours)
        settings = SessionSettings(master="local[2]", memory=MEMORY, scratch=directory)
        with opened(settings) as spark:
            if side in ("ours", "extension"):
                run(spark, REGIONS[:2], directory.parent / "warm")
            work_s, rows = run(spark, REGIONS[: int(what)], directory)
    print(json.dumps({"work_s": work_s, "rows": rows}))
    return 0


def _take(spark: SparkSession, regions: tuple[str, ...], directory: Path) -> tuple[float, int]:
    begun = time.perf_counter()
    rows = 0
    for region in regions:
        about = Described(
            region=region,
            taken_at_ms=T0 + 10_000_000,
            made_by="bench",
            store=StoreFacts(kind="bench"),
            registers=True,
            scope=described_scope(Scope()),
            scope_fingerprint=Scope().fingerprint,
            ties=TieOrder.SMALLER_REGION,
        )
        frame = spark.read.parquet(str(directory / f"{region}.parquet"))
        rows += write_snapshot(frame, place(directory / "snapshots"), about).manifest.rows
    return time.perf_counter() - begun, rows


def _ours(spark: SparkSession, regions: tuple[str, ...], directory: Path) -> tuple[float, int]:
    out = directory / "found"
    begun = time.perf_counter()
    snapshots = {}
    for region in regions:
        newest = latest(place(directory / "snapshots"), region)
        if newest is None:
            raise RuntimeError(f"no snapshot of {region}")
        snapshots[region] = open_snapshot(newest.place)
    ties = comparable(list(snapshots.values()))
    compared(spark, snapshots, ties).write.mode("overwrite").parquet(str(out))
    work_s = time.perf_counter() - begun
    return work_s, spark.read.parquet(str(out)).count()


def _extension(spark: SparkSession, regions: tuple[str, ...], directory: Path) -> tuple[float, int]:
    diff = importlib.import_module("gresearch.spark.diff").diff  # a peer; only this side sees it, and only in a run

    out = directory / "found-extension"
    begun = time.perf_counter()
    spark.conf.set("spark.sql.shuffle.partitions", str(EXTENSION_PARTITIONS))
    east, west = (spark.read.parquet(str(directory / f"{region}.parquet")).select(*_COMPARED) for region in regions)
    found = diff(east, west, ["path"], ["updated_ms", "author"])
    found.where("diff <> 'N'").write.mode("overwrite").parquet(str(out))
    work_s = time.perf_counter() - begun
    return work_s, spark.read.parquet(str(out)).count()


def _duckdb(content: str, directory: Path) -> tuple[float, int]:
    out = directory / "found.parquet"
    with duckdb.connect() as link:
        link.execute(f"SET threads = 2; SET memory_limit = '{DUCKDB_MEMORY}'")
        link.execute(f"SET temp_directory = '{directory / 'spilled'}'")
        begun = time.perf_counter()
        sides = {region: directory / f"{region}.parquet" for region in REGIONS[:2]}
        link.execute(_ONE_PASS.format(content=content, out=out, **sides))
        work_s = time.perf_counter() - begun
        counted = link.execute(f"SELECT count(*) FROM '{out}'").fetchone()
    return work_s, int(counted[0]) if counted else 0


if __name__ == "__main__":
    sys.exit(main())
