"""The modular manager filters in order, restores where nobody is left, chooses again for an overloaded pick."""

from __future__ import annotations

from collections.abc import Mapping

from syncer.balancer.averages import BundleAverages
from syncer.balancer.cluster import ClusterLoad
from syncer.balancer.load import BrokerReport, Usage, Usages
from syncer.balancer.placement.constraints import Constraints
from syncer.balancer.placement.decision import BrokerTraits, DropReason, Filter, Placement, Spared
from syncer.balancer.placement.isolation import IsolationPolicy
from syncer.balancer.placement.modular import PlacementStrategy, select_broker
from syncer.balancer.settings import PlacementSettings, balancer_settings
from syncer.balancer.strategies.avg import AvgShedder
from syncer.balancer.strategies.least_rate import LeastLongTermMessageRate
from syncer.balancer.strategies.least_usage import LeastResourceUsageWithWeight
from syncer.balancer.strategies.round_robin import RoundRobinBrokerSelector

BUNDLE = "a/b/0x00000000_0x40000000"
SIBLING = "a/b/0x40000000_0x80000000"
FREELY = {"loadBalancerDistributeBundlesEvenlyEnabled": False}
MANAGER = PlacementSettings().manager


def report(percent: float = 10, *bundles: str, topics: int = 0) -> BrokerReport:
    return BrokerReport(usages=Usages(cpu=Usage(percent, 100)), bundles=frozenset(bundles), topics=topics)


def fleet(*reports: BrokerReport) -> dict[str, BrokerReport]:
    return {f"b{number}:8080": each for number, each in enumerate(reports, 1)}


def traits(brokers: dict[str, BrokerReport], version: str = "4.0.8") -> dict[str, BrokerTraits]:
    return dict.fromkeys(brokers, BrokerTraits(version=version, manager=MANAGER))


def placed(
    load: ClusterLoad,
    constraints: Constraints | None = None,
    properties: Mapping[str, object] | None = None,
    strategy: PlacementStrategy | None = None,
    bundle: str = BUNDLE,
) -> Placement:
    settings = balancer_settings(properties or {})
    constraints = constraints or Constraints(traits=traits(dict(load.brokers)))
    return select_broker(bundle, load, constraints, settings, strategy or LeastLongTermMessageRate(settings), min)


def test_filters_stand_in_pulsars_order() -> None:
    brokers = fleet(report(), report())
    known = Constraints(traits=traits(brokers), groups={"a/b": "g"}, domains={"b1:8080": "d"})
    found = placed(ClusterLoad(brokers=brokers), known, {"preferLaterVersions": True, "failureDomainsEnabled": True})
    assert [step.filter for step in found.steps] == [
        Filter.ISOLATION,
        Filter.TOPICS,
        Filter.FAILURE_DOMAIN,
        Filter.ANTI_AFFINITY,
        Filter.FEWEST_BUNDLES,
        Filter.MANAGER,
        Filter.VERSION,
    ]


def test_each_who_is_dropped_has_the_filter_and_the_reason() -> None:
    brokers = fleet(report(), report(10, SIBLING), report(topics=50_001), report())
    known = Constraints(
        traits=traits(brokers),
        policies=[IsolationPolicy(namespaces=["a/b"], primary=["b[123]"])],
    )
    found = placed(ClusterLoad(brokers=brokers), known)
    assert found.dropped == {
        "b2:8080": (Filter.FEWEST_BUNDLES, DropReason.MORE_BUNDLES),
        "b3:8080": (Filter.TOPICS, DropReason.TOO_MANY_TOPICS),
        "b4:8080": (Filter.ISOLATION, DropReason.NOT_IN_POLICY),
    }
    assert (found.candidates, found.best, found.chosen, found.second) == (("b1:8080",),) * 2 + ("b1:8080", ())


def test_bundles_on_their_way_count_as_topics_bundles_and_namespaces() -> None:
    brokers = fleet(report(), report())
    on_its_way = {"b1:8080": {SIBLING: BundleAverages(topics=50_001)}}
    load = ClusterLoad(brokers=brokers, preallocated=on_its_way)
    known = Constraints(traits=traits(brokers), groups={"a/b": "g"})
    assert placed(load, properties=FREELY).dropped == {"b1:8080": (Filter.TOPICS, DropReason.TOO_MANY_TOPICS)}
    free = {"loadBalancerBrokerMaxTopics": 99_999}
    assert placed(load, properties=free).dropped == {"b1:8080": (Filter.FEWEST_BUNDLES, DropReason.MORE_BUNDLES)}
    assert placed(load, known, free).dropped == {"b1:8080": (Filter.ANTI_AFFINITY, DropReason.FULLER_BROKER)}


def test_a_namespace_of_the_group_counts_once_however_many_bundles_it_has() -> None:
    brokers = fleet(
        report(10, "c/d/0x00000000_0x80000000", "c/d/0x80000000_0xffffffff"),
        report(10, "c/d/0x00000000_0x80000000", "e/f/0x00000000_0xffffffff"),
    )
    known = Constraints(traits=traits(brokers), groups={"a/b": "g", "c/d": "g", "e/f": "G"})
    assert placed(ClusterLoad(brokers=brokers), known).chosen == "b1:8080"


def test_bundles_of_the_systems_namespace_are_spread_in_any_case() -> None:
    brokers = fleet(report(10, "pulsar/system/0x00000000_0x40000000"), report())
    load = ClusterLoad(brokers=brokers, broker_rates={"b2:8080": 9.0})
    assert placed(load, properties=FREELY).chosen == "b1:8080"
    assert placed(load, properties=FREELY, bundle="pulsar/system/0x40000000_0x80000000").chosen == "b2:8080"


def test_where_nobody_is_left_all_that_are_allowed_come_back() -> None:
    brokers = fleet(report(), report(10, SIBLING), report())
    policies = [IsolationPolicy(namespaces=["a/b"], primary=["b1", "b2"])]
    known = Constraints(traits=dict.fromkeys(brokers, BrokerTraits(manager="another")), policies=policies)
    found = placed(ClusterLoad(brokers=brokers), known)
    assert (found.candidates, found.restored) == (("b1:8080", "b2:8080"), Spared.NONE_LEFT)
    assert found.dropped == {"b3:8080": (Filter.ISOLATION, DropReason.NOT_IN_POLICY)}


def test_an_unreadable_version_brings_back_whom_other_filters_dropped() -> None:
    brokers = fleet(report(), report(10, SIBLING))
    known = Constraints(traits=traits(brokers, "new"))
    assert placed(ClusterLoad(brokers=brokers), known).candidates == ("b1:8080",)
    found = placed(ClusterLoad(brokers=brokers), known, {"preferLaterVersions": True})
    assert (found.candidates, found.restored) == (("b1:8080", "b2:8080"), Spared.VERSION_UNREADABLE)


def test_nobody_gets_a_bundle_where_the_policies_allow_nobody() -> None:
    brokers = fleet(report())
    known = Constraints(traits={}, policies=[IsolationPolicy(namespaces=["a/b"], primary=["x"])])
    found = placed(ClusterLoad(brokers=brokers), known)
    assert (found.candidates, found.restored, found.best, found.chosen) == ((), None, (), None)
    assert placed(ClusterLoad(brokers={})).chosen is None


def test_an_overloaded_pick_is_chosen_again_among_all_that_are_allowed() -> None:
    brokers = fleet(report(86), report(10, SIBLING), report(10))
    policies = [IsolationPolicy(namespaces=["a/b"], primary=["b1", "b2"])]
    known = Constraints(traits=traits(brokers), policies=policies)
    found = placed(ClusterLoad(brokers=brokers), known)
    assert (found.drawn, found.second, found.chosen) == ("b1:8080", ("b2:8080",), "b2:8080")
    at_the_limit = {**brokers, "b1:8080": report(85)}
    assert placed(ClusterLoad(brokers=at_the_limit), known).chosen == "b1:8080"


def test_a_second_choice_moves_the_averages_of_usage_again() -> None:
    settings = balancer_settings({})
    busy = BrokerReport(usages=Usages(cpu=Usage(90, 100)), bundles=frozenset(["c/d/0x00000000_0xffffffff"]))
    load = ClusterLoad(brokers=fleet(busy))
    strategy = LeastResourceUsageWithWeight(settings)
    found = placed(load, strategy=strategy)
    assert found.second == ("b1:8080",)
    assert strategy.usages["b1:8080"] > 0.89


def test_a_second_choice_takes_another_turn() -> None:
    selector = RoundRobinBrokerSelector()
    found = placed(ClusterLoad(brokers=fleet(report(90), report(90))), properties=FREELY, strategy=selector)
    assert (found.best, found.second, found.chosen, selector.turn) == (("b1:8080",), ("b2:8080",), "b2:8080", 2)


def test_the_avg_shedder_keeps_to_what_was_drawn() -> None:
    shedder = AvgShedder(balancer_settings({}))
    load = ClusterLoad(brokers=fleet(report(), report()))
    first = placed(load, properties=FREELY, strategy=shedder)
    assert (first.best, first.chosen) == (("b1:8080", "b2:8080"), "b1:8080")
    assert placed(load, properties=FREELY, strategy=shedder).best == ("b1:8080",)
