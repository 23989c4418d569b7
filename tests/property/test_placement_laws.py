"""Laws of placement, whatever the fleet: filters only drop, each drop has a reason, and who is chosen is allowed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from syncer.balancer.averages import BundleAverages
from syncer.balancer.cluster import ClusterLoad
from syncer.balancer.load import BrokerReport, Usage, Usages
from syncer.balancer.placement.constraints import Constraints
from syncer.balancer.placement.decision import BrokerTraits, FilterAnswer
from syncer.balancer.placement.extensible import select
from syncer.balancer.placement.isolation import IsolationPolicy
from syncer.balancer.placement.modular import select_broker
from syncer.balancer.settings import BalancerSettings, PlacementSettings, balancer_settings
from syncer.balancer.strategies.avg import AvgShedder
from syncer.balancer.strategies.least_rate import LeastLongTermMessageRate
from syncer.balancer.strategies.least_usage import LeastResourceUsageWithWeight
from syncer.balancer.strategies.round_robin import RoundRobinBrokerSelector
from syncer.balancer.strategies.transfer import ExtensibleLoad, ExtensibleReport

BUNDLES = [f"{namespace}/0x{number:08x}_0x{number + 1:08x}" for namespace in ("a/b", "a/c") for number in range(3)]
HOSTS = st.lists(st.sampled_from(["h1", "h2", "h3", "h."]), max_size=2)
TRAITS = st.builds(
    BrokerTraits,
    version=st.sampled_from(["4.0.8", "4.0.9", "new", None]),
    manager=st.sampled_from([PlacementSettings().manager] * 3 + [None]),
    persistent=st.booleans(),
)
BROKERS = st.lists(st.sampled_from(["h1:80", "h2:80", "h3:80", "h4:80"]), unique=True)
SETTINGS = st.builds(
    lambda even, later, domains, topics: balancer_settings(
        {
            "loadBalancerDistributeBundlesEvenlyEnabled": even,
            "preferLaterVersions": later,
            "failureDomainsEnabled": domains,
            "loadBalancerBrokerMaxTopics": topics,
        }
    ),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.integers(0, 3),
)
POLICIES = st.lists(
    st.builds(
        IsolationPolicy, namespaces=st.just(["a/b"]), primary=HOSTS, secondary=HOSTS, min_primaries=st.integers(0, 2)
    ),
    max_size=2,
)
GROUPS = st.dictionaries(st.sampled_from(["a/b", "a/c"]), st.sampled_from(["g", "G", "other"]))


@st.composite
def fleets(draw: st.DrawFn) -> tuple[ClusterLoad, Constraints]:
    names = draw(BROKERS)
    brokers = {
        name: BrokerReport(
            usages=Usages(cpu=Usage(draw(st.integers(0, 100)), 100)),
            bundles=draw(st.frozensets(st.sampled_from(BUNDLES), max_size=3)),
            topics=draw(st.integers(0, 4)),
        )
        for name in names
    }
    coming = {name: {BUNDLES[0]: BundleAverages(topics=draw(st.integers(0, 2)))} for name in names[:1]}
    constraints = Constraints(
        traits={name: draw(TRAITS) for name in names},
        policies=draw(POLICIES),
        groups=draw(GROUPS),
        domains={name: draw(st.sampled_from("de")) for name in names[1:]},
    )
    return ClusterLoad(brokers=brokers, preallocated=coming), constraints


def drops_with_reasons(steps: tuple[FilterAnswer, ...], brokers: tuple[str, ...]) -> None:
    given_to = brokers
    for step in steps:
        assert {*step.left} | step.dropped.keys() == {*given_to}
        assert not {*step.left} & step.dropped.keys()
        assert not (step.spared and step.dropped)
        given_to = step.left


@given(fleets(), SETTINGS, st.integers(0, 3), st.booleans())
def test_the_modular_manager_gives_a_bundle_to_whom_it_allows_and_to_somebody_where_it_can(
    fleet: tuple[ClusterLoad, Constraints], settings: BalancerSettings, number: int, non_persistent: bool
) -> None:
    load, constraints = fleet
    strategy = (
        LeastLongTermMessageRate(settings),
        LeastResourceUsageWithWeight(settings),
        RoundRobinBrokerSelector(),
        AvgShedder(settings),
    )[number]
    found = select_broker(BUNDLES[0], load, constraints, settings, strategy, min, non_persistent=non_persistent)
    drops_with_reasons(found.steps, tuple(load.brokers))
    everyone = found.steps[0].left
    assert {*found.best} <= {*found.candidates} <= {*everyone}
    assert (found.chosen is None) == (not everyone)
    assert found.chosen is None or found.chosen in everyone
    assert found.dropped.keys() == load.brokers.keys() - {*found.candidates}


@given(fleets(), SETTINGS, st.booleans())
def test_the_extensible_manager_gives_a_bundle_only_to_whom_every_filter_left(
    fleet: tuple[ClusterLoad, Constraints], settings: BalancerSettings, unreported: bool
) -> None:
    cluster, constraints = fleet
    reports = {
        name: ExtensibleReport(usage=report.usages.greatest(), throughput=0, average_throughput=0, topics=report.topics)
        for name, report in [*cluster.brokers.items()][unreported:]
    }
    load = ExtensibleLoad(brokers=reports, available=constraints.traits.keys())
    owners = {bundle: name for name, report in cluster.brokers.items() for bundle in report.bundles}
    found = select(BUNDLES[0], load, owners, constraints, settings, min)
    drops_with_reasons(found.steps, tuple(constraints.traits))
    assert {*found.best} <= {*found.candidates} == {*found.steps[-1].left}
    assert (found.chosen is None) == (not found.candidates)
    assert found.chosen is None or found.chosen in found.best
