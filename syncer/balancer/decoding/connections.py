"""Connections: which clients share one with the publishers of another bundle, by a broker's statistics of its topics.

A client has one connection to a broker by default, for all of its producers and consumers there.

Source: ``address`` of PublisherStats and ConsumerStats, Pulsar 4.0.8; ``connectionsPerBroker`` of the clients.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple


class TopicConnections(NamedTuple):
    """The connections of a topic's producers and those of its consumers, one entry for each client."""

    producers: list[str]
    consumers: list[str]


def topic_connections(
    publishers: list[object] | None, consumers: list[object] | None, *, producers: int | None, rate_in: float
) -> TopicConnections | None:
    """Read the connections of a topic's clients; None where that of one is not told.

    Args:
        publishers: As the broker lists them.
        consumers: As the broker lists them.
        producers: How many it counts.
        rate_in: Messages a second that come in. A broker without ``exposePublisherStats`` lists no publisher of them.
    """
    if publishers is None or consumers is None or len(publishers) != producers or (rate_in > 0 and not publishers):
        return None
    publishing, consuming = _addresses(publishers), _addresses(consumers)
    return None if publishing is None or consuming is None else TopicConnections(publishing, consuming)


@dataclass(slots=True)
class BrokerConnections:
    """The connections of one broker: clients on each, in all and by bundle, and those that a bundle's publishers use.

    ``untold`` are bundles of which a client's connection is not known.
    """

    clients: Counter[str] = field(default_factory=Counter)
    by_bundle: dict[str, Counter[str]] = field(default_factory=dict)
    publishing: dict[str, set[str]] = field(default_factory=dict)
    untold: set[str] = field(default_factory=set)

    def take(self, bundle: str, topic: TopicConnections | None) -> None:
        """Take the clients of a topic.

        Args:
            bundle: Of which it is.
            topic: Their connections; None where one is not known.
        """
        if topic is None:
            self.untold.add(bundle)
            return
        both = (*topic.producers, *topic.consumers)
        self.clients.update(both)
        self.by_bundle.setdefault(bundle, Counter()).update(both)
        self.publishing.setdefault(bundle, set()).update(topic.producers)

    def bystanders(self) -> Mapping[str, int]:
        """Count by bundle the clients of all other ones on connections that its publishers use.

        Returns:
            A bundle whose publishers are not all known is not there; nor one with publishers while clients of another
            bundle are not all known.
        """
        return {
            bundle: sum(self.clients[each] - self.by_bundle[bundle][each] for each in used)
            for bundle, used in self.publishing.items()
            if bundle not in self.untold and not (used and self.untold)
        }


def _addresses(clients: list[object]) -> list[str] | None:
    found = list[str]()
    for each in clients:
        address = each.get("address") if isinstance(each, dict) else None
        if not isinstance(address, str) or not address:
            return None
        found.append(address)
    return found
