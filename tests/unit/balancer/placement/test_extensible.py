"""The extensible manager filters in an order of its own, restores nothing, and leaves brokers without a report in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from syncer.balancer.placement.constraints import Constraints
from syncer.balancer.placement.decision import BrokerTraits, DropReason, Filter, Placement, Spared
from syncer.balancer.placement.extensible import select
from syncer.balancer.placement.isolation import IsolationPolicy
from syncer.balancer.settings import PlacementSettings, balancer_settings
from syncer.balancer.strategies.transfer import ExtensibleLoad, ExtensibleReport

BUNDLE = "a/b/0x00000000_0x40000000"
IDLE = ExtensibleReport(usage=0.1, throughput=0, average_throughput=0)
BUSY = ExtensibleReport(usage=0.5, throughput=0, average_throughput=0)
TRAITS = BrokerTraits(version="4.0.8", manager=PlacementSettings().manager)
EVERYONE = Constraints(traits=dict.fromkeys(["b1:8080", "b2:8080", "b3:8080"], TRAITS))


def placed(
    reports: Mapping[str, ExtensibleReport],
    constraints: Constraints = EVERYONE,
    properties: Mapping[str, object] | None = None,
    owners: Mapping[str, str] | None = None,
    excluded: frozenset[str] = frozenset(),
) -> Placement:
    load = ExtensibleLoad(brokers=reports, available=constraints.traits.keys())
    settings = balancer_settings(properties or {})
    return select(BUNDLE, load, owners or {}, constraints, settings, min, excluded=excluded)


def test_filters_stand_in_pulsars_order() -> None:
    known = replace(EVERYONE, groups={"a/b": "g"}, domains={"b1:8080": "d"})
    found = placed({}, known, {"preferLaterVersions": True, "failureDomainsEnabled": True})
    assert [step.filter for step in found.steps] == [
        Filter.MANAGER,
        Filter.TOPICS,
        Filter.VERSION,
        Filter.FAILURE_DOMAIN,
        Filter.ANTI_AFFINITY,
        Filter.ISOLATION,
    ]


def test_a_broker_well_below_the_mean_gets_the_bundle() -> None:
    found = placed({"b1:8080": BUSY, "b2:8080": IDLE, "b3:8080": BUSY})
    assert (found.best, found.chosen) == (("b2:8080",), "b2:8080")


def test_brokers_without_a_report_can_win_where_nobody_is_well_below_the_mean() -> None:
    assert placed({"b1:8080": BUSY, "b2:8080": BUSY}).best == ("b1:8080", "b2:8080", "b3:8080")


def test_nothing_is_restored() -> None:
    found = placed({"b1:8080": replace(IDLE, topics=1)}, properties={"loadBalancerBrokerMaxTopics": 1})
    assert found.dropped == {"b1:8080": (Filter.TOPICS, DropReason.TOO_MANY_TOPICS)}
    none = placed({}, replace(EVERYONE, traits={"b1:8080": BrokerTraits()}))
    assert (none.candidates, none.best, none.chosen) == ((), (), None)


def test_an_unreadable_version_drops_nobody_and_the_next_filters_go_on() -> None:
    traits = {**EVERYONE.traits, "b1:8080": replace(TRAITS, version="new")}
    policies = [IsolationPolicy(namespaces=["a/b"], primary=["b1"])]
    found = placed({}, Constraints(traits=traits, policies=policies), {"preferLaterVersions": True})
    assert found.steps[2].spared is Spared.VERSION_UNREADABLE
    assert found.candidates == ("b1:8080",)


def test_of_a_group_bundles_count_and_not_namespaces() -> None:
    known = replace(EVERYONE, groups={"a/b": "g", "c/d": "g", "e/f": "g"})
    owners = {
        "c/d/0x00000000_0x40000000": "b1:8080",
        "c/d/0x40000000_0x80000000": "b1:8080",
        "c/d/0x80000000_0xffffffff": "b2:8080",
        "e/f/0x00000000_0xffffffff": "b3:8080",
    }
    assert placed({}, known, owners=owners).candidates == ("b2:8080", "b3:8080")


def test_isolation_comes_last_so_a_forbidden_broker_can_take_the_place_of_an_allowed_one() -> None:
    known = replace(EVERYONE, groups={"a/b": "g"}, policies=[IsolationPolicy(namespaces=["a/b"], primary=["b1"])])
    found = placed({}, known, owners={BUNDLE: "b1:8080"})
    assert (found.candidates, found.chosen) == ((), None)


def test_an_excluded_broker_is_not_asked() -> None:
    assert placed({}, excluded=frozenset(["b1:8080"])).candidates == ("b2:8080", "b3:8080")
