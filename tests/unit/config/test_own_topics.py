"""The bus's own topics are known by their names, whatever cluster it is reached by."""

from __future__ import annotations

from typing import Any

from syncer.config.model import Config
from syncer.config.own_topics import own_topics

TOPIC = "persistent://pulsar-syncer/metadata/events"
LOCK = "persistent://pulsar-syncer/metadata-local/east-lock"


def topics_of(**bus: Any) -> frozenset[str]:
    store = {"kind": "sqlite", "path": "/s.db"}
    return own_topics(Config.model_validate({"region": "east", "store": store, "bus": bus}))


def test_the_topic_and_that_of_the_lock_are_the_bus() -> None:
    address = {"kind": "pulsar", "topic": TOPIC, "service_url": "pulsar://blue:6650"}
    assert topics_of(**address) == {TOPIC, LOCK}
    assert topics_of(**address, lock_topic="persistent://a/b/c") == {TOPIC, "persistent://a/b/c"}


def test_a_bus_of_another_kind_has_none() -> None:
    assert topics_of(kind="embedded", path="/b.db") == frozenset()
