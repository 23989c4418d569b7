"""Figures that cannot be true are named, each with the broker or the bundle whose they are."""

from __future__ import annotations

import math

import pytest

from syncer.balancer.averages import LONG_SAMPLES, BundleAverages, TimeAverage
from syncer.balancer.cluster import ClusterLoad
from syncer.balancer.load import BrokerReport, Rates, Usage, Usages
from syncer.balancer.soundness import UnsoundFigure, refuse_unsound, unsound
from syncer.balancer.strategies.transfer import ExtensibleLoad, ExtensibleReport
from syncer.errors import LoadDataInvalid

BUNDLE = "a/b/0x00000000_0x40000000"


def averages(long: Rates) -> BundleAverages:
    return BundleAverages(long=TimeAverage(long, LONG_SAMPLES))


def test_sound_load_is_let_through_and_so_is_a_limit_below_zero() -> None:
    nic = Usages(bandwidth_in=Usage(1, -1000))
    refuse_unsound(ClusterLoad(brokers={"b": BrokerReport(usages=nic)}, bundles={BUNDLE: averages(Rates())}))
    refuse_unsound(
        ExtensibleLoad(brokers={"b": ExtensibleReport(usage=0, throughput=0, average_throughput=0)}, available=set())
    )


@pytest.mark.parametrize("value", [-1.0, math.inf, -math.inf])
def test_every_figure_of_the_modular_manager_is_looked_at(value: float) -> None:
    load = ClusterLoad(
        brokers={
            "b": BrokerReport(
                usages=Usages(cpu=Usage(value, 100), direct_memory=Usage(1, math.nan)), traffic=Rates(value), topics=-1
            )
        },
        bundles={BUNDLE: averages(Rates(throughput_out=value))},
        preallocated={"b": {BUNDLE: BundleAverages(topics=-2)}},
        broker_rates={"b": value},
    )
    assert [(each.whose, each.figure) for each in unsound(load)] == [
        ("b", "usage of cpu"),
        ("b", "limit of direct memory"),
        ("b", "rate in"),
        ("b", "topics"),
        ("b", "long rate"),
        (BUNDLE, "long throughput out"),
        (BUNDLE, "topics"),
    ]
    with pytest.raises(LoadDataInvalid, match=r"usage of cpu of b is .*; 6 more figures"):
        refuse_unsound(load)


def test_every_figure_of_the_extensible_manager_is_looked_at() -> None:
    report = ExtensibleReport(
        usage=-1, throughput=-2, average_throughput=-3, topics=-4, top_bundles=[(BUNDLE, -5), ("other", 5)]
    )
    assert unsound(ExtensibleLoad(brokers={"b": report}, available={"b"})) == [
        UnsoundFigure("b", "usage", -1),
        UnsoundFigure("b", "throughput", -2),
        UnsoundFigure("b", "average throughput", -3),
        UnsoundFigure("b", "topics", -4),
        UnsoundFigure(BUNDLE, "throughput", -5),
    ]


def test_a_figure_that_is_no_number_is_named_alone() -> None:
    load = ClusterLoad(brokers={"b": BrokerReport(traffic=Rates(rate_out=math.nan))})
    with pytest.raises(LoadDataInvalid, match=r"^rate out of b is nan, which no broker can measure$"):
        refuse_unsound(load)
