"""How far a topic is, by what its cluster shows."""

from __future__ import annotations

import pytest

from syncer.migration.evidence import ClientSeen, Flow, LedgerSeen, StatsAnswer, SubscriptionSeen, TopicSeen
from syncer.migration.topics import Rollback, TopicState, rollback_of, rollback_of_all, state_of
from syncer.replacing import replace

NAME = "persistent://acme/orders/created"
OPEN = LedgerSeen(terminated=None, migrated=False)
CLOSED = LedgerSeen(terminated="7:41", migrated=False, cursors={"audit": "7:41"})
MARKED = replace(CLOSED, migrated=True)
LEFT = replace(MARKED, cursors={"audit": "7:40"})
FLOW = Flow(entries_added=9, pending_adds=0, last="7:41", ledger_state="LedgerOpened", entries=9, size_bytes=900)
SHUT = replace(FLOW, ledger_state="Terminated")
PRODUCER = ClientSeen(name="east-0-1", address="/127.0.0.1:1", version="Pulsar-Java-v4.0.8")
READ = SubscriptionSeen(kind="Shared", backlog=0)
BEHIND = SubscriptionSeen(kind="Shared", backlog=3)


def topic(
    ledger: LedgerSeen | None, answer: StatsAnswer = StatsAnswer.LOADED, flow: Flow | None = FLOW, **more: object
) -> TopicSeen:
    return TopicSeen(name=NAME, ledger=ledger, answer=answer, flow=flow, **more)  # type: ignore[arg-type]


CASES = [
    ("it takes messages", topic(OPEN, producers=(PRODUCER,)), TopicState.OPEN),
    ("nobody asked whether it is loaded", topic(OPEN, StatsAnswer.UNASKED, None), TopicState.OPEN),
    ("another rate than ours", topic(OPEN, publish_rate=7), TopicState.OPEN),
    ("our rate", topic(OPEN, publish_rate=166), TopicState.BRAKED),
    ("in the window", topic(OPEN, flow=SHUT), TopicState.TERMINATED),
    ("closed, the mark not finished", topic(CLOSED, flow=SHUT), TopicState.TERMINATED),
    ("marked, a producer still there", topic(MARKED, flow=SHUT, producers=(PRODUCER,)), TopicState.TERMINATED),
    ("something is left to read", topic(MARKED, flow=SHUT, subscriptions={"audit": BEHIND}), TopicState.DRAINING),
    ("one of two has read all", topic(MARKED, flow=SHUT, subscriptions={"a": READ, "b": BEHIND}), TopicState.DRAINING),
    ("all is read", topic(MARKED, flow=SHUT, subscriptions={"audit": READ}), TopicState.DRAINED),
    ("nobody is there", topic(MARKED, flow=SHUT), TopicState.REDIRECTED),
    ("refused, and all was read", topic(MARKED, StatsAnswer.MIGRATED, None), TopicState.REDIRECTED),
    ("refused, and something is left", topic(LEFT, StatsAnswer.MIGRATED, None), TopicState.STRANDED),
    ("refused, and it was never closed", topic(OPEN, StatsAnswer.MIGRATED, None), TopicState.STRANDED),
    ("not asked, all was read", topic(MARKED, StatsAnswer.UNASKED, None), TopicState.REDIRECTED),
    ("not asked, something may be left", topic(LEFT, StatsAnswer.UNASKED, None), TopicState.UNKNOWN),
    ("the broker could not tell", topic(MARKED, StatsAnswer.FAILED, None, subscriptions={}), TopicState.REDIRECTED),
    ("the broker could not tell of a closed one", topic(CLOSED, StatsAnswer.FAILED, None), TopicState.UNKNOWN),
    ("deleted", topic(None, StatsAnswer.ABSENT, None), TopicState.GONE),
    ("deleted, not asked", topic(None, StatsAnswer.UNASKED, None), TopicState.GONE),
    ("no ledger, and the broker could not tell", topic(None, StatsAnswer.FAILED, None), TopicState.UNKNOWN),
]


@pytest.mark.parametrize(("seen", "state"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_a_topic_is_where_its_cluster_shows_it(seen: TopicSeen, state: TopicState) -> None:
    assert state_of(seen, brake=166) is state


def test_without_a_brake_of_ours_no_rate_is_one() -> None:
    assert state_of(topic(OPEN, publish_rate=166)) is TopicState.OPEN


def test_a_topic_that_stays_in_the_window_is_fenced() -> None:
    assert state_of(topic(OPEN, flow=SHUT), window_over=True) is TopicState.FENCED
    waits = replace(SHUT, pending_adds=2)
    assert state_of(topic(MARKED, flow=waits), window_over=True) is TopicState.FENCED
    assert state_of(topic(MARKED, flow=waits, producers=(PRODUCER,))) is TopicState.TERMINATED


@pytest.mark.parametrize("state", TopicState)
def test_only_what_was_not_closed_can_be_taken_back(state: TopicState) -> None:
    whole = {TopicState.OPEN, TopicState.BRAKED}
    unsure = {TopicState.UNKNOWN, TopicState.STRANDED}
    wanted = Rollback.YES if state in whole else Rollback.PARTLY if state in unsure else Rollback.NO
    assert rollback_of(state) is wanted


def test_a_wave_can_be_taken_back_as_far_as_its_topics_can() -> None:
    assert rollback_of_all([]) is Rollback.YES
    assert rollback_of_all([TopicState.OPEN, TopicState.BRAKED]) is Rollback.YES
    assert rollback_of_all([TopicState.GONE, TopicState.DRAINING]) is Rollback.NO
    assert rollback_of_all([TopicState.OPEN, TopicState.DRAINING]) is Rollback.PARTLY
