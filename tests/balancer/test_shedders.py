"""Our shedders and placements beside Pulsar's own, on random fleets, round after round: equal, exactly."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pytest

from deploy.lab.software import java, java_compiler, pulsar_home
from syncer.balancer.averages import BundleAverages, TimeAverage
from syncer.balancer.cluster import ClusterLoad
from syncer.balancer.placement.modular import PlacementStrategy
from syncer.balancer.settings import BalancerSettings, balancer_settings
from syncer.balancer.strategies import threshold
from syncer.balancer.strategies.avg import AvgShedder
from syncer.balancer.strategies.least_rate import LeastLongTermMessageRate
from syncer.balancer.strategies.least_usage import LeastResourceUsageWithWeight
from syncer.balancer.strategies.overload import OverloadShedder
from syncer.balancer.strategies.round_robin import RoundRobinBrokerSelector
from syncer.balancer.strategies.threshold import ThresholdShedder
from syncer.balancer.strategies.uniform import UniformLoadShedder
from tests.balancer.fleets import DrawnFleet
from tests.balancer.referee import Referee, Verdict, referee
from tests.conftest import require
from tests.vectors.reading import report, stats

Shedder = ThresholdShedder | OverloadShedder | UniformLoadShedder | AvgShedder

SHEDDERS: Final[dict[str, type[Shedder]]] = {
    kind.__name__: kind for kind in (ThresholdShedder, OverloadShedder, UniformLoadShedder, AvgShedder)
}
ROUNDS: Final = 8
FLEETS: Final = 50
LONG_FORM: Final = 200


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Referee]:
    require(java, java_compiler, pulsar_home)
    with referee(tmp_path_factory.mktemp("referee")) as found:
        yield found


class Ours:
    """Our side of a fleet: strategies and averages with their memory."""

    def __init__(self, conf: dict[str, object]) -> None:
        self.settings: BalancerSettings = balancer_settings(conf)
        shedding, place = (str(conf[f"loadBalancerLoad{each}Strategy"]) for each in ("Shedding", "Placement"))
        self.shedder = SHEDDERS[shedding.rpartition(".")[2]](self.settings)
        self.placement = self._placement(place.rpartition(".")[2])
        self.averages: dict[str, BundleAverages] = {}

    def _placement(self, name: str) -> PlacementStrategy:
        match name:
            case "LeastLongTermMessageRate":
                return LeastLongTermMessageRate(self.settings)
            case "LeastResourceUsageWithWeight":
                return LeastResourceUsageWithWeight(self.settings)
            case "RoundRobinBrokerSelector":
                return RoundRobinBrokerSelector()
            case "AvgShedder":
                return self.shedder if isinstance(self.shedder, AvgShedder) else AvgShedder(self.settings)
        raise AssertionError(name)

    def told(self, asked: dict[str, Any], verdict: Verdict) -> ClusterLoad:
        """Take the reports over; the order of what is equal is the referee's."""
        reported = {bundle: row for each in asked["brokers"].values() for bundle, row in each["lastStats"].items()}
        self.averages = {
            bundle: self.averages.get(bundle, BundleAverages()).updated(stats(row)) for bundle, row in reported.items()
        }
        ordered = dict.fromkeys([*verdict.bundles, *self.averages])
        return ClusterLoad(
            brokers={broker: report(asked["brokers"][broker]) for broker in verdict.brokers},
            bundles={bundle: self.averages[bundle] for bundle in ordered},
            recently_unloaded=frozenset(asked["recentlyUnloaded"]),
            broker_rates=verdict.broker_rates,
        )

    def brokers_changed(self, load: ClusterLoad) -> None:
        if isinstance(self.shedder, ThresholdShedder):
            self.shedder.brokers_changed(load.brokers.keys())
        if isinstance(self.placement, LeastResourceUsageWithWeight):
            self.placement.brokers_changed(load.brokers.keys())

    def memory(self) -> dict[str, Any]:
        """Tell what the shedder remembers, under the names of Pulsar's fields."""
        match self.shedder:
            case ThresholdShedder(usages=usages):
                return {"brokerAvgResourceUsage": usages}
            case AvgShedder(scores=scores, high_hits=high, low_hits=low):
                return {"brokerScoreMap": scores, "brokerHitCountForHigh": high, "brokerHitCountForLow": low}
            case _:
                return {}

    def agrees(self, bundle: str, broker: str | None, load: ClusterLoad, candidates: list[str]) -> bool:
        """Say whether ours could have drawn this broker, too, and draw it."""
        assert broker is not None
        match self.placement:
            case RoundRobinBrokerSelector():
                return self.placement.next(candidates) == broker
            case AvgShedder():
                planned = self.placement.target(bundle, load.bundles[bundle], frozenset(candidates))
                if planned is None:
                    self.placement.placed(bundle, load.bundles[bundle], broker)
                return planned in {None, broker}
            case _:
                return broker in self.placement.best(candidates, load)


def figures(average: TimeAverage) -> list[float]:
    traffic = average.traffic
    return [average.samples, traffic.rate_in, traffic.rate_out, traffic.throughput_in, traffic.throughput_out]


def play(judge: Referee, seed: int, shedding: str) -> int:
    """Play a fleet's rounds on both sides; return how many bundles were shed."""
    fleet = DrawnFleet.of(seed)
    conf = fleet.conf(shedding)
    ours, changed, shed = Ours(conf), False, 0
    for number in range(ROUNDS):
        asked = fleet.asked() | {"brokersChanged": changed} | ({} if number else {"conf": conf})
        verdict = judge.round(asked)
        load = ours.told(asked, verdict)
        if changed:
            ours.brokers_changed(load)
        where = f"fleet {seed} ({fleet.character}, {len(fleet.brokers)} brokers), {shedding}, round {number}, {conf}"
        assert ours.shedder.round(load) == verdict.unloads, where
        assert ours.memory() == verdict.memory, where
        found = {bundle: figures(each.short) + figures(each.long) for bundle, each in ours.averages.items()}
        assert found == verdict.averages, where
        for bundle, broker in verdict.placed:
            assert ours.agrees(bundle, broker, load, list(verdict.candidates)), f"{where}: {bundle} to {broker}"
            if broker is not None and fleet.owners[bundle] != broker:
                fleet.move(bundle, broker)
        shed += len(verdict.placed)
        changed = fleet.next_round()
    return shed


@pytest.mark.parametrize("shedding", SHEDDERS)
def test_fifty_fleets_are_shed_and_placed_as_pulsar_does(judge: Referee, shedding: str) -> None:
    acted = sum(play(judge, seed, shedding) > 0 for seed in range(FLEETS))
    assert acted > FLEETS // 4, "fleets on which nothing happens prove nothing"


@pytest.mark.slow
@pytest.mark.parametrize("shedding", SHEDDERS)
def test_two_hundred_fleets_are_shed_and_placed_as_pulsar_does(judge: Referee, shedding: str) -> None:
    acted = sum(play(judge, seed, shedding) > 0 for seed in range(FLEETS, FLEETS + LONG_FORM))
    assert acted > LONG_FORM // 4, "fleets on which nothing happens prove nothing"


def test_a_difference_in_the_last_digit_is_seen(judge: Referee, monkeypatch: pytest.MonkeyPatch) -> None:
    def nearly(history: float | None, value: float, weight: float) -> float:
        return value if history is None else value * (1 - weight) + history * weight + 1e-16

    monkeypatch.setattr(threshold, "moved", nearly)
    with pytest.raises(AssertionError, match="ThresholdShedder, round"):
        play(judge, 1, "ThresholdShedder")
