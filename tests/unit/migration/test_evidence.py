"""Evidence that is computed from what was read: closed ledgers, their cursors, and names of subscriptions."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from syncer.migration.evidence import LedgerSeen, StatsAnswer, TopicSeen, base_of, namespace_of
from tests.unit.migration.pictures import SUBSCRIPTION

EARLIER = {5: 10, 6: 0, 7: 0}


@pytest.mark.parametrize("name", ["created", "created-partition-3"])
def test_a_topic_tells_its_namespace_and_its_partitioned_topic(name: str) -> None:
    topic = f"persistent://acme/orders/{name}"
    assert namespace_of(topic) == "acme/orders"
    assert base_of(topic) == "persistent://acme/orders/created"


def closed(end: str, at: str | None, ledgers: Mapping[int, int | None] = EARLIER) -> bool:
    return LedgerSeen(terminated=end, migrated=True, cursors={"s": at}, ledgers=ledgers).drained


@pytest.mark.parametrize(
    ("end", "at", "drained"),
    [
        ("5:9", "5:9", True),
        ("5:9", "5:8", False),
        ("5:9", None, False),
        ("5:10", "5:9", False),
        ("7:-1", "7:-1", True),
        ("7:-1", "6:-1", True),
        ("7:-1", "5:9", True),
        ("7:-1", "5:8", False),
        ("7:3", "7:-1", False),
        ("10:-1", "9:99", True),
    ],
)
def test_a_cursor_behind_the_last_entry_is_drained(end: str, at: str, drained: bool) -> None:
    assert closed(end, at) is drained


def test_a_ledger_that_was_not_counted_is_not_taken_for_read() -> None:
    assert not closed("7:-1", "5:9", {5: None, 7: 0})
    assert closed("7:-1", "6:-1", {5: None, 7: 0})


def test_where_nothing_is_stored_everything_is_read() -> None:
    assert closed("7:-1", "3:4", {7: 0})


def test_what_has_yet_to_be_sent_to_another_cluster_is_not_drained() -> None:
    ledger = LedgerSeen(terminated="5:9", migrated=True, replicators={"north": "5:8"})
    assert not ledger.drained


def test_an_open_ledger_is_not_drained() -> None:
    assert not LedgerSeen(terminated=None, migrated=False).drained


def test_subscriptions_are_known_by_name_though_nothing_is_loaded() -> None:
    ledger = LedgerSeen(terminated=None, migrated=False, cursors={"stored": "5:9"})
    unasked = TopicSeen(name="persistent://t/n/x", ledger=ledger, answer=StatsAnswer.UNASKED)
    loaded = TopicSeen(
        name="persistent://t/n/x", ledger=ledger, answer=StatsAnswer.LOADED, subscriptions={"audit": SUBSCRIPTION}
    )
    gone = TopicSeen(name="persistent://t/n/x", ledger=None, answer=StatsAnswer.ABSENT)
    assert [each.subscription_names for each in (unasked, loaded, gone)] == [{"stored"}, {"audit"}, frozenset()]
