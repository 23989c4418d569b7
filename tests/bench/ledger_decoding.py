"""What it costs to decode ledgers into what the judge needs: by our decoder, and by BookKeeper's own class in Java.

Both decode the same bytes, round after round, and each side's best round counts: Java translates its code in the first
ones. Costs are CPU time of the whole process. Ours is that of bulk audits: a batch at a time into columns of Arrow,
with the id out of the path and the owner out of the custom metadata. The core's own, ledger by ledger into plain
values, is told beside it. What is damaged is refused by all.
"""

from __future__ import annotations

import struct
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from deploy.lab.jvm import Jvm
from deploy.lab.software import java, java_compiler, pulsar_home
from spark_snapshot.audit.decoding import LedgerRows
from spark_snapshot.sources.arrow import DATED_STORE
from syncer.ledgers.decoding.ledger import ledger_metadata
from syncer.ledgers.metadata import LedgerMetadata
from syncer.wanted.ledgers import LedgerPathKind
from tests.bench.ledger_values import values

SOURCE: Final = Path(__file__).with_name("LedgerDecoder.java")
COUNT: Final = 100_000
ROUNDS: Final = 5
JAVA_ROUNDS: Final = 12
HEAP_MB: Final = 2_048
TIMEOUT_S: Final = 300.0
_BATCH: Final = 10_000
_CREATED_MS: Final = 1_700_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodingCosts:
    """Microseconds of CPU for each ledger, of each side's best round, and how many each side has decoded."""

    plain_us: float
    columns_us: float
    java_us: float
    decoded: int
    by_java: int

    @property
    def of_java(self) -> float:
        """Ledgers a second by our decoder of batches, for one of Java's."""
        return self.java_us / self.columns_us


def measure(work: Path, count: int = COUNT) -> DecodingCosts:
    """Let both sides decode the same ledgers.

    Args:
        work: A directory for what is compiled, and for the ledgers.
        count: How many ledgers.

    Raises:
        SoftwareMissing: Java, its compiler or Pulsar is not here.
        RuntimeError: The sides have not found the same; this run does not count.
    """
    ledgers = list(values(0, count))
    plain_us, (decoded, segments) = _best(lambda: _plain(ledgers), count)
    batches = [_batch(ledgers[start : start + _BATCH]) for start in range(0, count, _BATCH)]
    columns_us, in_columns = _best(lambda: sum(LedgerRows().rows(each)[0].num_rows for each in batches), count)
    by_java, java_segments, java_us = _by_java(work, ledgers)
    # BookKeeper takes some cut-off values for whole ones, such as those that end between two fields.
    if in_columns != decoded or not decoded <= by_java <= count or java_segments < segments:
        raise RuntimeError(f"{decoded}, {in_columns} and {by_java} were decoded: this run does not count")
    return DecodingCosts(plain_us=plain_us, columns_us=columns_us, java_us=java_us, decoded=decoded, by_java=by_java)


def _best(decode: Callable[[], Any], count: int) -> tuple[float, Any]:
    best_s, found = float("inf"), None
    for _ in range(ROUNDS):
        began_s = time.process_time()
        found = decode()
        best_s = min(best_s, time.process_time() - began_s)
    return best_s / count * 1e6, found


def _plain(ledgers: Sequence[tuple[str, bytes]]) -> tuple[int, int]:
    decoded = segments = 0
    for ledger_id, (path, value) in enumerate(ledgers):
        found = ledger_metadata(path, ledger_id, value, _CREATED_MS)
        if isinstance(found, LedgerMetadata):
            decoded += 1
            segments += len(found.segments)
    return decoded, segments


def _batch(ledgers: Sequence[tuple[str, bytes]]) -> pa.RecordBatch:
    paths, held = zip(*ledgers, strict=True)
    count = len(ledgers)
    columns: list[Any] = [
        paths, [LedgerPathKind.LEDGER.value] * count, [""] * count, [b""] * count, [None] * count, ["1"] * count, held,
        [_CREATED_MS] * count,
    ]  # fmt: skip
    arrays = [pa.array(column, each.type) for column, each in zip(columns, DATED_STORE, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=DATED_STORE)


def _by_java(work: Path, ledgers: Sequence[tuple[str, bytes]]) -> tuple[int, int, float]:
    file = work / "values"
    with file.open("wb") as out:
        for _, value in ledgers:
            out.write(struct.pack(">i", len(value)) + value)
    jars = ":".join(str(jar) for jar in sorted((pulsar_home() / "lib").glob("*.jar")))
    compiler = [str(java()), "-jar", str(java_compiler()), "-17", "-nowarn", "-cp", jars, "-d", str(work), str(SOURCE)]
    subprocess.run(compiler, check=True, timeout=TIMEOUT_S)
    (work / "log4j2.properties").write_text("rootLogger.level = off\n", encoding="utf-8")
    command = [
        str(java()),
        *Jvm(heap_mb=HEAP_MB, quick_start=False).flags(),
        "-cp",
        f"{work}:{jars}",
        "LedgerDecoder",
        str(file),
    ]
    done = subprocess.run(
        [*command, str(JAVA_ROUNDS)], check=True, stdout=subprocess.PIPE, text=True, timeout=TIMEOUT_S
    )
    rounds = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
    decoded, _, segments, _ = rounds[-1]
    return decoded, segments, min(each[3] for each in rounds) / len(ledgers) / 1e3
