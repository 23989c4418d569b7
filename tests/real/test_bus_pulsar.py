"""What the Pulsar bus does beyond the contract: other regions, Pulsar's own schema, broker restarts, the lock."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator

import anyio
import anyio.to_thread
import pytest

from syncer.admin.client import AdminClient, AdminSettings
from syncer.bus.contract import Role
from syncer.bus.pulsar.bus import PulsarBus, PulsarBusConfig
from syncer.bus.wire.codec import decode
from syncer.bus.wire.native import SCHEMA_TEXT
from syncer.errors import BusUnavailable, SubscriptionShared, TransportError
from syncer.model import MetadataChangeEvent
from syncer.waiting import WAIT_S, until
from tests.conftest import PulsarPair
from tests.contract.bus_suite import message, numbers, opened, take, take_through, until_role
from tests.contract.test_buses import PulsarRig

pytestmark = [pytest.mark.anyio, pytest.mark.real("pulsar")]


@pytest.fixture
async def rig(pulsar_pair: PulsarPair) -> PulsarRig:
    rig = PulsarRig(pulsar_pair)
    await rig.prepare()
    return rig


@pytest.fixture
async def east(pulsar_pair: PulsarPair) -> AsyncIterator[AdminClient]:
    async with AdminClient(AdminSettings(url=pulsar_pair.clusters["us-east"].admin_url)) as admin:
        yield admin


async def test_the_schema_is_registered_by_the_text_of_pulsars_own(rig: PulsarRig, east: AdminClient) -> None:
    bus = rig.bus()
    async with opened(bus):
        await bus.publish([message(1)])
        (got,) = await take(bus, 1)
    assert isinstance(decode(got.payload, got.properties), MetadataChangeEvent)
    schema = await east.schema(rig.topic)
    assert schema is not None
    assert (schema["type"], schema["data"]) == ("AVRO", SCHEMA_TEXT)


async def test_a_topic_with_another_schema_is_refused_with_a_hint(rig: PulsarRig, east: AdminClient) -> None:
    other = {"type": "record", "name": "Other", "fields": [{"name": "x", "type": "long"}]}
    _, _, name = rig.topic.partition("://")
    await east.send(
        "POST", f"/admin/v2/schemas/{name}/schema", {"type": "AVRO", "schema": json.dumps(other), "properties": {}}
    )
    with pytest.raises(TransportError, match="another schema") as caught:
        await rig.bus().open()
    assert not caught.value.retryable
    assert "topic init" in caught.value.hint


async def test_messages_of_one_publish_share_entries(rig: PulsarRig) -> None:
    bus = rig.bus()
    async with opened(bus):
        await until_role(bus, Role.ACTIVE)
        await bus.publish([message(number) for number in range(1, 101)])
        backlogs: set[int | None] = set()

        async def backlog_is_known() -> bool:
            backlogs.add((await bus.position()).backlog)
            return any(backlogs)

        await until(backlog_is_known, "the backlog is known")
        assert max(filter(None, backlogs)) < 10
        assert numbers(await take(bus, 100)) == list(range(1, 101))


async def test_an_entry_that_was_acknowledged_in_part_is_delivered_again_whole(rig: PulsarRig) -> None:
    """Deliveries are smaller than an entry: a daemon that dies between two of them loses none of the rest.

    How many entries the client makes of one publication depends on its time: a slow machine may end one just there.
    """
    for _ in range(5):
        first, second = rig.bus(), rig.bus()
        async with opened(first):
            await until_role(first, Role.ACTIVE)
            await first.publish([message(number) for number in range(1, 51)])
            acknowledged = numbers(await take(first, 25))
            assert len(acknowledged) < 50
        async with opened(second):
            await until_role(second, Role.ACTIVE)
            rest = await take_through(second, 50)
        assert rest == list(range(rest[0], 51))
        assert rest[0] <= len(acknowledged) + 1, "nothing is lost"
        if rest[0] <= len(acknowledged):
            return
    pytest.fail("each entry ended where the deliveries did")


async def test_a_publisher_never_stands_still(rig: PulsarRig, pulsar_pair: PulsarPair) -> None:
    """The client's ``flush_async`` held Python's lock while it waited for the producer's: now and then for ever."""
    words = [pulsar_pair.clusters["us-east"].service_url, rig.topic, "8"]
    with anyio.fail_after(WAIT_S):
        done = await anyio.run_process([sys.executable, "-m", "tests.support.publisher", *words])
    assert int(done.stdout) > 0


async def test_events_cross_between_regions_within_moments(rig: PulsarRig) -> None:
    east, west = rig.bus(), rig.bus("us-west")
    async with opened(east, west):
        await east.publish([message(1)])
        deliveries = west.receive()
        with anyio.fail_after(WAIT_S):
            await west.acknowledge(await anext(deliveries))
            for number in range(2, 12):
                await east.publish([message(number)])
                delivery = await anext(deliveries)
                assert numbers(delivery.messages) == [number]
                await west.acknowledge(delivery)


async def test_a_second_region_at_one_subscription_is_refused_and_the_first_hears_on(
    rig: PulsarRig, pulsar_pair: PulsarPair
) -> None:
    cluster = pulsar_pair.clusters["us-east"]
    config = PulsarBusConfig(
        region="late", service_url=cluster.service_url, admin_url=cluster.admin_url, topic=rig.topic
    )
    first, second, looking = rig.bus(), PulsarBus(config), PulsarBus(config)
    async with opened(second):
        async with opened(first):
            await until_role(first, Role.ACTIVE)
            await first.publish([message(1)])
            assert numbers(await take(first, 1)) == [1]
            await until_role(second, Role.ACTIVE)
            with pytest.raises(SubscriptionShared, match="us-east also reads by subscription 'pulsar-syncer'"):
                await anext(second.receive())
            with pytest.raises(SubscriptionShared):
                await looking.reach()
            await looking.close()
            await second.publish([message(2)])
            assert numbers(await take(first, 1)) == [2]
            assert (await first.position()).trouble is None
        await second.publish([message(3)])
        assert numbers(await take(second, 1)) == [3]


async def test_a_killed_broker_costs_nothing_but_time(rig: PulsarRig, pulsar_pair: PulsarPair) -> None:
    """Published before, during and after: all arrive, in order, and the role comes back."""
    cluster = pulsar_pair.clusters["us-east"]
    bus = rig.bus()
    async with opened(bus):
        await until_role(bus, Role.ACTIVE)
        await bus.publish([message(1), message(2)])
        await anyio.to_thread.run_sync(cluster.broker.kill)
        try:
            with pytest.raises(BusUnavailable):
                await bus.publish([message(3)])
            await until_role(bus, Role.STANDBY)
        finally:
            await anyio.to_thread.run_sync(cluster.start)

        async def published() -> bool:
            try:
                await bus.publish([message(3), message(4)])
            except BusUnavailable:
                return False
            return True

        await until(published, "it is published")
        await until_role(bus, Role.ACTIVE)
        got: list[int] = []

        async def received() -> bool:
            try:
                got.extend(numbers(await take(bus, 1)))
            except BusUnavailable:
                return False
            return 4 in got

        await until(received, "all is received")
    assert list(dict.fromkeys(got)) == [1, 2, 3, 4]


async def test_a_holder_that_stops_answering_loses_the_lock_and_gets_it_back_later(
    rig: PulsarRig, east: AdminClient
) -> None:
    """The lock is what gives the role: without its topic nobody is active, whatever the subscription says."""
    bus = rig.bus()
    assert isinstance(bus, PulsarBus)
    lock = f"{rig.topic.removesuffix('/events')}-local/us-east-lock"
    async with opened(bus):
        await until_role(bus, Role.ACTIVE)
        await bus.publish([message(1)])
        deliveries = bus.receive()
        with anyio.fail_after(WAIT_S):
            await anext(deliveries)  # and its reader is busy with it when the lock goes
        roles: list[Role] = []

        async def follow() -> None:
            async for role in bus.role():
                roles.append(role)  # noqa: PERF401 - read while it grows

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(follow)
            await east.send("POST", f"/admin/v2/persistent/{lock.partition('://')[2]}/terminate")

            async def standby() -> bool:
                return roles[-1:] == [Role.STANDBY]

            await until(standby, "it stands by")

            async def consumer_gone() -> bool:
                stats = await east.stats(rig.topic) or {}
                return not stats["subscriptions"]["pulsar-syncer"]["consumers"]

            await until(consumer_gone, "its consumer is gone")  # or it would starve the next holder's consumer
            await east.delete_topic(lock, force=True)

            async def active() -> bool:
                return roles[-1:] == [Role.ACTIVE]

            await until(active, "it is active")
            with anyio.fail_after(WAIT_S):
                assert numbers((await anext(deliveries)).messages) == [1]  # unacknowledged: it comes again
            tasks.cancel_scope.cancel()


async def test_a_cluster_that_is_away_is_named() -> None:
    config = PulsarBusConfig.model_validate(
        {
            "region": "r",
            "service_url": "pulsar://127.0.0.1:9",
            "topic": "persistent://a/b/c",
            "operation_timeout": 1,
        }
    )
    with pytest.raises(BusUnavailable, match="cannot publish to persistent://a/b/c"):
        await PulsarBus(config).open()


async def test_a_missing_topic_or_namespace_says_what_to_do(pulsar_pair: PulsarPair) -> None:
    cluster = pulsar_pair.clusters["us-east"]
    bus = PulsarBus(
        PulsarBusConfig.model_validate(
            {
                "region": "us-east",
                "service_url": cluster.service_url,
                "admin_url": cluster.admin_url,
                "topic": "persistent://nobody/nowhere/nothing",
                "operation_timeout": 3,
            }
        )
    )
    with pytest.raises(BusUnavailable) as caught:
        await bus.open()
    assert "topic init" in caught.value.hint
