"""The account of a traffic: what is lost, doubled or out of order is found, wherever it was, and nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deploy.lab.traffic.account import PublisherStory, ReceiverStory, TrafficAccount, take_account

TOPIC = "persistent://acme/orders/t"
NUMBERS = st.lists(st.integers(0, 30), max_size=30)


def account(stored: frozenset[int] | int, *came: Sequence[int]) -> TrafficAccount:
    """Of one publisher, and a subscription for each list of what came."""
    publisher = PublisherStory(name="p", topic=TOPIC, stored=stored)
    receivers = [
        ReceiverStory(topic=TOPIC, subscription=f"s{at}", came=Counter(("p", number) for number in numbers))
        for at, numbers in enumerate(came)
    ]
    return take_account([publisher], receivers)


@given(st.frozensets(st.integers(0, 30)), NUMBERS, NUMBERS)
def test_each_subscription_has_to_deliver_all_that_was_stored_once(
    stored: frozenset[int], first: list[int], second: list[int]
) -> None:
    found = account(stored, first, second)
    there = stored | set(first) | set(second)
    wanted = {"t s0": len(there - set(first)), "t s1": len(there - set(second))}
    assert found.lost == {at: count for at, count in wanted.items() if count}
    doubled = {"t s0": len(first) - len(set(first)), "t s1": len(second) - len(set(second))}
    assert found.doubled == {at: count for at, count in doubled.items() if count}
    assert (found.published, found.delivered) == (len(stored), len(first) + len(second))
    assert found.unharmed is not bool(found.lost or found.doubled)


@pytest.mark.parametrize(("count", "lost"), [(3, 0), (4, 1), (2, 0)])
def test_a_publisher_that_knows_only_how_many_it_stored_loses_those_that_never_came(count: int, lost: int) -> None:
    assert sum(account(count, [7, 8, 9]).lost.values()) == lost


def test_whoever_is_dead_waits_or_comes_out_of_order_is_named() -> None:
    publishers = [
        PublisherStory(name="dead", topic=TOPIC, stored=frozenset(), dead=True, errors={"AlreadyClosed": 1}),
        PublisherStory(name="waits", topic=TOPIC, stored=frozenset({1}), unanswered=2, gap_s=4.5),
    ]
    receiver = ReceiverStory(topic=TOPIC, subscription="s", came={("waits", 1): 1}, disordered=3)
    found = take_account(publishers, [receiver])
    assert (found.dead, dict(found.unanswered), dict(found.disordered)) == (("dead",), {"waits": 2}, {"t s": 3})
    assert not found.unharmed
    assert str(found) == (
        "published 1, delivered 1, lost 0, doubled 0, out of order 3, clients lost 1, longest gap 4.5 s"
    )
