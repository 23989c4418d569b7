"""The roll call: everybody who was seen at blue stands at green, or is named.

A producer keeps its name wherever it connects again, a consumer its own within its subscription; addresses and ports do
not stay. So a client is its topic, its role and its name. One that was started anew meanwhile has another name: it is
taken for the same only if its host had one that is missed, of the same role on the same topic.
Source: ``ProducerImpl.producerName``, ``ConsumerBase.consumerName``, Pulsar 4.0.8; ``ProducerImpl::producerName_`` and
``ConsumerImpl::getConsumerName``, C++ client 3.7.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from syncer.migration.evidence import ClientSeen, TopicSeen


@dataclass(frozen=True, slots=True, order=True)
class Who:
    """A client, wherever it is connected.

    Attributes:
        subscription: That it consumes from; empty: it is a producer.
    """

    topic: str
    subscription: str
    name: str

    @property
    def role(self) -> str:
        """What it does, in words."""
        return f"consumer of {self.subscription}" if self.subscription else "producer"


Roll = Mapping[Who, ClientSeen]
"""Everybody who was seen, each as last seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """Who has answered, and who has not; each client of the roll is in one of them.

    Attributes:
        arrived: At green.
        started_anew: At green under another name: the missed one, and the new one.
        staying: Still at blue.
        missed: Nowhere.
    """

    arrived: frozenset[Who] = frozenset()
    started_anew: Mapping[Who, Who] = field(default_factory=dict)
    staying: Roll = field(default_factory=dict)
    missed: Roll = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """Whether everybody stands at green."""
        return not self.staying and not self.missed


def seen_on(topics: Iterable[TopicSeen]) -> Iterator[tuple[Who, ClientSeen]]:
    """Everybody who is connected to these topics."""
    for topic in topics:
        for producer in topic.producers:
            yield Who(topic.name, "", producer.name), producer
        for name, subscription in sorted(topic.subscriptions.items()):
            for consumer in subscription.consumers:
                yield Who(topic.name, name, consumer.name), consumer


def added(roll: Roll, topics: Iterable[TopicSeen]) -> dict[Who, ClientSeen]:
    """The roll with everybody who is on these topics now, each as it is now."""
    return {**roll, **dict(seen_on(topics))}


def call(roll: Roll, blue: Iterable[TopicSeen], green: Iterable[TopicSeen]) -> Answered:
    """Ask for everybody on the roll.

    Args:
        roll: Who was seen at blue before the mark.
        blue: Blue's topics as they are now.
        green: Green's.
    """
    here, there = dict(seen_on(blue)), dict(seen_on(green))
    arrived = frozenset(roll.keys() & there.keys())
    staying = {who: here[who] for who in sorted(roll.keys() & here.keys() - arrived)}
    absent = sorted(roll.keys() - arrived - staying.keys())
    strangers = sorted(there.keys() - roll.keys())
    anew: dict[Who, Who] = {}
    for who in absent:
        found = next((each for each in strangers if _replaces(who, roll[who], each, there[each])), None)
        if found is not None:
            strangers.remove(found)
            anew[who] = found
    missed = {who: roll[who] for who in absent if who not in anew}
    return Answered(arrived=arrived, started_anew=anew, staying=staying, missed=missed)


def _replaces(missed: Who, was: ClientSeen, new: Who, seen: ClientSeen) -> bool:
    same_post = (missed.topic, missed.subscription) == (new.topic, new.subscription)
    return same_post and _host(was.address) == _host(seen.address) and was.version == seen.version


def _host(address: str) -> str:
    return address.rpartition(":")[0]
