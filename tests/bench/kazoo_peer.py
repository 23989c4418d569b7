"""kazoo as the peer of what reads a ZooKeeper: ``get_async`` of each path, many on their way at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Final

from kazoo.client import KazooClient

ROWS: Final = 20_000
WINDOW: Final = 1_000


def rate(hosts: str, directories: Callable[[KazooClient], Iterator[list[str]]]) -> float:
    """Read at least so many values as count, and tell how many that were in a second.

    Args:
        hosts: Of the server.
        directories: Lists them as kazoo must, one at a time; yields the paths of each.
    """
    client = KazooClient(hosts=hosts)
    client.start(timeout=30)
    try:
        began, count = time.perf_counter(), 0
        for paths in directories(client):
            for start in range(0, len(paths), WINDOW):
                for answer in [client.get_async(path) for path in paths[start : start + WINDOW]]:
                    answer.get(timeout=30)
                    count += 1
            if count >= ROWS:
                break
        return count / (time.perf_counter() - began)
    finally:
        client.stop()
        client.close()
