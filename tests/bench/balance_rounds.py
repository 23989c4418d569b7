"""How long a round of shedding takes for a large cluster: by our strategy, and by Pulsar's own class in Java.

Both choose from the same reports, round after round, and must choose the same bundles; how reports come, and what is
made of them, is nobody's time. Java translates its code in the first rounds, so each side's fastest round counts.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from syncer.balancer.averages import BundleAverages
from syncer.balancer.cluster import ClusterLoad
from syncer.balancer.rounds.synthetic import SyntheticCluster
from syncer.balancer.settings import BalancerSettings
from syncer.balancer.strategies.threshold import ThresholdShedder
from tests.balancer.referee import referee
from tests.support.balancing import conf_of
from tests.support.load_documents import local_broker, stats
from tests.vectors.reading import report
from tests.vectors.reading import stats as read_stats

HEAP_MB: Final = 2_048


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundTimes:
    """Seconds of the fastest round of each side."""

    ours_s: float
    java_s: float
    unloads: int

    @property
    def ratio(self) -> float:
        """Ours for one of Java's."""
        return self.ours_s / self.java_s


def measure(work: Path, cluster: SyntheticCluster, rounds: int) -> RoundTimes:
    """Let both sides play, and see that they choose the same.

    Args:
        work: A directory for what is compiled.
        cluster: Whose load it is.
        rounds: How many are played.
    """
    asked: dict[str, Any] = {"brokers": _reports(cluster), "recentlyUnloaded": [], "brokersChanged": False}
    conf = conf_of("ThresholdShedder", loadBalancerLoadPlacementStrategy=_LEAST_RATE)
    shedder, averages = ThresholdShedder(BalancerSettings()), dict[str, BundleAverages]()
    reports = {broker: report(each) for broker, each in asked["brokers"].items()}
    reported = {name: read_stats(row) for each in asked["brokers"].values() for name, row in each["lastStats"].items()}
    ours, java, unloads = list[float](), list[float](), 0
    with referee(work, HEAP_MB) as judge:
        for number in range(rounds):
            verdict = judge.round(asked | ({} if number else {"conf": conf}))
            averages = {name: averages.get(name, BundleAverages()).updated(row) for name, row in reported.items()}
            load = ClusterLoad(
                brokers={broker: reports[broker] for broker in verdict.brokers},
                bundles={name: averages[name] for name in dict.fromkeys([*verdict.bundles, *averages])},
                broker_rates=verdict.broker_rates,
            )
            began = time.perf_counter()
            chosen = shedder.round(load)
            ours.append(time.perf_counter() - began)
            java.append(verdict.nanos / 1e9)
            if chosen != verdict.unloads:
                raise RuntimeError(f"the sides choose different bundles in round {number}: this run does not count")
            unloads = sum(map(len, chosen.values()))
    return RoundTimes(ours_s=min(ours), java_s=min(java), unloads=unloads)


_LEAST_RATE: Final = "org.apache.pulsar.broker.loadbalance.impl.LeastLongTermMessageRate"


def _reports(cluster: SyntheticCluster) -> dict[str, Any]:
    """The brokers' reports as their znodes hold them."""
    fleet = cluster.fleet
    found = {}
    for broker in fleet.brokers:
        rows = {}
        for name in fleet.bundles_of(broker):
            own = fleet.bundles[name].stats
            rows[name] = stats(
                msgRateIn=own.traffic.rate_in,
                msgRateOut=own.traffic.rate_out,
                msgThroughputIn=own.traffic.throughput_in,
                msgThroughputOut=own.traffic.throughput_out,
                topics=own.topics,
            )
        traffic = fleet.traffic(broker)
        usages = {_NAMES[name]: usage for name, usage in asdict(fleet.resources(broker)).items()}
        found[broker] = local_broker(
            broker,
            lastStats=rows,
            bundles=list(rows),
            msgRateIn=traffic.rate_in,
            msgRateOut=traffic.rate_out,
            msgThroughputIn=traffic.throughput_in,
            msgThroughputOut=traffic.throughput_out,
            **usages,
        )
    return found


_NAMES: Final = {
    "cpu": "cpu",
    "memory": "memory",
    "direct_memory": "directMemory",
    "bandwidth_in": "bandwidthIn",
    "bandwidth_out": "bandwidthOut",
}
