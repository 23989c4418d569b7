"""Documents of bundles: averages, and the statistics of loaded topics."""

from __future__ import annotations

from typing import Any

import pytest

from syncer.balancer.averages import BundleAverages, TimeAverage
from syncer.balancer.decoding.bundles import bundle_averages, take_loaded_topics
from syncer.balancer.decoding.fields import DocumentFields, FlawNotes
from syncer.balancer.decoding.parts import PictureParts, ServedTopics
from syncer.balancer.load import Rates
from syncer.balancer.picture import FigureOrigin, LoadFindingKind, LoadSource, SeenTopic
from tests.support.load_documents import FIRST, average, bundle_data

REST = FigureOrigin(LoadSource.REST, "b1 topics", 5)
TRAFFIC = Rates(10.0, 20.0, 1000.0, 2000.0)


def read(document: dict[str, Any]) -> tuple[BundleAverages | None, list[LoadFindingKind]]:
    notes = FlawNotes()
    found = bundle_averages(DocumentFields("there", document, notes))
    return found, [each.kind for each in notes.findings]


def test_averages_are_read_whole() -> None:
    assert read(bundle_data()) == (BundleAverages(TimeAverage(TRAFFIC, 10, 1), TimeAverage(TRAFFIC, 1000, 1), 3), [])


@pytest.mark.parametrize(
    ("changed", "kind"),
    [
        ({"shortTermData": None}, LoadFindingKind.MISSING),
        ({"longTermData": average(1, 0)}, LoadFindingKind.IMPOSSIBLE),
        ({"longTermData": average(-1, 10)}, LoadFindingKind.IMPOSSIBLE),
        ({"shortTermData": average(1, 10, msgRateIn=float("nan"))}, LoadFindingKind.IMPOSSIBLE),
        ({"topics": None}, LoadFindingKind.MISSING),
    ],
)
def test_averages_with_a_flaw_are_unknown(changed: dict[str, Any], kind: LoadFindingKind) -> None:
    assert read(bundle_data(**changed)) == (None, [kind])


def topic(**changed: object) -> dict[str, Any]:
    return {
        "publishers": [{}, {}],
        "subscriptions": {"s": {"consumers": [{}]}, "t": {"consumers": [{}, {}]}},
        "msgRateIn": 10.0,
        "msgRateOut": 20.0,
        "msgThroughputIn": 1000.0,
        "msgThroughputOut": 2000.0,
        **changed,
    }


def taken(answer: Any) -> PictureParts:
    parts = PictureParts()
    take_loaded_topics("b1:8080", answer, REST, parts)
    return parts


def test_loaded_topics_are_read_with_their_clients() -> None:
    name = "persistent://shop/orders/new"
    parts = taken(
        {"shop/orders": {FIRST.rpartition("/")[2]: {"persistent": {name: topic(), f"{name}2": topic(producerCount=7)}}}}
    )
    assert parts.bundles.topics[FIRST].origin == REST
    assert parts.bundles.topics[FIRST].value == {
        name: SeenTopic(traffic=TRAFFIC, producers=2, consumers=3),
        f"{name}2": SeenTopic(traffic=TRAFFIC, producers=7, consumers=3),
    }
    assert parts.notes.findings == []
    assert parts.brokers.served == {"b1:8080": ServedTopics(2, Rates(20.0, 40.0, 2000.0, 4000.0))}


def test_clients_that_are_not_told_are_unknown() -> None:
    answer = {
        "shop/orders": {"0x00000000_0x80000000": {"persistent": {"t": topic(publishers=None, subscriptions={"s": 1})}}}
    }
    seen = taken(answer).bundles.topics[FIRST].value["t"]
    assert (seen.producers, seen.consumers) == (None, None)


def test_a_topic_with_a_flaw_is_left_out_and_said() -> None:
    answer = {
        "shop/orders": {
            "0x00000000_0x80000000": {
                "persistent": {"bad": topic(msgRateIn=-1), "good": topic(), "torn": 3},
                "other": 7,
            },
            "nonsense": {},
        },
        "shop/torn": [],
    }
    parts = taken(answer)
    assert list(parts.bundles.topics[FIRST].value) == ["good"]
    assert {each.kind for each in parts.notes.findings} >= {LoadFindingKind.IMPOSSIBLE, LoadFindingKind.TORN}
    assert len(parts.notes.findings) >= 5
    assert parts.brokers.served == {}, "a sum without the flawed ones would be too small"


def test_clients_are_counted_by_their_versions_where_all_say_theirs() -> None:
    java, python = {"clientVersion": "Pulsar-Java-v3.2.0"}, {"clientVersion": "Pulsar-CPP-v4.2.0"}
    told = topic(publishers=[java, python, java], subscriptions={"s": {"consumers": [python]}, "t": {"consumers": []}})
    silent = topic(publishers=[java, {}], subscriptions={"s": {"consumers": [{"clientVersion": ""}]}})
    answer = {"shop/orders": {"0x00000000_0x80000000": {"persistent": {"told": told, "silent": silent}}}}
    seen = taken(answer).bundles.topics[FIRST].value
    assert seen["told"].producer_versions == {"Pulsar-Java-v3.2.0": 2, "Pulsar-CPP-v4.2.0": 1}
    assert seen["told"].consumer_versions == {"Pulsar-CPP-v4.2.0": 1}
    assert (seen["silent"].producer_versions, seen["silent"].consumer_versions) == (None, None)
