"""A namespace is read with the topics of its clients, and their policies only where there can be some."""

from __future__ import annotations

from typing import Any

import pytest

from syncer.admin.calls import AdminRefused
from syncer.errors import AdminError
from syncer.migration.evidence import NamespaceSeen, StatsAnswer, base_of
from syncer.migration.reading.namespaces import TOPIC_POLICIES, is_of_clients, read_namespace
from tests.unit.migration.reading.samples import INTERNAL_INFO, INTERNAL_STATS, SCHEMA, STATS, TOPIC
from tests.unit.migration.reading.scripted import ScriptedCalls, refused

pytestmark = pytest.mark.anyio
CLUSTER = "blue"
NAME = "acme/orders"
LIST = "/admin/v2/persistent/acme/orders"
SHIPPED = f"persistent://{NAME}/shipped"
EVENTS = f"persistent://{NAME}/__change_events"
STORED = [EVENTS, TOPIC, f"{SHIPPED}-partition-0", f"persistent://{NAME}/created-audit__transaction_pending_ack"]
ANSWERS: dict[str, Any] = {
    f"/admin/v2/namespaces/{NAME}": {"migrated": True, "replication_clusters": ["blue"]},
    LIST: STORED,
    f"{LIST}/partitioned": [SHIPPED, EVENTS],
    f"{LIST}/shipped/partitions": {"partitions": 3},
    f"{LIST}/created/stats": STATS,
    f"{LIST}/created/internalStats": INTERNAL_STATS,
    f"{LIST}/created/internal-info": INTERNAL_INFO,
    f"{LIST}/shipped-partition-0/internal-info": INTERNAL_INFO,
    f"/admin/v2/non-persistent/{NAME}": [f"non-persistent://{NAME}/ticks"],
    f"/admin/v2/schemas/{NAME}/created/schema": SCHEMA,
    f"{LIST}/created/publishRate": {"publishThrottlingRateInMsg": -1, "publishThrottlingRateInByte": 40},
    f"{LIST}/created/retention": None,
    f"{LIST}/created/backlogQuotaMap": {},
    f"{LIST}/created/schemaValidationEnforced": False,
    f"{LIST}/created/deduplicationEnabled": False,
    f"{LIST}/created/schemaCompatibilityStrategy": "FULL",
    f"{LIST}/shipped/publishRate": {"publishThrottlingRateInMsg": 5, "publishThrottlingRateInByte": -1},
    f"{LIST}/shipped/maxProducers": refused(405, "Topic level policies is disabled"),
}


async def read(changes: dict[str, Any]) -> NamespaceSeen:
    calls = ScriptedCalls({**ANSWERS, **changes})
    seen = await read_namespace(calls, CLUSTER, NAME, loaded={TOPIC}, load=False)
    assert seen is not None
    return seen


async def test_a_namespace_is_read_whole() -> None:
    seen = await read({})
    assert seen.marked
    assert seen.policies == ANSWERS[f"/admin/v2/namespaces/{NAME}"]
    assert seen.partitions == {SHIPPED: 3}
    assert {name: topic.answer for name, topic in seen.topics.items()} == {
        TOPIC: StatsAnswer.LOADED,
        f"{SHIPPED}-partition-0": StatsAnswer.UNASKED,
    }
    assert seen.non_persistent == {f"non-persistent://{NAME}/ticks"}
    assert seen.schemas == {TOPIC: SCHEMA}


async def test_policies_that_are_set_are_read_and_those_that_are_not_are_left_out() -> None:
    seen = await read({})
    assert seen.topic_policies == {
        TOPIC: {
            "deduplicationEnabled": False,
            "publishRate": {"publishThrottlingRateInMsg": -1, "publishThrottlingRateInByte": 40},
            "schemaCompatibilityStrategy": "FULL",
        },
        SHIPPED: {"publishRate": {"publishThrottlingRateInMsg": 5, "publishThrottlingRateInByte": -1}},
    }
    assert [topic.publish_rate for topic in seen.topics.values()] == [40, None]


async def test_policies_are_asked_of_whole_topics_and_only_where_events_of_policies_are_stored() -> None:
    policies = tuple(TOPIC_POLICIES)
    for stored, asked in ((STORED, 2 * len(policies)), (STORED[1:], 0)):
        calls = ScriptedCalls({**ANSWERS, LIST: stored})
        await read_namespace(calls, CLUSTER, NAME, loaded=(), load=False)
        assert len([path for path in calls.asked if path.endswith(policies)]) == asked
        assert not [path for path in calls.asked if "-partition-0/" in path and "internal-info" not in path]


async def test_a_topic_that_goes_meanwhile_is_not_there() -> None:
    seen = await read({f"{LIST}/created/stats": refused(404), f"{LIST}/created/internal-info": refused(404)})
    assert list(seen.topics) == [f"{SHIPPED}-partition-0"]


async def test_there_may_be_no_such_namespace() -> None:
    assert await read_namespace(ScriptedCalls({}), CLUSTER, NAME, loaded=(), load=False) is None


@pytest.mark.parametrize("policy", ["publishRate", "retention"])
async def test_a_refused_or_odd_policy_is_an_error(policy: str) -> None:
    with pytest.raises(AdminRefused):
        await read({f"{LIST}/created/{policy}": refused(403)})
    with pytest.raises(AdminError, match=f"{policy} of {TOPIC}: .*not of type dict"):
        await read({f"{LIST}/created/{policy}": "<html>"})


@pytest.mark.parametrize(
    ("topic", "of_clients"),
    [
        (TOPIC, True),
        (f"{SHIPPED}-partition-0", True),
        (f"persistent://{NAME}/my__change_events", True),
        (f"persistent://{NAME}/__change_events-partition-0", False),
        (f"persistent://{NAME}/__transaction_buffer_snapshot_indexes", False),
        ("persistent://pulsar/system/__transaction_log_0", False),
        ("persistent://pulsar/system/transaction_coordinator_assign-partition-3", False),
        (f"persistent://{NAME}/created-audit__transaction_pending_ack", False),
        ("persistent://pulsar/blue-0:8080/healthcheck", False),
        ("non-persistent://pulsar/system/loadbalancer-broker-load-data", False),
        ("persistent://pulsar/ours/healthcheck", True),
    ],
)
def test_brokers_own_topics_are_none_of_clients(topic: str, of_clients: bool) -> None:
    assert is_of_clients(topic) is of_clients


def test_a_partition_belongs_to_its_topic() -> None:
    assert base_of(f"{SHIPPED}-partition-12") == SHIPPED
    assert base_of(TOPIC) == TOPIC
