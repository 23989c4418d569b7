"""The auditing side of the bench ``ledgers``, in its own process: ``python -m tests.bench.ledgers_side FOLDER``.

Commands are lines: ``audit FILES`` answers seconds and ledgers; on the last audit ``what-if BOOKIES`` answers seconds,
and so does ``worst SIZE``, for all sets of so many bookies.
"""

from __future__ import annotations

import secrets
import shutil
import sys
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from spark_snapshot.audit.judging import LostBookies
from spark_snapshot.audit.losses import what_if
from spark_snapshot.audit.manifest import AuditedStore, FinishedAudit
from spark_snapshot.audit.taking import AuditParts, take_tables
from spark_snapshot.audit.worst import copyset_costs
from spark_snapshot.format import rows
from spark_snapshot.format.drafts import begun
from spark_snapshot.format.manifest import StoreFacts
from spark_snapshot.format.places import place
from spark_snapshot.runtime.phases import Job
from spark_snapshot.runtime.session import SessionSettings, opened
from spark_snapshot.sources.arrow import DATED_STORE
from syncer.ledgers.decoding.messages import MESSAGES
from tests.bench.ledger_values import BOOKIES, bookie, values

FILES: Final = 40
MEMORY: Final = "2g"
AWAY: Final = 4
NAMED: Final = 10
LEDGERS_OF_A_TOPIC: Final = 100
_TOGETHER: Final = 20_000


def make(folder: str, number: int, count: int) -> None:
    """Write a file of ledgers, and one of topics that refer to them.

    Args:
        folder: Where they go.
        number: Of the file.
        count: Ledgers of all files.
    """
    start, end = count * number // FILES, count * (number + 1) // FILES
    _write(Path(folder, f"ledgers-{number:02}.parquet"), "ledger", values(start, end))
    _write(Path(folder, f"topics-{number:02}.parquet"), "managed-ledger", _topics(start, end))


def _topics(start: int, end: int) -> Iterator[tuple[str, bytes]]:
    for first in range(start, end, LEDGERS_OF_A_TOPIC):
        message = MESSAGES["ManagedLedgerInfo"]()
        for ledger_id in range(first, min(first + LEDGERS_OF_A_TOPIC, end)):
            message.ledgerInfo.add(ledgerId=ledger_id, entries=1_000, size=700_000, timestamp=1_700_000_000_000)
        yield f"/managed-ledgers/tenant/namespace/persistent/topic-{first}", message.SerializeToString()


def _write(file: Path, kind: str, pairs: Iterator[tuple[str, bytes]]) -> None:
    with pq.ParquetWriter(file, DATED_STORE, compression="zstd") as writer:
        while some := list(islice(pairs, _TOGETHER)):
            paths, held = zip(*some, strict=True)
            same: list[Any] = [each * len(some) for each in ([kind], [""], [b""], [None], ["1"])]
            columns: list[Any] = [paths, *same, held, [1_700_000_000_000] * len(some)]
            writer.write_table(
                pa.table([pa.array(column, each.type) for column, each in zip(columns, DATED_STORE, strict=True)],
                         schema=DATED_STORE)
            )  # fmt: skip


class _Side:
    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self._spark = spark
        self._folder = folder
        self._last: FinishedAudit | None = None

    def audit(self, files: int) -> tuple[float, int]:
        """Audit some files; tell the seconds, and how many values there were."""
        shutil.rmtree(self._folder / "audits", ignore_errors=True)
        begun_s = time.monotonic()
        store = StoreFacts(kind="files")
        about = AuditedStore(cluster="bench", taken_at_ms=1, made_by="bench", store=store, root="/ledgers")
        parts = AuditParts(
            ledgers=lambda: self._read("ledgers", files),
            references=lambda: self._read("topics", files),
            bookies=self._bookies,
            ended=lambda: store,
        )
        with begun(place(self._folder / "audits"), "bench", taken_at_ms=1) as draft:
            self._last = take_tables(Job(self._spark), draft, about, parts)
        summary = self._last.manifest.summary
        return time.monotonic() - begun_s, summary.ledgers + sum(summary.undecodable.values())

    def what_if(self, bookies: int) -> float:
        """Ask what the loss of some bookies would cost; tell the seconds."""
        if self._last is None:
            raise RuntimeError("nothing was audited yet")
        begun_s = time.monotonic()
        what_if(self._spark, self._last, LostBookies(frozenset(map(bookie, range(bookies)))))
        return time.monotonic() - begun_s

    def worst(self, size: int) -> float:
        """Try all sets of so many bookies; tell the seconds."""
        if self._last is None:
            raise RuntimeError("nothing was audited yet")
        begun_s = time.monotonic()
        costs = copyset_costs(self._last, size)
        costs.worst(size, NAMED)
        costs.odds(size, secrets.randbelow)
        return time.monotonic() - begun_s

    def _read(self, name: str, files: int) -> DataFrame:
        named = [str(self._folder / f"{name}-{number:02}.parquet") for number in range(files)]
        return self._spark.read.schema(rows.DATED_STORE).parquet(*named)

    def _bookies(self) -> DataFrame:
        there = [bookie(number) for number in range(BOOKIES) if number != AWAY]
        return self._spark.createDataFrame(
            [(f"/ledgers/available/{each}", "bookie", "", b"", None, "1", b"", 1) for each in there], rows.DATED_STORE
        )


def main() -> int:
    """Do what lines on standard input say."""
    with opened(SessionSettings(name="bench", master="local[2]", memory=MEMORY)) as spark:
        side = _Side(spark, Path(sys.argv[1]))
        side.audit(1)
        side.what_if(1)
        print("warm", flush=True)
        for line in sys.stdin:
            match line.split():
                case ["audit", files]:
                    print(*side.audit(int(files)), flush=True)
                case ["what-if", bookies]:
                    print(side.what_if(int(bookies)), flush=True)
                case ["worst", size]:
                    print(side.worst(int(size)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
