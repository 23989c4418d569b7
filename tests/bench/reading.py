"""One measured reading, in a process of its own: ``python -m tests.bench.reading WHAT PLACE``; a line of JSON.

Each reads every resource with its value, decoded; ``spark-*`` also make digests and write all of it as Parquet.
"""

from __future__ import annotations

import importlib
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from kazoo.client import KazooClient

from spark_snapshot.sources import StorePlace, facts
from spark_snapshot.sources.place import source
from spark_snapshot.sources.reach import Reach
from syncer.conflict.scope import Scope

POLICIES: Final = "/admin/policies"
WINDOW: Final = 500
"""Requests of kazoo on their way at once."""
CORES: Final = 2


def ours(text: str) -> int:
    """Our readers, one of them."""
    reader = source(StorePlace.from_json(text))
    reach = Reach()
    return sum(len(batch) for part in reader.parts(reach, 1) for batch in reader.read(reach, part))


def kazoo(text: str) -> int:
    """kazoo as its documentation shows it: names one directory at a time, values by ``get_async``."""
    client = KazooClient(hosts=json.loads(StorePlace.from_json(text).settings)["hosts"])
    client.start(timeout=30)
    try:
        tenants = [f"{POLICIES}/{name}" for name in client.get_children(POLICIES)]
        paths = list(tenants)
        for tenant in tenants:
            paths += [f"{tenant}/{name}" for name in client.get_children(tenant)]
        count = 0
        for start in range(0, len(paths), WINDOW):
            for answer in [client.get_async(path) for path in paths[start : start + WINDOW]]:
                value, _ = answer.get(timeout=30)
                count += bool(value)
        return count
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


def spark(text: str) -> Callable[[], int]:
    """Through Spark into Parquet with digests, two readers; the session is made and warmed before."""
    from pyspark.sql import SparkSession

    from spark_snapshot.sources import live

    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = (
        SparkSession.builder.master(f"local[{CORES}]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    folder = tempfile.mkdtemp()

    def write() -> int:
        try:
            table = live(session, StorePlace.from_json(text), Scope(), readers=CORES)
            table.write.mode("overwrite").parquet(f"{Path(folder).as_uri()}/rows")
            return session.read.parquet(f"{Path(folder).as_uri()}/rows").count()
        finally:
            shutil.rmtree(folder)

    live(session, StorePlace.from_json(text), Scope(), readers=CORES, tenants=["tenant-000000"]).count()
    return write


READINGS: Final[dict[str, Callable[[str], int]]] = {"ours": ours, "kazoo": kazoo, "etcd3": etcd3}


def main(what: str, place: str) -> None:
    """Read, and tell how many and how long; what a process does once, as loading a client, is done before."""
    facts(StorePlace.from_json(place))
    action = spark(place) if what == "spark" else lambda: READINGS[what](place)
    if what == "etcd3":
        importlib.import_module("etcd3")
    wall, cpu = time.perf_counter(), time.process_time()
    rows = action()
    print(json.dumps({"rows": rows, "wall_s": time.perf_counter() - wall, "cpu_s": time.process_time() - cpu}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
