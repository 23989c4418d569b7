"""A bundle is cut where a part of it can go, or it is said why cutting does not help."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncer.balancer.boundaries import SplitAlgorithm, SplitRequest, split, split_boundaries
from syncer.balancer.load import Rates
from syncer.balancer.planner.cutting import CutAdvice, CutAnswer, cut
from syncer.balancer.ranges import default_boundaries, topic_hash
from syncer.balancer.settings import SplitSettings

WHOLE = "t/n/0x00000000_0xffffffff"
TOPICS = sorted((f"persistent://t/n/topic-{number}" for number in range(9)), key=topic_hash)


def asked(loads: list[float], need: float, room: float, bundle: str = WHOLE, bundles: int = 1) -> CutAdvice:
    topics = [(topic, Rates(1.0, 0.0, load, 0.0)) for topic, load in zip(TOPICS, loads, strict=False)]
    return cut(bundle, topics, need=need, room=room, bundles=bundles, most_bundles=128)


def test_one_cut_is_enough_where_the_first_or_last_topics_are() -> None:
    found = asked([40.0, 10.0, 10.0, 10.0, 30.0], 0.3, 0.35)
    assert (found.answer, len(found.cuts), found.unload) == (CutAnswer.CUT, 1, False)
    assert topic_hash(TOPICS[3]) < found.cuts[0] <= topic_hash(TOPICS[4])
    assert [part.share for part in found.parts] == pytest.approx([0.7, 0.3])
    assert [part.topics for part in found.parts] == [4, 1]
    assert found.goes == found.parts[1].bundle


def test_a_hot_topic_in_the_middle_takes_a_cut_before_it_and_one_after_it() -> None:
    found = asked([10.0, 10.0, 60.0, 10.0, 10.0], 0.6, 0.65)
    before, hot, after = (topic_hash(topic) for topic in TOPICS[1:4])
    assert before < found.cuts[0] <= hot < found.cuts[1] <= after
    assert [part.topics for part in found.parts] == [2, 1, 2]
    assert found.goes == found.parts[1].bundle
    assert found.hottest == TOPICS[2]
    assert found.hottest_share == pytest.approx(0.6)


def test_one_hot_topic_that_no_broker_has_room_for_is_named_since_cutting_does_not_help() -> None:
    found = asked([5.0, 90.0, 5.0], 0.3, 0.4)
    assert (found.answer, found.hottest, found.cuts) == (CutAnswer.ONE_HOT_TOPIC, TOPICS[1], ())
    assert asked([90.0], 0.3, 0.4).answer is CutAnswer.ONE_HOT_TOPIC


def test_beside_a_hot_topic_the_others_may_go() -> None:
    found = asked([10.0, 10.0, 10.0, 70.0], 0.3, 0.35)
    assert (found.answer, found.goes) == (CutAnswer.CUT, found.parts[0].bundle)
    assert found.parts[0].topics == 3


def test_messages_count_where_there_are_no_bytes_and_nothing_is_cut_without_either() -> None:
    topics = [(topic, Rates(1.0, 0.0, 0.0, 0.0)) for topic in TOPICS[:2]]
    found = cut(WHOLE, topics, need=0.5, room=0.5, bundles=1, most_bundles=2)
    assert found.answer is CutAnswer.CUT
    still = [(topic, Rates()) for topic in TOPICS]
    assert cut(WHOLE, still, need=0.5, room=0.5, bundles=1, most_bundles=2).answer is CutAnswer.NO_TRAFFIC
    assert cut(WHOLE, [], need=0.5, room=0.5, bundles=1, most_bundles=2).answer is CutAnswer.NO_TRAFFIC


def test_a_namespace_has_no_more_bundles_than_it_may_have_and_a_range_of_one_hash_is_not_cut() -> None:
    assert asked([1.0, 1.0], 0.5, 0.5, bundles=128).answer is CutAnswer.TOO_MANY_BUNDLES
    assert asked([1.0, 1.0], 0.5, 0.5, bundle="t/n/0x00000000_0x00000001").answer is CutAnswer.TOO_NARROW


def test_no_part_fits_where_all_are_too_large_or_too_small() -> None:
    assert asked([50.0, 50.0], 0.2, 0.3).answer is CutAnswer.NO_PART_FITS


@given(st.lists(st.floats(0, 100), min_size=1, max_size=9), st.floats(0.01, 1), st.floats(0.01, 1))
def test_a_part_that_goes_is_enough_and_fits_and_pulsar_cuts_there(
    loads: list[float], need: float, room: float
) -> None:
    found = asked(loads, need, room)
    if found.answer is not CutAnswer.CUT:
        assert (found.cuts, found.goes) == ((), None)
        return
    (goes,) = [part for part in found.parts if part.bundle == found.goes]
    assert need - 1e-6 <= goes.share <= room + 1e-6
    assert sum(part.share for part in found.parts) == pytest.approx(1.0)
    assert 1 <= len(found.cuts) <= 2
    assert all(low < high for low, high in pairwise(found.cuts))
    request = SplitRequest(bundle=WHOLE, topics=[(topic, None) for topic in TOPICS], positions=found.cuts)
    assert split_boundaries(SplitAlgorithm.POSITIONS, request, SplitSettings()) == list(found.cuts)
    assert len(split(default_boundaries(1), WHOLE, found.cuts)) == len(found.cuts) + 2
