"""Scalable topics of a cluster whose own store is not watched: brokers are asked, and seldom."""

from __future__ import annotations

import math
from contextlib import closing
from typing import Any, cast

import pytest

from syncer.admin.scalable_answers import ScalableTold
from syncer.admin.scalable_topics import ScalableCount
from syncer.admin.version_probe import NobodyToAsk
from syncer.conflict.guards import Topics
from syncer.model import MetaPath, Region
from syncer.replication.local.topic_answers import TopicAnswers
from syncer.replication.runtime.engine_thread import DriverThread
from syncer.replication.runtime.environment import Environment, Timing
from syncer.replication.runtime.store_loop import StorePumps

pytestmark = pytest.mark.anyio

TOPIC = MetaPath("/admin/partitioned-topics/t/n/persistent/a")


class ForeignStore:
    """A driver whose store is no cluster's own."""

    store_kind = "zookeeper"
    store_foreign = True

    def __init__(self) -> None:
        self.topics = TopicAnswers()

    def note_scalable(self, found: Any) -> None:
        self.topics.scalable = found

    def note_scalable_told(self, count: ScalableCount | None) -> None:
        self.topics.told = count


class TellingBrokers(NobodyToAsk):
    """Brokers that answer as a test says."""

    asks = True

    def __init__(self) -> None:
        self.told = ScalableTold(trouble="nobody answers")
        self.asked = 0

    async def scalable(self) -> ScalableTold:
        self.asked += 1
        return self.told


async def test_brokers_are_asked_seldom_and_guards_do_not_rely_on_what_they_told() -> None:
    driver, brokers = ForeignStore(), TellingBrokers()
    with closing(DriverThread()) as thread:
        around = Environment(
            driver=cast("Any", driver),
            thread=thread,
            store=cast("Any", None),
            bus=cast("Any", None),
            probe=cast("Any", None),
            versions=brokers,
            region=Region("east"),
            timing=Timing(),
            version="1",
        )
        pumps = StorePumps(around)
        await pumps.look_for_scalable()
        await pumps.ask_for_scalable()
        assert (driver.topics.counted, brokers.asked) == (None, 1)
        brokers.told = ScalableTold(count=ScalableCount(total=2, namespaces={"t/n": 2}))
        await pumps.ask_for_scalable()
        assert brokers.asked == 1, "not again so soon"
        pumps._scalable_asked_at = -math.inf
        await pumps.ask_for_scalable()
        assert driver.topics.counted == brokers.told.count
        assert driver.topics.scalable_at(TOPIC) is Topics.NOT_ASKED
        pumps._scalable_asked_at, brokers.told = -math.inf, ScalableTold(trouble="nobody answers")
        await pumps.ask_for_scalable()
        assert driver.topics.counted is not None, "what was told before counts until they answer"
        pumps._scalable_asked_at, brokers.asks, asked = -math.inf, False, brokers.asked
        await pumps.ask_for_scalable()
        assert brokers.asked == asked
