"""Filling a real ZooKeeper with many values before it is read: several batches are on their way at once."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Final

from spark_snapshot.sources.zookeeper.link import Link
from syncer.model import MetaPath
from syncer.stores.zookeeper.config import ZooKeeperConfig
from syncer.stores.zookeeper.requests import Multi, Permission

BATCH: Final = 100
IN_FLIGHT: Final = 4
OPEN: Final = (Permission(31, "world", "anyone"),)


def fill(config: ZooKeeperConfig, entries: Iterable[tuple[str, bytes]]) -> None:
    """Create nodes, and those above them.

    Args:
        config: Of the server.
        entries: Paths and values.
    """
    made: set[str] = set()
    with Link(config) as link:
        left, on_their_way = iter(entries), 0
        while some := list(islice(left, BATCH)):
            for path, _ in some:
                parts = path.split("/")
                for parent in ("/".join(parts[:end]) for end in range(2, len(parts))):
                    if parent not in made:
                        made.add(parent)
                        while on_their_way:
                            link.take()
                            on_their_way -= 1
                        link.ask(Multi([Multi.create(MetaPath(parent), b"", OPEN)]))
            link.send(None, Multi([Multi.create(MetaPath(path), value, OPEN) for path, value in some]))
            on_their_way += 1
            if on_their_way > IN_FLIGHT:
                link.take()
                on_their_way -= 1
        for _ in range(on_their_way):
            link.take()
