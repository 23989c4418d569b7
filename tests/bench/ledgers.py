"""The bench ``ledgers``: synthetic ledgers audited on Spark, a number of them and ten times as many.

The values lie in Parquet files as the readers of stores keep them, so that what is measured is the audit: decoded,
judged, counted by copysets, written as tables, without Spark's start nor what the first job of a session costs it. The
bar is on CPU time for each ledger, which a busy machine changes least; seconds are said beside, with what-if on the
finished audit. Memory is that of all processes.
"""

from __future__ import annotations

import os
import tempfile
import threading
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Final

from tests.bench.child import Child
from tests.bench.cpu import Used, living
from tests.bench.ledgers_side import FILES, make
from tests.bench.result import Bar, Result

FULL_LEDGERS: Final = 10_000_000
QUICK_LEDGERS: Final = 200_000
GROWTH_BAR: Final = 1.2
MEMORY_BAR_BYTES: Final = 8 << 30
AUDIT_AIM_S: Final = 300.0
WHAT_IF_AIM_S: Final = 30.0
TIMEOUT_S: Final = 1_800.0
_LOOK_EVERY_S: Final = 0.5


def run(out: Path, *, quick: bool) -> bool:
    """Measure, print the table, keep it as JSON; whether the bars hold. ``LEDGERS``: another number of ledgers."""
    count = int(os.environ.get("LEDGERS", QUICK_LEDGERS if quick else FULL_LEDGERS))
    with tempfile.TemporaryDirectory(prefix="ledgers-bench-") as name:
        result = _measure(Path(name), count)
    return result.show(("side", "seconds", "CPU µs per ledger", "ledgers/s"), out)


def _measure(folder: Path, count: int) -> Result:
    result = Result("ledgers")
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
    result.bars = bars(cpu, peak.most)
    result.figures = {"ledgers": count, "seconds": seconds, "cpu_us_per_ledger": cpu, "peak_bytes": peak.most}
    print(
        f"aims for two idle cores: all in {AUDIT_AIM_S:g} s, what-if in {WHAT_IF_AIM_S:g} s; "
        f"memory at most {peak.most / 1e9:.1f} GB\n"
    )
    return result


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
