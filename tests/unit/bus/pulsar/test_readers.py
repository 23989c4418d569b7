"""Who reads by a subscription is told by the names of its consumers, and a redirected client by what is gone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from syncer.bus.pulsar.readers import Readers, consumer_name

TOPIC = "persistent://a/b/c"


def told(*consumers: str) -> Mapping[str, Any]:
    found = {"msgBacklog": 0, "consumers": [{"consumerName": name} for name in consumers]}
    return {"subscriptions": {"mine": found, "other": {"consumers": [{"consumerName": "north-1"}]}}}


def trouble(readers: Readers, stats: Mapping[str, Any], *, connected: bool = True) -> str:
    readers.look(stats, connected=connected)
    found = readers.trouble
    return "" if found is None else found.message


def test_consumers_of_the_own_region_are_no_others() -> None:
    readers = Readers(TOPIC, "mine", "us-east")
    assert readers.trouble is None
    assert trouble(readers, told()) == ""
    assert trouble(readers, told(consumer_name("us-east", 1), consumer_name("us-east", 255))) == ""


def test_other_regions_are_named_as_long_as_they_read() -> None:
    readers = Readers(TOPIC, "mine", "us")
    mine, theirs = consumer_name("us", 1), consumer_name("us-east", 2)
    assert trouble(readers, told(mine, theirs, "somebody")) == (
        "somebody, us-east also reads by subscription 'mine' of persistent://a/b/c"
    )
    assert trouble(readers, told(mine)) == ""


def test_a_client_that_reads_on_where_nothing_is_was_redirected_for_good() -> None:
    readers = Readers(TOPIC, "mine", "east")
    assert trouble(readers, {}) == ""
    assert "redirected" in trouble(readers, {"subscriptions": {}})
    assert readers.redirected
    assert "redirected" in trouble(readers, told(consumer_name("east", 1)), connected=False)


def test_one_look_is_not_enough_and_without_a_connection_nothing_is_known() -> None:
    readers = Readers(TOPIC, "mine", "east")
    for connected in (True, False, True):
        assert trouble(readers, {}, connected=connected) == ""
    assert trouble(readers, told(consumer_name("east", 1))) == ""
    assert trouble(readers, {}) == ""
    assert not readers.redirected
