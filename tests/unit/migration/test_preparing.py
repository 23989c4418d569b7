"""What green lacks of blue, as steps: parents first, the rest after any of them, nothing after all."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from syncer.migration.checks.finding import ClusterPair
from syncer.migration.checks.resources import CHECKS
from syncer.migration.evidence import (
    BrokerSeen,
    ClusterSeen,
    LedgerSeen,
    NamespaceSeen,
    StatsAnswer,
    SubscriptionSeen,
    TenantSeen,
    TopicSeen,
)
from syncer.migration.policies import of_namespace
from syncer.migration.preparing import changing_both, prepare, restoring, taking_over
from syncer.migration.preparing.step import PreparationKind, PreparationStep
from syncer.migration.scope import MigrationBounds, MigrationScope
from syncer.replacing import replace
from tests.unit.migration.green import after
from tests.unit.migration.pictures import (
    GREEN_POLICIES,
    NAMESPACE,
    POLICIES,
    SCHEMA,
    SETTINGS,
    TOPIC,
    cluster,
    picture,
    urls,
    with_blue,
    with_green,
    with_namespace,
    with_topic,
)

OTHER = "acme/returns"
EVICTS = {"limitSize": 1_000, "limitTime": -1, "policy": "consumer_backlog_eviction"}
HOLDS = {"limitSize": 1_000, "limitTime": -1, "policy": "producer_request_hold"}
NO_QUOTA = {"limitSize": -1, "limitTime": -1, "policy": "producer_request_hold"}
RETAINED = {"retentionTimeInMinutes": 60, "retentionSizeInMB": -1}
SHIPPED = "persistent://acme/orders/shipped"


def steps_of(pair: ClusterPair, kind: PreparationKind) -> list[PreparationStep]:
    return [step for step in prepare(pair).steps if step.kind is kind]


def calls(steps: list[PreparationStep] | tuple[PreparationStep, ...]) -> list[tuple[str, str, object]]:
    return [(step.method, step.path.removeprefix("/admin/v2/"), step.body) for step in steps]


def holding(pair: ClusterPair) -> bool:
    return not any(list(check.look(pair)) for check in CHECKS)


def seen(name: str, *subscriptions: str, **changes: Any) -> TopicSeen:
    made = {each: SubscriptionSeen(kind="", backlog=0, **changes) for each in subscriptions}
    ledger = LedgerSeen(terminated=None, migrated=False)
    return TopicSeen(name=name, ledger=ledger, answer=StatsAnswer.LOADED, subscriptions=made)


def apart(pair: ClusterPair, store: str = "zk:{0}-1:2181,{0}-2:2181/x") -> ClusterPair:
    """Both clusters tell where they store their configuration."""
    return with_green(with_blue(pair, brokers=stored("blue", store)), brokers=stored("green", store))


def stored(name: str, store: str) -> tuple[BrokerSeen]:
    told = {**SETTINGS, "metadataStoreUrl": store.format(name)}
    return (BrokerSeen(address=f"{name}:8080", version="4.0.8", settings=told),)


def bare(pair: ClusterPair) -> ClusterPair:
    """Green has nothing yet."""
    return with_green(pair, clusters={"green": urls("green")}, tenants={}, namespaces={})


def test_a_green_that_is_ready_needs_no_step() -> None:
    assert prepare(picture()).steps == ()
    assert prepare(picture()).unprepared == ()
    assert taking_over(picture()) == ()


def test_a_green_with_nothing_gets_everything_parents_first() -> None:
    pair = bare(picture())
    steps = prepare(pair).steps
    assert [step.kind.value for step in steps] == [
        "cluster",
        "tenant",
        "namespace",
        "partitions",
        "topic",
        "schema",
        "topic-policy",
        "subscription",
    ]
    made = dict(zip([step.kind for step in steps], steps, strict=True))
    assert made[PreparationKind.CLUSTER].body == urls("blue").named
    assert made[PreparationKind.TENANT].body == {"adminRoles": ["ops"], "allowedClusters": ["blue", "green"]}
    assert made[PreparationKind.NAMESPACE].body == {**GREEN_POLICIES}
    assert made[PreparationKind.PARTITIONS].path.endswith("/orders/shipped/partitions?createLocalTopicOnly=true")
    assert made[PreparationKind.SUBSCRIPTION].body == {
        "ledgerId": -1,
        "entryId": -1,
        "partitionIndex": -1,
        "properties": {"team": "billing"},
    }
    ready = after(pair, steps)
    assert prepare(ready).steps == ()
    assert holding(ready)


@pytest.mark.parametrize(
    ("blue", "green", "asked"),
    [
        ({"max_producers_per_topic": 3}, {}, [("POST", "maxProducersPerTopic", 3)]),
        ({}, {"max_producers_per_topic": 3}, [("DELETE", "maxProducersPerTopic", None)]),
        ({"compaction_threshold": 9}, {}, [("PUT", "compactionThreshold", 9)]),
        ({"encryption_required": False}, {"encryption_required": True}, [("POST", "encryptionRequired", False)]),
        ({"offload_policies": {"a": 1}}, {}, [("POST", "offloadPolicies", {"a": 1})]),
        ({}, {"offload_policies": {"a": 1}}, [("DELETE", "removeOffloadPolicies", None)]),
        ({"resource_group_name": "a b"}, {}, [("POST", "resourcegroup/a%20b", None)]),
        ({}, {"resource_group_name": "a"}, [("DELETE", "resourcegroup", None)]),
        (
            {"dispatcherPauseOnAckStatePersistentEnabled": True},
            {},
            [("POST", "dispatcherPauseOnAckStatePersistent", None)],
        ),
        (
            {"publishMaxMessageRate": {"blue": {"publishThrottlingRateInMsg": 5}}},
            {"publishMaxMessageRate": {"green": {"publishThrottlingRateInMsg": 6}}},
            [("POST", "publishRate", {"publishThrottlingRateInMsg": 5})],
        ),
        (
            {"clusterDispatchRate": {"blue": {"dispatchThrottlingRateInMsg": 5}}},
            {},
            [("POST", "dispatchRate", {"dispatchThrottlingRateInMsg": 5})],
        ),
        (
            {"deduplicationSnapshotIntervalSeconds": None},
            {"deduplicationSnapshotIntervalSeconds": 5},
            [("POST", "deduplicationSnapshotInterval", None)],
        ),
        ({"subscription_expiration_time_minutes": 5}, {}, [("POST", "subscriptionExpirationTime", 0)]),
        ({}, {"message_ttl_in_seconds": 60}, [("POST", "messageTTL", 0)]),
        (
            {"backlog_quota_map": {"message_age": EVICTS}},
            {"backlog_quota_map": {"destination_storage": EVICTS}},
            [
                ("DELETE", "backlogQuota?backlogQuotaType=destination_storage", None),
                ("POST", "backlogQuota?backlogQuotaType=message_age", NO_QUOTA),
            ],
        ),
        (
            {
                "backlog_quota_map": {"destination_storage": {**HOLDS, "limit": 1_000}},
                "retention_policies": {"retentionTimeInMinutes": 9, "retentionSizeInMB": 9},
            },
            {},
            [
                ("POST", "retention", {"retentionSizeInMB": 9, "retentionTimeInMinutes": 9}),
                ("POST", "backlogQuota?backlogQuotaType=destination_storage", HOLDS),
            ],
        ),
        (
            {"retention_policies": {"retentionTimeInMinutes": 9, "retentionSizeInMB": -1}},
            {"retention_policies": {"retentionTimeInMinutes": 10, "retentionSizeInMB": 10}},
            [("POST", "retention", {"retentionSizeInMB": -1, "retentionTimeInMinutes": 10})],
        ),
        ({}, {"retention_policies": {"retentionTimeInMinutes": 10, "retentionSizeInMB": 10}}, []),
        ({"properties": {"a": "b"}}, {"deleted": False}, []),
        ({"replication_clusters": ["blue", "north"]}, {}, [("POST", "replication", ["green", "north"])]),
        (
            {"auth_policies": {"namespace_auth": {"app": ["consume"], "new": ["produce"]}}},
            {"auth_policies": {"namespace_auth": {"new": ["consume"]}}},
            [("POST", "permissions/app", ["consume"]), ("POST", "permissions/new", ["consume", "produce"])],
        ),
        (
            {"auth_policies": {"subscription_auth_roles": {"audit": ["a"]}}},
            {},
            [("POST", "permissions/subscription/audit", ["a"])],
        ),
    ],
)
def test_policies_that_differ_are_set_one_by_one(
    blue: dict[str, Any], green: dict[str, Any], asked: list[tuple[str, str, object]]
) -> None:
    pair = with_namespace(picture(), policies={**POLICIES, **blue})
    pair = with_namespace(pair, at="green", policies={**GREEN_POLICIES, **green})
    pair = with_green(pair, clusters={**pair.green.clusters, "north": urls("north")})
    steps = prepare(pair).steps
    assert calls(steps) == [(method, f"namespaces/{NAMESPACE}/{path}", body) for method, path, body in asked]
    ready = after(pair, steps)
    assert prepare(ready).steps == ()
    assert holding(ready)


def test_a_topics_permission_is_granted_where_the_topic_is() -> None:
    auth = {"destination_auth": {TOPIC: {"app": ["consume"]}}}
    pair = with_namespace(picture(), policies={**POLICIES, "auth_policies": auth})
    steps = prepare(pair).steps
    assert calls(steps) == [("POST", "persistent/acme/orders/created/permissions/app", ["consume"])]
    assert steps[0].undo is not None
    assert steps[0].undo.method == "DELETE"
    assert holding(after(pair, steps))


def test_what_brokers_drop_by_default_is_forbidden_to_them() -> None:
    changed = {
        "ttlDurationDefaultInSeconds": "60",
        "subscriptionExpirationTimeMinutes": "5",
        "backlogQuotaDefaultRetentionPolicy": "consumer_backlog_eviction",
        "brokerDeleteInactiveTopicsEnabled": "false",
    }
    broker = BrokerSeen(address="green:8080", version="4.0.8", settings={**SETTINGS, **changed})
    open_policies = {"replication_clusters": ["blue"]}
    pair = with_namespace(with_green(picture(), brokers=(broker,)), policies=open_policies)
    pair = with_namespace(pair, at="green", policies={"replication_clusters": ["green"]})
    assert [step.path.rpartition("/")[2] for step in prepare(pair).steps] == [
        "backlogQuota?backlogQuotaType=destination_storage",
        "backlogQuota?backlogQuotaType=message_age",
        "messageTTL",
        "subscriptionExpirationTime",
    ]
    assert all(step.why.startswith("nothing that waits") for step in prepare(pair).steps)
    undone = calls(restoring(after(pair, prepare(pair).steps)))
    assert {method for method, _, _ in undone} == {"DELETE"}
    assert len(undone) == 4


def test_at_the_end_green_gets_blues_values_again() -> None:
    pair = with_namespace(picture(), policies={**POLICIES, "backlog_quota_map": {"destination_storage": EVICTS}})
    pair = with_namespace(pair, topic_policies={TOPIC: {"messageTTL": 60, "backlogQuotaMap": {"message_age": EVICTS}}})
    pair = with_namespace(pair, at="green", topic_policies={})
    ready = after(pair, prepare(pair).steps)
    base, topic = f"namespaces/{NAMESPACE}", "persistent/acme/orders/created"
    steps = restoring(ready)
    assert calls(steps) == [
        ("POST", f"{base}/backlogQuota?backlogQuotaType=destination_storage", EVICTS),
        ("DELETE", f"{base}/inactiveTopicPolicies", None),
        ("POST", f"{base}/messageTTL", 3600),
        ("POST", f"{topic}/backlogQuota?backlogQuotaType=message_age", EVICTS),
        ("POST", f"{topic}/messageTTL", 60),
    ]
    assert restoring(after(ready, steps)) == ()
    assert restoring(bare(picture())) == ()


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"some_new_policy": 1}, "no call that sets it to 1"),
        ({"latency_stats_sample_rate": {"blue": 5}}, "no call that sets it to 5"),
    ],
)
def test_a_policy_without_a_call_is_reported(changes: dict[str, object], why: str) -> None:
    plan = prepare(with_namespace(picture(), policies={**POLICIES, **changes}))
    assert plan.steps == ()
    assert [why in each.why for each in plan.unprepared] == [True]


def test_a_policy_that_cannot_be_taken_off_is_reported() -> None:
    given = with_namespace(picture(), at="green", policies={**GREEN_POLICIES, "is_allow_auto_update_schema": False})
    assert [each.why for each in prepare(given).unprepared] == [
        "the admin API has no call that takes it off, and green has False"
    ]
    other = with_namespace(picture(), policies={**POLICIES, "is_allow_auto_update_schema": False})
    (step,) = prepare(other).steps
    assert step.undo is None


def test_a_topics_own_policies_are_set_and_taken_off() -> None:
    blue = {"maxConsumers": 3, "dispatcherPauseOnAckStatePersistent": False}
    pair = with_namespace(picture(), topic_policies={TOPIC: blue})
    pair = with_namespace(pair, at="green", topic_policies={TOPIC: {"maxProducers": 3, "retention": RETAINED}})
    base = "persistent/acme/orders/created"
    steps = prepare(pair).steps
    assert calls(steps) == [("POST", f"{base}/maxConsumers", 3), ("DELETE", f"{base}/maxProducers", None)]
    assert holding(after(pair, steps))


def test_a_tenant_gets_what_it_lacks_and_loses_nothing() -> None:
    tenants = {"acme": TenantSeen(admin_roles=frozenset({"own"}), allowed_clusters=frozenset({"green", "east"}))}
    (step,) = prepare(with_green(picture(), tenants=tenants)).steps
    assert calls([step]) == [
        ("POST", "tenants/acme", {"adminRoles": ["ops", "own"], "allowedClusters": ["blue", "east", "green"]})
    ]
    assert step.before == {"adminRoles": ["own"], "allowedClusters": ["east", "green"]}
    assert step.undo is not None
    assert step.undo.body == step.before


def north(pair: ClusterPair) -> ClusterPair:
    """Blue's namespace is replicated to a third cluster."""
    allowed = TenantSeen(admin_roles=frozenset({"ops"}), allowed_clusters=frozenset({"blue", "north", "gone"}))
    policies = {**POLICIES, "replication_clusters": ["blue", "north"], "allowed_clusters": ["blue", "north", "gone"]}
    own = {TOPIC: {"replication": ["blue", "north"]}}
    pair = with_namespace(with_blue(pair, tenants={"acme": allowed}), policies=policies, topic_policies=own)
    return with_blue(pair, clusters={**pair.blue.clusters, "north": urls("north")})


def test_green_replicates_to_third_clusters_from_its_first_message_on() -> None:
    pair = bare(north(picture()))
    plan = prepare(pair)
    assert [step.subject for step in plan.steps if step.kind is PreparationKind.CLUSTER] == ["blue", "north"]
    assert [each.subject for each in plan.unprepared] == ["gone"]
    ready = after(pair, plan.steps)
    policies: Any = ready.green.namespaces[NAMESPACE].policies
    assert policies["replication_clusters"] == ["green", "north"]
    assert policies["allowed_clusters"] == ["green", "north"]
    assert ready.green.namespaces[NAMESPACE].topic_policies[TOPIC]["replication"] == ["green", "north"]
    assert prepare(ready).steps == ()
    assert holding(ready)


def test_a_topic_that_blue_keeps_to_itself_green_keeps_too() -> None:
    own = {TOPIC: {"replication": ["blue"]}}
    pair = with_namespace(north(picture()), topic_policies=own)
    steps = prepare(pair).steps
    assert calls(steps)[-1] == ("POST", "persistent/acme/orders/created/replication", ["green"])
    assert prepare(after(pair, steps)).steps == ()


def test_a_cluster_that_nobody_knows_is_left_out_of_greens_list() -> None:
    policies = {**POLICIES, "replication_clusters": ["blue", "gone"]}
    plan = prepare(bare(with_namespace(picture(), policies=policies)))
    (made,) = [step for step in plan.steps if step.kind is PreparationKind.NAMESPACE]
    assert isinstance(made.body, dict)
    assert made.body["replication_clusters"] == ["green"]
    assert [each.subject for each in plan.unprepared] == ["gone"]


def test_the_allowed_clusters_of_green_grow_before_its_list_does() -> None:
    pair = north(with_namespace(picture(), at="green", policies={**GREEN_POLICIES, "allowed_clusters": ["green"]}))
    tenant = TenantSeen(admin_roles=frozenset({"ops"}), allowed_clusters=frozenset({"blue", "green", "north"}))
    first, second = steps_of(with_green(pair, tenants={"acme": tenant}), PreparationKind.REPLICATION)
    assert calls([first, second]) == [
        ("POST", f"namespaces/{NAMESPACE}/allowedClusters", ["green", "north"]),
        ("POST", f"namespaces/{NAMESPACE}/replication", ["green", "north"]),
    ]


@pytest.mark.parametrize("store", ["zk:{}:2181", "etcd:http://{0}-1:2379,http://{0}-2:2379", "oxia://{}:6648/x"])
def test_blue_is_taken_out_of_greens_clusters(store: str) -> None:
    listed = {**GREEN_POLICIES, "replication_clusters": ["blue", "green", "north"]}
    pair = with_namespace(apart(picture(), store), at="green", policies=listed)
    (step,) = prepare(pair).steps
    assert calls([step]) == [("POST", f"namespaces/{NAMESPACE}/replication", ["green", "north"])]
    assert step.before == ["blue", "green", "north"]
    assert holding(after(pair, [step]))


def test_green_may_serve_what_it_was_made_for_by_auto_creation() -> None:
    made = {**GREEN_POLICIES, "replication_clusters": ["blue"], "allowed_clusters": ["east"]}
    steps = prepare(with_namespace(apart(picture()), at="green", policies=made)).steps
    assert calls(steps) == [
        ("POST", f"namespaces/{NAMESPACE}/allowedClusters", ["blue", "east", "green"]),
        ("POST", f"namespaces/{NAMESPACE}/replication", ["green"]),
    ]
    empty = {**GREEN_POLICIES, "replication_clusters": []}
    (step,) = prepare(with_namespace(picture(), at="green", policies=empty)).steps
    assert step.undo is None


@pytest.mark.parametrize("known", [True, False])
def test_nothing_is_taken_out_where_both_may_share_a_store(known: bool) -> None:
    listed = ["blue", "north"]
    pair = with_namespace(apart(picture()), at="green", policies={**GREEN_POLICIES, "replication_clusters": listed})
    pair = with_blue(pair, brokers=pair.green.brokers if known else picture().blue.brokers)
    plan = prepare(pair)
    assert plan.steps == ()
    assert ["may share a configuration store" in each.why for each in plan.unprepared] == [True]


def in_one_document(**policies: object) -> ClusterPair:
    """Both read the same policies, as blue has made them."""
    made = {**POLICIES, **policies}
    return with_namespace(with_namespace(picture(), policies=made), at="green", policies=made)


def test_green_is_let_in_beside_blue_where_both_read_the_same_policies() -> None:
    pair = in_one_document(allowed_clusters=["blue", "north"])
    allow, *_ = steps = prepare(pair).steps
    assert calls([allow]) == [("POST", f"namespaces/{NAMESPACE}/allowedClusters", ["blue", "green", "north"])]
    assert allow.undo is not None
    ready = after(pair, steps)
    assert prepare(ready).steps == ()
    assert holding(ready)
    (alone,) = taking_over(ready)
    assert calls([alone]) == [("POST", f"namespaces/{NAMESPACE}/replication", ["green"])]
    ended = after(ready, [alone])
    assert taking_over(ended) == ()
    assert prepare(ended).steps == ()


def test_a_namespace_that_names_nobody_is_allowed_at_both_and_that_is_not_taken_back() -> None:
    allow = prepare(in_one_document()).steps[0]
    assert allow.body == ["blue", "green"]
    assert allow.undo is None


def test_brokers_that_do_not_go_by_allowed_clusters_are_named() -> None:
    old = replace(picture().green.brokers[0], version="4.0.7")
    plan = prepare(with_green(in_one_document(), brokers=(old,)))
    assert [each.subject for each in plan.unprepared] == [f"{NAMESPACE}, allowed_clusters"]
    assert "green:8080 (4.0.7)" in plan.unprepared[0].why
    assert "allowedClusters" not in {step.path.rpartition("/")[2] for step in plan.steps}


def test_what_preparing_green_changes_of_blue_is_known_before() -> None:
    pair = in_one_document()
    back = changing_both(pair)
    assert {step.kind for step in back} == {PreparationKind.RESTORE}
    assert calls(back) == [
        ("DELETE", f"namespaces/{NAMESPACE}/inactiveTopicPolicies", None),
        ("POST", f"namespaces/{NAMESPACE}/messageTTL", 3600),
    ]
    ready = after(pair, prepare(pair).steps)
    assert of_namespace(after(ready, back).green.namespaces[NAMESPACE].policies, "green") == of_namespace(
        POLICIES, "blue"
    )
    assert changing_both(picture()) == ()


def test_clusters_that_replicate_to_each_other_are_the_operators_matter() -> None:
    pair = with_namespace(apart(picture()), policies={**POLICIES, "replication_clusters": ["blue", "green"]})
    pair = with_namespace(pair, at="green", policies={**GREEN_POLICIES, "replication_clusters": ["blue", "green"]})
    plan = prepare(pair)
    assert plan.steps == ()
    assert ["reads there again" in each.why for each in plan.unprepared] == [True]


def parted(*subscriptions: tuple[str, ...], count: int = 2, **changes: Any) -> dict[str, TopicSeen]:
    names = [f"{SHIPPED}-partition-{number}" for number in range(count)]
    return {name: seen(name, *held, **changes) for name, held in zip(names, subscriptions, strict=True)}


def partitions(blue: dict[str, TopicSeen], green: dict[str, TopicSeen], have: int = 2, there: int = 2) -> ClusterPair:
    pair = with_namespace(picture(), topics=blue, partitions={SHIPPED: have}, topic_policies={}, schemas={})
    found = {SHIPPED: there} if there else {}
    return with_namespace(pair, at="green", topics=green, partitions=found, topic_policies={}, schemas={})


def test_a_subscription_of_all_partitions_is_made_in_one_call() -> None:
    pair = partitions(parted(("a",), ("a",)), {}, there=0)
    create, subscribe = prepare(pair).steps
    assert (create.method, create.body) == ("PUT", 2)
    assert subscribe.path == "/admin/v2/persistent/acme/orders/shipped/subscription/a"
    assert subscribe.subscriptions == 2


@pytest.mark.parametrize(
    ("blue", "green", "made"),
    [
        (parted(("a",), ()), parted((), ()), ["0/a"]),
        (parted(("a",), ("a",)), parted(("a",), ()), ["1/a"]),
        (parted(("a",), ("a",), replicated=True), parted((), ()), ["0/a?replicated=true", "1/a?replicated=true"]),
        (
            {**parted(("a",), ("a",)), f"{SHIPPED}-partition-1": seen("", "a", properties={"x": "y"})},
            parted((), ()),
            ["0/a", "1/a"],
        ),
    ],
)
def test_where_partitions_differ_each_gets_its_own(
    blue: dict[str, TopicSeen], green: dict[str, TopicSeen], made: list[str]
) -> None:
    steps = prepare(partitions(blue, green)).steps
    assert [step.path.rpartition("-partition-")[2].replace("/subscription", "") for step in steps] == made


def test_partitions_that_only_green_has_get_every_subscription() -> None:
    pair = partitions(parted(("a",), ()), parted(("a",), ("a",), (), count=3), there=3)
    assert [step.subject for step in prepare(pair).steps] == [f"{SHIPPED}-partition-2, subscription a"]


@pytest.mark.parametrize(("there", "call", "body"), [(1, "partitions", 2), (2, "createMissedPartitions", None)])
def test_partitions_that_green_lacks_are_made(there: int, call: str, body: int | None) -> None:
    green = dict(list(parted((), ()).items())[:1])
    pair = partitions(parted((), ()), green, there=there)
    (step,) = prepare(pair).steps
    assert calls([step]) == [("POST", f"persistent/acme/orders/shipped/{call}", body)]
    assert step.undo is None
    assert prepare(after(pair, [step])).steps == ()


STORED_ONLY: dict[str, Any] = {
    "ledger": LedgerSeen(terminated=None, migrated=False, cursors={"audit": "7:8"}),
    "answer": StatsAnswer.UNASKED,
    "subscriptions": {},
}


def test_a_subscription_that_is_stored_only_is_there() -> None:
    assert prepare(with_topic(picture(), at="green", **STORED_ONLY)).steps == ()


def test_a_subscription_of_a_topic_that_blue_has_not_loaded_is_reported() -> None:
    assert prepare(with_topic(picture(), **STORED_ONLY)).unprepared == ()
    plan = prepare(with_topic(with_topic(picture(), at="green", subscriptions={}), **STORED_ONLY))
    assert (plan.steps, [each.subject for each in plan.unprepared]) == ((), [f"{TOPIC}, subscription audit"])


def test_topics_that_are_otherwise_at_green_are_reported_and_left_alone() -> None:
    plain = {SHIPPED: seen(SHIPPED)}
    plan = prepare(partitions(parted(("a",), ("a",)), plain, there=0))
    assert (plan.steps, [each.subject for each in plan.unprepared]) == ((), [SHIPPED])
    pair = with_namespace(picture(), topics={SHIPPED: seen(SHIPPED, "a")}, partitions={}, topic_policies={}, schemas={})
    plan = prepare(pair)
    assert (plan.steps, [each.subject for each in plan.unprepared]) == ((), [SHIPPED])


def test_a_partition_of_nothing_is_reported() -> None:
    orphan = "persistent://acme/orders/lost-partition-3"
    plan = prepare(with_namespace(picture(), topics={orphan: seen(orphan, "a")}))
    assert (plan.steps, [each.subject for each in plan.unprepared]) == ((), [orphan])


def test_another_schema_is_left_alone() -> None:
    assert prepare(with_namespace(picture(), at="green", schemas={TOPIC: {**SCHEMA, "data": "[]"}})).steps == ()


def test_only_what_is_created_may_be_there_already() -> None:
    steps = prepare(bare(picture())).steps
    assert [step.creates for step in steps] == [True, True, True, True, True, False, False, True]


# Laws

NAMES = st.sampled_from(["a", "b", "c"])
QUOTAS = st.dictionaries(st.sampled_from(["destination_storage", "message_age"]), st.sampled_from([EVICTS, HOLDS]))
RETENTION = st.fixed_dictionaries(
    {"retentionTimeInMinutes": st.sampled_from([-1, 5, 9]), "retentionSizeInMB": st.sampled_from([-1, 3, 8])}
)
CLUSTERS = ["blue", "east", "green", "north"]


def policies_at(name: str) -> st.SearchStrategy[dict[str, Any]]:
    rate = st.fixed_dictionaries({name: st.fixed_dictionaries({"publishThrottlingRateInMsg": st.integers(1, 3)})})
    return st.fixed_dictionaries(
        {"replication_clusters": st.lists(st.sampled_from(["east", "north"]), unique=True).map(lambda x: [name, *x])},
        optional={
            "allowed_clusters": st.just(CLUSTERS),
            "message_ttl_in_seconds": st.integers(0, 2),
            "subscription_expiration_time_minutes": st.integers(0, 2),
            "inactive_topic_policies": st.fixed_dictionaries({"deleteWhileInactive": st.booleans()}),
            "retention_policies": RETENTION,
            "backlog_quota_map": QUOTAS,
            "publishMaxMessageRate": rate,
            "encryption_required": st.booleans(),
            "max_topics_per_namespace": st.integers(0, 2),
            "resource_group_name": NAMES,
            "auth_policies": st.fixed_dictionaries({"namespace_auth": st.dictionaries(NAMES, st.just(["produce"]))}),
        },
    )


@st.composite
def namespaces(draw: st.DrawFn, at: str, name: str) -> NamespaceSeen:
    own = st.fixed_dictionaries(
        {}, optional={"messageTTL": st.integers(0, 2), "backlogQuotaMap": QUOTAS, "maxConsumers": st.integers(0, 2)}
    )
    topics: dict[str, TopicSeen] = {}
    counts: dict[str, int] = {}
    for each in ("x", "y"):
        topic = f"persistent://{name}/{each}"
        count = draw(st.integers(0, 3))
        parts = [f"{topic}-partition-{number}" for number in range(count)] or [topic]
        if count:
            counts[topic] = count
        for part in parts:
            made = draw(st.dictionaries(NAMES, st.builds(_subscription, st.booleans(), st.booleans()), max_size=2))
            topics[part] = replace(seen(part), subscriptions=made)
    bases = {f"persistent://{name}/{each}" for each in ("x", "y")}
    return NamespaceSeen(
        name=name,
        policies=draw(policies_at(at)),
        partitions=counts,
        topics=topics,
        topic_policies={topic: draw(own) for topic in sorted(bases)},
        schemas={topic: SCHEMA for topic in sorted(bases) if draw(st.booleans())},
    )


def _subscription(replicated: bool, tagged: bool) -> SubscriptionSeen:
    return SubscriptionSeen(kind="", backlog=0, replicated=replicated, properties={"tag": "1"} if tagged else {})


@st.composite
def pairs(draw: st.DrawFn) -> ClusterPair:
    clusters: dict[str, ClusterSeen] = {}
    for at in ("blue", "green"):
        known = {name: urls(name) for name in CLUSTERS if at == "blue" or name == "green" or draw(st.booleans())}
        held = [name for name in (NAMESPACE, OTHER) if at == "blue" or draw(st.booleans())]
        roles = frozenset(draw(st.lists(NAMES, max_size=2)))
        tenant = TenantSeen(admin_roles=roles, allowed_clusters=frozenset(CLUSTERS if at == "blue" else known))
        clusters[at] = replace(
            cluster(at),
            brokers=stored(at, "zk:{}:2181"),
            clusters=known,
            tenants={"acme": tenant} if at == "blue" or held or draw(st.booleans()) else {},
            namespaces={name: draw(namespaces(at, name)) for name in held},
        )
    scope = MigrationScope(canary=(NAMESPACE,), waves=((OTHER,),))
    return ClusterPair(scope=scope, bounds=MigrationBounds(), blue=clusters["blue"], green=clusters["green"])


@settings(max_examples=80, deadline=None)
@given(pair=pairs(), data=st.data())
def test_after_some_steps_the_rest_is_left_and_after_all_nothing(pair: ClusterPair, data: st.DataObject) -> None:
    steps = prepare(pair).steps
    taken = data.draw(st.integers(0, len(steps)))
    assert prepare(after(pair, steps[:taken])).steps == steps[taken:]
    ready = after(pair, steps)
    assert prepare(ready).steps == ()
    assert ready.green.namespaces.keys() == {NAMESPACE, OTHER}
    assert restoring(after(ready, restoring(ready))) == ()
