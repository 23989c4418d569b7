"""How fast ledgers are read from a real ZooKeeper: by our reader of audits, and by kazoo's ``get_async`` of each path.

Both read the same ledgers of the same server in turns. kazoo lists directories as it must, one at a time, and has many
values on their way at once; it reads a part of them, and its rate is of that part.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

from kazoo.client import KazooClient

from deploy.lab.jvm import Jvm
from deploy.lab.zookeeper import ZooKeeperServer, ZooKeeperSettings
from spark_snapshot.sources.place import StorePlace, source
from syncer.ledgers.paths import ROOT
from syncer.stores.zookeeper.store import ZooKeeperConfig
from syncer.wanted.ledgers import LedgerPart, LedgerPathKind, ledger_paths
from tests.bench.filling import fill
from tests.bench.ledger_values import values

COUNT: Final = 100_000
KAZOO_ROWS: Final = 20_000
ROUNDS: Final = 3
WINDOW: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerReadingRates:
    """Ledgers a second of both sides, of each round."""

    ours: list[float]
    kazoo: list[float]

    @property
    def times(self) -> float:
        """How many times as fast ours is."""
        return median(mine / other for mine, other in zip(self.ours, self.kazoo, strict=True))


def measure(directory: Path, count: int = COUNT) -> LedgerReadingRates:
    """Fill a server and read it in turns.

    Args:
        directory: Of the server.
        count: How many ledgers it holds.
    """
    server = ZooKeeperServer(
        directory / "zookeeper", settings=ZooKeeperSettings(jvm=Jvm(heap_mb=2_048, quick_start=False)), leashed=True
    )
    try:
        server.start()
        config = ZooKeeperConfig(hosts=server.hosts)
        fill(config, values(0, count))
        ours, kazoo = list[float](), list[float]()
        _read(config)  # a server that has just started is slow for whoever comes first
        for _ in range(ROUNDS):
            began_s = time.perf_counter()
            found = _read(config)
            ours.append(found / (time.perf_counter() - began_s))
            if found != count:
                raise RuntimeError(f"{found} of {count} ledgers were found: this run does not count")
            kazoo.append(_by_kazoo(server.hosts))
        return LedgerReadingRates(ours=ours, kazoo=kazoo)
    finally:
        server.remove()


def _read(config: ZooKeeperConfig) -> int:
    reading, wanted = source(StorePlace.made("zookeeper", config)), ledger_paths(LedgerPart.LEDGERS)
    batches = (batch for share in reading.parts(wanted, 1) for batch in reading.read(wanted, share))
    return sum(batch.kinds.count(LedgerPathKind.LEDGER) for batch in batches)


def _by_kazoo(hosts: str) -> float:
    """Ledgers a second."""
    client = KazooClient(hosts=hosts)
    client.start(timeout=30)
    try:
        began_s, count = time.perf_counter(), 0
        for paths in _directories(client, ROOT):
            for start in range(0, len(paths), WINDOW):
                for answer in [client.get_async(path) for path in paths[start : start + WINDOW]]:
                    answer.get(timeout=30)
                    count += 1
            if count >= KAZOO_ROWS:
                break
        return count / (time.perf_counter() - began_s)
    finally:
        client.stop()
        client.close()


def _directories(client: KazooClient, above: str) -> Iterator[list[str]]:
    """Paths of ledgers, folder by folder; a ledger's node begins with ``L``."""
    names = client.get_children(above)
    ledgers = [f"{above}/{name}" for name in names if name.startswith("L")]
    if ledgers:
        yield ledgers
        return
    for name in names:
        yield from _directories(client, f"{above}/{name}")
