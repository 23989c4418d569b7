"""What two looks at green tell: who has published nothing, and which subscription stands still."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncer.migration.evidence import ClientSeen, Flow, LedgerSeen, StatsAnswer, SubscriptionSeen, TopicSeen
from syncer.migration.soak import GreenLook, green_look, silent, standing

TOPIC = "persistent://acme/orders/created"
SOMEBODY = ClientSeen(name="a", address="/10.0.0.1:5000", version="Pulsar-Java-v4.0.8")
WAITS = SubscriptionSeen(kind="Shared", backlog=5, unacked=2, delayed=1, given=7, consumers=(SOMEBODY,))
FLOW = Flow(entries_added=9, pending_adds=0, last="3:8", ledger_state="LedgerOpened", entries=9, size_bytes=900)


def seen(subscriptions: Mapping[str, SubscriptionSeen], flow: Flow | None = FLOW) -> TopicSeen:
    return TopicSeen(
        name=TOPIC,
        ledger=LedgerSeen(terminated=None, migrated=False),
        answer=StatsAnswer.LOADED,
        flow=flow,
        producers=(SOMEBODY,),
        subscriptions=subscriptions,
    )


def look(subscription: SubscriptionSeen, flow: Flow | None = FLOW) -> GreenLook:
    return green_look([seen({"work": subscription}, flow)])


def test_consumers_that_are_given_nothing_while_something_waits_are_told() -> None:
    assert standing(look(WAITS), look(replace(WAITS, backlog=50))) == ((TOPIC, "work"),)


@pytest.mark.parametrize(
    "then",
    [
        pytest.param(replace(WAITS, given=8), id="it was given one"),
        pytest.param(replace(WAITS, given=0), id="its topic was loaded anew"),
        pytest.param(replace(WAITS, backlog=3), id="it holds all that is left"),
        pytest.param(replace(WAITS, delayed=3), id="nothing is due"),
        pytest.param(replace(WAITS, backlog=0, unacked=0, delayed=0), id="it has read all"),
        pytest.param(replace(WAITS, consumers=()), id="nobody is there to be given anything"),
    ],
)
def test_whoever_has_nothing_to_wait_for_stands_still_for_nobody(then: SubscriptionSeen) -> None:
    assert standing(look(WAITS), look(then)) == ()
    assert standing(look(then), look(WAITS)) == ()


def test_a_topic_whose_end_has_not_moved_is_silent_and_one_that_is_not_loaded_is_not_known_to_be() -> None:
    assert silent(look(WAITS), look(WAITS)) == (TOPIC,)
    assert silent(look(WAITS), look(WAITS, replace(FLOW, last="3:9"))) == ()
    assert silent(look(WAITS, None), look(WAITS)) == silent(look(WAITS), look(WAITS, None)) == ()


@given(
    st.builds(
        SubscriptionSeen,
        kind=st.just("Shared"),
        backlog=st.integers(0, 9),
        unacked=st.integers(0, 9),
        delayed=st.integers(0, 9),
        given=st.integers(0, 9),
        consumers=st.sampled_from([(), (SOMEBODY,)]),
    ),
    st.integers(1, 9),
)
def test_whoever_was_given_something_is_never_told(before: SubscriptionSeen, more: int) -> None:
    assert standing(look(before), look(replace(before, given=before.given + more))) == ()
