"""The plan: one fingerprint for what it says, and nothing goes on by one that the clusters have left behind."""

from __future__ import annotations

from typing import Any

import pytest

from syncer.errors import PlanInvalid, PlanStale
from syncer.migration.evidence import ClusterUrls, LedgerSeen, StatsAnswer, TopicSeen
from syncer.migration.migration_plan import MigrationPlan, MigrationWish, PlannedCluster, digest_of
from syncer.migration.scope import MigrationBounds, MigrationScope, Overrides
from syncer.model import Millis
from syncer.replacing import replace
from tests.unit.migration.pictures import NAMESPACE, TOPIC, picture, topic, with_blue, with_green, with_namespace


def plan(**changes: Any) -> MigrationPlan:
    given = picture()
    fields = {
        "made_at_ms": Millis(1_790_000_000_000),
        "blue": PlannedCluster(table="old", name="blue", urls=given.blue.urls),
        "green": PlannedCluster(table="new", name="green", urls=given.green.urls),
        "scope": given.scope,
        "bounds": MigrationBounds(),
        "overrides": Overrides(),
        "contents": {NAMESPACE: digest_of(given.blue, NAMESPACE)},
    }
    return MigrationPlan(**{**fields, **changes})


def test_a_plan_holds_as_long_as_nothing_was_made_or_deleted() -> None:
    given = picture()
    plan().require_fresh(given.blue, given.green)
    busy = with_namespace(given, policies={}, non_persistent=frozenset({"non-persistent://acme/orders/x"}))
    assert plan().changes(busy.blue, busy.green) == ()


def test_a_digest_is_the_same_whether_a_topic_is_loaded() -> None:
    ledger = LedgerSeen(terminated=None, migrated=False, cursors={"audit": "7:1"})
    loaded = replace(topic(), ledger=ledger)
    unloaded = TopicSeen(name=TOPIC, ledger=ledger, answer=StatsAnswer.UNASKED)
    one, other = (with_namespace(picture(), topics={TOPIC: each}).blue for each in (loaded, unloaded))
    assert digest_of(one, NAMESPACE) == digest_of(other, NAMESPACE)


@pytest.mark.parametrize(
    ("setting", "change"),
    [
        ("TopicCreation", {"topics": {}, "partitions": {}}),
        ("SubscriptionCreation", {"topics": {TOPIC: replace(topic(), subscriptions={})}}),
    ],
)
def test_what_clients_make_by_using_it_makes_no_plan_stale(setting: str, change: dict[str, Any]) -> None:
    def digest(policies: dict[str, Any], dynamic: dict[str, str], **changes: Any) -> str:
        return digest_of(
            with_blue(with_namespace(picture(), policies=policies, **changes), dynamic=dynamic).blue, NAMESPACE
        )

    allowed = f"allowAuto{setting}"
    ours, theirs = ({f"auto{setting}Override": {allowed: each}} for each in (True, False))
    on, off = ({allowed: each} for each in ("true", "false"))
    for policies, dynamic in ((ours, off), ({}, on)):
        assert digest(policies, dynamic) == digest(policies, dynamic, **change)
    for policies, dynamic in ((theirs, on), ({}, off), ({}, {})):
        assert digest(policies, dynamic) != digest(policies, dynamic, **change)


def test_whether_topics_are_created_automatically_is_told_by_a_broker_too() -> None:
    def digest(value: str, topics: dict[str, TopicSeen]) -> str:
        blue = with_namespace(picture(), topics=topics).blue
        brokers = tuple(replace(each, settings={"allowAutoTopicCreation": value}) for each in blue.brokers)
        return digest_of(replace(blue, brokers=brokers), NAMESPACE)

    assert digest("true", {}) == digest("true", {TOPIC: topic()})
    assert digest("false", {}) != digest("false", {TOPIC: topic()})


@pytest.mark.parametrize(
    "change",
    [
        {"topics": {}},
        {"topics": {TOPIC: topic(), f"{TOPIC}-2": topic(f"{TOPIC}-2")}},
        {"topics": {TOPIC: replace(topic(), subscriptions={})}},
        {"partitions": {}},
    ],
)
def test_a_plan_is_stale_once_topics_or_subscriptions_are_others(change: dict[str, Any]) -> None:
    changed = with_namespace(picture(), **change)
    with pytest.raises(PlanStale, match=f"topics or subscriptions of {NAMESPACE} were made or deleted") as caught:
        plan().require_fresh(changed.blue, changed.green)
    assert "syncer migration plan" in caught.value.hint


def test_a_plan_is_stale_once_a_table_leads_elsewhere() -> None:
    given = with_green(with_blue(picture(), name="azure", namespaces={}), urls=ClusterUrls(http="http://green-2:8080"))
    assert plan().changes(given.blue, given.green) == (
        "'cluster.old' leads to 'azure', and led to 'blue'",
        "'cluster.new' has http://green-2:8080 as serviceUrl, and had http://green:8080",
        "'cluster.new' has no address as serviceUrlTls, and had https://green:8443",
        "'cluster.new' has no address as brokerServiceUrl, and had pulsar://green:6650",
        "'cluster.new' has no address as brokerServiceUrlTls, and had pulsar+ssl://green:6651",
        f"blue has no namespace {NAMESPACE} any more",
    )
    with pytest.raises(PlanStale, match=r"brokerServiceUrlTls.*; and 1 more$"):
        plan().require_fresh(given.blue, given.green)


def test_the_fingerprint_is_of_all_that_it_says() -> None:
    assert plan().fingerprint == plan().fingerprint
    two = MigrationScope(canary=(NAMESPACE,), waves=(("acme/b",),))
    contents = plan().contents
    others = [
        plan(made_at_ms=Millis(1)),
        plan(blue=replace(plan().blue, table="older")),
        plan(green=replace(plan().green, name="greener")),
        plan(green=replace(plan().green, urls=ClusterUrls(http="http://green"))),
        plan(scope=two, contents={**contents, "acme/b": "x"}),
        plan(scope=MigrationScope(canary=(NAMESPACE,), whole_cluster=True)),
        plan(bounds=MigrationBounds(replication_backlog=1)),
        plan(overrides=Overrides(reasons={"client-gate": "stopped"})),
        plan(contents={NAMESPACE: "x"}),
    ]
    assert len({each.fingerprint for each in (plan(), *others)}) == len(others) + 1


def wish(**changes: Any) -> MigrationWish:
    fields = {
        "tables": ("old", "new"),
        "scope": None,
        "wave_size": 2,
        "whole_cluster": True,
        "overrides": Overrides(),
        "bounds": MigrationBounds(),
    }
    return MigrationWish(**{**fields, **changes})


def test_a_wish_names_its_scope_or_takes_all_that_blue_has() -> None:
    scope = MigrationScope(canary=("acme/b",))
    assert wish(scope=scope).scope_of(picture().blue) == scope
    assert wish().scope_of(picture().blue) == MigrationScope(canary=(NAMESPACE,), whole_cluster=True)
    with pytest.raises(PlanInvalid, match="begins with a canary"):
        wish().scope_of(with_blue(picture(), namespaces={}).blue)
    with pytest.raises(PlanInvalid, match=r"'cluster\.old' is named as blue and as green"):
        wish(tables=("old", "old"))


def test_the_way_back_is_wished_with_the_same_scope_and_bounds_and_no_check_passed_over() -> None:
    there = plan(bounds=MigrationBounds(soak_s=7), overrides=Overrides(reasons={"client-gate": "all are stopped"}))
    back = there.back
    assert back.tables == ("new", "old")
    assert (back.scope, back.bounds, back.whole_cluster) == (there.scope, there.bounds, there.scope.whole_cluster)
    assert back.overrides == Overrides()


def test_a_plan_that_cannot_be_meant_is_refused() -> None:
    with pytest.raises(PlanInvalid, match=r"'cluster\.old' is named as blue and as green"):
        plan(green=replace(plan().green, table="old"))
    with pytest.raises(PlanInvalid, match="does not tell what each of its namespaces held"):
        plan(contents={})


def test_green_is_given_what_it_lacks_at_some_rate() -> None:
    with pytest.raises(PlanInvalid, match="subscriptions_per_s"):
        plan(bounds=MigrationBounds(subscriptions_per_s=0))
