"""Anti-affinity as a hard goal: a bundle goes where Pulsar would put one of its group, were it not there yet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from syncer.balancer.goals.veto import Veto, VetoReason
from syncer.balancer.placement.candidates import of_emptiest_domains, with_fewest_of_group
from syncer.balancer.ranges import namespace_of_bundle

if TYPE_CHECKING:
    from syncer.balancer.fleet import Fleet
    from syncer.balancer.goals.isolation import IsolationGoal
    from syncer.balancer.placement.constraints import Constraints


@dataclass(slots=True, kw_only=True)
class AntiAffinityGoal:
    """Counts the group as it stands without the bundle, by the filters of placement.

    The modular manager counts a broker's namespaces of the group, the extensible one its bundles.
    """

    fleet: Fleet
    constraints: Constraints
    isolation: IsolationGoal
    failure_domains: bool = False
    extensible: bool = False
    _groups: dict[str, list[str]] = field(default_factory=dict)

    def forbids(self, bundle: str, target: str) -> Veto | None:
        """Forbid brokers and failure domains that have more of the bundle's group than others.

        Raises:
            LoadDataInvalid: An isolation policy cannot be read.
        """
        namespace = namespace_of_bundle(bundle)
        if not self.constraints.groups or self.constraints.group_counts(namespace, ()) is None:
            return None
        counts = self.constraints.group_counts(namespace, self._served(bundle)) or {}
        receivers = self.isolation.receivers(bundle)
        candidates = [broker for broker in self.fleet.brokers if broker in receivers]
        steps = []
        if self.failure_domains:
            steps.append(of_emptiest_domains(candidates, counts, self.constraints.domains))
            candidates = list(steps[-1].left)
        steps.append(with_fewest_of_group(candidates, counts))
        if target in steps[-1].left:
            return None
        why = next((step.dropped[target] for step in steps if target in step.dropped), "")
        return Veto(reason=VetoReason.ANTI_AFFINITY, bundle=bundle, target=target, detail=why)

    def _served(self, bundle: str) -> Iterator[tuple[str, str]]:
        owners = self.fleet.owners
        pairs = ((owners[each], namespace_of_bundle(each)) for each in self._group(bundle) if each != bundle)
        return iter(pairs if self.extensible else dict.fromkeys(pairs))

    def _group(self, bundle: str) -> list[str]:
        """Name the bundles of a bundle's group; they are the same wherever they are."""
        namespace = namespace_of_bundle(bundle)
        found = self._groups.get(namespace)
        if found is None:
            others = {other for other in self.constraints.groups if self._together(namespace, other)}
            found = [each for each in self.fleet.bundles if namespace_of_bundle(each) in others]
            self._groups[namespace] = found
        return found

    def _together(self, namespace: str, other: str) -> bool:
        return bool(self.constraints.group_counts(namespace, [("", other)]))
