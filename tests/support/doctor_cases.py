"""Cases for the doctor: small clusters of either manager whose every figure can be changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from syncer.balancer.averages import BundleAverages
from syncer.balancer.doctor.case import Case
from syncer.balancer.load import BundleStats, Rates, Usage
from syncer.balancer.picture import (
    BrokerFigures,
    FigureOrigin,
    Known,
    LoadManager,
    LoadPicture,
    LoadSource,
    Ownership,
    SeenBroker,
    SeenBundle,
    SeenUsages,
    Tenure,
)
from syncer.balancer.placement.decision import BrokerTraits
from syncer.balancer.settings import BalancerSettings, balancer_settings
from tests.support.load_documents import EXTENSIBLE, MODULAR, NOW_MS

MIB: Final = 1024 * 1024
STORE: Final = FigureOrigin(LoadSource.STORE, "/loadbalance", NOW_MS - 5000)
REST: Final = FigureOrigin(LoadSource.REST, "the runtime configuration", NOW_MS)
SOUND: Final[Mapping[str, object]] = {
    "loadBalancerEnabled": True,
    "loadBalancerSheddingEnabled": True,
    "loadBalancerSheddingIntervalMinutes": 1,
    "loadBalancerSheddingGracePeriodMinutes": 30,
    "loadBalancerAutoBundleSplitEnabled": True,
    "loadBalancerAutoUnloadSplitBundlesEnabled": False,
    "loadBalancerReportUpdateMaxIntervalMinutes": 15,
    "loadBalancerDistributeBundlesEvenlyEnabled": False,
    "loadBalancerLoadPlacementStrategy": "org.apache.pulsar.broker.loadbalance.impl.LeastResourceUsageWithWeight",
    "loadBalancerLoadSheddingStrategy": "org.apache.pulsar.broker.loadbalance.impl.ThresholdShedder",
    "loadBalancerBandwidthInResourceWeight": 1.0,
    "loadBalancerBandwidthOutResourceWeight": 1.0,
    "topicFencingTimeoutSeconds": 60,
    "namespaceBundleUnloadingTimeoutMs": 60_000,
}
"""Properties with which nothing fights."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnBroker:
    """A broker: its usage in percent, and the messages and bytes a second of each of its bundles."""

    percent: float
    bundles: Sequence[tuple[float, float]]

    @property
    def traffic(self) -> Rates:
        """All that it serves."""
        return Rates(sum(rate for rate, _ in self.bundles), 0.0, sum(size for _, size in self.bundles), 0.0)


def broker(percent: float, *mib: float, rate: float = 100.0) -> DrawnBroker:
    """Draw a broker with a bundle for each of some MiB a second."""
    return DrawnBroker(percent=percent, bundles=[(rate, size * MIB) for size in mib])


def picture(
    brokers: Sequence[DrawnBroker],
    settings: BalancerSettings | None = None,
    *,
    manager: LoadManager = LoadManager.MODULAR,
) -> LoadPicture:
    """Take a picture of some brokers, b0:8080 and so on, each bundle in a namespace of its own broker."""
    seen, bundles = {}, {}
    for number, drawn in enumerate(brokers):
        name, traffic = f"b{number}:8080", drawn.traffic
        own = {f"t/n{number}/0x{each:08x}_0x{each + 1:08x}": load for each, load in enumerate(drawn.bundles)}
        for bundle, (rate, size) in own.items():
            stats = BundleStats(Rates(rate, 0.0, size, 0.0), topics=2)
            bundles[bundle] = SeenBundle(
                bundle=bundle,
                owner=Known(Ownership(Tenure.OWNED, name), STORE),
                stats=Known(stats, STORE),
                averages=Known(BundleAverages().updated(stats), STORE),
            )
        quiet = Usage(10.0, 1000.0)
        seen[name] = SeenBroker(
            broker=name,
            registration=Known(
                BrokerTraits(version="4.0.8", manager=MODULAR if manager is LoadManager.MODULAR else EXTENSIBLE), STORE
            ),
            figures=Known(
                BrokerFigures(
                    usages=SeenUsages(
                        cpu=Usage(drawn.percent, 100.0),
                        memory=quiet,
                        direct_memory=quiet,
                        bandwidth_in=Usage(0.0, 1000.0),
                        bandwidth_out=Usage(0.0, 1000.0),
                    ),
                    traffic=traffic,
                    topics=2 * len(own),
                    bundle_count=len(own),
                    bundles=frozenset(own),
                    average_usage=drawn.percent / 100,
                    average_throughput=traffic.throughput,
                ),
                STORE,
            ),
            top=Known(tuple(own), STORE),
        )
    return LoadPicture(
        cluster="east",
        taken_ms=NOW_MS,
        manager=manager,
        brokers=seen,
        bundles=bundles,
        settings=Known(settings or balancer_settings(SOUND), REST),
        leader=Known("b0:8080", STORE),
    )


def case(
    brokers: Sequence[DrawnBroker] = (),
    changed: Mapping[str, object] = MappingProxyType({}),
    *,
    without: Sequence[str] = (),
) -> Case:
    """Make a case of brokers and sound properties, some of which are changed or not known.

    The extensible manager is there if ``loadManagerClassName`` says so.
    """
    manager = LoadManager.EXTENSIBLE if changed.get("loadManagerClassName") == EXTENSIBLE else LoadManager.MODULAR
    shedding = {"loadBalancerLoadSheddingStrategy": "TransferShedder"} if manager is LoadManager.EXTENSIBLE else {}
    told = {**SOUND, **shedding, **changed}
    taken = picture(brokers or [broker(50, 20, 20), broker(50, 20, 20)], balancer_settings(told), manager=manager)
    properties = {name: value for name, value in told.items() if name not in without}
    return Case(
        picture=taken,
        properties={name: Known(properties, REST) for name in taken.registered},
        topics=Known(frozenset(), STORE),
    )


def with_bundle(known: Case, bundle: str, seen: SeenBundle) -> Case:
    """Change a bundle of a case."""
    return replace(known, picture=replace(known.picture, bundles={**known.picture.bundles, bundle: seen}))


def with_broker(known: Case, seen: SeenBroker) -> Case:
    """Change a broker of a case."""
    return replace(known, picture=replace(known.picture, brokers={**known.picture.brokers, seen.broker: seen}))
