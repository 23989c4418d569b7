"""Laws of played rounds: bundles and traffic are conserved, grace is kept, and the same dice play the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncer.balancer.rounds.synthetic import FleetShape
from tests.support.balancing import SHEDDERS, conf_of, drawn_cluster, played

GRACE_MIN = 5


@given(
    st.sampled_from(SHEDDERS),
    st.sampled_from(FleetShape),
    st.integers(0, 2**32),
    st.integers(1, 6),
    st.integers(0, 40),
)
def test_rounds_conserve_what_they_move(shedder: str, shape: FleetShape, seed: int, brokers: int, bundles: int) -> None:
    cluster = drawn_cluster(seed, shape, brokers, bundles)
    conf = conf_of(
        shedder,
        loadBalancerSheddingGracePeriodMinutes=GRACE_MIN,
        loadBalancerBundleUnloadMinThroughputThreshold=0,
        loadBalancerBrokerLoadTargetStd=0.1,
    )
    found = played(cluster, conf, rounds=30)
    assert found == played(cluster, conf, rounds=30)
    fleet = cluster.fleet.copy()
    traffic = sum(fleet.traffic(broker).throughput for broker in fleet.brokers)
    last: dict[str, int] = {}
    for each in found.rounds:
        for move in each.moves:
            # A leader that goes by an old report may unload a bundle to the broker that has it.
            assert fleet.owners[move.bundle] == move.source
            assert each.number - last.get(move.bundle, -GRACE_MIN - 1) > GRACE_MIN
            last[move.bundle] = each.number
            fleet.move(move.bundle, move.target)
        assert (each.greatest, each.spread) == pytest.approx((fleet.greatest, fleet.spread))
    assert fleet.owners.keys() == cluster.fleet.owners.keys()
    assert sum(len(fleet.bundles_of(broker)) for broker in fleet.brokers) == bundles
    assert sum(fleet.traffic(broker).throughput for broker in fleet.brokers) == pytest.approx(traffic)


@given(st.sampled_from(SHEDDERS), st.integers(0, 2**32), st.integers(0, 6))
def test_where_nothing_is_out_of_balance_nothing_moves(shedder: str, seed: int, brokers: int) -> None:
    found = played(drawn_cluster(seed, FleetShape.EVEN, brokers, brokers * 8), conf_of(shedder))
    assert (found.unloads, found.final_spread) == (0, found.spread_before)
