"""Documents of bundles: statistics, averages, loaded topics.

Source: NamespaceBundleStats, BundleData, TimeAverageMessageData, TopicStats of broker-stats, Pulsar 4.0.8.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from syncer.balancer.averages import BundleAverages, TimeAverage
from syncer.balancer.decoding.connections import BrokerConnections, topic_connections
from syncer.balancer.decoding.fields import DocumentFields
from syncer.balancer.decoding.parts import ServedTopics
from syncer.balancer.load import BundleStats, Rates, summed
from syncer.balancer.picture import FigureOrigin, Known, LoadFindingKind, SeenTopic

if TYPE_CHECKING:
    from syncer.balancer.decoding.connections import TopicConnections
    from syncer.balancer.decoding.fields import FlawNotes
    from syncer.balancer.decoding.parts import PictureParts

BUNDLE: Final = re.compile(r"[^/]+(?:/[^/]+){1,2}/0x[0-9a-fA-F]{8}_0x[0-9a-fA-F]{8}")
"""A bundle's full name; that of an old namespace has a cluster in it."""


def rates(fields: DocumentFields) -> Rates | None:
    """Read messages and bytes a second, in and out; None where one of them is not known."""
    found = (
        fields.number("msgRateIn"),
        fields.number("msgRateOut"),
        fields.number("msgThroughputIn"),
        fields.number("msgThroughputOut"),
    )
    rate_in, rate_out, throughput_in, throughput_out = found
    if rate_in is None or rate_out is None or throughput_in is None or throughput_out is None:
        return None
    return Rates(rate_in, rate_out, throughput_in, throughput_out)


def bundle_stats(fields: DocumentFields) -> BundleStats | None:
    """Read a broker's statistics of a bundle; None where one of them is not known."""
    traffic = rates(fields)
    topics, producers, consumers = (fields.count(name) for name in ("topics", "producerCount", "consumerCount"))
    if traffic is None or topics is None or producers is None or consumers is None:
        return None
    return BundleStats(traffic, topics, producers, consumers)


def bundle_averages(fields: DocumentFields) -> BundleAverages | None:
    """Read what the leader keeps of a bundle; None where a part of it is not known."""
    short, long, topics = fields.below("shortTermData"), fields.below("longTermData"), fields.count("topics")
    if short is None or long is None or topics is None:
        return None
    brief, lasting = _average(short), _average(long)
    return None if brief is None or lasting is None else BundleAverages(brief, lasting, topics)


def _average(fields: DocumentFields) -> TimeAverage | None:
    traffic, most, samples = rates(fields), fields.count("maxSamples"), fields.count("numSamples")
    if traffic is None or most is None or samples is None:
        return None
    if most < 1:
        fields.notes.note(LoadFindingKind.IMPOSSIBLE, fields.where, "maxSamples is 0, and no average keeps no sample")
        return None
    return TimeAverage(traffic, most, samples)


def take_loaded_topics(broker: str, answer: Mapping[str, object], origin: FigureOrigin, parts: PictureParts) -> None:
    """Take a broker's statistics of its topics: namespace → bundle → domain → topic.

    Args:
        broker: Its id.
        answer: As the broker gave it.
        origin: Where, and when.
        parts: What they become part of; sums over all of them, and clients that share connections,
            only where none has a flaw.
    """
    flaws, served, connections = len(parts.notes.findings), list[SeenTopic](), BrokerConnections()
    for namespace, bundles in answer.items():
        for range_, domains in _entries(bundles, f"{origin.where} {namespace}", parts.notes):
            bundle = f"{namespace}/{range_}"
            if not BUNDLE.fullmatch(bundle):
                parts.notes.note(LoadFindingKind.TORN, origin.where, f"it names {bundle!r:.80}, which is no bundle")
                continue
            found: dict[str, SeenTopic] = {}
            for domain, topics in _entries(domains, f"{origin.where} {bundle}", parts.notes):
                for topic, values in _entries(topics, f"{origin.where} {bundle} {domain}", parts.notes):
                    told = _topic(f"{origin.where} {topic}", values, parts.notes)
                    if told is not None:
                        found[topic], connected = told
                        served.append(found[topic])
                        connections.take(bundle, connected)
            parts.bundles.topics[bundle] = Known(found, origin)
    if len(parts.notes.findings) == flaws:
        parts.brokers.served[broker] = ServedTopics(len(served), summed([seen.traffic for seen in served]))
        parts.brokers.bystanders[broker] = connections.bystanders()


def _topic(where: str, values: object, notes: FlawNotes) -> tuple[SeenTopic, TopicConnections | None] | None:
    fields = DocumentFields(where, dict(_entries(values, where, notes)), notes)
    traffic = rates(fields)
    if traffic is None:
        return None
    publishers, consumers = fields.values.get("publishers"), _consumers(fields)
    listed = publishers if isinstance(publishers, list) else None
    seen = SeenTopic(
        traffic=traffic,
        producers=fields.count("producerCount") if "producerCount" in fields.values else _number(listed),
        consumers=_number(consumers),
        producer_versions=_versions(listed),
        consumer_versions=_versions(consumers),
    )
    return seen, topic_connections(listed, consumers, producers=seen.producers, rate_in=traffic.rate_in)


def _consumers(fields: DocumentFields) -> list[object] | None:
    """List the consumers of all subscriptions; None where those of one are not told."""
    subscriptions = fields.values.get("subscriptions")
    if not isinstance(subscriptions, dict):
        return None
    found: list[object] = []
    for each in subscriptions.values():
        consumers = each.get("consumers") if isinstance(each, dict) else None
        if not isinstance(consumers, list):
            return None
        found += consumers
    return found


def _number(clients: list[object] | None) -> int | None:
    return None if clients is None else len(clients)


def _versions(clients: list[object] | None) -> Mapping[str, int] | None:
    """Count clients by their versions; None where one does not say its own."""
    found: dict[str, int] = {}
    for each in clients or ():
        said = each.get("clientVersion") if isinstance(each, dict) else None
        if not isinstance(said, str) or not said:
            return None
        found[said] = found.get(said, 0) + 1
    return None if clients is None else found


def _entries(values: object, where: str, notes: FlawNotes) -> list[tuple[str, object]]:
    if isinstance(values, Mapping):
        return list(values.items())
    notes.note(LoadFindingKind.TORN, where, "it holds no object")
    return []
