"""Figures of a report: what was counted, and a loss of none only where it can be known."""

from __future__ import annotations

from typing import Any

import pytest

from syncer.migration.reporting.reckoning import lost_of, subscriptions_of
from tests.unit.migration.pictures import NAMESPACE, TOPIC
from tests.unit.migration.reporting.samples import STILL, T0, happened, tallied, whole


def test_a_subscription_is_followed_from_blue_to_green() -> None:
    audit, empty = subscriptions_of(whole())
    assert (audit.subscription, audit.backlog_at_mark, audit.read_at_blue) == ("audit", 4, 4)
    assert (audit.stored_at_green, audit.read_at_green, audit.consumers_at_green) == (20, 17, 2)
    assert audit.drained_at_ms == T0 + 8_000
    assert (empty.backlog_at_mark, empty.drained_at_ms, empty.stored_at_green) == (0, T0 + 3_000, None)


def test_a_subscription_may_be_drained_before_its_topic_and_another_later() -> None:
    both = {"last": {}, "backlog": {TOPIC: {"a": 1, "b": 1, "c": 1}}, "mark_by_ms": 0}
    emptied = ("drained", {"topics": [], "subscriptions": [[TOPIC, "a"]]})
    whole_topic = ("drained", {"topics": [TOPIC], "subscriptions": []})
    found = subscriptions_of(happened(("still", both), emptied, whole_topic, whole_topic))
    assert [each.drained_at_ms for each in found] == [T0 + 2_000, T0 + 3_000, T0 + 3_000]


@pytest.mark.parametrize(("stored", "read"), [(3, 0), (2, None), (None, None)])
def test_a_counter_that_began_anew_tells_nothing(stored: int | None, read: int | None) -> None:
    (audit,) = subscriptions_of(happened(tallied(stored=stored)))
    assert (audit.backlog_at_mark, audit.read_at_blue, audit.read_at_green) == (None, None, read)


def test_what_blue_still_holds_is_not_counted_as_read() -> None:
    found = subscriptions_of(happened(("still", STILL), tallied(read_at_blue=False)))
    assert [each.read_at_blue for each in found] == [None, None]


def test_nothing_is_lost_where_blue_is_read_to_an_end_that_has_not_moved() -> None:
    for ends_at in ("7:41", None):
        lost = lost_of((NAMESPACE,), happened(tallied(ends_at="7:50"), tallied(ends_at=ends_at)))
        assert lost.count == 0
        assert "skipped, cleared or has expired counts as read" in lost.basis


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"read_at_blue": False}, "not read to its end"),
        ({"closed_at": None}, "was not noted"),
        ({"ends_at": "7:50"}, "closed at 7:41, and ends at 7:50"),
        ({"lacking": ["audit"]}, "green lacks audit"),
    ],
)
def test_a_loss_that_cannot_be_ruled_out_is_not_denied(change: dict[str, Any], words: str) -> None:
    lost = lost_of((NAMESPACE,), happened(tallied(**change)))
    assert lost.count is None
    assert words in lost.basis


def test_nothing_is_claimed_before_it_was_verified() -> None:
    lost = lost_of((NAMESPACE, "acme/other"), happened(tallied()))
    assert lost.count is None
    assert "not verified yet: acme/other" in lost.basis


def test_the_last_standstill_counts() -> None:
    def still(backlog: int) -> tuple[str, dict[str, Any]]:
        return "still", {"last": {}, "backlog": {TOPIC: {"a": backlog}}, "mark_by_ms": 0}

    drained = ("drained", {"topics": [TOPIC], "subscriptions": []})
    (found,) = subscriptions_of(happened(still(5), still(0), drained))
    assert (found.backlog_at_mark, found.drained_at_ms) == (0, T0 + 2_000)
