"""Namespaces of a cluster, and policies as the admin API names them: of a namespace, and of a topic."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from tests.migration.clusters.broker import Broker

STORAGE: Final = "destination_storage"
HOLDS: Final = frozenset({"producer_request_hold", "producer_exception"})
EVICTS: Final = "consumer_backlog_eviction"


def base_of(topic: str) -> str:
    """The partitioned topic of a partition; what is no partition is its own."""
    return re.sub(r"-partition-\d+$", "", topic)


@dataclass(slots=True, eq=False)
class Namespace:
    """One namespace.

    Attributes:
        policies: By the names of the JSON that ``GET namespaces/{tenant}/{namespace}`` answers.
        looked_up: Whether it has local policies, which the first look-up makes.
        marked: Local policies, ``migrated``.
        partitions: Partitioned topic → partitions.
        topic_policies: Topic without its partition → policies by their REST name.
        schemas: Topic without its partition → latest schema.
        owners: Bundle → broker; what is not here belongs to nobody until somebody asks.
    """

    name: str
    policies: dict[str, Any] = field(default_factory=dict)
    looked_up: bool = False
    marked: bool = False
    bundles: int = 4
    partitions: dict[str, int] = field(default_factory=dict)
    topic_policies: dict[str, dict[str, Any]] = field(default_factory=dict)
    schemas: dict[str, dict[str, Any]] = field(default_factory=dict)
    owners: dict[int, Broker] = field(default_factory=dict)

    def publish_rate(self, topic: str, cluster: str) -> tuple[int, int]:
        """Bytes and messages per second: the topic's own replaces the namespace's; none is no number above zero."""
        rate = self._topic(topic).get("publishRate") or self.policies.get("publishMaxMessageRate", {}).get(cluster)
        if not rate:
            return -1, -1
        return int(rate.get("publishThrottlingRateInByte", -1)), int(rate.get("publishThrottlingRateInMsg", -1))

    def quota(self, topic: str) -> Mapping[str, Any] | None:
        """The backlog quota by size: the topic's own, else the namespace's."""
        own = self._topic(topic).get("backlogQuota", {}).get(STORAGE)
        found: Mapping[str, Any] | None = own or self.policies.get("backlog_quota_map", {}).get(STORAGE)
        return found

    def retention_min(self, topic: str) -> int:
        """Minutes for which an idle topic is kept; below zero: for ever."""
        kept = self._topic(topic).get("retention") or self.policies.get("retention_policies") or {}
        return int(kept.get("retentionTimeInMinutes", 0))

    @property
    def deletes_idle(self) -> bool:
        """Whether topics that nobody uses are deleted."""
        return bool((self.policies.get("inactive_topic_policies") or {}).get("deleteWhileInactive", True))

    def _topic(self, topic: str) -> dict[str, Any]:
        return self.topic_policies.get(base_of(topic), {})
