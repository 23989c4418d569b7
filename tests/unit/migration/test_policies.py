"""Policies as they count at one cluster: their table as JSON of another cluster, and as a migration needs them."""

from __future__ import annotations

from syncer.migration.policies import as_json, of_namespace, while_migrating
from syncer.migration.policies.calls import NAMESPACE_LEVEL

HOLDS = {"limitSize": 1_000, "limitTime": -1, "policy": "producer_request_hold"}
RATE = {"publishThrottlingRateInMsg": 5}


def test_quotas_of_a_type_and_values_of_a_cluster_come_back_as_json() -> None:
    policies = {
        "backlog_quota_map": {"destination_storage": {**HOLDS, "limit": 1_000}, "message_age": HOLDS},
        "publishMaxMessageRate": {"blue": RATE, "other": {}},
    }
    assert as_json(of_namespace(policies, "blue"), "green") == {
        "backlog_quota_map": {"destination_storage": HOLDS, "message_age": HOLDS},
        "publishMaxMessageRate": {"green": RATE},
    }


def test_idle_topics_are_not_deleted_while_a_migration_lasts() -> None:
    idle = {"inactiveTopicDeleteMode": "delete_when_no_subscriptions", "maxInactiveDurationSeconds": 9}
    wanted = while_migrating(
        NAMESPACE_LEVEL, {"inactive_topic_policies": {**idle, "deleteWhileInactive": True}}, {}, defaults=()
    )
    assert wanted == {"inactive_topic_policies": {**idle, "deleteWhileInactive": False}}
