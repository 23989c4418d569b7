"""A move changes two brokers by what the bundle takes along, and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncer.balancer.attribution import read_fleet
from syncer.balancer.fleet import Fleet, FleetBroker, FleetBundle
from syncer.balancer.load import BundleStats, Rates, Usage, Usages
from syncer.balancer.settings import UsageSettings
from syncer.errors import LoadDataInvalid

B1, B2 = "b1:8080", "b2:8080"
X, Y, Z = (f"t/n/0x{low}0000000_0x{high}0000000" for low, high in ("04", "48", "8c"))
LIMITS = {"cpu": 800.0, "direct_memory": 4096.0, "bandwidth_in": 1e6, "bandwidth_out": 1e6}


def usages(cpu: float, bits_in: float = 0.0, bits_out: float = 0.0, direct: float = 0.0) -> Usages:
    return Usages(
        cpu=Usage(cpu, LIMITS["cpu"]),
        memory=Usage(900.0, 1000.0),
        direct_memory=Usage(direct, LIMITS["direct_memory"]),
        bandwidth_in=Usage(bits_in, LIMITS["bandwidth_in"]),
        bandwidth_out=Usage(bits_out, LIMITS["bandwidth_out"]),
    )


def stats(throughput_in: float, throughput_out: float = 0.0, topics: int = 1) -> BundleStats:
    rates = Rates(throughput_in / 100, throughput_out / 100, throughput_in, throughput_out)
    return BundleStats(rates, topics=topics, producers=2, consumers=3)


def fleet() -> Fleet:
    return read_fleet(
        [(B1, usages(600.0, 9_000.0)), (B2, usages(80.0))], [(X, B1, stats(750_000.0)), (Y, B1, stats(250_000.0))]
    )


def test_a_bundle_takes_its_bytes_and_its_share_of_the_cpu_along_and_the_rest_stays() -> None:
    found = fleet()
    found.move(X, B2)
    assert found.resources(B1).cpu.usage == pytest.approx(210.0)
    assert found.resources(B2).cpu.usage == pytest.approx(470.0)
    assert found.resources(B1).bandwidth_in.usage == pytest.approx(3_000.0)
    assert found.resources(B2).bandwidth_in.usage == pytest.approx(6_000.0)
    assert (found.owners[X], list(found.bundles_of(B1))) == (B2, [Y])


def test_what_is_reckoned_beforehand_is_what_a_move_gives() -> None:
    found = fleet()
    found.move(Y, B2)
    less, more = found.without_bundle(B1, X), found.with_bundle(B2, X)
    swapped = (found.exchanged(B1, X, Y), found.exchanged(B2, Y, X))
    found.move(X, B2)
    assert found.usages == pytest.approx({B1: less, B2: more})
    found.move(Y, B1)
    assert found.usages == pytest.approx({B1: swapped[0], B2: swapped[1]})


def test_a_broker_reports_the_traffic_and_topics_of_its_bundles() -> None:
    found = read_fleet([(B1, usages(100.0)), (B2, usages(0.0))], [(X, B1, stats(100.0, 300.0, topics=4))])
    report = found.report(B1)
    assert (report.traffic, report.topics, report.bundles) == (Rates(1.0, 3.0, 100.0, 300.0), 4, frozenset([X]))


def test_a_resource_without_a_limit_or_weight_never_counts() -> None:
    unlimited = Usages(cpu=Usage(50.0, 100.0), bandwidth_in=Usage(1e9, -1000.0))
    assert read_fleet([(B1, unlimited)], []).usages[B1] == pytest.approx(0.5)
    weighted = UsageSettings(cpu=0.5, memory=1.0)
    assert read_fleet([(B1, usages(600.0))], [], weighted).usages[B1] == pytest.approx(0.375)


def test_heap_counts_for_the_extensible_manager_alone() -> None:
    weighted = UsageSettings(memory=1.0)
    assert read_fleet([(B1, usages(80.0))], [], weighted, heap=True).usages[B1] == pytest.approx(0.9)
    assert read_fleet([(B1, usages(80.0))], [], weighted).usages[B1] == pytest.approx(0.1)


def test_a_copy_moves_alone() -> None:
    found = fleet()
    other = found.copy()
    other.move(X, B2)
    assert (found.owners[X], other.owners[X]) == (B1, B2)
    assert found.resources(B1) == usages(600.0, 9_000.0)
    assert other.usages != found.usages


def test_rewinding_restores_every_figure_exactly() -> None:
    found = fleet()
    before = (dict(found.usages), found.report(B1), found.report(B2), dict(found.owners))
    for bundle, target in ((X, B2), (Y, B2), (X, B1), (Y, B1), (X, B2)):
        found.move(bundle, target)
    found.rewind()
    assert (found.usages, found.report(B1), found.report(B2), found.owners) == before
    found.move(X, B2)
    found.settle()
    moved = dict(found.usages)
    found.move(Y, B2)
    found.rewind()
    assert (found.usages, found.owners[X]) == (moved, B2)
    assert (found.namespace_count(B1, "t/n"), found.namespace_count(B2, "t/n")) == (1, 1)


def test_bundles_of_a_namespace_are_counted_as_they_move() -> None:
    found = fleet()
    assert (found.namespace_count(B1, "t/n"), found.namespace_count(B2, "t/n")) == (2, 0)
    found.move(X, B2)
    assert (found.namespace_count(B1, "t/n"), found.namespace_count(B2, "t/n")) == (1, 1)
    found.rewind()
    assert (found.namespace_count(B1, "t/n"), found.namespace_count(B1, "t/m")) == (2, 0)


def test_a_bundle_pulls_by_the_resource_that_leads() -> None:
    found = fleet()
    assert [found.pull(B1, name) for name in (X, Y)] == pytest.approx([0.4875, 0.1625])
    for bits, wanted in (({"bits_in": 9e5}, 0.006), ({"bits_out": 9e5}, 0.0), ({"direct": 4000.0}, 0.0)):
        busy = read_fleet([(B1, usages(80.0, **bits))], [(X, B1, stats(750_000.0))], UsageSettings(direct_memory=1.0))
        share = 4000 / 4096 if "direct" in bits else 0.0
        assert busy.pull(B1, X) == pytest.approx(wanted + share)
    assert read_fleet([(B1, Usages(memory=Usage(1.0, 1.0)))], [(X, B1, stats(1.0))]).pull(B1, X) == 0.0


def test_parts_of_a_bundle_take_its_place() -> None:
    found = fleet()
    parts = [FleetBundle(name=name, owner="", stats=stats(375_000.0), cpu=195.0) for name in (X + "1", X + "2")]
    found.split(X, parts)
    assert found.usages[B1] == pytest.approx(0.75)
    assert {found.owners[part.name] for part in parts} == {B1}
    assert X not in found.bundles


def test_a_broker_comes_empty_and_goes_empty() -> None:
    found = fleet()
    found.add_broker(FleetBroker(name="b3:8080", base=usages(8.0)))
    assert found.usages["b3:8080"] == pytest.approx(0.01)
    found.drop_broker("b3:8080")
    assert list(found.usages) == [B1, B2]
    with pytest.raises(LoadDataInvalid, match="still has bundles"):
        found.drop_broker(B1)


def test_an_empty_fleet_has_no_spread() -> None:
    assert (Fleet((), ()).spread, Fleet((), ()).mean) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("brokers", "bundles", "said"),
    [
        ([B1, B1], [], "b1:8080 is there twice"),
        ([B1], [(X, B1), (X, B1)], "there twice"),
        ([B1], [(X, B2)], "the owner b2:8080"),
    ],
)
def test_what_contradicts_itself_is_refused(brokers: list[str], bundles: list[tuple[str, str]], said: str) -> None:
    with pytest.raises(LoadDataInvalid, match=said):
        Fleet(
            [FleetBroker(name=name, base=Usages()) for name in brokers],
            [FleetBundle(name=name, owner=owner, stats=stats(1.0)) for name, owner in bundles],
        )


def test_a_bundle_that_is_not_there_neither_moves_nor_is_cut() -> None:
    for bundle, target in ((Z, B1), (X, "b9:8080")):
        with pytest.raises(LoadDataInvalid, match="cannot go"):
            fleet().move(bundle, target)
    with pytest.raises(LoadDataInvalid, match="cannot be cut"):
        fleet().split(Z, [])


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2)), max_size=20))
def test_moves_keep_all_traffic_and_moving_back_restores_every_usage(moves: list[tuple[int, int]]) -> None:
    names = [f"t/n/{number}" for number in range(6)]
    brokers = [f"b{number}:8080" for number in range(3)]
    found = read_fleet(
        [(broker, usages(100.0 + number, 50_000.0)) for number, broker in enumerate(brokers)],
        [(name, brokers[number % 3], stats(1e5 * number, 3e5)) for number, name in enumerate(names)],
    )
    before, owners = dict(found.usages), dict(found.owners)
    total = sum(found.traffic(broker).throughput for broker in brokers)
    for bundle, broker in moves:
        found.move(names[bundle], brokers[broker])
    assert sum(found.traffic(broker).throughput for broker in brokers) == pytest.approx(total)
    assert sum(len(found.bundles_of(broker)) for broker in brokers) == len(names)
    for name, owner in owners.items():
        found.move(name, owner)
    assert found.usages == pytest.approx(before)
