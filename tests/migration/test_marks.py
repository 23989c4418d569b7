"""Marks, unloading and rollback, each as it was seen on real clusters."""

from __future__ import annotations

from typing import Any

import pytest

from syncer.migration.evidence import ClientSeen, LedgerSeen, StatsAnswer, SubscriptionSeen, TopicSeen
from syncer.migration.roll_call import added, call
from syncer.migration.topics import TopicState, state_of
from tests.migration.clusters.answers import Refusal
from tests.migration.clusters.broker import BrokerSettings
from tests.migration.clusters.cluster import Cluster
from tests.migration.clusters.consumer import Consumer, SubscriptionWish
from tests.migration.clusters.process import ClientState, Library
from tests.migration.clusters.producer import SimTraffic
from tests.migration.clusters.subscription import SubscriptionKind
from tests.migration.plays import BURSTS, CROWD, NAMESPACE, NamespacePlay, SimTopic, flip_as_is, flip_gated, topic
from tests.migration.rest import AdminApi
from tests.migration.rest_calls import NoAnswer

SLOW = SimTraffic(every_ms=200)
ONE = (SimTopic(name="one", producers=(SLOW,), kinds=(SubscriptionKind.SHARED,)),)
IDLE = (SimTopic(name="one", producers=(), kinds=()),)
NAME = topic("one")
BACKLOG = "backlog"
MARK = "/admin/v2/clusters/blue/migrate"


def path(what: str) -> str:
    return f"/admin/v2/{NAME.replace('://', '/')}/{what}"


def with_backlog(seed: int = 0, settings: BrokerSettings | None = None) -> NamespacePlay:
    """A topic whose subscription ``backlog`` nobody reads."""
    play = NamespacePlay(seed, ONE, settings=settings or BrokerSettings(deadlocks=0.0))
    play.call("PUT", path(f"subscription/{BACKLOG}"), {"ledgerId": -1, "entryId": -1})
    play.timeline.run(2_000)
    return play


def reader(play: NamespacePlay, name: str = "late") -> Consumer:
    return play.add_consumer(play.process(Library.JAVA), NAME, name, SubscriptionWish(name=BACKLOG))


def seen(cluster: Cluster) -> list[TopicSeen]:
    """The loaded topics and who is there, as the product reads it."""
    found = []
    told_by_broker = AdminApi(cluster).answer("GET", "/admin/v2/broker-stats/topics")[1]
    for bundle in told_by_broker.get(NAMESPACE, {}).values():
        for name, each in bundle["persistent"].items():
            producers = [
                ClientSeen(name=client["producerName"], address=client["address"], version=client["clientVersion"])
                for client in each["publishers"]
            ]
            subscriptions = {
                subscription: SubscriptionSeen(
                    kind=told["type"],
                    backlog=told["msgBacklog"],
                    consumers=tuple(
                        ClientSeen(
                            name=client["consumerName"], address=client["address"], version=client["clientVersion"]
                        )
                        for client in told["consumers"]
                    ),
                )
                for subscription, told in each["subscriptions"].items()
            }
            found.append(
                TopicSeen(
                    name=name,
                    ledger=None,
                    answer=StatsAnswer.LOADED,
                    producers=tuple(producers),
                    subscriptions=subscriptions,
                )
            )
    return found


def state(play: NamespacePlay) -> TopicState:
    """How far the product takes the topic to be."""
    status = play.api.answer("GET", path("stats"))[0]
    answers = {200: StatsAnswer.LOADED, 404: StatsAnswer.ABSENT, 500: StatsAnswer.MIGRATED}
    status_of_info, info = play.api.answer("GET", path("internal-info"))
    if status_of_info == 500:
        return state_of(TopicSeen(name=NAME, ledger=None, answer=answers[status]))

    def text(position: dict[str, int]) -> str:
        return f"{position['ledgerId']}:{position['entryId']}"

    end: dict[str, int] | None = info.get("terminatedPosition")
    cursors = {name: text(each["markDelete"]) for name, each in info["cursors"].items()}
    ledger = LedgerSeen(
        terminated=None if end is None else text(end),
        migrated=info["properties"].get("migrated") == "true",
        cursors=cursors,
    )
    return state_of(TopicSeen(name=NAME, ledger=ledger, answer=answers[status]))


def test_an_unload_after_the_mark_strands_what_was_not_read_and_unmarking_makes_it_readable() -> None:
    play = with_backlog()
    play.mark()
    play.call("PUT", f"/admin/v2/namespaces/{NAMESPACE}/unload")
    late = reader(play)
    play.timeline.run(4_000)
    status, answer = play.api.answer("GET", path("stats"))
    assert (status, "already migrated" in answer["reason"]) == (500, True)
    assert state(play) is TopicState.STRANDED
    assert late.cluster is play.green
    assert play.ask(NAME, "internal-info")["properties"] == {}
    before = play.verdict()
    assert before.lost > 0
    play.mark(marked=False)
    again = reader(play, "again")
    play.timeline.run(2_000)
    assert again.cluster is play.blue
    assert play.verdict().lost == 0
    assert play.ask(NAME, "stats")["subscriptions"][BACKLOG]["msgBacklog"] == 0


def test_a_broker_that_restarts_strands_too() -> None:
    play = with_backlog()
    play.mark()
    play.timeline.run(4_000)
    play.blue.brokers[0].restart(down_ms=1_000)
    play.timeline.run(3_000)
    assert state(play) is TopicState.STRANDED


def test_as_many_refused_loads_as_threads_block_each_other() -> None:
    """Measured once: more than three minutes without an answer, of clients and of look-ups."""
    stuck = []
    for threads in (2, 64):
        play = NamespacePlay(0, CROWD, settings=BrokerSettings(executor_threads=threads, check_period_s=0))
        play.mark()
        play.call("PUT", f"/admin/v2/namespaces/{NAMESPACE}/unload")
        play.timeline.run(12_000)
        stuck.append(len(play.verdict().stuck))
    assert stuck[0] > 0
    assert stuck[1] == 0


def test_a_topic_that_is_fenced_for_good_is_read_after_unmarking_and_unloading() -> None:
    load = (SimTopic(name="one", producers=(BURSTS,), kinds=(SubscriptionKind.EXCLUSIVE,)),)
    for seed in range(100):
        play = NamespacePlay(seed, load)
        flip_as_is(play)
        topic_at_blue = play.blue.topic(NAME)
        if topic_at_blue is not None and topic_at_blue.fenced:
            break
    assert topic_at_blue is not None
    assert topic_at_blue.fenced
    assert play.ask(NAME, "internalStats")["pendingAddEntriesCount"] > 0
    late = play.add_consumer(play.process(Library.JAVA), NAME, "late", SubscriptionWish(name=BACKLOG))
    play.timeline.run(2_000)
    assert set(late.refusals) == {Refusal.FENCED}
    play.mark(marked=False)
    play.call("PUT", path("unload"))
    play.timeline.run(30_000)
    read = play.receipts[NAME, BACKLOG].times.total()
    assert read == sum(entry.count for entry in play.blue.ledgers[NAME].entries) > 0


def test_a_subscription_that_green_does_not_have_begins_there_where_its_consumer_wants() -> None:
    play = with_backlog()
    play.mark()
    assert play.wait_migrated()
    play.add_producer(play.process(Library.JAVA), NAME, "new", SLOW)
    play.timeline.run(2_000)
    wish = SubscriptionWish(name=BACKLOG, earliest=False)
    play.add_consumer(play.process(Library.JAVA), NAME, "late", wish)
    lost = play.end().subscriptions[NAME, BACKLOG].lost
    assert 5 <= lost <= 15


def test_everybody_keeps_his_name_at_green() -> None:
    play = NamespacePlay(0)
    roll = added({}, seen(play.blue))
    flip_gated(play)
    answered = call(roll, seen(play.blue), seen(play.green))
    assert roll
    assert answered.complete
    assert answered.arrived == roll.keys()


def test_a_consumer_of_java_is_told_that_its_topic_has_come_to_an_end() -> None:
    play = NamespacePlay(0, library=Library.JAVA)
    flip_as_is(play)
    assert any(each.ended for each in play.consumers)


def test_a_backlog_is_drained_at_blue_and_its_consumer_redirected() -> None:
    play = with_backlog()
    play.mark()
    assert play.wait_migrated()
    assert play.ask(NAME, "stats")["subscriptions"].keys() == {BACKLOG}
    late = reader(play)
    play.timeline.run(2_000)
    assert late.cluster is play.green
    assert late.state is ClientState.READY
    play.timeline.run(3_000)
    assert BACKLOG not in play.ask(NAME, "subscriptions")


def test_a_shared_backlog_that_is_drained_after_the_mark_stops_its_broker_by_chance_and_for_ever() -> None:
    stopped = []
    for seed in range(12):
        play = NamespacePlay(seed, IDLE)
        play.call("PUT", path(f"subscription/{BACKLOG}"), {"ledgerId": -1, "entryId": -1})
        producer = play.add_producer(play.process(Library.JAVA), NAME, "one", SLOW)
        play.timeline.run(2_000)
        producer.stop()
        play.mark()
        assert play.wait_migrated()
        wish = SubscriptionWish(name=BACKLOG, kind=SubscriptionKind.SHARED)
        play.add_consumer(play.process(Library.JAVA), NAME, "late", wish)
        play.timeline.run(2_000)
        if play.blue.brokers[0].deadlocked:
            stopped.append(play)
    assert 0 < len(stopped) < 12
    play = stopped[0]
    assert play.api.answer("GET", "/admin/v2/brokers/health") == (500, {"reason": "Deadlocked threads detected."})
    with pytest.raises(NoAnswer):
        play.api.answer("GET", path("stats"))
    play.timeline.run(120_000)
    late = play.consumers[-1]
    assert late.cluster is play.blue
    play.blue.brokers[0].restart(down_ms=1_000)
    play.timeline.run(40_000)
    assert play.api.answer("GET", "/admin/v2/brokers/health")[0] == 200
    assert late.cluster is play.green


def test_an_open_topic_is_taken_back_whole() -> None:
    play = with_backlog(settings=BrokerSettings(check_period_s=0))
    play.mark()
    play.timeline.run(3_000)
    play.mark(marked=False)
    assert play.end().stuck == ()
    assert play.ask(NAME, "internalStats")["state"] == "LedgerOpened"
    assert all(each.cluster is play.blue for each in play.producers)


def test_a_terminated_topic_is_not() -> None:
    play = with_backlog()
    flip_as_is(play)
    play.mark(marked=False)
    play.call("PUT", path("unload"))
    late = reader(play)
    producer = play.add_producer(play.process(Library.JAVA), NAME, "new", SLOW)
    play.timeline.run(3_000)
    assert late.cluster is play.blue
    assert play.ask(NAME, "stats")["subscriptions"][BACKLOG]["msgBacklog"] == 0
    assert not producer.created
    assert producer.refusals[-1] == "UnknownError: Topic was already migrated"
    assert producer.cluster is play.blue
    play.mark()
    play.timeline.run(3_000)
    assert BACKLOG not in play.ask(NAME, "subscriptions")
    assert late.cluster is play.green


def test_a_deleted_topic_is_made_anew() -> None:
    play = with_backlog()
    flip_as_is(play)
    play.mark(marked=False)
    play.call("DELETE", path("?force=true").replace("/?", "?"))
    producer = play.add_producer(play.process(Library.JAVA), NAME, "new", SLOW)
    play.timeline.run(1_000)
    assert producer.acked


def test_a_namespaces_mark_without_an_address_does_nothing() -> None:
    play = with_backlog()
    play.blue.marks.clear()
    play.mark()
    play.timeline.run(6_000)
    assert not play.migrated()
    assert play.end().harmless


@pytest.mark.parametrize("body", [{}, {"serviceUrl": "", "brokerServiceUrl": ""}])
def test_a_blank_address_is_an_outage(body: dict[str, Any]) -> None:
    play = NamespacePlay(0, ONE, Library.CPP_OLD)
    play.call("POST", f"{MARK}?migrated=false", body)
    play.mark()
    assert play.wait_migrated()
    verdict = play.end()
    assert "one-0" in verdict.stuck
    assert all(each.cluster is play.blue for each in play.producers)


def test_an_address_without_a_cluster_is_an_outage_too() -> None:
    play = NamespacePlay(0, ONE, Library.CPP_OLD)
    play.call("POST", f"{MARK}?migrated=true", {"brokerServiceUrl": "pulsar://nowhere:6650"})
    assert play.wait_migrated()
    assert "one-0" in play.end().stuck


def test_a_replicator_with_backlog_keeps_producers_out_until_it_is_empty() -> None:
    play = NamespacePlay(0, ONE, Library.CPP_OLD)
    loaded = play.blue.topic(NAME)
    assert loaded is not None
    loaded.replicators = {"north": 5}
    play.mark()
    assert play.wait_migrated()
    play.timeline.run(4_000)
    assert play.producers[0].state is ClientState.CONNECTING
    assert play.producers[0].refusals[-1] == "UnknownError: Topic was already migrated"
    loaded.replicators = {"north": 0}
    play.timeline.run(10_000)
    assert play.producers[0].cluster is play.green


def test_resources_are_made_at_the_target_or_the_topic_stays_open() -> None:
    play = with_backlog(settings=BrokerSettings(makes_resources=True))
    del play.green.known["blue"]
    play.mark()
    play.timeline.run(5_000)
    assert not play.migrated()
    play.green.known["blue"] = {}
    assert play.wait_migrated()
    assert BACKLOG in play.green.ledgers[NAME].cursors


def test_a_quota_of_another_policy_throws_the_backlog_away() -> None:
    play = with_backlog(settings=BrokerSettings(quota_check_s=1))
    play.set(NAME, "backlogQuota", {"limitSize": 0, "limitTime": -1, "policy": "consumer_backlog_eviction"})
    play.timeline.run(1_500)
    reader(play)
    assert play.end().lost > 0


def test_a_topic_that_nobody_uses_is_deleted_unless_retention_keeps_it() -> None:
    for minutes, kept in ((0, False), (-1, True)):
        play = NamespacePlay(0, IDLE, settings=BrokerSettings(gc_s=5))
        play.call("POST", f"/admin/v2/namespaces/{NAMESPACE}/retention", {"retentionTimeInMinutes": minutes})
        play.ask(NAME, "stats")
        play.timeline.run(15_000)
        assert (NAME in play.blue.ledgers) is kept
        assert state(play) is (TopicState.OPEN if kept else TopicState.GONE)
