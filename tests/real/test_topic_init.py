"""``topic init`` against real clusters: it makes what is missing, says so, and finds all of it present afterwards."""

from __future__ import annotations

import itertools
import os
from collections.abc import AsyncIterator

import pytest

from syncer.admin.calls import AdminRefused
from syncer.admin.client import AdminClient, AdminSettings
from syncer.bus.pulsar.topic import StepState, WantedTopic, apply_topic, plan_topic
from syncer.errors import ConfigError, PreconditionFailed
from tests.conftest import PulsarPair

pytestmark = [pytest.mark.anyio, pytest.mark.real("pulsar")]

_numbers = itertools.count(1)


@pytest.fixture
async def admins(pulsar_pair: PulsarPair) -> AsyncIterator[dict[str, AdminClient]]:
    clients = {name: AdminClient(AdminSettings(url=each.admin_url)) for name, each in pulsar_pair.clusters.items()}
    yield clients
    for client in clients.values():
        await client.close()


@pytest.fixture
def wanted() -> WantedTopic:
    tenant = f"init-{os.getpid()}-{next(_numbers)}"
    return WantedTopic(topic=f"persistent://{tenant}/sync/events", regions={"us-east": ("e",), "us-west": ("w", "w2")})


async def test_what_is_missing_is_made_and_found_present_afterwards(
    admins: dict[str, AdminClient], wanted: WantedTopic
) -> None:
    first = await apply_topic(await plan_topic(wanted, admins), admins)
    assert StepState.DONE in {step.state for step in first}
    second = await plan_topic(wanted, admins)
    assert [step for step in second if step.state is not StepState.PRESENT] == []
    for name, admin in admins.items():
        policies = await admin.namespace(wanted.namespace)
        assert policies is not None
        assert set(policies["replication_clusters"]) == {"us-east", "us-west"}
        assert policies["retention_policies"] == {"retentionTimeInMinutes": 10080, "retentionSizeInMB": -1}
        assert policies["backlog_quota_map"]["destination_storage"]["policy"] == "producer_request_hold"
        assert policies["message_ttl_in_seconds"] == 0
        local = await admin.namespace(wanted.local_namespace)
        assert local is not None
        assert local["replication_clusters"] == [name]
        stats = await admin.stats(wanted.topic)
        assert stats is not None
        assert "pulsar-syncer" in stats["subscriptions"]
        assert await admin.partitions(wanted.topic) == 0


async def test_what_was_set_wrong_meanwhile_is_set_right(admins: dict[str, AdminClient], wanted: WantedTopic) -> None:
    await apply_topic(await plan_topic(wanted, admins), admins)
    await admins["us-west"].set_namespace(wanted.namespace, "messageTTL", 60)
    steps = await plan_topic(wanted, admins)
    (wrong,) = [step for step in steps if step.state is StepState.NEEDED]
    assert (wrong.cluster, wrong.found, wrong.wanted) == ("us-west", "60", "0")
    await apply_topic(steps, admins)
    assert {step.state for step in await plan_topic(wanted, admins)} == {StepState.PRESENT}


async def test_a_partitioned_topic_is_refused(admins: dict[str, AdminClient], wanted: WantedTopic) -> None:
    west = admins["us-west"]
    await west.create_tenant(wanted.tenant, {"adminRoles": [], "allowedClusters": ["us-west"]})
    await west.create_namespace(wanted.namespace, {"replication_clusters": ["us-west"]})
    await west.send("PUT", f"/admin/v2/persistent/{wanted.namespace}/events/partitions", 2)
    with pytest.raises(PreconditionFailed, match="exists in us-west with 2 partitions"):
        await plan_topic(wanted, admins)
    assert await admins["us-east"].tenant(wanted.tenant) is None  # nothing was touched


async def test_a_cluster_nobody_knows_is_refused(admins: dict[str, AdminClient], wanted: WantedTopic) -> None:
    strange = WantedTopic(topic=wanted.topic, regions={"us-east": ("e",), "nowhere": ("n",)})
    with pytest.raises(PreconditionFailed, match="does not know nowhere"):
        await plan_topic(strange, {"us-east": admins["us-east"], "nowhere": admins["us-west"]})
    with pytest.raises(ConfigError, match="admin URLs are given for"):
        await plan_topic(strange, admins)


async def test_the_admin_client_reads_what_the_broker_says(admins: dict[str, AdminClient]) -> None:
    east = admins["us-east"]
    await east.check_health()
    assert {"us-east", "us-west"} <= set(await east.clusters())
    assert await east.brokers("us-east")
    assert "public" in await east.tenants()
    assert "public/default" in await east.namespaces("public")
    assert (await east.cluster("us-west") or {})["brokerServiceUrl"].startswith("pulsar://")
    assert await east.tenant("no-such-tenant") is None
    assert await east.schema("persistent://public/default/no-such-topic") is None
    with pytest.raises(AdminRefused) as caught:
        await east.create_namespace("no-such-tenant/ns", {})
    assert caught.value.status == 404
    assert caught.value.reason
