"""Laws of load balancing, whatever the load: no bundle is shed twice or from nowhere, and ranges cover the ring."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from syncer.balancer.averages import SHORT_SAMPLES, BundleAverages, TimeAverage
from syncer.balancer.boundaries import SplitAlgorithm, SplitRequest, split, split_boundaries
from syncer.balancer.cluster import ClusterLoad
from syncer.balancer.load import BrokerReport, Rates, Usage, Usages
from syncer.balancer.ranges import FULL_UPPER_BOUND, bundle_number, default_boundaries, range_text
from syncer.balancer.settings import balancer_settings
from syncer.balancer.strategies.avg import AvgShedder
from syncer.balancer.strategies.overload import OverloadShedder
from syncer.balancer.strategies.threshold import ThresholdShedder
from syncer.balancer.strategies.transfer import ExtensibleLoad, ExtensibleReport, TransferShedder
from syncer.balancer.strategies.uniform import UniformLoadShedder
from syncer.errors import SplitRefused

READY = balancer_settings(
    {
        "loadBalancerBundleUnloadMinThroughputThreshold": 0,
        "lowerBoundarySheddingEnabled": True,
        "minUnloadMessage": 0,
        "minUnloadMessageThroughput": 0,
        "loadBalancerAvgShedderHitCountHighThreshold": 1,
        "loadBalancerAvgShedderHitCountLowThreshold": 1,
        "loadBalancerSheddingConditionHitCountThreshold": 0,
        "loadBalancerBrokerLoadTargetStd": 0.05,
    }
)
"""Settings under which every strategy acts as soon as it can."""

NUMBERS = st.one_of(st.floats(0, 1e9), st.sampled_from([0.0, -1.0, float("nan"), float("inf"), 3e9]))
RATES = st.builds(Rates, NUMBERS, NUMBERS, NUMBERS, NUMBERS)
USAGE = st.builds(Usage, NUMBERS, NUMBERS)


@st.composite
def clusters(draw: st.DrawFn) -> ClusterLoad:
    owners = draw(st.lists(st.integers(0, 3), max_size=12))
    names = [f"a/b/0x{number:08x}_0x{number + 1:08x}" for number in range(len(owners))]
    seen = draw(st.permutations(names))
    brokers = {
        f"broker-{number}": BrokerReport(
            usages=draw(st.builds(Usages, USAGE, USAGE, USAGE, USAGE, USAGE)),
            traffic=draw(RATES),
            bundles=frozenset(name for name, owner in zip(names, owners, strict=True) if owner == number),
        )
        for number in range(draw(st.integers(0, 4)))
    }
    return ClusterLoad(
        brokers=brokers,
        bundles={name: BundleAverages(TimeAverage(draw(RATES), SHORT_SAMPLES)) for name in seen},
        recently_unloaded=frozenset(draw(st.sets(st.sampled_from(names)))) if names else frozenset(),
    )


@given(st.lists(clusters(), min_size=1, max_size=3))
def test_a_bundle_is_shed_once_from_the_broker_that_has_it(rounds: list[ClusterLoad]) -> None:
    kinds = (ThresholdShedder, OverloadShedder, UniformLoadShedder, AvgShedder)
    for shedder in [kind(READY) for kind in kinds]:
        for load in rounds:
            unloads = shedder.round(load)
            shed = Counter(bundle for bundles in unloads.values() for bundle in bundles)
            assert all(count == 1 for count in shed.values())
            assert not shed.keys() & load.recently_unloaded
            for broker, bundles in unloads.items():
                assert bundles
                assert set(bundles) <= load.brokers[broker].bundles


@st.composite
def extensible_clusters(draw: st.DrawFn) -> ExtensibleLoad:
    brokers = {}
    for number in range(draw(st.integers(0, 4))):
        sizes = draw(st.lists(st.floats(0, 1e6), max_size=5))
        brokers[f"broker-{number}"] = ExtensibleReport(
            usage=draw(st.one_of(st.floats(0, 2), st.just(float("nan")))),
            throughput=draw(NUMBERS),
            average_throughput=draw(NUMBERS),
            top_bundles=[(f"a/{number}/0x{place:08x}_0x{place + 1:08x}", size) for place, size in enumerate(sizes)],
        )
    return ExtensibleLoad(brokers=brokers, available=brokers.keys())


@given(extensible_clusters())
def test_a_bundle_is_transferred_once_and_never_to_where_it_is(load: ExtensibleLoad) -> None:
    moves = TransferShedder(READY).round(load)
    assert len({move.bundle for move in moves}) == len(moves)
    for move in moves:
        assert move.bundle in dict(load.brokers[move.source].top_bundles or ())
        assert move.target in load.brokers
        assert move.target != move.source


@given(st.integers(1, 500), st.integers(0, FULL_UPPER_BOUND - 1))
def test_default_ranges_partition_the_ring(count: int, position: int) -> None:
    boundaries = default_boundaries(count)
    assert len(boundaries) == count + 1
    number = bundle_number(boundaries, position)
    assert boundaries[number] <= position < boundaries[number + 1]
    assert sum(low <= position < high for low, high in pairwise(boundaries)) == 1


@given(
    st.sampled_from(SplitAlgorithm),
    st.lists(st.tuples(st.integers(0, 9999), st.none() | RATES), max_size=30),
    st.lists(st.integers(-1, FULL_UPPER_BOUND + 1), max_size=5),
    st.integers(1, 64),
    st.data(),
)
def test_a_split_keeps_boundaries_rising_and_inside(
    algorithm: SplitAlgorithm,
    topics: list[tuple[int, Rates | None]],
    positions: list[int],
    count: int,
    data: st.DataObject,
) -> None:
    before = default_boundaries(count)
    number = data.draw(st.integers(0, count - 1))
    bundle = f"a/b/{range_text(before[number], before[number + 1])}"
    request = SplitRequest(
        bundle=bundle,
        topics=[(f"persistent://a/b/{name}", rates) for name, rates in topics],
        positions=positions,
    )
    try:
        cuts = split_boundaries(algorithm, request, READY.split)
        after = split(before, bundle, cuts) if cuts else before
    except SplitRefused:
        return
    assert all(low < high for low, high in pairwise(after))
    assert set(before) <= set(after)
    assert all(before[number] < cut < before[number + 1] for cut in cuts or ())
