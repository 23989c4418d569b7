"""Readers of a region's subscription, as a broker's statistics of the topic tell who they are.

A subscription gives each message to one of its consumers, so two regions that share one hear only a part each. A
daemon's consumer has the name of its region. No client library, no I/O.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from syncer.errors import SubscriptionShared

_SEEN_GONE: Final = 2
"""Looks in a row: between two answers of a broker a consumer may have come."""


def consumer_name(region: str, number: int) -> str:
    """Name of a daemon's consumer.

    Args:
        region: Of the daemon.
        number: Tells it from other consumers of the region.
    """
    return f"{region}-{number:x}"


class Readers:
    """Looks at a subscription again and again, for one region.

    Args:
        topic: Full name of the topic, for what is said.
        subscription: That the region reads by.
        region: Id of the region.
    """

    def __init__(self, topic: str, subscription: str, region: str) -> None:
        self._name = f"subscription {subscription!r} of {topic}"
        self._subscription = subscription
        self._region = region
        self._gone = 0
        self.redirected = False
        """Whether the client was sent to another cluster: so until the daemon is started again."""
        self._others: tuple[str, ...] = ()

    @property
    def trouble(self) -> SubscriptionShared | None:
        """Why this region may not hear everything, as of the last look; ``None``: nothing tells so."""
        if self.redirected:
            return SubscriptionShared(
                f"the cluster that this daemon was given has no {self._name} any more, and its client reads on: it was "
                "redirected to another cluster, where another region may read by a subscription of that name"
            )
        if self._others:
            return SubscriptionShared(f"{', '.join(self._others)} also reads by {self._name}")
        return None

    def look(self, stats: Mapping[str, Any], *, connected: bool) -> None:
        """Take what the cluster tells of the topic.

        Args:
            stats: Statistics of the topic; empty: there is no such topic.
            connected: Whether this daemon's own consumer was connected before and after they were asked for.
        """
        found = stats.get("subscriptions", {}).get(self._subscription)
        self._gone = self._gone + 1 if connected and found is None else 0
        self.redirected |= self._gone >= _SEEN_GONE
        names = {str(each.get("consumerName", "")) for each in (found or {}).get("consumers", ())}
        self._others = tuple(sorted({name.rpartition("-")[0] or name for name in names} - {self._region}))
