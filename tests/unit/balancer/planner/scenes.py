"""Scenes for tests of the planner: brokers with CPU alone, bundles with a share of it and some clients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from syncer.balancer.cost.tariff import Tariff
from syncer.balancer.fleet import Fleet, FleetBroker, FleetBundle
from syncer.balancer.goals.hard import MoveBounds
from syncer.balancer.load import BundleStats, Rates, Usage, Usages
from syncer.balancer.placement.constraints import Constraints
from syncer.balancer.placement.decision import BrokerTraits
from syncer.balancer.planner.scene import Scene
from syncer.balancer.settings import balancer_settings

MANAGER: Final = "org.apache.pulsar.broker.loadbalance.impl.ModularLoadManagerImpl"


def name_of(number: int, namespace: str = "t/n", width: int = 1) -> str:
    return f"{namespace}/0x{number * width:08x}_0x{(number + 1) * width:08x}"


def fleet_of(loads: Mapping[str, Sequence[tuple[float, int]]], namespace: str = "t/n", width: int = 1) -> Fleet:
    """Make brokers of 100 CPU; each bundle is its CPU and its clients, numbered through, and so wide a range."""
    bundles: list[FleetBundle] = []
    for broker, held in loads.items():
        for cpu, clients in held:
            stats = BundleStats(Rates(cpu * 100, 0.0, cpu * 1e7, 0.0), topics=5, producers=clients)
            name = name_of(len(bundles), namespace, width)
            bundles.append(FleetBundle(name=name, owner=broker, stats=stats, cpu=cpu))
    return Fleet([FleetBroker(name=broker, base=Usages(cpu=Usage(0.0, 100.0))) for broker in loads], bundles)


def bounds_of(fleet: Fleet, **more: object) -> MoveBounds:
    traits = dict.fromkeys(fleet.brokers, BrokerTraits(version="4.0.8", manager=MANAGER))
    bounds = MoveBounds(constraints=Constraints(traits=traits), settings=balancer_settings({}))
    return replace(bounds, **more)  # type: ignore[arg-type]  # fields of the bounds, as each test names them


def scene_of(fleet: Fleet, **more: object) -> Scene:
    return Scene(fleet, bounds_of(fleet, **more), Tariff())
