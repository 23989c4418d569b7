"""The bench ``read``: how fast stores are read whole, against kazoo and etcd3 on the same servers in the same run.

No bar is a speed: each is a ratio to the client that everybody has. Both sides of it read the same rows of the same
server in turns (kazoo the first 50,000), and the ratio is the median of the rounds', so a machine half as fast, or busy
for a while, changes little. Each side has one core: one reader, or Spark held to one, Java and reader together; the
server that is read has the machine's others. Files have no client that reads them, and are held against the one that
reads the server. A whole snapshot, on all cores and beside its server, has no bar of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any, Final

import anyio

from deploy.lab.etcd import EtcdNode
from deploy.lab.jvm import Jvm
from deploy.lab.zookeeper import ZooKeeperServer, ZooKeeperSettings
from spark_snapshot.sources import StorePlace
from syncer.model import MetaPath
from syncer.stores.contract import Put
from syncer.stores.etcd import EtcdConfig, EtcdStore
from syncer.stores.zookeeper.config import ZooKeeperConfig
from tests.bench.filling import fill
from tests.bench.policies import resources
from tests.bench.reading import KAZOO_ROWS
from tests.bench.result import Bar, Result, ratio_in_turns

FULL_ROWS: Final = 400_000
QUICK_ROWS: Final = 20_000
ROUNDS: Final = 3
DEADLINE_S: Final = 600.0
BATCH: Final = 100

LIVE: Final = "zookeeper, live"
KAZOO: Final = "kazoo's get_async"
FILES: Final = "zookeeper, files"
SPARK: Final = "zookeeper through Spark into Parquet, one core"
ETCD: Final = "etcd, live"
ETCD3: Final = "etcd3's get_prefix"
SNAPSHOT: Final = "zookeeper, snapshot, whole"


@dataclass(frozen=True, slots=True)
class Against:
    """A reading of ours, the peer's on the same rows, and how many times faster ours has to be."""

    name: str
    peer: str
    times: float


BARS: Final = (
    Against(LIVE, KAZOO, 10),
    Against(FILES, KAZOO, 15),
    Against(SPARK, KAZOO, 4),
    Against(ETCD, ETCD3, 2.5),
)


def run(out: Path, *, quick: bool = False) -> bool:
    """Measure; whether every bar holds. ``READ_ROWS``: another number of rows."""
    rows, rounds = int(os.environ.get("READ_ROWS", QUICK_ROWS if quick else FULL_ROWS)), 1 if quick else ROUNDS
    load = os.getloadavg()
    print(f"load before the run: {load[0]:.2f} {load[1]:.2f} {load[2]:.2f}, processors: {os.cpu_count()}\n", flush=True)
    rates: dict[str, list[float]] = {}
    by_cpu: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory(prefix="bench-read-") as directory, _servers(Path(directory), rows) as readings:
        for turn in range(rounds):
            for name, (what, place) in readings.items():
                print(f"{time.strftime('%H:%M:%S')}  round {turn + 1} of {rounds}: {name}", file=sys.stderr, flush=True)
                measured = _measured(what, place)
                due = min(rows, KAZOO_ROWS) if what == "kazoo" else rows
                if measured["rows"] != due:
                    raise RuntimeError(f"{name} found {measured['rows']} of {due}: this run does not count")
                rates.setdefault(name, []).append(due / measured["wall_s"])
                by_cpu.setdefault(name, []).append(due / measured["cpu_s"])
    result = Result(name="read", rows=table(rates, by_cpu), bars=bars(rates))
    result.figures = {"rows": rows, "load_before": load, "rates": rates, "by_cpu": by_cpu}
    return result.show(("reading", "rows/s, median", "each round", "rows/s of CPU", "us of CPU a row"), out)


def bars(rates: Mapping[str, Sequence[float]]) -> list[Bar]:
    """Each reading of ours against its peer's; rows a second of each round, by reading."""
    return [
        Bar(
            name=f"{each.name}, rows/s",
            peer=each.peer,
            ratio=ratio_in_turns(rates[each.name], rates[each.peer]),
            bar=each.times,
        )
        for each in BARS
    ]


def table(rates: Mapping[str, Sequence[float]], by_cpu: Mapping[str, Sequence[float]]) -> list[tuple[str, ...]]:
    """A row for each reading."""
    rows: list[tuple[str, ...]] = []
    for name, each in rates.items():
        cpu = median(by_cpu[name])
        shown = ", ".join(f"{rate:,.0f}" for rate in each)
        rows.append((name, f"{median(each):,.0f}", shown, f"{cpu:,.0f}", f"{1e6 / cpu:.1f}"))
    return rows


@contextmanager
def _servers(directory: Path, rows: int) -> Iterator[dict[str, tuple[str, str]]]:
    """Real servers that hold the rows, and what is measured on them: name to reading and place."""
    settings = ZooKeeperSettings(jvm=Jvm(heap_mb=3_072))
    zookeeper = ZooKeeperServer(directory / "zookeeper", settings=settings, leashed=True)
    etcd = EtcdNode(directory / "etcd", leashed=True)
    try:
        zookeeper.start()
        etcd.start()
        fill(ZooKeeperConfig(hosts=zookeeper.hosts), resources(rows))
        anyio.run(_fill_etcd, EtcdConfig(endpoints=(etcd.endpoint,)), rows)
        zookeeper.stop()
        zookeeper.start()  # which writes a snapshot
        live = StorePlace.made("zookeeper", ZooKeeperConfig(hosts=zookeeper.hosts)).to_json()
        files = StorePlace.offline(zookeeper.data_directory).to_json()
        keys = StorePlace.made("etcd", EtcdConfig(endpoints=(etcd.endpoint,))).to_json()
        for store in (live, keys):
            _measured("ours", store)  # a server that has just started is slow for whoever comes first
        yield {
            FILES: ("ours", files),
            LIVE: ("ours", live),
            KAZOO: ("kazoo", live),
            SPARK: ("spark", live),
            SNAPSHOT: ("snapshot", live),
            ETCD: ("ours", keys),
            ETCD3: ("etcd3", keys),
        }
    finally:
        zookeeper.remove()
        etcd.remove()


async def _fill_etcd(config: EtcdConfig, rows: int) -> None:
    store = EtcdStore(config)
    await store.open()
    try:
        for some in _batches(rows):
            await store.apply([Put(path=path, value=value, expected=None) for path, value in some])
    finally:
        await store.close()


def _batches(rows: int) -> Iterator[list[tuple[MetaPath, bytes]]]:
    left = resources(rows)
    while some := list(islice(left, BATCH)):
        yield some


def _measured(what: str, place: str) -> dict[str, Any]:
    slow = {"PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION": "python"} if what == "etcd3" else {}
    done = subprocess.run(
        [sys.executable, "-m", "tests.bench.reading", what, place],
        env={**os.environ, **slow},
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{what} failed:\n{done.stderr[-3000:]}")
    measured: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return measured
