"""What every bus must do. A new bus passes by one harness and ``class TestX(BusContract)`` with a fixture of it."""

from __future__ import annotations

import threading
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol

import anyio
import pytest

from syncer.bus.contract import Bus, Delivery, Incoming, Outgoing, Role
from syncer.bus.wire.codec import encode
from syncer.errors import BusUnavailable, PayloadInvalid
from syncer.model import EventType, MetadataChangeEvent, MetaPath, Millis, Region, ResourceKind, Stamp, counter_of
from syncer.waiting import WAIT_S, until

MAX_UNACKNOWLEDGED = 40


class Rig(Protocol):
    """One fresh topic that two regions share, made for one test."""

    def bus(self, region: str = "us-east") -> Bus:
        """Make a bus of a region (``us-east``, ``us-west``) with ``MAX_UNACKNOWLEDGED``; each call, another daemon."""
        ...

    def outage(self) -> AbstractAsyncContextManager[None]:
        """Make the bus unreachable for us-east while the context lasts."""
        ...

    async def vanish(self, bus: Bus) -> None:
        """End a daemon of this rig as kill -9 would: nothing is returned, nothing is said."""
        ...

    async def scrawl(self, payload: bytes) -> None:
        """Publish a message in us-east whose properties are no UTF-8, as somebody does who is no daemon."""
        ...


def message(number: int, *, region: str = "us-east", value: bytes = b"{}") -> Outgoing:
    """A sound change, told apart by its sequence number."""
    by = counter_of(Region(region), 1)
    now = Millis(1_700_000_000_000 + number)
    return encode(
        MetadataChangeEvent(
            type=EventType.MODIFIED,
            resource=ResourceKind.TENANT,
            resource_name="acme",
            path=MetaPath("/admin/policies/acme"),
            value=value,
            stamp=Stamp(now, Region(region)),
            by=by,
            seen={by: now},
            sender=f"db-{region}",
            sequence=number,
        )
    )


def number_of(incoming: Incoming) -> int:
    return int(incoming.properties["syncer.seq"])


def numbers(messages: Sequence[Incoming], region: str = "us-east") -> list[int]:
    return [number_of(each) for each in messages if each.properties["syncer.region"] == region]


@asynccontextmanager
async def opened(*buses: Bus) -> AsyncIterator[None]:
    try:
        for bus in buses:
            await bus.open()
        yield
    finally:
        for bus in buses:
            await bus.close()


async def take(bus: Bus, count: int, *, ack: bool = True) -> list[Incoming]:
    """Receive until there are ``count`` messages; what is acknowledged is all of them."""
    return await _received(bus, lambda got: len(got) >= count, ack=ack)


async def take_through(bus: Bus, last: int) -> list[int]:
    """Receive and acknowledge until the message of this number has come; the numbers of all that came."""
    return numbers(await _received(bus, lambda got: last in numbers(got), ack=True))


async def _received(bus: Bus, enough: Callable[[list[Incoming]], bool], *, ack: bool) -> list[Incoming]:
    got: list[Incoming] = []
    with anyio.fail_after(WAIT_S):
        deliveries = bus.receive()
        try:
            async for delivery in deliveries:
                got += delivery.messages
                if ack:
                    await bus.acknowledge(delivery)
                if enough(got):
                    break
        finally:
            await aclose(deliveries)
    return got


async def aclose(stream: AsyncIterator[object]) -> None:
    close = getattr(stream, "aclose", None)
    if close is not None:
        await close()


async def until_role(bus: Bus, wanted: Role) -> None:
    with anyio.fail_after(WAIT_S):
        roles = bus.role()
        try:
            async for role in roles:
                if role is wanted:
                    return
        finally:
            await aclose(roles)
    raise AssertionError(f"never {wanted}")


@pytest.mark.anyio
class BusContract:
    """The suite. Subclasses give a fixture ``rig``."""

    async def test_every_region_gets_every_message_in_the_order_of_its_publisher(self, rig: Rig) -> None:
        east, west = rig.bus(), rig.bus("us-west")
        async with opened(east, west):
            await east.publish([message(n) for n in range(1, 61)])
            await west.publish([message(n, region="us-west") for n in range(1, 31)])
            await east.publish([message(n) for n in range(61, 91)])
            for bus in (east, west):
                got = await take(bus, 120)
                assert numbers(got) == list(range(1, 91))
                assert numbers(got, "us-west") == list(range(1, 31))

    async def test_payload_and_properties_arrive_unchanged(self, rig: Rig) -> None:
        bus = rig.bus()
        sent = message(7, value=bytes(range(256)) * 8)
        sent = Outgoing(sent.payload, {**sent.properties, "note": "größer, \u20ac, \U0001f40e", "empty": ""})
        before = time.time_ns() // 1_000_000
        async with opened(bus):
            await bus.publish([sent])
            (got,) = await take(bus, 1)
        assert got.payload == sent.payload
        assert {name: got.properties[name] for name in sent.properties} == dict(sent.properties)
        assert got.position
        assert before - 1000 <= got.published_at_ms <= time.time_ns() // 1_000_000 + 1000

    async def test_a_message_that_is_no_text_arrives_as_unreadable_and_holds_up_nothing(self, rig: Rig) -> None:
        bus = rig.bus()
        async with opened(bus):
            await bus.publish([message(1)])
            for _ in range(3):
                await rig.scrawl(b"scrawled")
            await bus.publish([message(2)])
            got = await take(bus, 5)
        sound = [each for each in got if not each.trouble]
        odd = [each for each in got if each.trouble]
        assert numbers(sound) == [1, 2]
        assert [(each.payload, dict(each.properties)) for each in odd] == [(b"scrawled", {})] * 3
        assert all("propert" in each.trouble for each in odd)
        assert len({each.position for each in got}) == 5
        again = rig.bus()
        async with opened(again):
            await again.publish([message(3)])
            assert numbers(await take(again, 1)) == [3], "what was read was acknowledged"

    async def test_what_was_published_before_a_region_joined_reaches_it(self, rig: Rig) -> None:
        """Holds for the region's own topic: the subscription starts at the earliest message, not at the latest."""
        first = rig.bus()
        async with opened(first):
            await first.publish([message(n) for n in range(1, 11)])
        second = rig.bus()
        async with opened(second):
            assert numbers(await take(second, 10)) == list(range(1, 11))

    async def test_acknowledged_messages_do_not_come_again(self, rig: Rig) -> None:
        first = rig.bus()
        async with opened(first):
            await first.publish([message(n) for n in range(1, 6)])
            await take(first, 5)
        second = rig.bus()
        async with opened(second):
            await second.publish([message(6)])
            assert numbers(await take(second, 1)) == [6]
            assert (await second.position()).connected

    async def test_unacknowledged_messages_come_again_to_the_next_daemon(self, rig: Rig) -> None:
        first = rig.bus()
        async with opened(first):
            await first.publish([message(n) for n in range(1, 6)])
            await take(first, 5, ack=False)
        second = rig.bus()
        async with opened(second):
            assert numbers(await take(second, 5)) == [1, 2, 3, 4, 5]

    async def test_unacknowledged_messages_come_again_to_a_new_reader_of_the_same_daemon(self, rig: Rig) -> None:
        bus = rig.bus()
        async with opened(bus):
            await bus.publish([message(n) for n in range(1, 6)])
            await take(bus, 5, ack=False)
            assert numbers(await take(bus, 5)) == [1, 2, 3, 4, 5]

    async def test_an_acknowledgement_never_covers_an_older_delivery(self, rig: Rig) -> None:
        """The later of two deliveries is acknowledged; then the daemon dies. The earlier one must come again."""
        first = rig.bus()
        async with opened(first):
            await first.publish([message(1)])
            deliveries = first.receive()
            with anyio.fail_after(WAIT_S):
                await anext(deliveries)
                await first.publish([message(2)])
                later = await anext(deliveries)
            assert numbers(later.messages) == [2]
            await first.acknowledge(later)
            await first.acknowledge(later)  # idempotent
            await aclose(deliveries)
        second = rig.bus()
        async with opened(second):
            assert numbers(await take(second, 1))[0] == 1

    async def test_unacknowledged_messages_are_bounded(self, rig: Rig) -> None:
        bus = rig.bus()
        async with opened(bus):
            await bus.publish([message(n) for n in range(1, 3 * MAX_UNACKNOWLEDGED)])
            deliveries = bus.receive()
            held: list[Delivery] = []
            with anyio.fail_after(WAIT_S):
                while sum(len(each.messages) for each in held) < MAX_UNACKNOWLEDGED:
                    held.append(await anext(deliveries))
            assert sum(len(each.messages) for each in held) == MAX_UNACKNOWLEDGED
            more: list[Delivery] = []

            async def one_more() -> None:
                more.append(await anext(deliveries))

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(one_more)
                with anyio.move_on_after(0.5):
                    await anyio.sleep_forever()
                assert more == []  # silence is what is tested: nothing may come
                for delivery in held:
                    await bus.acknowledge(delivery)
            assert numbers(more[0].messages)[0] == MAX_UNACKNOWLEDGED + 1
            await aclose(deliveries)

    async def test_one_of_two_daemons_is_active_and_the_other_takes_over(self, rig: Rig) -> None:
        first, second = rig.bus(), rig.bus()
        async with opened(first):
            await until_role(first, Role.ACTIVE)
            await second.open()
            await until_role(second, Role.STANDBY)
            await second.publish([message(n) for n in range(1, 11)])  # a standby may publish
            assert numbers(await take(first, 10, ack=False)) == list(range(1, 11))
            await first.close()
            await until_role(second, Role.ACTIVE)
            assert numbers(await take(second, 10)) == list(range(1, 11))
            await second.close()

    async def test_the_role_is_proven_anew_by_who_holds_it_and_by_nobody_else(self, rig: Rig) -> None:
        first, second = rig.bus(), rig.bus()
        async with opened(first):
            await until_role(first, Role.ACTIVE)
            async with opened(second), anyio.create_task_group() as tasks:
                proven = anyio.Event()

                async def wait_for_the_second() -> None:
                    await second.proven()
                    proven.set()

                tasks.start_soon(wait_for_the_second)
                for _ in range(2):
                    with anyio.fail_after(WAIT_S):
                        await first.proven()
                assert not proven.is_set()
                await first.close()
                with anyio.fail_after(WAIT_S):
                    await proven.wait()
                await until_role(second, Role.ACTIVE)

    async def test_a_daemon_that_vanishes_is_replaced(self, rig: Rig) -> None:
        first, second = rig.bus(), rig.bus()
        async with opened(first):
            await until_role(first, Role.ACTIVE)
            async with opened(second):
                await first.publish([message(1), message(2)])
                assert numbers(await take(first, 2, ack=False)) == [1, 2]
                await rig.vanish(first)
                await until_role(second, Role.ACTIVE)
                assert numbers(await take(second, 2)) == [1, 2]

    async def test_what_was_acknowledged_by_publish_survives_the_publisher(self, rig: Rig) -> None:
        first = rig.bus()
        async with opened(first):
            await first.publish([message(n) for n in range(1, 21)])
            await rig.vanish(first)
        second = rig.bus()
        async with opened(second):
            assert numbers(await take(second, 20)) == list(range(1, 21))

    async def test_a_message_that_is_too_large_is_named(self, rig: Rig) -> None:
        bus = rig.bus()
        async with opened(bus):
            with pytest.raises(PayloadInvalid, match="message 1 of the batch") as caught:
                await bus.publish([message(1), message(2, value=b"x" * 6_000_000), message(3)])
            assert caught.value.args[1] == 1
            await bus.publish([message(4)])
            assert 4 in numbers(await take(bus, 1))

    async def test_an_outage_is_reported_and_passes(self, rig: Rig) -> None:
        bus = rig.bus()
        async with opened(bus):
            await bus.publish([message(1)])
            # A broker that is stopped while it takes the lock may fence the lock's ledger until the topic is unloaded.
            await until_role(bus, Role.ACTIVE)
            async with rig.outage():
                with pytest.raises(BusUnavailable), anyio.fail_after(WAIT_S):
                    await bus.publish([message(2)])

            async def published() -> bool:
                try:
                    await bus.publish([message(3)])
                except BusUnavailable:
                    return False
                return True

            await until(published, "it is published")
            got: list[int] = []

            async def received() -> bool:
                try:
                    got.extend(await take_through(bus, 3))
                except BusUnavailable:
                    return False
                return 3 in got

            await until(received, "it is received")
            assert got[0] == 1
            assert set(got) <= {1, 2, 3}  # whether the second landed is unknown, as its error said

    async def test_position_counts_what_is_not_acknowledged(self, rig: Rig) -> None:
        bus = rig.bus()
        async with opened(bus):
            for number in range(1, 8):  # messages of one publish may share an entry
                await bus.publish([message(number)])

            async def backlog_is_seven() -> bool:
                return (await bus.position()).backlog == 7

            await until_role(bus, Role.ACTIVE)
            await until(backlog_is_seven, "a backlog of seven")
            await take(bus, 7)

            async def backlog_is_gone() -> bool:
                return (await bus.position()).backlog == 0

            await until(backlog_is_gone, "no backlog")

    async def test_close_ends_threads_and_streams_and_may_be_repeated(self, rig: Rig) -> None:
        bus = rig.bus()
        await bus.close()  # before open: nothing to do
        bus = rig.bus()
        await bus.open()
        await bus.close()  # what the first bus of a process starts for all of them stays
        before = set(threading.enumerate())
        bus = rig.bus()
        await bus.open()
        await until_role(bus, Role.ACTIVE)
        ended: list[str] = []

        async def follow_roles() -> None:
            async for _ in bus.role():
                pass
            ended.append("role")

        async def follow_messages() -> None:
            async for _ in bus.receive():
                pass
            ended.append("receive")

        with anyio.fail_after(WAIT_S):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(follow_roles)
                tasks.start_soon(follow_messages)
                await anyio.wait_all_tasks_blocked()
                await bus.close()
        assert sorted(ended) == ["receive", "role"]
        await bus.close()
        assert set(threading.enumerate()) <= before
        with pytest.raises(BusUnavailable):
            await bus.publish([message(1)])
