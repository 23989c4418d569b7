"""Clusters and prices for tests of load balancing in thought."""

from __future__ import annotations

import random
from typing import Final

from syncer.balancer.cost.estimate import assumed
from syncer.balancer.cost.price import MovedBundle, MoveKind, Price, price
from syncer.balancer.fleet import FleetBundle
from syncer.balancer.rounds.extensible import ExtensibleLeader
from syncer.balancer.rounds.modular import ModularLeader
from syncer.balancer.rounds.outcome import PlayedRounds
from syncer.balancer.rounds.playing import play
from syncer.balancer.rounds.synthetic import FleetShape, SyntheticCluster, synthetic_cluster
from syncer.balancer.settings import balancer_settings
from syncer.balancer.versions import BalancerRules

IMPL: Final = "org.apache.pulsar.broker.loadbalance.impl."
SHEDDERS: Final = ("ThresholdShedder", "OverloadShedder", "UniformLoadShedder", "AvgShedder", "TransferShedder")
JAVA: Final = "Pulsar-Java-v4.0.8"


def conf_of(shedder: str, **more: object) -> dict[str, object]:
    """Properties with a strategy of shedding; AvgShedder places as well, as it must."""
    avg: dict[str, object] = {
        "loadBalancerLoadPlacementStrategy": IMPL + "AvgShedder",
        "loadBalancerDistributeBundlesEvenlyEnabled": False,
    }
    return {"loadBalancerLoadSheddingStrategy": IMPL + shedder} | (avg if shedder == "AvgShedder" else {}) | more


def pricing(bundle: FleetBundle) -> Price:
    """A price by the bundle's topics and clients."""
    stats = bundle.stats
    return price(
        MovedBundle(
            kind=MoveKind.UNLOAD,
            close=assumed(0.1),
            load=assumed(0.13 + 0.002 * stats.topics),
            producers={JAVA: stats.producers},
            consumers={JAVA: stats.consumers},
        ),
        {},
    )


def drawn_cluster(
    seed: int, shape: FleetShape = FleetShape.HOT_BROKERS, brokers: int = 8, bundles: int = 80
) -> SyntheticCluster:
    """A cluster drawn by seed."""
    return synthetic_cluster(random.Random(seed), balancer_settings({}), brokers=brokers, bundles=bundles, shape=shape)


def played(cluster: SyntheticCluster, conf: dict[str, object], *, seed: int = 1, rounds: int = 120) -> PlayedRounds:
    """Rounds of the manager that has the strategy."""
    settings = balancer_settings(conf)
    kind = ExtensibleLeader if "TransferShedder" in settings.shedding.strategy else ModularLeader
    leader = kind(cluster.constraints, settings, BalancerRules(), random.Random(seed).choice)
    return play([cluster.fleet], leader, pricing, rounds)
