"""Candidates: the bundles that rounds of the extensible manager may move, and where each may go.

Source: TopKBundles, TransferShedder.isTransferable, Pulsar 4.0.8.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncer.balancer.exempt import never_shed
from syncer.balancer.placement.isolation import allowed, policy_of
from syncer.balancer.placement.modular import SYSTEM_NAMESPACE
from syncer.balancer.ranges import namespace_of_bundle
from syncer.balancer.rounds.reporting import top_bundles

if TYPE_CHECKING:
    from collections.abc import Callable

    from syncer.balancer.fleet import Fleet
    from syncer.balancer.placement.constraints import Constraints
    from syncer.balancer.settings import BalancerSettings


def reported(
    fleet: Fleet, broker: str, constraints: Constraints, settings: BalancerSettings
) -> list[tuple[str, float]]:
    """Name the bundles that a broker reports as its busiest, as it would report them now.

    Args:
        fleet: As it is now.
        broker: One of it.
        constraints: Groups and policies: namespaces of either may be left out.
        settings: What the brokers were told.
    """

    def may_be_named(bundle: str) -> bool:
        namespace = namespace_of_bundle(bundle)
        if never_shed(bundle) or namespace == SYSTEM_NAMESPACE:
            return False
        bound = namespace in constraints.groups or policy_of(namespace, constraints.policies) is not None
        return settings.shedding.with_policies or not bound

    named = ((name, fleet.bundles[name].stats) for name in fleet.bundles_of(broker) if may_be_named(name))
    return top_bundles(named, settings.report.top_bundles)


def transferable(fleet: Fleet, constraints: Constraints) -> Callable[[str, str, str], bool]:
    """Say whether a bundle may leave one broker for another: its owner holds it, and its policy allows the target.

    Args:
        fleet: As it is now.
        constraints: Policies and traits.
    """

    def may_leave(bundle: str, source: str, target: str) -> bool:
        if fleet.owners.get(bundle) != source:
            return False
        namespace = namespace_of_bundle(bundle)
        return target in allowed(namespace, (source, target), constraints.policies, constraints.traits).left

    return may_leave
