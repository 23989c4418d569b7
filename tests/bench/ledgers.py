"""The bench ``ledgers``: decoded beside BookKeeper's Java, read beside kazoo, audited without Spark, and on Spark.

On Spark a number of synthetic ledgers is audited, and a tenth of them. The values lie in Parquet files as the readers
of stores keep them, so that what is measured is the audit: decoded, judged, counted by copysets, written as tables,
without Spark's start nor what the first job of a session costs it. The bar is on CPU time for each ledger, which a busy
machine changes least; seconds are said beside, with what-if on the finished audit. Memory is that of all processes.
"""

from __future__ import annotations

import os
import tempfile
import threading
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Final

from tests.bench import ledger_decoding, ledger_picture, ledger_reading
from tests.bench.child import Child
from tests.bench.cpu import Used, living
from tests.bench.ledger_decoding import DecodingCosts
from tests.bench.ledger_picture import PictureCost
from tests.bench.ledger_reading import LedgerReadingRates
from tests.bench.ledgers_side import FILES, make
from tests.bench.result import Bar, Result

FULL_LEDGERS: Final = 10_000_000
QUICK_LEDGERS: Final = 200_000
GROWTH_BAR: Final = 1.2
MEMORY_BAR_BYTES: Final = 8 << 30
AUDIT_AIM_S: Final = 300.0
WHAT_IF_AIM_S: Final = 30.0
PAIRS_AIM_S: Final = 60.0
PAIR: Final = 2
JAVA_BAR: Final = 0.5
KAZOO_BAR: Final = 10.0
PICTURE_BAR_BYTES: Final = 500 << 20
TIMEOUT_S: Final = 1_800.0
_LOOK_EVERY_S: Final = 0.5


def run(out: Path, *, quick: bool) -> bool:
    """Measure, print the table, keep it as JSON; whether the bars hold. ``LEDGERS``: another number of ledgers."""
    count = int(os.environ.get("LEDGERS", QUICK_LEDGERS if quick else FULL_LEDGERS))
    result = Result("ledgers")
    with tempfile.TemporaryDirectory(prefix="ledgers-bench-") as name:
        _measure_parts(Path(name), result, shorter=10 if quick else 1)
        _measure_bulk(Path(name), result, count)
    return result.show(("side", "seconds", "CPU µs per ledger", "ledgers/s"), out)


def _measure_parts(folder: Path, result: Result, shorter: int) -> None:
    """What one process does: decode, read, audit."""
    print("… decoded, ours and Java's", flush=True)
    decoding = ledger_decoding.measure(folder, ledger_decoding.COUNT // shorter)
    for side, cpu_us in (
        ("decoded, plain values", decoding.plain_us),
        ("decoded, columns of Arrow", decoding.columns_us),
        ("decoded by BookKeeper's Java", decoding.java_us),
    ):
        result.rows.append((side, "", f"{cpu_us:.1f}", f"{1e6 / cpu_us:.0f} of CPU"))
    print("… read, ours and kazoo's", flush=True)
    reading = ledger_reading.measure(folder, ledger_reading.COUNT // shorter)
    result.rows.append(("read from ZooKeeper", "", "", f"{median(reading.ours):.0f}"))
    result.rows.append(("read by kazoo's get_async", "", "", f"{median(reading.kazoo):.0f}"))
    print("… audited without Spark", flush=True)
    costs = {count: ledger_picture.measure(count) for count in (ledger_picture.FEW, ledger_picture.MANY)}
    for count, cost in costs.items():
        result.rows.append((f"audited without Spark, {count}", "", f"{cost.cpu_us:.1f}", ""))
    result.bars += part_bars(decoding, reading, costs[ledger_picture.FEW], costs[ledger_picture.MANY])
    result.figures |= {
        "decoding_us": {"plain": decoding.plain_us, "columns": decoding.columns_us, "java": decoding.java_us},
        "reading_per_s": {"ours": reading.ours, "kazoo": reading.kazoo},
        "without_spark": {count: [cost.cpu_us, cost.peak_bytes] for count, cost in costs.items()},
    }


def part_bars(decoding: DecodingCosts, reading: LedgerReadingRates, few: PictureCost, many: PictureCost) -> list[Bar]:
    """The bars of what one process does.

    Args:
        decoding: Beside Java.
        reading: Beside kazoo.
        few: An audit of few ledgers.
        many: One of ten times as many.
    """
    return [
        Bar(name="decoded for each second of CPU", peer="LedgerMetadataSerDe", ratio=decoding.of_java, bar=JAVA_BAR),
        Bar(name="read", peer="kazoo's get_async", ratio=reading.times, bar=KAZOO_BAR),
        Bar(name=f"a ledger of {ledger_picture.MANY}, without Spark", peer=f"a ledger of {ledger_picture.FEW}",
            ratio=many.cpu_us / few.cpu_us, bar=GROWTH_BAR, at_least=False),
        Bar(name="memory without Spark", peer="(500 MB)", ratio=many.peak_bytes / PICTURE_BAR_BYTES, bar=1.0,
            at_least=False),
    ]  # fmt: skip


def _measure_bulk(folder: Path, result: Result, count: int) -> None:
    print(f"… {count} ledgers are made", flush=True)
    with get_context("spawn").Pool(2) as pool:
        pool.starmap(make, [(str(folder), number, count) for number in range(FILES)])
    peak = _Peak()
    cpu: dict[str, list[float]] = {}
    seconds: dict[str, float] = {}
    with Child("tests.bench.ledgers_side", str(folder), log=folder / "log") as side, peak:
        side.hear(timeout_s=TIMEOUT_S)  # warm
        for what, files in (("a tenth", FILES // 10), ("all", FILES), ("a tenth", FILES // 10)):
            print(f"… {what} audited", flush=True)
            before = Used.by([os.getpid()])
            took, ledgers = map(float, side.ask("audit", files, timeout_s=TIMEOUT_S))
            used_s = Used.by([os.getpid()]).cpu_s - before.cpu_s
            cpu.setdefault(what, []).append(used_s / ledgers * 1e6)
            seconds[what] = took
            result.rows.append((what, f"{took:.1f}", f"{used_s / ledgers * 1e6:.1f}", f"{ledgers / took:.0f}"))
            if what == "all":
                for lost in (1, 2, 10):
                    (took_s,) = map(float, side.ask("what-if", lost, timeout_s=TIMEOUT_S))
                    seconds[f"what-if of {lost}"] = took_s
                    result.rows.append((f"what-if of {lost}", f"{took_s:.1f}", "", ""))
                (took_s,) = map(float, side.ask("worst", PAIR, timeout_s=TIMEOUT_S))
                seconds["all pairs"] = took_s
                result.rows.append(("all pairs of 50 bookies", f"{took_s:.1f}", "", ""))
    result.bars += bars(cpu, peak.most)
    result.figures |= {"ledgers": count, "seconds": seconds, "cpu_us_per_ledger": cpu, "peak_bytes": peak.most}
    print(
        f"aims for two idle cores: all in {AUDIT_AIM_S:g} s, what-if in {WHAT_IF_AIM_S:g} s, all pairs in "
        f"{PAIRS_AIM_S:g} s; memory at most {peak.most / 1e9:.1f} GB\n"
    )


def bars(cpu: dict[str, list[float]], peak_bytes: int) -> list[Bar]:
    """The bars: how cost grows with number, and memory.

    Args:
        cpu: Microseconds for each ledger, by round, of ``a tenth`` and of ``all``.
        peak_bytes: Memory of all processes at most.
    """
    return [
        Bar(name="a ledger of all", peer="a ledger of a tenth", ratio=median(cpu["all"]) / median(cpu["a tenth"]),
            bar=GROWTH_BAR, at_least=False),
        Bar(name="memory", peer="(8 GB)", ratio=peak_bytes / MEMORY_BAR_BYTES, bar=1.0, at_least=False),
    ]  # fmt: skip


class _Peak:
    """Looks at the memory of this process and of all below it while the block runs."""

    def __init__(self) -> None:
        self.most = 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._ended.wait(_LOOK_EVERY_S):
            self.most = max(self.most, sum(map(_bytes, living(os.getpid()))))


def _bytes(pid: int) -> int:
    """Memory that a process has for itself or shares; a page counts by its share."""
    try:
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:  # it has ended meanwhile
        return 0
    return sum(int(line.split()[1]) * 1024 for line in rollup.splitlines() if line.startswith("Pss:"))
