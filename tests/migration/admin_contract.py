"""What a migration relies on of the admin API: one suite, which the simulated clusters pass as real ones do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Final

import pytest

from syncer.admin.calls import AdminCalls, AdminRefused, topic_url
from syncer.errors import AdminUnreachable
from syncer.migration.evidence import ClusterUrls, StatsAnswer, TopicSeen
from syncer.migration.reading import forms
from syncer.migration.reading.cluster import read_cluster
from syncer.migration.reading.topics import read_topic
from syncer.migration.running.clock import Clock
from syncer.migration.topics import TopicState, state_of
from syncer.waiting import WAIT_S

GATE: Final = {"limitSize": 0, "limitTime": -1, "policy": "producer_request_hold"}
_PATIENCE_S: Final = WAIT_S
_FAILED: Final = 500
_LOOK_S: Final = 0.2


class MigrationWorld(ABC):
    """Blue and green, and a namespace that both have and nobody else uses.

    Attributes:
        name: Of blue, as it calls itself.
        green_urls: Where clients go.
        namespace: ``tenant/namespace``.
    """

    name: str
    blue: AdminCalls
    clock: Clock
    green_urls: ClusterUrls
    namespace: str

    @abstractmethod
    async def publish(self, topic: str, count: int) -> None:
        """Publish at least so many messages to a topic of blue, each an entry, and no more when this returns."""

    def topic(self, name: str) -> str:
        """A topic's full name."""
        return f"persistent://{self.namespace}/{name}"

    async def seen(self, topic: str, holds: Callable[[TopicSeen], bool]) -> TopicSeen:
        """Look at a topic of blue until something holds of it; a broker that is deleting it may answer 500."""
        deadline = self.clock.now_ms() + _PATIENCE_S * 1000
        while True:
            found: TopicSeen | AdminRefused
            try:
                found = await read_topic(self.blue, topic, load=True)
            except AdminRefused as exc:
                if exc.status != _FAILED:
                    raise
                found = exc
            else:
                if holds(found):
                    return found
            assert self.clock.now_ms() < deadline, found
            await self.clock.sleep(_LOOK_S)


class AdminContract:
    """The suite; a subclass gives the fixture ``world``."""

    async def test_a_policy_of_a_topics_own_is_set_read_and_taken_away(self, world: MigrationWorld) -> None:
        topic = world.topic("policy")
        await world.blue.create_topic(topic)
        assert await world.blue.topic_policy(topic, "publishRate") is None
        rate = {"publishThrottlingRateInMsg": -1, "publishThrottlingRateInByte": 40}
        await world.blue.set_topic_policy(topic, "publishRate", rate)
        assert await world.blue.topic_policy(topic, "publishRate") == rate
        await world.blue.remove_topic_policy(topic, "publishRate")
        assert await world.blue.topic_policy(topic, "publishRate") is None

    async def test_a_quota_of_nothing_is_taken_and_read_back(self, world: MigrationWorld) -> None:
        topic = world.topic("gate")
        await world.blue.create_topic(topic)
        await world.blue.set_topic_policy(topic, "backlogQuota", GATE)
        quotas = await world.blue.topic_policy(topic, "backlogQuotaMap")
        told = {key: quotas["destination_storage"][key] for key in GATE}
        assert (list(quotas), told) == (["destination_storage"], GATE)
        await world.blue.remove_topic_policy(topic, "backlogQuota")
        assert not await world.blue.topic_policy(topic, "backlogQuotaMap")

    async def test_a_mark_closes_a_loaded_topic_where_it_was_and_leaves_what_was_not_read(
        self, world: MigrationWorld
    ) -> None:
        topic = world.topic("unread")
        await world.blue.create_topic(topic)
        assert await world.blue.create_subscription_at_earliest(topic, "idle", properties={"team": "billing"})
        await world.publish(topic, 5)
        before = await world.seen(topic, lambda seen: seen.flow is not None and not seen.flow.pending_adds)
        assert (state_of(before), before.answer) == (TopicState.OPEN, StatsAnswer.LOADED)
        assert before.flow is not None
        backlog = before.subscriptions["idle"].backlog
        assert backlog >= 5
        assert before.subscriptions["idle"].properties == {"team": "billing"}

        await world.blue.mark_namespace(world.namespace, migrated=True)
        after = await world.seen(topic, lambda seen: seen.ledger is not None and seen.ledger.migrated)
        assert after.ledger is not None
        assert after.ledger.terminated == before.flow.last
        assert (state_of(after), after.subscriptions["idle"].backlog) == (TopicState.DRAINING, backlog)

        await world.blue.unload_namespace(world.namespace)
        stranded = await world.seen(topic, lambda seen: seen.answer is not StatsAnswer.LOADED)
        assert (state_of(stranded), stranded.answer) == (TopicState.STRANDED, StatsAnswer.MIGRATED)

        await world.blue.mark_namespace(world.namespace, migrated=False)
        healed = await world.seen(topic, lambda seen: seen.answer is StatsAnswer.LOADED)
        assert healed.subscriptions["idle"].backlog == backlog

    async def test_a_drained_topic_goes_with_its_subscriptions(self, world: MigrationWorld) -> None:
        topic = world.topic("drained")
        await world.blue.create_topic(topic)
        await world.blue.create_subscription_at_earliest(topic, "idle")
        await world.seen(topic, lambda seen: "idle" in seen.subscriptions)
        await world.blue.mark_namespace(world.namespace, migrated=True)
        gone = await world.seen(topic, lambda seen: not seen.subscription_names)
        assert state_of(gone) in {TopicState.REDIRECTED, TopicState.GONE}
        await world.blue.mark_namespace(world.namespace, migrated=False)

    async def test_a_cluster_is_read_with_its_mark_and_what_is_in_a_namespace(self, world: MigrationWorld) -> None:
        await world.blue.create_partitions(world.topic("parts"), 2)
        await world.blue.create_topic(world.topic("plain"))
        await world.blue.create_subscription_at_earliest(world.topic("plain"), "idle", replicated=True)
        for load in (False, True):
            seen = await read_cluster(
                world.blue,
                urls=ClusterUrls(),
                namespaces=[world.namespace, "nobody/none"],
                now_ms=world.clock.now_ms(),
                load=load,
            )
            assert (seen.name, [each.version for each in seen.brokers]) == (world.name, ["4.0.8"])
            assert (seen.brokers[0].settings or {})["clusterMigrationCheckDurationSeconds"] == "2"
            assert seen.mark is not None
            assert (seen.mark.migrated, seen.mark.target) == (False, world.green_urls)
            assert world.name in seen.clusters
            assert (seen.functions_worker, seen.transactions) == (False, False)
            there = seen.namespaces[world.namespace]
            assert set(seen.namespaces) == {world.namespace}
            assert not there.marked
            assert there.partitions == {world.topic("parts"): 2}
            assert set(there.topics) >= {world.topic("parts-partition-0"), world.topic("plain")}
            assert there.topics[world.topic("plain")].subscription_names == {"idle"}
        assert there.topics[world.topic("plain")].subscriptions["idle"].replicated

    async def test_partitions_that_are_missed_are_made_and_the_others_stay(self, world: MigrationWorld) -> None:
        parts, lost = world.topic("gaps"), world.topic("gaps-partition-1")
        await world.blue.create_partitions(parts, 2)
        await world.blue.create_subscription_at_earliest(world.topic("gaps-partition-0"), "s")
        await world.blue.delete_topic(lost, force=True)
        for _ in range(2):
            await world.blue.send("POST", f"{topic_url(parts)}/createMissedPartitions")
            assert lost in await world.blue.topics(world.namespace)
        assert "s" in (await read_topic(world.blue, world.topic("gaps-partition-0"), load=True)).subscription_names

    async def test_a_dynamic_setting_is_set_and_taken_away(self, world: MigrationWorld) -> None:
        key = "loadBalancerSheddingEnabled"
        await world.blue.set_dynamic(key, "false")
        assert (await world.blue.dynamic_settings())[key] == "false"
        await world.blue.remove_dynamic(key)
        assert key not in await world.blue.dynamic_settings()
        with pytest.raises(AdminRefused) as caught:
            await world.blue.set_dynamic("clusterMigrationCheckDurationSeconds", "2")
        assert caught.value.status == 412

    async def test_what_is_not_there_is_none_and_what_is_there_is_not_made_again(self, world: MigrationWorld) -> None:
        topic = world.topic("once")
        assert await world.blue.stats(topic) is None
        assert (await read_topic(world.blue, topic, load=True)).answer is StatsAnswer.ABSENT
        await world.blue.create_topic(topic)
        assert await world.blue.create_subscription_at_earliest(topic, "s")
        assert not await world.blue.create_subscription_at_earliest(topic, "s")
        for again in (world.blue.create_topic(topic), world.blue.create_namespace(world.namespace, {})):
            with pytest.raises(AdminRefused) as caught:
                await again
            assert caught.value.status == 409

    async def test_a_namespace_that_nobody_has_looked_up_is_marked_at_once(self, world: MigrationWorld) -> None:
        began = world.clock.now_ms()
        for migrated in (True, False):
            await world.blue.mark_namespace(world.namespace, migrated=migrated)
            told = await world.blue.namespace(world.namespace)
            assert told is not None
            assert forms.marked(world.namespace, told) is migrated
        with pytest.raises(AdminRefused) as caught:
            await world.blue.mark_namespace("nobody/none", migrated=True)
        assert caught.value.status == 404
        assert world.clock.now_ms() - began < 5_000

    async def test_a_mark_without_a_look_up_may_stop_the_brokers_metadata(self, world: MigrationWorld) -> None:
        began = world.clock.now_ms()
        with pytest.raises((AdminRefused, AdminUnreachable)):
            await world.blue.send("POST", f"/admin/v2/namespaces/{world.namespace}-none/migration", True)
        assert world.clock.now_ms() - began >= 10_000
        await world.clock.sleep(25)
