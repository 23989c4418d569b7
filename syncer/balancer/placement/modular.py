"""The modular manager's choice of a broker: filters in their order, then the strategy, then a second choice.

A bundle for which a broker was chosen and that it does not report yet is not chosen for again: that is asked first, of
``ClusterLoad.preallocated``, by who looks up.

Source: ModularLoadManagerImpl.selectBroker, Pulsar 4.0.8.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from syncer.balancer.averages import BundleAverages
from syncer.balancer.placement.candidates import (
    of_emptiest_domains,
    of_manager,
    with_few_topics,
    with_fewest_bundles,
    with_fewest_of_group,
)
from syncer.balancer.placement.decision import FilterAnswer, Placement, Spared
from syncer.balancer.placement.isolation import allowed
from syncer.balancer.placement.releases import of_latest_release
from syncer.balancer.ranges import namespace_of_bundle
from syncer.balancer.strategies.avg import AvgShedder
from syncer.balancer.strategies.least_rate import LeastLongTermMessageRate
from syncer.balancer.strategies.least_usage import LeastResourceUsageWithWeight
from syncer.balancer.strategies.round_robin import RoundRobinBrokerSelector

if TYPE_CHECKING:
    from collections.abc import Sequence

    from syncer.balancer.cluster import ClusterLoad
    from syncer.balancer.placement.constraints import Constraints
    from syncer.balancer.placement.decision import Draw
    from syncer.balancer.settings import BalancerSettings

SYSTEM_NAMESPACE: Final = "pulsar/system"

PlacementStrategy = LeastLongTermMessageRate | LeastResourceUsageWithWeight | RoundRobinBrokerSelector | AvgShedder


def select_broker(
    bundle: str,
    load: ClusterLoad,
    constraints: Constraints,
    settings: BalancerSettings,
    strategy: PlacementStrategy,
    draw: Draw,
    *,
    non_persistent: bool = False,
) -> Placement:
    """Decide which broker gets a bundle, and move the strategy's memory as Pulsar does.

    Args:
        bundle: Full name of the bundle.
        load: The cluster as the leader sees it; its brokers are those that are available.
        constraints: Policies, groups, domains and traits.
        settings: What the brokers were told.
        strategy: Finds the best of the candidates.
        draw: Draws one of them.
        non_persistent: The bundle has topics that are not persistent.

    Raises:
        LoadDataInvalid: An isolation policy cannot be read.
    """
    steps = tuple(_filtered(bundle, load, constraints, settings, non_persistent=non_persistent))
    everyone, candidates = steps[0].left, steps[-1].left
    restored = None
    if steps[-1].spared is Spared.VERSION_UNREADABLE:
        restored, candidates = Spared.VERSION_UNREADABLE, everyone
    elif not candidates and everyone:
        restored, candidates = Spared.NONE_LEFT, everyone
    best, drawn = _drawn(strategy, bundle, candidates, load, draw)
    second: tuple[str, ...] = ()
    chosen = drawn
    if drawn is not None:
        usage = load.usages(settings.usage)[drawn]
        if usage > settings.usage.overloaded_percent / 100.0:
            second, other = _drawn(strategy, bundle, everyone, load, draw)
            chosen = other if other is not None else drawn
    return Placement(
        bundle=bundle,
        steps=steps,
        candidates=candidates,
        restored=restored,
        best=best,
        drawn=drawn,
        second=second,
        chosen=chosen,
    )


def _filtered(
    bundle: str, load: ClusterLoad, constraints: Constraints, settings: BalancerSettings, *, non_persistent: bool
) -> Iterator[FilterAnswer]:
    namespace, own, traits = namespace_of_bundle(bundle), settings.placement, constraints.traits
    step = allowed(namespace, tuple(load.brokers), constraints.policies, traits, non_persistent=non_persistent)
    yield step
    step = with_few_topics(step.left, _topics(load), own.max_topics)
    yield step
    group = constraints.group_counts(namespace, load.namespaces())
    if group is not None:
        if own.failure_domains:
            step = of_emptiest_domains(step.left, group, constraints.domains)
            yield step
        step = with_fewest_of_group(step.left, group)
        yield step
    if own.distribute_evenly or namespace == SYSTEM_NAMESPACE:
        step = with_fewest_bundles(step.left, load.served(namespace))
        yield step
    step = of_manager(step.left, traits, own.manager)
    yield step
    if own.prefer_later_versions:
        yield of_latest_release(step.left, traits)


def _topics(load: ClusterLoad) -> dict[str, int]:
    return {
        broker: report.topics + sum(averages.topics for averages in load.preallocated.get(broker, {}).values())
        for broker, report in load.brokers.items()
    }


def _drawn(
    strategy: PlacementStrategy, bundle: str, candidates: Sequence[str], load: ClusterLoad, draw: Draw
) -> tuple[tuple[str, ...], str | None]:
    if not candidates:
        return (), None
    match strategy:
        case RoundRobinBrokerSelector():
            turn = strategy.next(candidates)
            return (() if turn is None else (turn,)), turn
        case AvgShedder():
            averages = load.bundles.get(bundle, BundleAverages())
            planned = strategy.target(bundle, averages, frozenset(candidates))
            if planned is not None:
                return (planned,), planned
            best = tuple(sorted(candidates))
            drawn = draw(best)
            strategy.placed(bundle, averages, drawn)
            return best, drawn
        case _:
            best = tuple(strategy.best(candidates, load))
            return best, draw(best)
