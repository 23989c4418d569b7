"""The bench ``diff``: snapshots of regions compared by us, and the same rows by DuckDB in one pass of SQL.

All sides have two cores and the same data. DuckDB reads plain Parquet and compares what a value hashes to, as one
would without our layout; beside it stands the harder peer, which is given our digests. The ``diff`` of spark-extension
compares plain Parquet by value. What is measured is the work: from snapshots (files) that lie there to the rows of what
differs, written. Starting Spark is not counted, nor is what the first job of a session costs it; both are said beside.
Memory is that of all processes of a side.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.bench.cpu import living
from tests.bench.diff_rows import REGIONS, make
from tests.bench.result import Bar, Result

FULL_ROWS: Final = 5_000_000
QUICK_ROWS: Final = 200_000
ROUNDS: Final = 3
GROWTH_FROM: Final = 5
"""The growth is that from a fifth of the rows."""

WARM_ROWS: Final = 2_000
DUCKDB_BAR: Final = 1.5
EXTENSION_BAR: Final = 2.0
THREE_BAR: Final = 1.7
MEMORY_BAR_BYTES: Final = 4 << 30
GROWTH_BAR: Final = 5.0
RUN_TIMEOUT_S: Final = 3600.0
FETCH_TIMEOUT_S: Final = 120.0
PEERS: Final = "peers"
HOUSE: Final = Path(__file__).resolve().parents[2]
_LOOK_EVERY_S: Final = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One side of one round. Units: seconds, bytes."""

    work_s: float
    peak_bytes: int
    rows: int


def run(out: Path, *, quick: bool) -> bool:
    """Measure, print the table, keep it as JSON; whether the bars hold. ``DIFF_ROWS``: another number of rows."""
    rows = int(os.environ.get("DIFF_ROWS", QUICK_ROWS if quick else FULL_ROWS))
    load = os.getloadavg()
    print(f"load before the run: {load[0]:.2f} {load[1]:.2f} {load[2]:.2f}, processors: {os.cpu_count()}\n", flush=True)
    directory = Path(tempfile.mkdtemp(prefix="syncer-bench-", dir=os.environ.get("DIFF_DIRECTORY")))
    try:
        return _run(directory, rows, rounds=1 if quick else ROUNDS).show(("", "seconds", "peak MB", "rows found"), out)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _run(directory: Path, rows: int, *, rounds: int) -> Result:
    result = Result(name="diff")
    sizes = {"all": rows, "part": rows // GROWTH_FROM, "warm": WARM_ROWS}
    _fetch_peers(directory / PEERS)
    takes = {}
    for name, count in sizes.items():
        (directory / name).mkdir()
        for number, region in enumerate(REGIONS[: 3 if name == "all" else 2]):
            print(f"… {count} rows of {region} are made", flush=True)
            make(directory / name / f"{region}.parquet", number, count)
        takes[name] = _child(directory / name, "take", 3 if name == "all" else 2)
    measured: dict[str, list[Measured]] = {}
    for turn in range(rounds):
        print(f"… round {turn + 1} of {rounds}", flush=True)
        for name in ("ours-2", "duckdb-value", "duckdb-digest", "ours-3", "first-2", "extension-2"):
            side, _, what = name.partition("-")
            measured.setdefault(name, []).append(_child(directory / "all", side, what))
        measured.setdefault("ours-2, a fifth", []).append(_child(directory / "part", "ours", "2"))
    work = {name: statistics.median(each.work_s for each in of) for name, of in measured.items()}
    found = {name: {each.rows for each in of} for name, of in measured.items()}
    if found["ours-2"] != found["duckdb-value"] or found["ours-2"] != found["duckdb-digest"]:
        # spark-extension also finds what is deleted here and unknown there; we and DuckDB call that equal
        raise RuntimeError(f"the sides do not find the same: {found}")
    for name, of in measured.items():
        peak = max(each.peak_bytes for each in of)
        result.rows.append((name, f"{work[name]:.1f}", f"{peak / 1e6:.0f}", str(of[0].rows)))
    take = takes["all"]
    per_s = take.rows / take.work_s
    result.rows.append(("take, three regions", f"{take.work_s:.1f}", f"{take.peak_bytes / 1e6:.0f}", str(take.rows)))
    print(f"take: {per_s:.0f} rows/s into snapshots, from rows with digests\n")
    peak = max(each.peak_bytes for each in measured["ours-2"] + measured["ours-3"] + measured["first-2"])
    result.bars = bars(work, peak)
    result.figures = {
        "rows": rows,
        "work_s": work,
        "take_rows_per_s": per_s,
        "against_duckdb_on_our_digests": work["ours-2"] / work["duckdb-digest"],
        "rounds": {name: [each.work_s for each in of] for name, of in measured.items()},
    }
    print(f"beside it, against DuckDB that is given our digests: ratio {work['ours-2'] / work['duckdb-digest']:.2f}\n")
    return result


def bars(work: Mapping[str, float], peak_bytes: int) -> list[Bar]:
    """What decides: seconds of work by side, and how much memory ours took at most."""
    two, three, part = work["ours-2"], work["ours-3"], work["ours-2, a fifth"]
    return [
        Bar(name="ours, two regions", peer="DuckDB on values", ratio=two / work["duckdb-value"], bar=DUCKDB_BAR,
            at_least=False),
        Bar(name="spark-extension on values", peer="ours, two regions", ratio=work["extension-2"] / two,
            bar=EXTENSION_BAR),
        Bar(name="ours, three regions", peer="ours, two regions", ratio=three / two, bar=THREE_BAR, at_least=False),
        Bar(name="ours, two regions", peer="ours, a fifth of the rows", ratio=two / part, bar=GROWTH_BAR,
            at_least=False),
        Bar(name="memory of ours", peer="(4 GB)", ratio=peak_bytes / MEMORY_BAR_BYTES, bar=1.0, at_least=False),
    ]  # fmt: skip


def _fetch_peers(target: Path) -> None:
    """Bring the peers that are no dependency of ours, at their locked hashes, where only their own side sees them."""
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes", "--target", str(target),
         "--requirement", str(HOUSE / "requirements" / "peers.lock")],
        check=True, timeout=FETCH_TIMEOUT_S,
    )  # fmt: skip
    shutil.rmtree(target / "pyspark")  # a jar for another Spark; what is measured needs none


def _child(directory: Path, side: str, what: object) -> Measured:
    """Run one side in processes of its own, and look at their memory meanwhile."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.bench.diff_side", side, str(what), str(directory)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        cwd=HOUSE,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(HOUSE), str(directory.parent / PEERS)])},
    )
    peaks = [0]
    ended = threading.Event()

    def look() -> None:
        while not ended.wait(_LOOK_EVERY_S):
            peaks[0] = max(peaks[0], _tree_bytes(process.pid))

    watcher = threading.Thread(target=look, daemon=True)
    watcher.start()
    begun = time.monotonic()
    try:
        said, _ = process.communicate(timeout=RUN_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    finally:
        ended.set()
        watcher.join()
    if process.returncode != 0:
        raise RuntimeError(f"{side} {what} failed after {time.monotonic() - begun:.0f} s")
    answer = json.loads(said.splitlines()[-1])
    return Measured(work_s=answer["work_s"], peak_bytes=peaks[0], rows=answer["rows"])


def _tree_bytes(root: int) -> int:
    """Memory that a process and all below it have for themselves or share (each page counted once, by its share)."""
    total = 0
    for pid in living(root):
        try:
            rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
        except OSError:  # it has ended meanwhile
            continue
        total += sum(int(line.split()[1]) * 1024 for line in rollup.splitlines() if line.startswith("Pss:"))
    return total
