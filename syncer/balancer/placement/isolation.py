"""Isolation: brokers that may serve a namespace by the cluster's isolation policies.

A namespace with a policy goes to its primary brokers, and to its secondary ones, too, while there are too few of them;
every other namespace goes to brokers that are nobody's primary ones.

Source: LoadManagerShared.applyNamespacePolicies, NamespaceIsolationPolicies, MinAvailablePolicy, Pulsar 4.0.8.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from syncer.balancer.placement.decision import DropReason, Filter, FilterAnswer
from syncer.errors import LoadDataInvalid

if TYPE_CHECKING:
    from syncer.balancer.placement.decision import BrokerTraits


@dataclass(frozen=True, slots=True, kw_only=True)
class IsolationPolicy:
    """Who serves some namespaces: regular expressions for whole names, of namespaces and of hosts.

    ``min_primaries`` is the policy's ``min_limit``: with fewer primary brokers, secondary ones serve as well.
    """

    namespaces: Sequence[str]
    primary: Sequence[str]
    secondary: Sequence[str] = ()
    min_primaries: int = 0


def allowed(
    namespace: str,
    candidates: Sequence[str],
    policies: Sequence[IsolationPolicy],
    traits: Mapping[str, BrokerTraits],
    *,
    non_persistent: bool = False,
) -> FilterAnswer:
    """Keep the brokers that may serve a namespace.

    Args:
        namespace: Its full name.
        candidates: Available brokers, host:port.
        policies: The cluster's, in their order: the first that matches counts.
        traits: What each broker registers; under no policy, one that registered nothing serves nothing.
        non_persistent: The bundle has topics that are not persistent, as its owner was told by a look-up.

    Raises:
        LoadDataInvalid: A policy holds no regular expression.
    """
    own = policy_of(namespace, policies)
    dropped: dict[str, DropReason] = {}
    second: list[str] = []
    for broker in candidates:
        host, colon, _ = broker.rpartition(":")
        if not colon:
            dropped[broker] = DropReason.NO_PORT
        elif own is None:
            if not _serves(traits.get(broker), non_persistent=non_persistent):
                dropped[broker] = DropReason.DOMAIN_NOT_SERVED
            elif any(_matches(policy.primary, host) for policy in policies):
                dropped[broker] = DropReason.RESERVED
        elif not _matches(own.primary, host):
            if _matches(own.secondary, host):
                second.append(broker)
            else:
                dropped[broker] = DropReason.NOT_IN_POLICY
    if own is not None and len(candidates) - len(dropped) - len(second) >= own.min_primaries:
        dropped |= dict.fromkeys(second, DropReason.ENOUGH_PRIMARIES)
    left = tuple(broker for broker in candidates if broker not in dropped)
    return FilterAnswer(filter=Filter.ISOLATION, left=left, dropped=dropped)


def policy_of(namespace: str, policies: Sequence[IsolationPolicy]) -> IsolationPolicy | None:
    """Find the policy that a namespace is under: the first that matches; None where none does.

    Args:
        namespace: Its full name.
        policies: The cluster's, in their order.

    Raises:
        LoadDataInvalid: A policy holds no regular expression.
    """
    return next((policy for policy in policies if _matches(policy.namespaces, namespace)), None)


def _serves(traits: BrokerTraits | None, *, non_persistent: bool) -> bool:
    if traits is None:
        return False
    return traits.non_persistent if non_persistent else traits.persistent


def _matches(patterns: Sequence[str], name: str) -> bool:
    return any(_match(pattern, name) for pattern in patterns)


def _match(pattern: str, name: str) -> bool:
    try:
        return re.fullmatch(pattern, name, re.ASCII) is not None
    except re.error as exc:
        raise LoadDataInvalid(
            f"an isolation policy holds '{pattern}', which is no regular expression: {exc}",
            hint="Correct the policy: 'pulsar-admin ns-isolation-policy list CLUSTER'.",
        ) from exc
