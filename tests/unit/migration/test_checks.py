"""Every check: it holds of a pair that is ready, and finds what it is there for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from syncer.errors import PlanInvalid
from syncer.migration.checks import CHECKS, examine, passed
from syncer.migration.checks.brokers import CHECK_PERIOD, LONGEST_PERIOD_S, slowest_period_s
from syncer.migration.checks.finding import CheckFinding, CheckStage, ClusterPair, FindingSeverity
from syncer.migration.evidence import (
    CLAIM,
    NOTHING,
    BrokerSeen,
    ClusterUrls,
    LedgerSeen,
    Mark,
    ReplicatorSeen,
    StatsAnswer,
    TenantSeen,
)
from syncer.migration.scope import MigrationScope, Overrides
from syncer.replacing import replace
from tests.unit.migration.pictures import (
    CONSUMER,
    FROZEN,
    GREEN_POLICIES,
    NAMESPACE,
    POLICIES,
    PRODUCER,
    SCHEMA,
    SETTINGS,
    SUBSCRIPTION,
    TOPIC,
    cluster,
    picture,
    topic,
    urls,
    with_blue,
    with_green,
    with_namespace,
    with_topic,
)

NOBODY = Overrides()
BLOCK, NEVER, WARN = FindingSeverity.BLOCK, FindingSeverity.NEVER, FindingSeverity.WARN


def broker(version: str | None = "4.0.8", **settings: str) -> BrokerSeen:
    return BrokerSeen(address="blue:8080", version=version, settings={**SETTINGS, **settings})


def brokers(*seen: BrokerSeen) -> Callable[[ClusterPair], ClusterPair]:
    return lambda given: with_blue(given, brokers=seen)


def whole(given: ClusterPair, **changes: object) -> ClusterPair:
    return with_blue(replace(given, scope=MigrationScope(canary=(NAMESPACE,), whole_cluster=True)), **changes)


def replicated(given: ClusterPair) -> ClusterPair:
    return with_namespace(given, policies={**POLICIES, "replication_clusters": ["blue", "north"]})


def long_backlog(kind: str) -> Callable[[ClusterPair], ClusterPair]:
    subscriptions = {"audit": replace(SUBSCRIPTION, kind=kind, backlog=1_001)}
    return lambda given: with_topic(given, subscriptions=subscriptions)


def in_one_document(given: ClusterPair, *, green: Mapping[str, object] = NOTHING, **blue: object) -> ClusterPair:
    """Nothing says that both have stores of their own, and blue alone is listed at both."""
    policies = {**GREEN_POLICIES, "replication_clusters": ["blue"], "allowed_clusters": ["blue", "green"], **green}
    return with_namespace(with_namespace(given, at="green", policies=policies), policies={**POLICIES, **blue})


FIRST_FORM = ("acme/blue/old", "acme/blue/older")
ELSEWHERE = "persistent://pulsar-syncer/metadata/events"
OLD_JAVA = replace(PRODUCER, version="Pulsar-Java-v3.3.2")
NO_TLS = ClusterUrls(http="http://green:8080", pulsar="pulsar://green:6650")
BY_CLUSTER = {**POLICIES, "topicDispatchRate": {"blue": {"dispatchThrottlingRateInMsg": 5}}}

UNLOADED: dict[str, Any] = {
    "answer": StatsAnswer.UNASKED,
    "subscriptions": {},
    "ledger": LedgerSeen(terminated=None, migrated=False, cursors={"audit": "7:3", "idle": "7:3"}),
}
CASES: list[tuple[str, str, FindingSeverity, Callable[[ClusterPair], ClusterPair]]] = [
    ("broker-version", "lists no broker", NEVER, brokers()),
    ("broker-version", "3.1.2", NEVER, brokers(broker("3.1.2"))),
    ("broker-version", "health check", WARN, brokers(broker("3.3.3"))),
    ("broker-version", "None", BLOCK, brokers(broker(None))),
    ("check-period", "=0", NEVER, brokers(broker(clusterMigrationCheckDurationSeconds="0"))),
    ("check-period", "=10", BLOCK, brokers(broker(clusterMigrationCheckDurationSeconds="10"))),
    ("check-period", "does not tell", BLOCK, brokers(replace(broker(), settings=None))),
    ("topic-policies", "topicLevelPoliciesEnabled=false", BLOCK, brokers(broker(topicLevelPoliciesEnabled="false"))),
    (
        "balancing-frozen",
        "'true'",
        BLOCK,
        lambda p: with_blue(p, dynamic={**FROZEN, "loadBalancerSheddingEnabled": "true"}),
    ),
    ("balancing-frozen", "None", BLOCK, lambda p: with_blue(p, dynamic={})),
    (
        "not-marked-yet",
        "pulsar://elsewhere:6650",
        BLOCK,
        lambda p: with_blue(p, mark=Mark(migrated=False, target=urls("elsewhere"))),
    ),
    ("not-marked-yet", "as a whole", NEVER, lambda p: with_blue(p, mark=Mark(migrated=True, target=urls("green")))),
    ("not-marked-yet", "marked as migrated already", BLOCK, lambda p: with_namespace(p, marked=True)),
    (
        "not-marked-yet",
        "green's migration URL is blue's",
        NEVER,
        lambda p: with_green(p, mark=Mark(migrated=False, target=urls("blue"))),
    ),
    (
        "not-marked-yet",
        "green is itself",
        NEVER,
        lambda p: with_green(p, mark=Mark(migrated=True, target=urls("third"))),
    ),
    (
        "not-claimed",
        "at green it belongs to the migration 'other'",
        NEVER,
        lambda p: with_namespace(
            p, at="green", policies={**GREEN_POLICIES, "properties": {"pulsar-syncer.migration": "other"}}
        ),
    ),
    (
        "two-clusters",
        "same address",
        NEVER,
        lambda p: with_green(p, urls=replace(urls("green"), pulsar="pulsar://blue:6650")),
    ),
    ("two-clusters", "same brokers", NEVER, lambda p: with_green(p, brokers=p.blue.brokers)),
    ("addresses", "no address for", NEVER, lambda p: with_green(p, urls=ClusterUrls(http="http://green:8080"))),
    ("addresses", "blue-0-1", BLOCK, lambda p: with_topic(with_green(p, urls=NO_TLS), producers=(OLD_JAVA,))),
    ("addresses-answer", "refused", BLOCK, lambda p: replace(p, dead_addresses={"pulsar://green:6650": "refused"})),
    ("addresses", "broker blue:8080", BLOCK, lambda p: brokers(broker("4.0.0"))(with_green(p, urls=NO_TLS))),
    ("clusters-known", "does not know", BLOCK, lambda p: with_green(p, clusters={"green": urls("green")})),
    ("cluster-names", "both clusters are named", NEVER, lambda p: replicated(with_green(p, name="blue"))),
    ("policies-by-cluster", "topicDispatchRate", WARN, lambda p: with_namespace(p, policies=BY_CLUSTER)),
    ("whole-cluster", "a functions worker lives", BLOCK, lambda p: whole(p, functions_worker=True)),
    ("whole-cluster", "has 3 topics and is not moved", WARN, lambda p: replace(whole(p), left_out={"acme/other": 3})),
    ("whole-cluster", "cannot be told whether a transaction", BLOCK, lambda p: whole(p, transactions=None)),
    ("first-form-namespaces", "2 namespaces have the form", WARN, lambda p: replace(p, first_form=FIRST_FORM)),
    (
        "first-form-namespaces",
        "it has 3 topics",
        WARN,
        lambda p: replace(whole(p), first_form=FIRST_FORM, left_out={FIRST_FORM[0]: 3}),
    ),
    ("own-bus", "own bus", NEVER, lambda p: replace(p, own_topics=frozenset({TOPIC}))),
    (
        "own-bus",
        "two regions",
        NEVER,
        lambda p: replace(whole(p), own_topics=frozenset({ELSEWHERE}), left_out={"pulsar-syncer/metadata": 1}),
    ),
    ("namespaces", "blue has no such", NEVER, lambda p: with_blue(p, namespaces={})),
    ("namespaces", "green has no such", BLOCK, lambda p: with_green(p, namespaces={})),
    ("tenants", "green has no such", BLOCK, lambda p: with_green(p, tenants={})),
    (
        "tenants",
        "does not name ops",
        BLOCK,
        lambda p: with_green(
            p, tenants={"acme": TenantSeen(admin_roles=frozenset(), allowed_clusters=frozenset({"green"}))}
        ),
    ),
    (
        "tenants",
        "does not allow",
        BLOCK,
        lambda p: with_green(
            p, tenants={"acme": TenantSeen(admin_roles=frozenset({"ops"}), allowed_clusters=frozenset())}
        ),
    ),
    (
        "policies",
        "message_ttl_in_seconds",
        BLOCK,
        lambda p: with_namespace(p, at="green", policies={**GREEN_POLICIES, "message_ttl_in_seconds": 60}),
    ),
    (
        "policies",
        "role app",
        BLOCK,
        lambda p: with_namespace(p, at="green", policies={**GREEN_POLICIES, "auth_policies": {}}),
    ),
    (
        "replication-lists",
        "do not serve it",
        BLOCK,
        lambda p: with_namespace(p, at="green", policies={**GREEN_POLICIES, "replication_clusters": ["north"]}),
    ),
    (
        "replication-lists",
        "stored twice",
        BLOCK,
        lambda p: with_namespace(p, at="green", policies={**GREEN_POLICIES, "replication_clusters": ["blue", "green"]}),
    ),
    ("partitions", "0 partitions, blue 3", BLOCK, lambda p: with_namespace(p, at="green", partitions={})),
    (
        "partitions",
        "5 partitions",
        WARN,
        lambda p: with_namespace(p, at="green", partitions={"persistent://acme/orders/shipped": 5}),
    ),
    (
        "partitions",
        "without partitions",
        NEVER,
        lambda p: with_namespace(p, at="green", partitions={}, topics={"persistent://acme/orders/shipped": topic()}),
    ),
    (
        "replication-lists",
        "not allowed in green",
        BLOCK,
        lambda p: in_one_document(p, green={"allowed_clusters": ["blue"]}),
    ),
    ("replication-lists", "does not replicate it to north", BLOCK, replicated),
    (
        "one-configuration-store",
        "how many green has",
        BLOCK,
        lambda p: with_blue(
            in_one_document(p), brokers=(broker(brokerDeleteInactivePartitionedTopicMetadataEnabled="true"),)
        ),
    ),
    (
        "one-configuration-store",
        "1 topics by name",
        BLOCK,
        lambda p: in_one_document(p, auth_policies={"destination_auth": {TOPIC: {"app": ["produce"]}}}),
    ),
    ("schemas", "no such schema", BLOCK, lambda p: with_namespace(p, at="green", schemas={})),
    (
        "schemas",
        "another one",
        BLOCK,
        lambda p: with_namespace(p, at="green", schemas={TOPIC: {**SCHEMA, "data": "[]"}}),
    ),
    ("own-policies", "retention", BLOCK, lambda p: with_namespace(p, at="green", topic_policies={})),
    ("subscriptions", "such subscription", BLOCK, lambda p: with_topic(p, **UNLOADED)),
    ("subscriptions", "no such subscription", BLOCK, lambda p: with_namespace(p, at="green", topics={})),
    (
        "subscriptions",
        "properties",
        WARN,
        lambda p: with_topic(p, at="green", subscriptions={"audit": replace(SUBSCRIPTION, properties={})}),
    ),
    (
        "client-gate",
        "blue-0-1 at /10.0.0.1:5000, producer",
        BLOCK,
        lambda p: with_topic(p, producers=(replace(PRODUCER, version="2.10.1"),)),
    ),
    (
        "client-gate",
        "consumer of audit",
        BLOCK,
        lambda p: with_topic(
            p, subscriptions={"audit": replace(SUBSCRIPTION, consumers=(replace(CONSUMER, version=""),))}
        ),
    ),
    ("not-terminated", "7:8", BLOCK, lambda p: with_topic(p, ledger=LedgerSeen(terminated="7:8", migrated=False))),
    ("no-chunks", "blue-0-1", BLOCK, lambda p: with_topic(p, producers=(replace(PRODUCER, chunks_per_s=0.5),))),
    ("no-transactions", "2 transactions", WARN, lambda p: with_topic(p, ongoing_transactions=2)),
    ("deduplication", "deduplicates", WARN, lambda p: with_topic(p, deduplicates=True)),
    (
        "replication-backlog",
        "which is not connected",
        BLOCK,
        lambda p: with_topic(p, replicators={"north": ReplicatorSeen(backlog=1_001, connected=False)}),
    ),
    (
        "green-replicates",
        "not connected with north",
        BLOCK,
        lambda p: with_topic(p, at="green", replicators={"north": ReplicatorSeen(backlog=0, connected=False)}),
    ),
    (
        "backlog-has-readers",
        "nobody reads it",
        WARN,
        lambda p: with_topic(p, subscriptions={"audit": replace(SUBSCRIPTION, consumers=())}),
    ),
    *(
        (
            "shared-drained",
            f"it is {kind}, and 1001 entries are left",
            BLOCK,
            lambda p, kind=kind: with_topic(
                p, subscriptions={"audit": replace(SUBSCRIPTION, kind=kind, backlog=1_001)}
            ),
        )
        for kind in ("Shared", "Key_Shared")
    ),
    (
        "non-persistent",
        "not persistent",
        WARN,
        lambda p: with_namespace(p, non_persistent=frozenset({"non-persistent://acme/orders/ticks"})),
    ),
    ("topics-loaded", "migrated", NEVER, lambda p: with_topic(p, answer=StatsAnswer.MIGRATED)),
    ("topics-loaded", "unasked", BLOCK, lambda p: with_topic(p, answer=StatsAnswer.UNASKED)),
]


def found(given: ClusterPair) -> dict[str, tuple[CheckFinding, ...]]:
    return {each.check.name: each.findings for each in examine(given, NOBODY, CheckStage.GUARDED) if each.findings}


def test_of_a_pair_that_is_ready_every_check_holds() -> None:
    results = examine(picture(), NOBODY, CheckStage.GUARDED)
    assert found(picture()) == {}
    assert [each.check.name for each in results] == list(CHECKS)
    assert passed(results)


@pytest.mark.parametrize(("name", "words", "severity", "change"), CASES, ids=[f"{c[0]}: {c[1]}" for c in CASES])
def test_a_check_finds_what_it_is_there_for(
    name: str, words: str, severity: FindingSeverity, change: Callable[[ClusterPair], ClusterPair]
) -> None:
    findings = found(change(picture()))[name]
    assert [each.severity for each in findings if words in each.evidence][:1] == [severity]
    assert all(each.subject and each.remedy for each in findings)


def test_where_both_read_the_same_policies_green_has_to_be_allowed_and_no_more() -> None:
    assert found(in_one_document(picture())) == {}


def test_nothing_is_asked_of_stores_that_are_two_or_of_namespaces_that_are() -> None:
    cleaning = broker(brokerDeleteInactivePartitionedTopicMetadataEnabled="true", metadataStoreUrl="zk:a:2181")
    there = BrokerSeen(address="green:8080", version="4.0.8", settings={**SETTINGS, "metadataStoreUrl": "zk:b:2181"})
    for given in (picture(), with_green(in_one_document(picture()), brokers=(there,))):
        assert "one-configuration-store" not in found(with_blue(given, brokers=(cleaning,)))


def test_every_check_is_tried() -> None:
    assert {case[0] for case in CASES} == set(CHECKS)


def test_what_is_blocked_can_be_overridden_with_a_reason() -> None:
    given = with_topic(picture(), producers=(replace(PRODUCER, version="2.10.1"),))
    assert not passed(examine(given, NOBODY, CheckStage.BEFORE))
    results = examine(given, Overrides(reasons={"client-gate": "it is stopped for the night"}), CheckStage.BEFORE)
    assert passed(results)
    assert [each.overridden for each in results if each.findings] == ["it is stopped for the night"]


def test_what_could_never_work_is_not_overridden() -> None:
    given = with_green(picture(), brokers=picture().blue.brokers)
    assert not passed(examine(given, Overrides(reasons={"two-clusters": "trust me"}), CheckStage.BEFORE))


def test_what_has_to_hold_later_does_not_block_yet() -> None:
    bare = with_green(picture(), namespaces={}, tenants={})
    assert passed(examine(bare, NOBODY, CheckStage.BEFORE))
    assert not passed(examine(bare, NOBODY, CheckStage.PREPARED))
    cold = with_topic(picture(), answer=StatsAnswer.UNASKED)
    assert passed(examine(cold, NOBODY, CheckStage.PREPARED))
    assert not passed(examine(cold, NOBODY, CheckStage.GUARDED))


def test_what_could_never_work_later_blocks_at_once() -> None:
    assert not passed(examine(with_blue(picture(), namespaces={}), NOBODY, CheckStage.BEFORE))


def test_an_override_of_no_check_is_refused() -> None:
    with pytest.raises(PlanInvalid, match=r"no check 'client-gat'; the checks are broker-version"):
        examine(picture(), Overrides(reasons={"client-gat": "typo"}), CheckStage.BEFORE)


def test_one_line_names_five_clients_of_a_version_and_counts_the_others() -> None:
    many = tuple(replace(PRODUCER, name=f"p{number}", version="2.10.1") for number in range(9))
    (finding,) = found(with_topic(picture(), producers=many))["client-gate"]
    assert finding.evidence.count("/10.0.0.1:5000") == 5
    assert finding.evidence.endswith("and 4 more")


def test_old_clients_are_named_and_counted_where_addresses_are_missing() -> None:
    many = tuple(replace(OLD_JAVA, name=f"p{number}") for number in range(7))
    (finding,) = found(with_topic(with_green(picture(), urls=NO_TLS), producers=many))["addresses"]
    assert "serviceUrlTls, brokerServiceUrlTls" in finding.evidence
    assert finding.evidence.endswith("and 2 more")


def test_addresses_that_no_client_needs_may_be_missing() -> None:
    assert found(with_green(picture(), urls=NO_TLS)) == {}


def test_clusters_of_one_name_may_move_what_is_not_replicated() -> None:
    alike = with_green(picture(), name="blue", clusters={"blue": urls("blue")})
    assert not {"cluster-names", "clusters-known"} & found(alike).keys()
    assert "policies-by-cluster" not in found(with_namespace(alike, policies=BY_CLUSTER))


def test_our_own_url_is_no_other_migration() -> None:
    for target in (urls("green"), ClusterUrls()):
        assert found(with_blue(picture(), mark=Mark(migrated=False, target=target))) == {}
    assert found(with_green(picture(), mark=Mark(migrated=False, target=ClusterUrls()))) == {}


def test_its_own_claim_keeps_no_migration_away() -> None:
    claimed = with_namespace(
        picture(), policies={**picture().blue.namespaces[NAMESPACE].policies, "properties": {CLAIM: "own"}}
    )
    assert "not-claimed" in found(claimed)
    assert "not-claimed" not in found(replace(claimed, claim="own"))


def test_a_tenant_that_blue_does_not_have_is_the_namespaces_matter() -> None:
    assert "tenants" not in found(with_blue(picture(), tenants={}))


def test_policies_that_say_nothing_are_as_good_as_none() -> None:
    empty = {**POLICIES, "publishMaxMessageRate": {}, "retention_policies": None, "subscription_types_enabled": []}
    assert found(with_namespace(picture(), policies=empty)) == {}


def test_the_order_of_a_list_does_not_matter() -> None:
    turned = {**GREEN_POLICIES, "auth_policies": {"namespace_auth": {"app": ["consume", "produce"]}}}
    assert found(with_namespace(picture(), at="green", policies=turned)) == {}


def test_a_backlog_that_one_consumer_at_a_time_reads_may_be_long() -> None:
    for kind in ("Exclusive", "Failover"):
        assert found(long_backlog(kind)(picture())) == {}


def test_without_the_cluster_s_mark_what_it_takes_along_does_not_matter() -> None:
    assert found(replace(with_blue(picture(), functions_worker=True), own_topics=frozenset({ELSEWHERE}))) == {}
    assert cluster("blue").functions_worker is False


def test_a_cluster_looks_for_marks_as_often_as_its_slowest_broker() -> None:
    assert slowest_period_s([{CHECK_PERIOD: "2"}, None, {CHECK_PERIOD: "4"}, {CHECK_PERIOD: "often"}]) == 4.0
    assert slowest_period_s([None, {}]) == LONGEST_PERIOD_S
