"""Unloads of one bundle, again and again, and what its clients say of each."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Sequence
from math import ceil
from typing import Final

from deploy.lab.brokers.broker import Broker
from deploy.lab.brokers.cluster import BrokersCluster
from deploy.lab.traffic.outages import ClientOutage
from deploy.lab.traffic.traffic import ClusterTraffic
from syncer.balancer.cost.measured import CPP_STEPS
from syncer.waiting import wait_until

MORE_UNLOADS: Final = 20
"""A bundle may land elsewhere than asked for; so many more are made until each broker has served it."""
_SHORTENED: Final = 0.91
"""A delay is up to nine hundredths shorter."""


def others(cluster: BrokersCluster, broker: Broker) -> list[Broker]:
    """The brokers beside one."""
    return [each for each in cluster.brokers if each is not broker]


def unload_repeatedly(
    cluster: BrokersCluster, namespace: str, traffic: ClusterTraffic, *, clients: int, times: int
) -> list[ClientOutage]:
    """Unload the only bundle of a namespace to one broker after another, each time when all clients are back.

    The first unloads, until each broker has served it, do not count: a broker's first time takes a second longer.
    """
    (span,) = cluster.bundles(namespace)
    served: list[Broker] = []
    began, unloads = 0, 0
    while unloads < began + times or (len(served) < len(cluster.brokers) and unloads < times + MORE_UNLOADS):
        owner = cluster.owners(namespace)[span]
        if owner not in served:
            served.append(owner)
            began = unloads
        fresh = [each for each in others(cluster, owner) if each not in served] or others(cluster, owner)
        cluster.unload(namespace, span, fresh[unloads % len(fresh)])
        unloads += 1
        wait_back(traffic, unloads * clients)
    assert len(served) == len(cluster.brokers), "each broker has served the bundle"
    return traffic.outages()[began * clients :]


def wait_back(traffic: ClusterTraffic, outages: int) -> None:
    """Wait until so many outages have ended."""
    wait_until(lambda: len(traffic.outages()) >= outages, f"{outages} outages have ended")


def follows(delays_ms: Sequence[int], latest_ms: Sequence[int]) -> bool:
    """Whether a client's delays are those between its attempts at the latest, each a little shorter."""
    whole = [after - before for before, after in zip((0, *latest_ms), latest_ms, strict=False)]
    return all(
        max(whole[0], ceil(_SHORTENED * most)) <= delay <= most for delay, most in zip(delays_ms, whole, strict=False)
    )


def within_a_step(lasted_ms: float, expected_ms: float) -> bool:
    """Whether no more than one attempt lies between an outage's end and the one that was expected."""
    return abs(bisect(CPP_STEPS.latest_ms, lasted_ms) - bisect(CPP_STEPS.latest_ms, expected_ms)) <= 1
