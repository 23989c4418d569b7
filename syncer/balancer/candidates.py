"""Candidates: brokers that may get a bundle, filter by filter in Pulsar's order.

First those by topics, then by anti-affinity, then by bundles of the namespace.

Source: LoadManagerShared, ModularLoadManagerImpl.selectBroker, Pulsar 4.0.8.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from syncer.balancer.settings import PlacementSettings

SYSTEM_NAMESPACE: Final = "pulsar/system"
_NO_DOMAIN: Final = "default"


def with_few_topics(candidates: Sequence[str], topics: Mapping[str, int], most: int) -> list[str]:
    """Keep brokers with no more topics than they may have; all of them where none is left.

    Args:
        candidates: The brokers.
        topics: Topics of each, with those on their way to it; a broker that is not there counts as empty.
        most: How many one may have.
    """
    return [broker for broker in candidates if topics.get(broker, 0) <= most] or list(candidates)


def with_fewest_bundles(candidates: Sequence[str], bundles: Mapping[str, int]) -> list[str]:
    """Keep brokers with the fewest bundles of the namespace, whatever their load.

    Args:
        candidates: The brokers.
        bundles: Bundles of the namespace that each has; a broker that is not there has none.
    """
    least = min((bundles.get(broker, 0) for broker in candidates), default=0)
    return [broker for broker in candidates if bundles.get(broker, 0) <= least]


def apart(
    candidates: Sequence[str], group: Mapping[str, int] | None, domains: Mapping[str, str] | None = None
) -> list[str]:
    """Keep brokers with the fewest namespaces of an anti-affinity group, of the failure domains with the fewest.

    Args:
        candidates: The brokers.
        group: Namespaces of the group that each has; None where the namespace is in no group.
        domains: Failure domain of each broker, where domains are enabled.
    """
    if group is None or not candidates:
        return list(candidates)
    kept = list(candidates)
    if domains:
        counts: dict[str, int] = {}
        for broker in kept:
            domain = domains.get(broker, _NO_DOMAIN)
            counts[domain] = counts.get(domain, 0) + group.get(broker, 0)
        fewest = min(counts.values())
        kept = [broker for broker in kept if counts[domains.get(broker, _NO_DOMAIN)] == fewest]
    least = min(group.get(broker, 0) for broker in kept)
    return [broker for broker in kept if group.get(broker, 0) == least]


def filtered(
    candidates: Sequence[str],
    namespace: str,
    settings: PlacementSettings,
    *,
    topics: Mapping[str, int],
    bundles: Mapping[str, int],
    group: Mapping[str, int] | None = None,
    domains: Mapping[str, str] | None = None,
) -> list[str]:
    """Keep the brokers that the modular manager's strategy of placement is asked about; all where none is left.

    Args:
        candidates: Brokers that the namespace's isolation policies allow.
        namespace: The bundle's.
        settings: What is filtered by.
        topics: Topics of each broker, with those on their way to it.
        bundles: Bundles of the namespace that each broker has.
        group: Namespaces of the same anti-affinity group that each broker has; None where it is in no group.
        domains: Failure domain of each broker.
    """
    kept = with_few_topics(candidates, topics, settings.max_topics)
    kept = apart(kept, group, domains if settings.failure_domains else None)
    if settings.distribute_evenly or namespace == SYSTEM_NAMESPACE:
        kept = with_fewest_bundles(kept, bundles)
    return kept or list(candidates)
