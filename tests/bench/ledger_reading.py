"""How fast ledgers are read from a real ZooKeeper: by our reader of audits, and by kazoo's ``get_async`` of each path.

Both read the same ledgers of the same server in turns. kazoo lists directories as it must, one at a time, and has many
values on their way at once; it reads a part of them, and its rate is of that part.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kazoo.client import KazooClient

from deploy.lab.jvm import Jvm
from deploy.lab.zookeeper import ZooKeeperServer, ZooKeeperSettings
from spark_snapshot.sources.place import StorePlace, source
from syncer.ledgers.paths import ROOT
from syncer.stores.zookeeper.config import ZooKeeperConfig
from syncer.wanted.ledgers import LedgerPart, LedgerPathKind, ledger_paths
from tests.bench import kazoo_peer
from tests.bench.filling import fill
from tests.bench.ledger_values import values
from tests.bench.result import ratio_in_turns

COUNT: Final = 100_000
ROUNDS: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerReadingRates:
    """Ledgers a second of both sides, of each round."""

    ours: list[float]
    kazoo: list[float]

    @property
    def times(self) -> float:
        """How many times as fast ours is."""
        return ratio_in_turns(self.ours, self.kazoo)


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
            kazoo.append(kazoo_peer.rate(server.hosts, _directories))
        return LedgerReadingRates(ours=ours, kazoo=kazoo)
    finally:
        server.remove()


def _read(config: ZooKeeperConfig) -> int:
    reading, wanted = source(StorePlace.made("zookeeper", config)), ledger_paths(LedgerPart.LEDGERS)
    batches = (batch for share in reading.parts(wanted, 1) for batch in reading.read(wanted, share))
    return sum(batch.kinds.count(LedgerPathKind.LEDGER) for batch in batches)


def _directories(client: KazooClient, above: str = ROOT) -> Iterator[list[str]]:
    """Paths of ledgers, folder by folder; a ledger's node begins with ``L``."""
    names = client.get_children(above)
    ledgers = [f"{above}/{name}" for name in names if name.startswith("L")]
    if ledgers:
        yield ledgers
        return
    for name in names:
        yield from _directories(client, f"{above}/{name}")
