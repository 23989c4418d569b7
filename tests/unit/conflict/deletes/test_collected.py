"""Settings of brokers and policies of namespaces: who may have deleted a declaration."""

from __future__ import annotations

import pytest

from syncer.conflict.deletes.collected import (
    BrokerCollection,
    CollectionTold,
    DeletedBy,
    Inactive,
    deleted_by,
    named,
    policy_of,
    why_held,
)
from syncer.model import MetaPath

PATH = MetaPath("/admin/partitioned-topics/acme/orders/persistent/created")
ON = BrokerCollection(deletes_declarations=True)
OFF = BrokerCollection()
DELETES = "brokerDeleteInactivePartitionedTopicMetadataEnabled"
COLLECTS = "brokerDeleteInactiveTopicsEnabled"


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, OFF),
        ({DELETES: "true"}, ON),
        ({DELETES: " TRUE "}, ON),
        ({DELETES: True}, ON),
        ({DELETES: "false"}, OFF),
        ({DELETES: ""}, OFF),
        ({DELETES: None, COLLECTS: None}, OFF),
        ({COLLECTS: "true"}, OFF),
        ({DELETES: "true", COLLECTS: "false"}, BrokerCollection(deletes_declarations=True, collects_topics=False)),
    ],
)
def test_what_a_broker_does_not_tell_is_as_pulsar_has_it(
    settings: dict[str, object], expected: BrokerCollection
) -> None:
    assert BrokerCollection.of(settings) == expected


@pytest.mark.parametrize(
    ("broker", "policy", "collects"),
    [
        (ON, None, True),
        (ON, Inactive.DELETED, True),
        (ON, Inactive.KEPT, False),
        (BrokerCollection(deletes_declarations=True, collects_topics=False), None, False),
        (BrokerCollection(deletes_declarations=True, collects_topics=False), Inactive.DELETED, True),
        (BrokerCollection(deletes_declarations=True, collects_topics=False), Inactive.KEPT, False),
        (OFF, None, False),
        (OFF, Inactive.DELETED, False),
    ],
)
def test_a_namespace_outweighs_the_settings_of_a_broker(
    broker: BrokerCollection, policy: Inactive | None, *, collects: bool
) -> None:
    assert broker.collects(policy) is collects


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (CollectionTold(brokers={"b0": OFF}), DeletedBy.OPERATOR),
        (CollectionTold(brokers={"b0": OFF, "b1": ON}), DeletedBy.BROKER),
        (CollectionTold(brokers={"b1": ON}, trouble="b0 does not answer"), DeletedBy.BROKER),
        (CollectionTold(brokers={"b1": ON}, trouble="b0 refuses", refused=True), DeletedBy.BROKER),
        (CollectionTold(brokers={"b1": OFF}, trouble="b0 does not answer"), None),
        (CollectionTold(trouble="nobody answers"), None),
        (CollectionTold(brokers={"b1": OFF}, trouble="b0 refuses", refused=True), DeletedBy.UNKNOWN),
        (CollectionTold(trouble="no [admin] is configured", refused=True), DeletedBy.UNKNOWN),
    ],
)
def test_one_broker_that_collects_is_enough_and_none_only_where_all_answer(
    told: CollectionTold, expected: DeletedBy | None
) -> None:
    assert deleted_by(told, None) is expected


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (None, None),
        ({}, None),
        ({"inactive_topic_policies": None}, None),
        ({"inactive_topic_policies": {"inactiveTopicDeleteMode": "delete_when_no_subscriptions"}}, None),
        ({"inactive_topic_policies": {"deleteWhileInactive": "false"}}, None),
        ({"inactive_topic_policies": {"deleteWhileInactive": False}}, Inactive.KEPT),
        ({"inactive_topic_policies": {"deleteWhileInactive": True}}, Inactive.DELETED),
    ],
)
def test_a_namespace_says_by_its_policies_what_becomes_of_inactive_topics(
    document: dict[str, object] | None, expected: Inactive | None
) -> None:
    assert policy_of(document) is expected


def test_a_hold_names_the_setting_the_broker_and_both_commands() -> None:
    why = why_held(PATH, CollectionTold(brokers={"b1:8080": ON, "b0:8080": OFF}))
    assert f"{DELETES}=true at b1:8080" in why
    assert f"'syncer holds confirm {PATH}'" in why
    assert f"'syncer holds reject {PATH}'" in why


def test_the_first_brokers_are_named() -> None:
    assert named(CollectionTold(brokers={f"b{number}": ON for number in range(5)})) == "b0, b1, b2 and 2 more"
