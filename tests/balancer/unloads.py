"""Unloads of one bundle, again and again, and what its clients say of each."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Final

from deploy.lab.brokers.broker import Broker
from deploy.lab.brokers.cluster import BrokersCluster
from deploy.lab.traffic.outages import ClientOutage
from deploy.lab.traffic.traffic import ClusterTraffic
from deploy.lab.waiting import wait_for

BACK_S: Final = 60.0
_WARM_UP: Final = 4
"""Unloads until each broker has served the bundle; its first time takes a second longer."""
_SHORTENED: Final = 0.91
"""A delay is up to nine hundredths shorter."""


def others(cluster: BrokersCluster, broker: Broker) -> list[Broker]:
    """The brokers beside one."""
    return [each for each in cluster.brokers if each is not broker]


def unload_repeatedly(
    cluster: BrokersCluster, namespace: str, traffic: ClusterTraffic, *, clients: int, times: int
) -> list[ClientOutage]:
    """Unload the only bundle of a namespace to one broker after another, each time when all clients are back.

    The first few, by which the brokers become warm, do not count.
    """
    (span,) = cluster.bundles(namespace)
    for number in range(1, _WARM_UP + times + 1):
        owner = cluster.owners(namespace)[span]
        cluster.unload(namespace, span, others(cluster, owner)[number % 2])
        wait_back(traffic, number * clients)
    return traffic.outages()[_WARM_UP * clients :]


def wait_back(traffic: ClusterTraffic, outages: int) -> None:
    """Wait until so many outages have ended."""
    found = wait_for(lambda: len(traffic.outages()) >= outages, deadline_s=BACK_S)
    assert found is not None, f"{len(traffic.outages())} of {outages} outages have ended"


def follows(delays_ms: Sequence[int], latest_ms: Sequence[int]) -> bool:
    """Whether a client's delays are those between its attempts at the latest, each a little shorter."""
    whole = [after - before for before, after in zip((0, *latest_ms), latest_ms, strict=False)]
    return all(
        max(whole[0], ceil(_SHORTENED * most)) <= delay <= most for delay, most in zip(delays_ms, whole, strict=False)
    )
