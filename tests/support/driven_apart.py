"""Regions on real clusters that are driven apart: for a time their bus loses what each has to tell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from syncer.waiting import wait_until
from tests.support.synced import BOTH, Side, Synced


def replicators(side: Side, topic: str) -> Mapping[str, Any]:
    """Who sends the bus's messages on, by cluster."""
    found = side.get(f"{topic.replace('://', '/')}/stats") or {}
    replication: Mapping[str, Any] = found.get("replication", {})
    return replication


@contextmanager
def bus_loses_all(pair: Synced) -> Iterator[None]:
    """What is published meanwhile never leaves its cluster: the topic is not replicated."""
    namespace = pair.topic.split("://")[1].rpartition("/")[0]
    for side in pair.sides:
        side.send("POST", f"namespaces/{namespace}/replication", [side.cluster.name])
    wait_until(lambda: not any(replicators(side, pair.topic) for side in pair.sides), "nobody sends on")
    yield
    wait_until(lambda: all(side.region.quiet() for side in pair.sides), "all is published, and lost")
    for side in pair.sides:
        side.send("POST", f"namespaces/{namespace}/replication", list(BOTH))
    wait_until(
        lambda: all(
            [each["connected"] for each in replicators(side, pair.topic).values()] == [True] for side in pair.sides
        ),
        "the topic is replicated again",
    )
