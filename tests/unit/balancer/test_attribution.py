"""A fleet that was read shows what brokers reported, and each bundle explains its share of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncer.balancer.attribution import fixed_usage, read_fleet
from syncer.balancer.load import BundleStats, Rates, Usage, Usages

B1, B2 = "b1:8080", "b2:8080"
X, Y = "t/n/0x00000000_0x40000000", "t/n/0x40000000_0x80000000"


def usages(cpu: float, bits_in: float = 0.0) -> Usages:
    return Usages(cpu=Usage(cpu, 800.0), bandwidth_in=Usage(bits_in, 1e6))


def stats(throughput: float, rate: float = 0.0) -> BundleStats:
    return BundleStats(Rates(rate, 0.0, throughput, 0.0))


def test_brokers_show_what_they_said() -> None:
    found = read_fleet([(B1, usages(600.0, 9_000.0)), (B2, usages(80.0))], [(X, B1, stats(1e6)), (Y, B1, stats(3e6))])
    assert found.resources(B1).bandwidth_in.usage == pytest.approx(9_000.0)
    assert found.usages == pytest.approx({B1: 0.75, B2: 0.1})
    assert [found.bundles[name].cpu for name in (X, Y)] == pytest.approx([130.0, 390.0])


def test_shares_go_by_messages_where_there_are_no_bytes() -> None:
    found = read_fleet([(B1, usages(600.0))], [(X, B1, stats(0.0, 1.0)), (Y, B1, stats(0.0, 3.0))])
    assert [found.bundles[name].cpu for name in (X, Y)] == pytest.approx([150.0, 450.0])


def test_cpu_of_a_broker_without_traffic_stays_with_it() -> None:
    found = read_fleet([(B1, usages(600.0)), (B2, usages(80.0))], [(X, B1, stats(0.0))])
    found.move(X, B2)
    assert found.usages[B1] == pytest.approx(0.75)


def test_bytes_that_no_bundle_explains_stay_with_the_broker() -> None:
    found = read_fleet([(B1, usages(0.0, 9_000.0)), (B2, usages(0.0))], [(X, B1, stats(1e6))])
    found.move(X, B2)
    shown = [found.resources(broker).bandwidth_in.usage for broker in (B1, B2)]
    assert shown == pytest.approx([1_000.0, 8_000.0])


def test_bundles_with_more_bytes_than_their_broker_says_leave_less_than_nothing_and_show_nothing() -> None:
    found = read_fleet([(B1, usages(0.0, 6_000.0)), (B2, usages(0.0))], [(X, B1, stats(1e6))])
    assert found.resources(B1).bandwidth_in.usage == pytest.approx(6_000.0)
    found.move(X, B2)
    assert (found.resources(B1).bandwidth_in.usage, found.usages[B1]) == (0.0, 0.0)


def test_what_an_idle_broker_uses_does_not_move() -> None:
    found = read_fleet([(B1, usages(600.0)), (B2, usages(80.0))], [(X, B1, stats(1e6)), (Y, B1, stats(3e6))])
    found.move(Y, B2)
    assert found.usages == pytest.approx({B1: (600.0 - 390.0) / 800.0, B2: (80.0 + 390.0) / 800.0})
    found.move(X, B2)
    assert found.usages == pytest.approx({B1: 0.1, B2: 0.75})


def test_brokers_of_like_traffic_do_not_tell_what_is_fixed() -> None:
    assert fixed_usage([(4.0, 600.0), (2.1, 90.0)]) == 0.0
    assert fixed_usage([(4.0, 600.0)]) == fixed_usage([]) == fixed_usage([(0.0, 5.0), (0.0, 9.0)]) == 0.0


@given(
    st.lists(st.floats(0, 1e9), min_size=2, max_size=20),
    st.floats(0, 400),
    st.floats(1e-9, 1e-6),
)
def test_a_line_is_found_and_none_below_nothing_or_above_the_least_usage(
    traffic: list[float], fixed: float, slope: float
) -> None:
    points = [(each, fixed + slope * each) for each in traffic]
    found = fixed_usage(points)
    assert 0.0 <= found <= min(usage for _, usage in points)
    if max(traffic) > 1.0 and min(traffic) <= max(traffic) / 2:
        assert found == pytest.approx(fixed, abs=1e-3)
