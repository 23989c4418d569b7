"""A picture becomes load for a comparison, or is refused where guesses would be needed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from syncer.balancer.comparing.pictured import pictured_load
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
from syncer.balancer.settings import balancer_settings
from syncer.errors import LoadDataInvalid, VersionUnknown

HERE = FigureOrigin(LoadSource.STORE, "/somewhere", 1)
A, B = "a:8080", "b:8080"
X = "t/n/0x00000000_0xffffffff"
HALF = Usage(50.0, 100.0)
USAGES = SeenUsages(cpu=HALF, memory=HALF, direct_memory=HALF, bandwidth_in=HALF, bandwidth_out=HALF)


def broker(name: str, version: str | None) -> SeenBroker:
    return SeenBroker(
        broker=name,
        registration=Known(BrokerTraits(version=version), HERE),
        figures=Known(BrokerFigures(usages=USAGES), HERE),
    )


PICTURE = LoadPicture(
    cluster="green",
    taken_ms=1,
    manager=LoadManager.MODULAR,
    brokers={A: broker(A, "5.0.1"), B: broker(B, "5.0.2")},
    bundles={
        X: SeenBundle(
            bundle=X,
            owner=Known(Ownership(Tenure.OWNED, A), HERE),
            stats=Known(BundleStats(Rates(1.0, 1.0, 9.0, 9.0), 2, 3, 4), HERE),
        )
    },
    policies=Known((), HERE),
    domains=Known({}, HERE),
    settings=Known(balancer_settings({"loadBalancerSheddingGracePeriodMinutes": 7}), HERE),
    leader=Known(B, HERE),
)


def test_the_clusters_own_settings_and_its_brokers_version_hold() -> None:
    found = pictured_load(PICTURE, {"loadBalancerCPUResourceWeight": 0.5, "loadBalancerBandwidthInResourceWeight": 0})
    [fleet] = found.frames
    assert (list(fleet.brokers), fleet.owners) == ([A, B], {X: A})
    assert (found.settings.shedding.grace_min, found.settings.usage.cpu) == (7, 0.5)
    assert fleet.weights == found.settings.usage
    assert found.rules.plan_by_name
    assert found.constraints.traits[A].version == "5.0.1"


def test_what_would_need_a_guess_is_refused() -> None:
    with pytest.raises(LoadDataInvalid, match="settings of the brokers of green are not known"):
        pictured_load(replace(PICTURE, settings=None), {})
    with pytest.raises(LoadDataInvalid, match="isolation policies of green are not known"):
        pictured_load(replace(PICTURE, policies=None), {})
    with pytest.raises(VersionUnknown):
        pictured_load(replace(PICTURE, brokers={B: broker(B, "2.2.2")}), {})
    with pytest.raises(LoadDataInvalid, match=r"several versions \(4.0.8, 5.0.1\)"):
        pictured_load(replace(PICTURE, brokers={A: broker(A, "4.0.8"), B: broker(B, "5.0.1")}), {})
    with pytest.raises(LoadDataInvalid, match="a:8080 does not say its version"):
        pictured_load(replace(PICTURE, brokers={A: broker(A, None)}), {})
    dark = replace(broker(B, "5.0.2"), figures=None)
    with pytest.raises(LoadDataInvalid, match="of 2 brokers of green the load of 1 is not known") as refused:
        pictured_load(replace(PICTURE, brokers={**PICTURE.brokers, B: dark}), {})
    assert refused.value.code == "load-data-invalid"
