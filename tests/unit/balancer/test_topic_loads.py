"""A bundle's topics are told where each of their figures is known, and none of them otherwise."""

from __future__ import annotations

from dataclasses import replace

import pytest

from syncer.balancer.load import Rates
from syncer.balancer.picture import Known, LoadPicture, SeenBundle, SeenNamespace, SeenTopic
from syncer.balancer.ranges import FULL_UPPER_BOUND, topic_hash
from syncer.balancer.topic_loads import SeenTopics
from tests.support.doctor_cases import STORE, broker, picture

WHOLE, HALF = "t/n/0x00000000_0xffffffff", "t/n/0x00000000_0x00000001"
ONE = SeenTopic(traffic=Rates(1.0, 2.0, 3.0, 4.0), producers=2, consumers=3)
NAMES = [f"persistent://t/n/{number}" for number in range(5)]


def seen(topics: dict[str, SeenTopic], bundle: str = WHOLE) -> LoadPicture:
    taken = picture([broker(50, 20)])
    return replace(
        taken,
        bundles={**taken.bundles, bundle: SeenBundle(bundle=bundle, topics=Known(topics, STORE))},
        namespaces={
            "t/n": SeenNamespace(namespace="t/n", boundaries=Known((0, 5, FULL_UPPER_BOUND), STORE)),
            "t/unknown": SeenNamespace(namespace="t/unknown"),
        },
    )


def test_topics_stand_in_the_order_of_their_hashes_with_all_figures() -> None:
    found = SeenTopics(seen(dict.fromkeys(NAMES, ONE))).of(WHOLE)
    assert [each.position for each in found] == sorted(map(topic_hash, NAMES))
    assert {(each.traffic, each.producers, each.consumers) for each in found} == {(ONE.traffic, 2, 3)}


@pytest.mark.parametrize(
    "other",
    [
        replace(ONE, producers=None),
        replace(ONE, consumers=None),
        replace(ONE, traffic=Rates(float("nan"))),
        replace(ONE, traffic=Rates(-1.0)),
    ],
)
def test_one_figure_that_is_not_known_makes_all_topics_of_the_bundle_unknown(other: SeenTopic) -> None:
    assert SeenTopics(seen({NAMES[0]: ONE, NAMES[1]: other})).of(WHOLE) == ()


def test_topics_that_are_not_of_the_bundle_or_were_not_read_are_not_told() -> None:
    assert SeenTopics(seen({NAMES[0]: ONE}, HALF)).of(HALF) == ()
    assert SeenTopics(seen({})).of("t/n0/0x00000000_0x00000001") == ()
    assert SeenTopics(seen({})).of("t/n/gone") == ()


def test_bundles_of_a_namespace_are_counted_by_its_boundaries() -> None:
    known = SeenTopics(seen({}))
    assert [known.bundle_count(name) for name in ("t/n", "t/unknown", "t/other")] == [2, None, None]
