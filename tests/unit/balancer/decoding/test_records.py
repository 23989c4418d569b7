"""Records of the load topics: the newest counts, an empty one takes away, the channel is folded by its rules."""

from __future__ import annotations

import json

import pytest

from syncer.balancer.decoding.parts import PictureParts
from syncer.balancer.decoding.records import BROKER_LOAD, CHANNEL, TOP_BUNDLES, LoadRecords, TopicRecord
from syncer.balancer.picture import LoadFindingKind, LoadSource, Ownership, Tenure
from tests.support.load_documents import FIRST, NOW_MS, broker_load, top_bundles, unit


def heard(*messages: tuple[str, str, object]) -> PictureParts:
    parts, records = PictureParts(), LoadRecords()
    for topic, key, document in messages:
        value = document if document is None or isinstance(document, bytes) else json.dumps(document).encode()
        records.put(topic, TopicRecord(key, value, NOW_MS))
    records.channel_read = True
    records.take(parts)
    return parts


def test_a_brokers_newest_report_counts() -> None:
    parts = heard(
        (BROKER_LOAD, "b1:8080", broker_load(topics=1)),
        (BROKER_LOAD, "b1:8080", broker_load(topics=2)),
        (TOP_BUNDLES, "b1:8080", top_bundles(FIRST)),
    )
    figures = parts.brokers.figures["b1:8080"]
    assert figures.value.topics == 2
    assert figures.origin.source is LoadSource.TOPIC
    assert figures.origin.where == f"{BROKER_LOAD} b1:8080"
    assert parts.brokers.top["b1:8080"].value == (FIRST,)


@pytest.mark.parametrize("gone", [None, b""])
def test_an_empty_message_takes_a_report_away(gone: bytes | None) -> None:
    parts = heard((BROKER_LOAD, "b1:8080", broker_load()), (BROKER_LOAD, "b1:8080", gone), (TOP_BUNDLES, "b2", gone))
    assert parts.brokers.figures == {}
    assert parts.notes.findings == []


def test_a_torn_report_is_a_finding_and_takes_the_place_of_the_one_before() -> None:
    parts = heard((BROKER_LOAD, "b1:8080", broker_load()), (BROKER_LOAD, "b1:8080", b"{"))
    assert parts.brokers.figures == {}
    assert [each.kind for each in parts.notes.findings] == [LoadFindingKind.TORN]


def test_the_channel_is_folded_by_its_rules() -> None:
    parts = heard(
        (CHANNEL, FIRST, unit("Owned", 1)),
        (CHANNEL, FIRST, unit("Owned", 2, dstBroker="b2:8080")),
        (CHANNEL, FIRST, b"{"),
    )
    assert parts.bundles.owners[FIRST].value == Ownership(Tenure.OWNED, "b1:8080")
    assert parts.bundles.ownership_read is not None
    assert [each.kind for each in parts.notes.findings] == [LoadFindingKind.TORN]


def test_a_tombstone_of_the_channel_lets_a_bundle_begin_anew() -> None:
    parts = heard(
        (CHANNEL, FIRST, unit("Owned", 9)),
        (CHANNEL, FIRST, None),
        (CHANNEL, FIRST, unit("Owned", 1, dstBroker="b2:8080")),
    )
    assert parts.bundles.owners[FIRST].value.broker == "b2:8080"


def test_a_channel_that_was_not_read_whole_says_of_no_bundle_that_it_is_free() -> None:
    parts, records = PictureParts(), LoadRecords()
    records.take(parts)
    assert parts.bundles.ownership_read is None


def test_a_topic_that_cannot_be_read_is_said() -> None:
    parts, records = PictureParts(), LoadRecords(troubles={CHANNEL: "AuthorizationError"})
    records.take(parts)
    assert [(each.kind, each.where) for each in parts.notes.findings] == [(LoadFindingKind.UNREADABLE, CHANNEL)]
    assert "AuthorizationError" in parts.notes.findings[0].what
