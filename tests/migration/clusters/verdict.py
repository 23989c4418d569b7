"""The verdict on a play: what was published and acknowledged, what was delivered, and who was lost on the way."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.migration.clusters.ledger import Entry

if TYPE_CHECKING:
    from tests.migration.clusters.consumer import Consumer
    from tests.migration.clusters.producer import Producer

Message = tuple[str, int]
"""A producer's name, and the message's sequence."""


class Receipts:
    """What the applications of one subscription were given, at whichever cluster."""

    def __init__(self) -> None:
        self.times: Counter[Message] = Counter()
        self.disordered = 0
        self._highest: dict[str, int] = defaultdict(lambda: -1)

    def take(self, entry: Entry, *, in_order: bool) -> None:
        """An application is given an entry; what comes again is doubled, not out of order."""
        for sequence in range(entry.first, entry.first + entry.count):
            message = (entry.producer, sequence)
            if in_order and message not in self.times and sequence < self._highest[entry.producer]:
                self.disordered += 1
            self.times[message] += 1
            self._highest[entry.producer] = max(self._highest[entry.producer], sequence)


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscriptionVerdict:
    """What a subscription was given of what was acknowledged."""

    delivered: int
    lost: int
    doubled: int
    disordered: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The whole play.

    Attributes:
        published: Messages of which an application knows that they are stored.
        failed: Messages of which an application was told that they are not, or nothing.
        dead: Producers and consumers that have failed for good.
        stuck: Those that are not connected.
        gaps_ms: Producer → longest time between two receipts.
    """

    published: int
    failed: int
    subscriptions: Mapping[tuple[str, str], SubscriptionVerdict] = field(default_factory=dict)
    dead: tuple[str, ...] = ()
    stuck: tuple[str, ...] = ()
    gaps_ms: Mapping[str, int] = field(default_factory=dict)

    @property
    def delivered(self) -> int:
        """Different acknowledged messages, over all subscriptions."""
        return sum(each.delivered for each in self.subscriptions.values())

    @property
    def lost(self) -> int:
        """Acknowledged messages that a subscription was never given."""
        return sum(each.lost for each in self.subscriptions.values())

    @property
    def doubled(self) -> int:
        """Deliveries beyond the first."""
        return sum(each.doubled for each in self.subscriptions.values())

    @property
    def disordered(self) -> int:
        """First deliveries behind a later message of the same producer, where order is promised."""
        return sum(each.disordered for each in self.subscriptions.values())

    @property
    def harmless(self) -> bool:
        """Whether nobody has anything to complain of."""
        return not (self.lost or self.doubled or self.disordered or self.dead or self.stuck)


def judge(
    producers: Iterable[Producer], consumers: Iterable[Consumer], receipts: Mapping[tuple[str, str], Receipts]
) -> Verdict:
    """Judge a play that has come to rest."""
    producers, consumers = tuple(producers), tuple(consumers)
    acked: dict[str, set[Message]] = defaultdict(set)
    for producer in producers:
        acked[producer.topic].update((producer.name, sequence) for sequence in producer.acked)
    found = {}
    for (topic, subscription), taken in sorted(receipts.items()):
        wanted = acked[topic]
        delivered = len(wanted & taken.times.keys())
        found[topic, subscription] = SubscriptionVerdict(
            delivered=delivered,
            lost=len(wanted) - delivered,
            doubled=sum(taken.times.values()) - len(taken.times),
            disordered=taken.disordered,
        )
    clients = (*producers, *consumers)
    return Verdict(
        published=sum(map(len, acked.values())),
        failed=sum(producer.failed + producer.unanswered for producer in producers),
        subscriptions=found,
        dead=tuple(each.name for each in clients if each.state == "dead"),
        stuck=tuple(each.name for each in clients if each.state == "connecting"),
        gaps_ms={each.name: each.longest_gap_ms for each in producers},
    )
