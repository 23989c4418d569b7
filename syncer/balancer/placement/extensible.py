"""The extensible manager's choice of a broker: filters in their order, then the strategy.

Nothing is restored: where no candidate is left, nobody gets the bundle. Isolation comes last, so a broker that the
policies forbid can make the filters before it drop those that they allow.

Source: ExtensibleLoadManagerImpl.selectAsync, extensions.filter, Pulsar 4.0.8.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING

from syncer.balancer.placement.candidates import (
    of_emptiest_domains,
    of_manager,
    with_fewer_topics,
    with_fewest_of_group,
)
from syncer.balancer.placement.decision import FilterAnswer, Placement
from syncer.balancer.placement.isolation import allowed
from syncer.balancer.placement.releases import of_latest_release
from syncer.balancer.ranges import namespace_of_bundle
from syncer.balancer.strategies.least_usage import well_below_mean

if TYPE_CHECKING:
    from syncer.balancer.placement.constraints import Constraints
    from syncer.balancer.placement.decision import Draw
    from syncer.balancer.settings import BalancerSettings
    from syncer.balancer.strategies.transfer import ExtensibleLoad


def select(
    bundle: str,
    load: ExtensibleLoad,
    owners: Mapping[str, str],
    constraints: Constraints,
    settings: BalancerSettings,
    draw: Draw,
    *,
    excluded: AbstractSet[str] = frozenset(),
    non_persistent: bool = False,
) -> Placement:
    """Decide which broker gets a bundle.

    Args:
        bundle: Full name of the bundle.
        load: The cluster as the leader sees it; a broker without a report counts as one without topics.
        owners: Broker of each bundle that is owned.
        constraints: Policies, groups, domains and the traits of all brokers, which are what the registry holds.
        settings: What the brokers were told.
        draw: Draws one of the best.
        excluded: Brokers that shall not get it.
        non_persistent: The bundle has topics that are not persistent.

    Raises:
        LoadDataInvalid: An isolation policy cannot be read.
    """
    brokers = tuple(broker for broker in constraints.traits if broker in load.available and broker not in excluded)
    steps = tuple(_filtered(bundle, brokers, load, owners, constraints, settings, non_persistent=non_persistent))
    candidates = steps[-1].left
    usages = {broker: load.brokers[broker].usage for broker in candidates if broker in load.brokers}
    best = tuple(well_below_mean(candidates, usages, settings.placement.usage_gap_percent))
    chosen = draw(best) if best else None
    return Placement(bundle=bundle, steps=steps, candidates=candidates, best=best, drawn=chosen, chosen=chosen)


def _filtered(
    bundle: str,
    brokers: tuple[str, ...],
    load: ExtensibleLoad,
    owners: Mapping[str, str],
    constraints: Constraints,
    settings: BalancerSettings,
    *,
    non_persistent: bool,
) -> Iterator[FilterAnswer]:
    namespace, own, traits = namespace_of_bundle(bundle), settings.placement, constraints.traits
    step = of_manager(brokers, traits, own.manager)
    yield step
    topics = {broker: report.topics for broker, report in load.brokers.items()}
    step = with_fewer_topics(step.left, topics, own.max_topics)
    yield step
    if own.prefer_later_versions:
        step = of_latest_release(step.left, traits)
        yield step
    served = ((broker, namespace_of_bundle(each)) for each, broker in owners.items())
    group = constraints.group_counts(namespace, served)
    if group is not None:
        if own.failure_domains:
            step = of_emptiest_domains(step.left, group, constraints.domains)
            yield step
        step = with_fewest_of_group(step.left, group)
        yield step
    yield allowed(namespace, step.left, constraints.policies, traits, non_persistent=non_persistent)
