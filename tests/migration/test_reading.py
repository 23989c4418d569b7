"""Both simulated clusters are read as they are, in every phase of a migration."""

from __future__ import annotations

from random import Random

import pytest

from syncer.admin.calls import AdminCalls, AdminRefused
from syncer.errors import AdminError, AdminUnreachable
from syncer.migration.checks import resources
from syncer.migration.checks.finding import ClusterPair
from syncer.migration.evidence import ClusterSeen, Mark, NamespaceSeen, StatsAnswer, TopicSeen
from syncer.migration.reading.cluster import read_cluster
from syncer.migration.reading.namespaces import read_namespace
from syncer.migration.reading.topics import read_topic
from syncer.migration.scope import MigrationBounds, MigrationScope
from syncer.migration.topics import TopicState, state_of
from syncer.model import Millis
from syncer.replacing import replace
from tests.migration import truth
from tests.migration.calls import SimulatedCalls
from tests.migration.clusters.broker import BrokerSettings
from tests.migration.clusters.cluster import Cluster
from tests.migration.clusters.consumer import SubscriptionWish
from tests.migration.clusters.pair import ClusterPairPlay
from tests.migration.clusters.process import Library
from tests.migration.clusters.producer import SimTraffic
from tests.migration.clusters.subscription import SubscriptionKind
from tests.migration.plays import LONG, NAMESPACE, NamespacePlay, SimTopic, topic
from tests.migration.rest import AdminApi
from tests.migration.rest_faults import ROUGH, FaultyApi, RestFaults

pytestmark = pytest.mark.anyio
NOW = Millis(1_790_000_000_000)
ONE = (SimTopic(name="one", producers=(SimTraffic(every_ms=200),), kinds=(SubscriptionKind.SHARED,)),)
NAME = topic("one")
BACKLOG = "backlog"
PATH = f"/admin/v2/{NAME.replace('://', '/')}"
MANY = 10_000 if LONG else 1_500


async def read(cluster: Cluster, *, load: bool = False, calls: AdminCalls | None = None) -> ClusterSeen:
    return await read_cluster(
        calls or SimulatedCalls(AdminApi(cluster)),
        urls=truth.urls(cluster.urls),
        namespaces=[NAMESPACE, "acme/none"],
        now_ms=NOW,
        load=load,
    )


async def read_one(play: NamespacePlay, *, load: bool = True) -> TopicSeen:
    return await read_topic(SimulatedCalls(play.api), NAME, load=load)


def quiet(play: NamespacePlay) -> NamespacePlay:
    """Nobody publishes any more, and all that has consumers is read."""
    for producer in play.producers:
        producer.stop()
    play.timeline.run(3_000)
    return play


def with_backlog(settings: BrokerSettings | None = None) -> NamespacePlay:
    """A topic whose subscription ``backlog`` nobody reads."""
    play = NamespacePlay(0, ONE, settings=settings or BrokerSettings(deadlocks=0.0))
    play.call("PUT", f"{PATH}/subscription/{BACKLOG}", {"ledgerId": -1, "entryId": -1, "properties": {"team": "ops"}})
    play.timeline.run(2_000)
    return play


def reader(play: NamespacePlay, *, work_ms: int = 0) -> None:
    play.add_consumer(play.process(Library.JAVA), NAME, "late", SubscriptionWish(name=BACKLOG), work_ms=work_ms)


# Whole clusters


@pytest.mark.parametrize("brokers", [1, 2])
async def test_both_clusters_are_read_as_they_are(brokers: int) -> None:
    play = quiet(NamespacePlay(0, brokers=brokers))
    for cluster, other in ((play.blue, play.green), (play.green, play.blue)):
        seen = await read(cluster)
        assert seen.name == cluster.name
        assert [each.address for each in seen.brokers] == [each.address for each in cluster.brokers]
        assert all(each.settings and each.version == "4.0.8" for each in seen.brokers)
        assert seen.clusters == {each.name: truth.urls(each.urls) for each in (cluster, other)}
        assert seen.tenants["acme"].allowed_clusters == {"blue", "green"}
        assert (seen.functions_worker, seen.transactions) == (False, False)
        assert seen.namespaces == {NAMESPACE: truth.namespace(cluster, NAMESPACE, load=False)}
    assert (await read(play.blue)).mark == Mark(migrated=False, target=truth.urls(play.green.urls))
    assert (await read(play.green)).mark is None


async def test_clients_of_a_busy_cluster_are_seen() -> None:
    play = NamespacePlay(0, brokers=2)
    there = (await read(play.blue)).namespaces[NAMESPACE]
    assert all(each.answer is StatsAnswer.LOADED for each in there.topics.values())
    assert {each.name for topic in there.topics.values() for each in topic.producers} == {
        each.name for each in play.producers
    }
    consumers = [
        each for topic in there.topics.values() for sub in topic.subscriptions.values() for each in sub.consumers
    ]
    assert sorted(each.name for each in consumers) == sorted(each.name for each in play.consumers)


async def test_partitions_schemas_and_own_policies_are_read() -> None:
    play = quiet(NamespacePlay(0, brokers=2))
    parted = topic("parted")
    play.call("PUT", f"/admin/v2/{parted.replace('://', '/')}/partitions", 3)
    play.set(parted, "publishRate", {"publishThrottlingRateInMsg": -1, "publishThrottlingRateInByte": 70})
    play.set(topic("plain"), "retention", {"retentionTimeInMinutes": 5, "retentionSizeInMB": -1})
    play.call("POST", f"/admin/v2/schemas/{NAMESPACE}/plain/schema", {"type": "STRING", "data": "", "properties": {}})
    seen = (await read(play.blue)).namespaces[NAMESPACE]
    assert seen == truth.namespace(play.blue, NAMESPACE, load=False)
    assert seen.topics[f"{parted}-partition-2"].publish_rate == 70
    assert set(seen.topic_policies) == {parted, topic("plain")}


async def test_a_functions_worker_beside_the_brokers_is_known_by_its_topics() -> None:
    play = NamespacePlay(0)
    play.add_namespace("public/functions")
    play.add_topic("persistent://public/functions/metadata")
    assert (await read(play.blue)).functions_worker


async def test_a_mark_under_a_wrong_name_does_not_keep_a_cluster_from_being_read() -> None:
    play = NamespacePlay(0)
    play.call("POST", "/admin/v2/clusters/nowhere/migrate?migrated=true", {})
    assert set((await read(play.blue)).clusters) == {"blue", "green"}


async def test_dynamic_settings_and_brokers_that_run_are_read() -> None:
    play = NamespacePlay(0, brokers=2)
    play.call("POST", "/admin/v2/brokers/configuration/loadBalancerSheddingEnabled/false")
    play.blue.brokers[1].stop()
    seen = await read(play.blue)
    assert seen.dynamic == {"loadBalancerSheddingEnabled": "false"}
    assert [each.address for each in seen.brokers] == ["blue-0:8080"]
    assert (seen.brokers[0].settings or {})["loadBalancerSheddingEnabled"] == "false"


# Loaded or not


async def test_what_is_not_loaded_is_loaded_only_where_it_is_wanted() -> None:
    play = quiet(NamespacePlay(0, brokers=2))
    play.blue.unload(NAMESPACE)
    before = truth.namespace(play.blue, NAMESPACE, load=False)
    cold = (await read(play.blue)).namespaces[NAMESPACE]
    play.process(Library.JAVA)
    names = {name: each.subscription_names for name, each in before.topics.items()}
    assert {name: each.subscription_names for name, each in cold.topics.items()} == names
    warm = (await read(play.blue, load=True)).namespaces[NAMESPACE]
    assert all(each.answer is StatsAnswer.LOADED for each in warm.topics.values())
    assert {name: each.subscription_names for name, each in warm.topics.items()} == names


async def test_idle_topics_stay_unloaded() -> None:
    play = NamespacePlay(0, (SimTopic(name="idle", producers=(), kinds=()),))
    assert not play.blue.loaded(NAMESPACE)
    assert (await read(play.blue)).namespaces[NAMESPACE] == truth.namespace(play.blue, NAMESPACE, load=False)
    assert not play.blue.loaded(NAMESPACE)
    seen = (await read(play.blue, load=True)).namespaces[NAMESPACE]
    assert seen == truth.namespace(play.blue, NAMESPACE, load=True)
    assert len(play.blue.loaded(NAMESPACE)) == 1


async def test_green_lacks_a_subscription_though_neither_cluster_has_its_topic_loaded() -> None:
    play = ClusterPairPlay(0)
    play.add_namespace(NAMESPACE)
    play.add_topic(NAME, "audit", "billing")
    del play.green.ledgers[NAME].cursors["billing"]
    blue, green = await read(play.blue), await read(play.green)
    pair = ClusterPair(scope=MigrationScope(canary=(NAMESPACE,)), bounds=MigrationBounds(), blue=blue, green=green)
    findings = [finding for check in resources.CHECKS if check.name == "subscriptions" for finding in check.look(pair)]
    assert [finding.subject for finding in findings] == [f"{NAME}, subscription billing"]


# Phases of a topic


async def test_a_braked_topic_has_its_rate() -> None:
    play = with_backlog()
    play.set(NAME, "publishRate", {"publishThrottlingRateInMsg": -1, "publishThrottlingRateInByte": 40})
    seen = (await read(play.blue)).namespaces[NAMESPACE].topics[NAME]
    assert seen.publish_rate == 40
    assert state_of(seen, brake=40) is TopicState.BRAKED
    assert state_of(await read_one(play), brake=40) is TopicState.OPEN


async def test_in_the_window_the_ledger_is_closed_and_the_store_knows_nothing_of_it() -> None:
    play = with_backlog()
    play.mark()
    loaded = play.blue.topic(NAME)
    assert loaded is not None
    assert play.timeline.until(lambda: loaded.terminated, within_ms=5_000, every_ms=5)
    seen = await read_one(play)
    assert not loaded.migrated
    assert seen.flow is not None
    assert seen.flow.ledger_state == "Terminated"
    assert seen.ledger is not None
    assert seen.ledger.terminated is None
    assert state_of(seen) is TopicState.TERMINATED


async def test_a_migrated_topic_drains_and_is_left() -> None:
    play = with_backlog()
    play.mark()
    assert play.wait_migrated()
    play.timeline.run(3_000)
    seen = await read_one(play)
    assert seen == truth.topic(play.blue, NAME, load=True)
    assert seen.subscriptions[BACKLOG].backlog > 0
    assert seen.subscriptions[BACKLOG].properties == {"team": "ops"}
    assert state_of(seen) is TopicState.DRAINING
    reader(play)
    play.timeline.run(5_000)
    seen = await read_one(play)
    assert seen == truth.topic(play.blue, NAME, load=True)
    assert state_of(seen) is TopicState.REDIRECTED


async def test_a_consumer_of_a_drained_subscription_is_seen_until_it_leaves() -> None:
    play = with_backlog()
    reader(play)
    play.timeline.run(2_000)
    play.mark()
    states = []
    for _ in range(120):
        play.timeline.run(50)
        seen = await read_one(play)
        states.append(state_of(seen))
    assert states[-1] is TopicState.REDIRECTED
    assert set(states) <= {
        TopicState.OPEN,
        TopicState.TERMINATED,
        TopicState.DRAINING,
        TopicState.DRAINED,
        TopicState.REDIRECTED,
    }


async def test_a_stranded_topic_tells_what_it_holds() -> None:
    play = quiet(with_backlog())
    play.mark()
    play.blue.unload(NAMESPACE)
    play.timeline.run(200)
    for load in (True, False):
        seen = (await read(play.blue, load=load)).namespaces[NAMESPACE]
        assert seen == truth.namespace(play.blue, NAMESPACE, load=load)
        assert seen.marked
    stranded = await read_one(play)
    assert stranded.answer is StatsAnswer.MIGRATED
    assert stranded.subscription_names == {BACKLOG, "Shared"}
    assert state_of(stranded) is TopicState.STRANDED


async def test_a_topic_that_was_drained_and_then_unloaded_holds_nothing() -> None:
    play = with_backlog()
    play.mark()
    assert play.wait_migrated()
    reader(play)
    play.timeline.run(5_000)
    play.blue.unload(NAMESPACE)
    assert state_of(await read_one(play)) is TopicState.REDIRECTED


async def test_an_idle_topic_that_was_loaded_again_and_read_holds_nothing() -> None:
    """Each load begins a ledger without entries; its cursors stand at the end of an earlier one."""
    play = quiet(with_backlog())
    reader(play)
    play.timeline.run(2_000)
    play.call("PUT", f"{PATH}/unload")
    play.timeline.run(2_000)
    play.mark()
    assert play.wait_migrated()
    seen = await read_one(play)
    assert seen.ledger is not None
    assert seen.ledger.terminated is not None
    assert seen.ledger.terminated.endswith(":-1")
    assert seen.ledger.drained


async def test_a_deleted_topic_is_gone() -> None:
    play = NamespacePlay(0, (SimTopic(name="one", producers=(), kinds=()),), settings=BrokerSettings(gc_s=5))
    play.ask(NAME, "stats")
    play.timeline.run(15_000)
    assert (await read(play.blue, load=True)).namespaces[NAMESPACE].topics == {}
    for load in (True, False):
        assert state_of(await read_one(play, load=load)) is TopicState.GONE


# Faults, and many topics


def as_told(seen: NamespaceSeen, calm: NamespaceSeen) -> NamespaceSeen:
    """What was read in calm, with what the faulty API did not tell taken out."""
    topics = {}
    for name, whole in calm.topics.items():
        told = seen.topics[name]
        if told.answer is StatsAnswer.FAILED:
            topics[name] = TopicSeen(
                name=name, ledger=whole.ledger, answer=StatsAnswer.FAILED, publish_rate=whole.publish_rate
            )
        else:
            topics[name] = replace(whole, flow=whole.flow if told.flow else None)
    return replace(calm, topics=topics)


async def test_faults_make_errors_or_gaps_and_nothing_else() -> None:
    read_well = gaps = failed = 0
    for seed in range(60):
        play = quiet(NamespacePlay(0))
        calm = truth.namespace(play.blue, NAMESPACE, load=False)
        loaded = frozenset(calm.topics)
        calls = SimulatedCalls(FaultyApi(play.blue, Random(seed), ROUGH))
        try:
            seen = await read_namespace(calls, play.blue.name, NAMESPACE, loaded=loaded, load=False)
        except AdminError:
            failed += 1
            continue
        assert seen is not None
        assert seen == as_told(seen, calm)
        gaps += seen != calm
        read_well += seen == calm
    assert read_well > 0
    assert failed > 0
    assert gaps > 0


@pytest.mark.parametrize(
    ("faults", "error"),
    [
        (RestFaults(unknown=1.0), AdminRefused),
        (RestFaults(forbidden=1.0), AdminRefused),
        (RestFaults(silent_before=1.0), AdminUnreachable),
    ],
    ids=["401", "403", "silent"],
)
async def test_wrong_credentials_and_silence_are_errors(faults: RestFaults, error: type[AdminError]) -> None:
    play = NamespacePlay(0)
    with pytest.raises(error):
        await read(play.blue, calls=SimulatedCalls(FaultyApi(play.blue, Random(0), faults)))


async def test_what_was_read_does_not_depend_on_how_long_calls_take() -> None:
    pictures = []
    for seed in range(5):
        play = ClusterPairPlay(seed)
        play.add_namespace(NAMESPACE)
        for number in range(30):
            play.add_topic(topic(f"t-{number}"), "audit")
        for cluster in (play.blue, play.green):
            for number, ledger in enumerate(cluster.ledgers.values()):
                ledger.ledger_id = number
        pictures.append(await read(play.blue))
    assert all(each == pictures[0] for each in pictures)
    assert list(pictures[0].namespaces[NAMESPACE].topics) == sorted(pictures[0].namespaces[NAMESPACE].topics)


async def test_many_topics_are_read() -> None:
    play = ClusterPairPlay(0)
    play.add_namespace(NAMESPACE)
    for number in range(MANY):
        play.add_topic(topic(f"t-{number}"), "audit")
    seen = await read(play.blue)
    assert len(seen.namespaces[NAMESPACE].topics) == MANY
