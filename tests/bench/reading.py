"""One measured reading, in a process of its own: ``python -m tests.bench.reading WHAT PLACE``; a line of JSON.

Each reads every resource with its value, decoded. ``spark`` also makes digests and writes all of it as Parquet, which
is the first step of a snapshot; ``snapshot`` takes one, to the end.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, Final

from kazoo.client import KazooClient
from pyarrow import parquet
from pyspark.sql import SparkSession

from spark_snapshot.capture.reading import read_store
from spark_snapshot.format.places import place
from spark_snapshot.jobs.take import Order, take
from spark_snapshot.runtime.phases import Job
from spark_snapshot.runtime.session import SessionSettings, opened
from spark_snapshot.sources import StorePlace, facts
from spark_snapshot.sources.place import source
from spark_snapshot.sources.reach import Reach
from syncer.config.model import Config
from syncer.conflict.scope import Scope
from tests.bench.cpu import Used

POLICIES: Final = "/admin/policies"
WINDOWS: Final = (100, 500, 2_000)
"""Requests of kazoo on their way at once: each is tried, the fastest is measured."""
TRIED_ROWS: Final = 4_000
KAZOO_ROWS: Final = 50_000
"""kazoo reads no more: its rate is the same for more, and a run would take longer than all others together."""
CORES: Final = 2
WARM_TENANTS: Final = 400
"""Of 51 resources each, written before the clock runs: Java translates its code then, once in a session."""


def ours(text: str) -> int:
    """Our readers, one of them."""
    reader = source(StorePlace.from_json(text))
    reach = Reach()
    return sum(len(batch) for part in reader.parts(reach, 1) for batch in reader.read(reach, part))


@contextmanager
def kazoo(text: str) -> Iterator[Callable[[], int]]:
    """kazoo as its documentation shows it: names one directory at a time, values by ``get_async``.

    It is connected, and has as many requests on their way as are fastest for it here and now.
    """
    client = KazooClient(hosts=json.loads(StorePlace.from_json(text).settings)["hosts"])
    client.start(timeout=30)

    def names(limit: int) -> list[str]:
        paths: list[str] = []
        for tenant in (f"{POLICIES}/{name}" for name in client.get_children(POLICIES)):
            paths += [tenant, *(f"{tenant}/{name}" for name in client.get_children(tenant))]
            if len(paths) >= limit:
                break
        return paths[:limit]

    def values(paths: Sequence[str], window: int) -> int:
        count = 0
        for start in range(0, len(paths), window):
            for answer in [client.get_async(path) for path in paths[start : start + window]]:
                value, _ = answer.get(timeout=30)
                count += bool(value)
        return count

    def took_s(paths: Sequence[str], window: int) -> float:
        begun = time.perf_counter()
        values(paths, window)
        return time.perf_counter() - begun

    try:
        tried = names(TRIED_ROWS)
        fastest = min(WINDOWS, key=lambda window: took_s(tried, window))
        yield lambda: values(names(KAZOO_ROWS), fastest)
    finally:
        client.stop()
        client.close()


def etcd3(text: str) -> int:
    """etcd3's ``get_prefix``. Its generated modules need protobuf's slow form, which the caller sets."""
    client_of: Any = importlib.import_module("etcd3")
    (endpoint,) = json.loads(StorePlace.from_json(text).settings)["endpoints"]
    host, _, port = endpoint.rpartition(":")
    client = client_of.client(
        host=host, port=int(port), grpc_options=[("grpc.max_receive_message_length", -1)], timeout=300
    )
    try:
        return sum(bool(value) for value, _ in client.get_prefix(POLICIES))
    finally:
        client.close()


@contextmanager
def spark(text: str) -> Iterator[Callable[[], int]]:
    """Through Spark into Parquet with digests, on one core, Java and the reader together; the session is warm."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})  # whatever this process starts stays there, too
    store = StorePlace.from_json(text)
    with _session(1) as (session, directory):

        def write(name: str, tenants: list[str] | None = None) -> int:
            files = read_store(session, store, Scope(), place(directory / name), tenants=tenants, readers=1)
            return sum(parquet.read_metadata(directory / name / each.name).num_rows for each in files)

        write("warm", [f"tenant-{number:06d}" for number in range(WARM_TENANTS)])
        yield partial(write, "rows")


@contextmanager
def snapshot(text: str) -> Iterator[Callable[[], int]]:
    """A whole snapshot as ``syncer snapshot take`` makes it, on all cores; the session has taken another before."""
    with _session(CORES) as (session, directory):
        store = {"kind": "zookeeper", "hosts": json.loads(StorePlace.from_json(text).settings)["hosts"]}
        config = {
            "region": "east",
            "clusters": ["east"],
            "store": store,
            "bus": {"kind": "embedded", "path": str(directory / "bus.db")},
            "state": {"path": str(directory / "state.db")},
        }

        def taken() -> int:
            order = Order(config=Config.model_validate(config), folder=place(directory / "snapshots"))
            return take(Job(session), order).manifest.rows

        taken()
        yield taken


@contextmanager
def _session(cores: int) -> Iterator[tuple[SparkSession, Path]]:
    settings = SessionSettings(name="bench-read", master=f"local[{cores}]")
    with tempfile.TemporaryDirectory() as directory, opened(settings) as session:
        session.sparkContext.setLogLevel("ERROR")
        yield session, Path(directory)


READINGS: Final[dict[str, Callable[[str], int]]] = {"ours": ours, "etcd3": etcd3}
PREPARED: Final = {"kazoo": kazoo, "spark": spark, "snapshot": snapshot}


def main(what: str, text: str) -> None:
    """Read, and tell how many and how long; what a process does once, as loading a client, is done before."""
    facts(StorePlace.from_json(text))
    if what == "etcd3":
        importlib.import_module("etcd3")
    with PREPARED[what](text) if what in PREPARED else nullcontext(partial(READINGS[what], text)) as action:
        wall, before = time.perf_counter(), Used.by([os.getpid()])
        rows = action()
        took_s, after = time.perf_counter() - wall, Used.by([os.getpid()])
        print(json.dumps({"rows": rows, "wall_s": took_s, "cpu_s": after.cpu_s - before.cpu_s}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
