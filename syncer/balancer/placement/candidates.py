"""Candidates: filters of brokers that may get a bundle, each alone.

Source: LoadManagerShared, BrokerLoadManagerClassFilter and BrokerMaxTopicCountFilter, Pulsar 4.0.8.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from syncer.balancer.placement.decision import DropReason, Filter, Spared, kept

if TYPE_CHECKING:
    from syncer.balancer.placement.decision import BrokerTraits, FilterAnswer

_NO_DOMAIN: Final = "default"


def with_few_topics(candidates: Sequence[str], topics: Mapping[str, int], most: int) -> FilterAnswer:
    """Keep brokers with no more topics than they may have; all of them where none is left.

    Args:
        candidates: The brokers.
        topics: Topics of each, with those on their way to it; a broker that is not there counts as empty.
        most: How many one may have.
    """
    step = kept(Filter.TOPICS, candidates, lambda broker: topics.get(broker, 0) <= most, DropReason.TOO_MANY_TOPICS)
    if step.left or not candidates:
        return step
    return replace(step, left=tuple(candidates), dropped={}, spared=Spared.NONE_LEFT)


def with_fewer_topics(candidates: Sequence[str], topics: Mapping[str, int], bound: int) -> FilterAnswer:
    """Keep brokers with fewer topics than the bound, as the extensible manager does; maybe none.

    Args:
        candidates: The brokers.
        topics: Topics that each reports; a broker that is not there counts as empty.
        bound: As many are too many.
    """
    return kept(Filter.TOPICS, candidates, lambda broker: topics.get(broker, 0) < bound, DropReason.TOO_MANY_TOPICS)


def with_fewest_bundles(candidates: Sequence[str], bundles: Mapping[str, int]) -> FilterAnswer:
    """Keep brokers with the fewest bundles of the namespace, whatever their load.

    Args:
        candidates: The brokers.
        bundles: Bundles of the namespace that each broker has; a broker that is not there has none.
    """
    least = min((bundles.get(broker, 0) for broker in candidates), default=0)
    return kept(
        Filter.FEWEST_BUNDLES, candidates, lambda broker: bundles.get(broker, 0) <= least, DropReason.MORE_BUNDLES
    )


def of_emptiest_domains(
    candidates: Sequence[str], group: Mapping[str, int], domains: Mapping[str, str]
) -> FilterAnswer:
    """Keep brokers of the failure domains with the fewest of an anti-affinity group; all where there are no domains.

    Args:
        candidates: The brokers; others of their domains do not count.
        group: How many of the group each has; a broker that is not there has none.
        domains: Failure domain of each broker; those that are in none share one.
    """
    if not domains:
        return kept(Filter.FAILURE_DOMAIN, candidates, lambda _: True, DropReason.FULLER_DOMAIN)
    counts: dict[str, int] = {}
    for broker in candidates:
        domain = domains.get(broker, _NO_DOMAIN)
        counts[domain] = counts.get(domain, 0) + group.get(broker, 0)
    fewest = min(counts.values(), default=0)
    return kept(
        Filter.FAILURE_DOMAIN,
        candidates,
        lambda broker: counts[domains.get(broker, _NO_DOMAIN)] == fewest,
        DropReason.FULLER_DOMAIN,
    )


def with_fewest_of_group(candidates: Sequence[str], group: Mapping[str, int]) -> FilterAnswer:
    """Keep brokers with the fewest of an anti-affinity group.

    Args:
        candidates: The brokers.
        group: How many of the group each has; a broker that is not there has none.
    """
    least = min((group.get(broker, 0) for broker in candidates), default=0)
    return kept(
        Filter.ANTI_AFFINITY, candidates, lambda broker: group.get(broker, 0) == least, DropReason.FULLER_BROKER
    )


def of_manager(candidates: Sequence[str], traits: Mapping[str, BrokerTraits], manager: str) -> FilterAnswer:
    """Keep brokers that run the same load manager.

    Args:
        candidates: The brokers; one that registered nothing stays.
        traits: What each registers; one of an old version names no manager, and goes.
        manager: Class name of the leader's.
    """
    return kept(
        Filter.MANAGER,
        candidates,
        lambda broker: broker not in traits or traits[broker].manager == manager,
        DropReason.OTHER_MANAGER,
    )
