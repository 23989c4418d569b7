"""Topics of synthetic bundles share what their bundle reports, unevenly, and are the same each time."""

from __future__ import annotations

import random

import pytest

from syncer.balancer.ranges import namespace_of_bundle, range_of_bundle
from syncer.balancer.rounds.crowding import HOT_SHARE, CrowdedTopics
from syncer.balancer.rounds.synthetic import FleetShape
from tests.support.balancing import drawn_cluster


def drawn(shape: FleetShape = FleetShape.SCATTERED) -> tuple[CrowdedTopics, list[str], str | None]:
    cluster = drawn_cluster(4, shape, 6, 96)
    topics = CrowdedTopics(cluster.fleet, lambda bundle: random.Random(f"4 {bundle}"), cluster.hot)
    return topics, list(cluster.fleet.bundles), cluster.hot


def test_they_share_what_their_bundle_reports_and_lie_in_its_range() -> None:
    cluster = drawn_cluster(4, FleetShape.SCATTERED, 6, 96)
    topics, bundles, _ = drawn()
    for bundle in bundles:
        stats, (lower, upper), found = cluster.fleet.bundles[bundle].stats, range_of_bundle(bundle), topics.of(bundle)
        assert len(found) == stats.topics
        assert sum(topic.producers for topic in found) == stats.producers
        assert sum(topic.consumers for topic in found) == stats.consumers
        assert sum(topic.traffic.rate_in for topic in found) == pytest.approx(stats.traffic.rate_in)
        assert sum(topic.traffic.throughput for topic in found) == pytest.approx(stats.traffic.throughput)
        assert all(lower <= topic.position < upper for topic in found)
        assert topics.bundle_count(namespace_of_bundle(bundle)) == 16


def test_the_same_dice_draw_the_same_whichever_bundle_is_asked_for_first() -> None:
    (first, bundles, _), (second, _, _) = drawn(), drawn()
    assert [first.of(bundle) for bundle in bundles] == [second.of(bundle) for bundle in reversed(bundles)][::-1]


def test_who_has_more_traffic_has_more_clients() -> None:
    topics, bundles, _ = drawn()
    busy = quiet = 0
    for bundle in bundles:
        ranked = sorted(topics.of(bundle), key=lambda topic: topic.traffic.throughput)
        half = len(ranked) // 2
        quiet += sum(topic.producers + topic.consumers for topic in ranked[:half])
        busy += sum(topic.producers + topic.consumers for topic in ranked[len(ranked) - half :])
    assert busy > 2 * quiet > 0


def test_of_a_hot_bundle_one_topic_has_nearly_all_traffic() -> None:
    topics, _, hot = drawn(FleetShape.HOT_TOPIC)
    assert hot is not None
    rates = [topic.traffic.rate_in for topic in topics.of(hot)]
    assert max(rates) / sum(rates) == pytest.approx(HOT_SHARE)
