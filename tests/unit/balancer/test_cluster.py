"""A cluster's load counts each bundle of a namespace once, with those on their way."""

from __future__ import annotations

from syncer.balancer.averages import BundleAverages
from syncer.balancer.cluster import ClusterLoad
from syncer.balancer.load import BrokerReport, Usage, Usages
from syncer.balancer.settings import UsageSettings

A, B, C = "a:8080", "b:8080", "c:8080"
X, Y, Z = (f"t/{name}/0x00000000_0xffffffff" for name in ("n", "n2", "m"))
LOAD = ClusterLoad(
    brokers={
        A: BrokerReport(bundles=frozenset({X, Z}), usages=Usages(cpu=Usage(50.0, 100.0), memory=Usage(9.0, 10.0))),
        B: BrokerReport(),
        C: BrokerReport(bundles=frozenset({Z}), usages=Usages(bandwidth_in=Usage(25.0, 100.0))),
    },
    preallocated={A: {X: BundleAverages()}, B: {Y: BundleAverages(), Z: BundleAverages()}},
)


def test_bundles_are_counted_by_namespace_and_broker() -> None:
    assert {name: dict(LOAD.served(name)) for name in ("t/n", "t/n2", "t/m", "t/other")} == {
        "t/n": {A: 1},
        "t/n2": {B: 1},
        "t/m": {A: 1, B: 1, C: 1},
        "t/other": {},
    }
    assert sorted(LOAD.namespaces()) == [(A, "t/m"), (A, "t/n"), (B, "t/m"), (B, "t/n2"), (C, "t/m")]


def test_usages_are_reckoned_by_the_weights_that_are_asked_for() -> None:
    assert LOAD.usages(UsageSettings()) == {A: 0.5, B: 0.0, C: 0.25}
    assert LOAD.usages(UsageSettings(cpu=0.5)) == {A: 0.25, B: 0.0, C: 0.25}
