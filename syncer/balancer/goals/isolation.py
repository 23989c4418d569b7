"""Isolation as a hard goal: a bundle goes only to brokers that its namespace's isolation policy allows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from syncer.balancer.goals.veto import Veto, VetoReason
from syncer.balancer.placement.isolation import allowed, policy_of
from syncer.balancer.ranges import namespace_of_bundle

if TYPE_CHECKING:
    from syncer.balancer.placement.constraints import Constraints
    from syncer.balancer.placement.decision import FilterAnswer


@dataclass(slots=True)
class IsolationGoal:
    """Asks the filter of placement once for each policy; the answers are kept.

    ``non_persistent`` names the bundles with topics that are not persistent.
    """

    brokers: Sequence[str]
    constraints: Constraints
    non_persistent: frozenset[str] = frozenset()
    _policies: dict[str, int] = field(default_factory=dict)
    _answers: dict[tuple[int, bool], tuple[frozenset[str], FilterAnswer]] = field(default_factory=dict)

    def receivers(self, bundle: str) -> frozenset[str]:
        """Name the brokers that may serve a bundle's namespace.

        Raises:
            LoadDataInvalid: A policy cannot be read.
        """
        return self._answer(bundle)[0]

    def forbids(self, bundle: str, target: str) -> Veto | None:
        """Forbid brokers that the policies keep from the bundle's namespace.

        Raises:
            LoadDataInvalid: A policy cannot be read.
        """
        left, answer = self._answer(bundle)
        if target in left:
            return None
        why: Mapping[str, str] = answer.dropped
        return Veto(reason=VetoReason.ISOLATION, bundle=bundle, target=target, detail=why.get(target, "not-available"))

    def _answer(self, bundle: str) -> tuple[frozenset[str], FilterAnswer]:
        own, namespace, other = self.constraints, namespace_of_bundle(bundle), bundle in self.non_persistent
        if namespace not in self._policies:
            self._policies[namespace] = id(policy_of(namespace, own.policies))  # all of one have the same brokers
        key = self._policies[namespace], other
        known = self._answers.get(key)
        if known is None:
            answer = allowed(namespace, self.brokers, own.policies, own.traits, non_persistent=other)
            known = self._answers[key] = frozenset(answer.left), answer
        return known
