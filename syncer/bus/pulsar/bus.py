"""A bus on a replicated Pulsar topic.

Three threads, because the client blocks: one publishes, one receives, one holds the lock. The role is taken from one
place only, the exclusive producer on a lock topic of the local cluster; the consumer subscribes after the lock is held,
so a joining standby cannot take messages from a healthy daemon. The fence in the store decides in any case.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import partial
from typing import Any, ClassVar, Final

import _pulsar
import pulsar
import structlog
from pulsar.exceptions import IncompatibleSchema, MessageTooBig, PulsarException, Timeout
from pydantic import BaseModel

from syncer.admin.client import AdminClient, AdminSettings
from syncer.bus.contract import BusPosition, Delivery, Incoming, Outgoing, Role
from syncer.bus.feed import RoleFeed
from syncer.bus.limits import DELIVERY_BYTES, check_sizes, message_bytes, too_large
from syncer.bus.pulsar import log
from syncer.bus.pulsar.acks import PublishAcks
from syncer.bus.pulsar.client import NativeSchema, PulsarBusConfig, make_client
from syncer.bus.pulsar.readers import Readers, consumer_name
from syncer.bus.window import Window
from syncer.bus.worker import ClientThread
from syncer.errors import AdminError, AdminUnreachable, BusUnavailable, TransportError
from syncer.model import Millis

__all__ = ["PulsarBus", "PulsarBusConfig"]

_log = structlog.get_logger(__name__)

_LOOK_S: Final = 2.0
"""How long a daemon that becomes active waits at most to be told who reads by its subscription."""
_LOCK_WAIT_S: Final = 3
"""How long one attempt to get the lock blocks its thread; the next follows at once."""
_IDLE_MS: Final = 50
"""How long one look for messages waits when there are none."""
_LOCK_BEATS: Final = 5
"""Lock messages within one lock timeout."""
_ENTRY_MESSAGES: Final = 1000
_ENTRY_BYTES: Final = 128 * 1024
_ENTRY_DELAY_MS: Final = 10
"""A publish becomes as few entries as its size allows: a broker's work is by the entry, ten times that of a message in
it. Nobody waits for the delay, since every publish ends with a flush."""
_SLACK_S: Final = 5.0
_RETRY_FOR: Final = timedelta(seconds=20)
_LONGEST_BACK_OFF_S: Final = 30.0


class PulsarBus:
    """One region's side of the topic. See :class:`syncer.bus.contract.Bus`.

    The client reconnects for ever by itself. A publish whose acknowledgement does not come in time fails as a whole
    with ``BusUnavailable`` and is published again by the caller, in order; nothing is dropped.
    """

    config_model: ClassVar[type[BaseModel]] = PulsarBusConfig

    def __init__(self, config: PulsarBusConfig) -> None:
        self._config = config
        self._feed = RoleFeed()
        self._window: Window[_pulsar.MessageId] = Window(config.max_unacknowledged)
        self._publisher = ClientThread(f"pulsar publisher of {config.region}")
        self._flusher = ClientThread(f"pulsar flusher of {config.region}")
        """``flush`` waits without a deadline, so it has a thread of its own. ``flush_async`` is no way around: it holds
        the interpreter while it waits for the producer's lock, and who has that lock may wait for the interpreter: then
        the whole process stands still for ever."""
        self._receiver = ClientThread(f"pulsar receiver of {config.region}")
        self._keeper = ClientThread(f"pulsar lock of {config.region}", self._keep_lock)
        self._client: pulsar.Client | None = None
        self._producer: pulsar.Producer | None = None
        self._consumer: pulsar.Consumer | None = None
        self._lock_client: pulsar.Client | None = None
        self._lock: pulsar.Producer | None = None
        self._lock_failures = 0
        self._admin: AdminClient | None = None
        self._readers = Readers(config.topic, config.subscription, config.region)
        self._operation_s = int(config.operation_timeout.total_seconds())

    @property
    def trouble(self) -> str:
        """Why the client has no connection, as it told last; nothing is known where it tells a file."""
        return log.relay().trouble() if self._config.client_log is None else ""

    async def open(self) -> None:
        """Connect as publisher, make the subscription at the earliest message, and begin to ask for the lock."""
        try:
            await self._connect(_RETRY_FOR)
            await self._make_subscription()
            self._keeper.start()
        except BaseException:
            await self.close()
            raise

    async def reach(self) -> None:
        """Connect as publisher, in place of ``open``: for one who only looks, and takes no role from anybody.

        Raises:
            SubscriptionShared: Another region reads by this one's subscription.
        """
        await self._connect(timedelta(0))
        with _of_admin("the topic cannot be looked at"):
            await self._look()
        self._refuse_to_share()

    async def _connect(self, retry_for: timedelta) -> None:
        config = self._config
        self._feed.attach()
        self._client = make_client(config, operation_timeout_s=self._operation_s)
        self._lock_client = make_client(config, operation_timeout_s=_LOCK_WAIT_S)
        if config.admin_url is not None:
            self._admin = AdminClient(
                AdminSettings(
                    url=config.admin_url,
                    brokers=config.admin_brokers,
                    auth=config.auth,
                    trust=config.trust,
                    retry_for=retry_for,
                )
            )
        self._publisher.start()
        self._flusher.start()
        self._receiver.start()
        await self._publisher.call(self._connected_producer, timeout_s=self._operation_s + _SLACK_S)

    async def close(self) -> None:
        """Give the lock back, stop receiving and publishing, end all threads."""
        self._feed.close()
        await self._receiver.stop(self._close_consumer)
        await self._keeper.stop(self._close_lock)
        await self._publisher.stop(self._close_clients)
        await self._flusher.stop()
        if self._admin is not None:
            await self._admin.close()
            self._admin = None

    async def abandon(self) -> None:
        """End as a killed process would: connections break, nothing is said. For failover drills and tests.

        The threads end first: a call of a client that is shut down under it may never come back.
        """
        self._feed.close()
        for thread in (self._receiver, self._keeper, self._publisher, self._flusher):
            await thread.stop()
        for client in (self._client, self._lock_client):
            if client is not None:
                client.shutdown()
        await self.close()

    async def publish(self, messages: Sequence[Outgoing]) -> None:
        """Send all in order, several to an entry, then wait for all acknowledgements."""
        check_sizes(messages, self._config.max_message_bytes)
        if messages:
            timeout_s = self._config.publish_timeout.total_seconds() + self._operation_s + 2 * _SLACK_S
            await self._publisher.call(partial(self._send, messages), timeout_s=timeout_s)

    async def receive(self) -> AsyncIterator[Delivery]:
        """Stream deliveries while the lock is held; the consumer is connected anew for each turn of the role.

        Raises:
            SubscriptionShared: Another region reads by this one's subscription already, or the client was sent to
                another cluster. Whoever reads there first is left alone.
        """
        turn = -1
        timeout_s = 2 * self._operation_s + _SLACK_S
        while not self._feed.closed:
            if self._feed.current is not Role.ACTIVE:
                await self._feed.wait_changed()
                continue
            try:
                if self._readers.redirected:
                    await self._receiver.call(self._close_consumer, timeout_s=timeout_s)
                    self._refuse_to_share()
                if turn != self._feed.turn:
                    turn = self._feed.turn
                    self._window.restart()
                    with suppress(AdminError, TimeoutError):
                        async with asyncio.timeout(_LOOK_S):
                            await self._look()
                    self._refuse_to_share()
                    await self._receiver.call(self._subscribe, timeout_s=timeout_s)
                room = min(self._config.max_batch, self._window.room)
                if room == 0:
                    await self._window.wait_room(_IDLE_MS / 1000)
                    continue
                messages, last = await self._receiver.call(partial(self._fetch, room), timeout_s=timeout_s)
            except BusUnavailable:
                if self._feed.closed:
                    return
                if turn != self._feed.turn:
                    continue  # the lock was lost, and the consumer closed with it
                raise
            if last is not None and turn == self._feed.turn:
                token = self._window.deliver(len(messages), last)
                yield Delivery(messages, token)

    async def acknowledge(self, delivery: Delivery) -> None:
        """Acknowledge everything up to the end of the oldest deliveries that are acknowledged without a gap."""
        upto = self._window.acknowledge(delivery.token)
        if upto is not None:
            await self._receiver.call(partial(self._mark, upto), timeout_s=2 * self._operation_s + _SLACK_S)

    def role(self) -> AsyncIterator[Role]:
        """Stream whether this daemon holds the region's lock."""
        return self._feed.stream()

    async def proven(self) -> None:
        """Wait until the lock was renewed once more."""
        await self._feed.proven()

    async def position(self) -> BusPosition:
        """Ask the cluster for the depth of the subscription, in entries; unknown when its REST API does not answer."""
        connected = self._producer is not None and self._producer.is_connected()
        backlog = None
        with suppress(AdminError):
            stats = await self._look()
            backlog = stats.get("subscriptions", {}).get(self._config.subscription, {}).get("msgBacklog")
        return BusPosition(backlog=backlog, connected=connected, trouble=self._readers.trouble)

    async def _look(self) -> Mapping[str, Any]:
        """Look who reads by the subscription; what the cluster tells of the topic, nothing where it cannot be asked."""
        if self._admin is None:
            return {}
        before = self._reads
        stats = await self._admin.stats(self._config.topic) or {}
        self._readers.look(stats, connected=before and self._reads)
        return stats

    @property
    def _reads(self) -> bool:
        consumer = self._consumer
        return consumer is not None and consumer.is_connected()

    def _refuse_to_share(self) -> None:
        if (trouble := self._readers.trouble) is not None:
            raise trouble

    async def _make_subscription(self) -> None:
        """Make it by REST: a consumer that joins only to make it would take the role from a healthy one."""
        if self._admin is None:
            return
        with _of_admin("the subscription cannot be made"):
            made = await self._admin.create_subscription_at_earliest(self._config.topic, self._config.subscription)
        if made:
            _log.info("bus_subscription_created", topic=self._config.topic, subscription=self._config.subscription)

    # On the publisher's thread.

    def _connected_producer(self) -> pulsar.Producer:
        if self._producer is None:
            self._producer = self._try(
                f"publish to {self._config.topic}",
                lambda: _open(self._client).create_producer(
                    self._config.topic,
                    schema=NativeSchema(),
                    send_timeout_millis=int(self._config.publish_timeout.total_seconds() * 1000),
                    max_pending_messages=self._config.max_pending,
                    block_if_queue_full=True,
                    batching_enabled=True,
                    batching_max_messages=_ENTRY_MESSAGES,
                    batching_max_allowed_size_in_bytes=_ENTRY_BYTES,
                    batching_max_publish_delay_ms=_ENTRY_DELAY_MS,
                    message_routing_mode=pulsar.PartitionsRoutingMode.UseSinglePartition,
                ),
            )
        return self._producer

    def _send(self, messages: Sequence[Outgoing]) -> None:
        producer = self._connected_producer()
        acks = PublishAcks(len(messages))
        for index, message in enumerate(messages):
            try:
                producer.send_async(message.payload, partial(acks.note, index), properties=dict(message.properties))
            except MessageTooBig:
                acks.note(index, _pulsar.Result.MessageTooBig, None)
            except PulsarException as exc:
                acks.note(index, exc, None)
        self._flusher.post(producer.flush)
        finished = acks.wait(self._config.publish_timeout.total_seconds() + _SLACK_S)
        if acks.failed is not None:
            index, result = acks.failed
            if result is _pulsar.Result.MessageTooBig or str(result).endswith("MessageTooBig"):
                raise too_large(index, message_bytes(messages[index]), self._config.max_message_bytes)
            if not producer.is_connected():
                _log.warning("bus_publish_failed", topic=self._config.topic, result=str(result), connected=False)
            raise BusUnavailable(f"{self._config.topic} did not take message {index} of {len(messages)}: {result}")
        if not finished:
            raise BusUnavailable(f"{self._config.topic} acknowledged {acks.good} of {len(messages)} messages in time")

    def _close_clients(self) -> None:
        for client in (self._client, self._lock_client):
            if client is not None:
                with suppress(PulsarException):
                    client.close()
        self._producer = self._client = self._lock_client = None

    # On the receiver's thread.

    def _subscribe(self) -> None:
        """Connect the consumer; what was unacknowledged is delivered again, from the oldest on."""
        self._close_consumer()
        self._consumer = self._try(
            f"subscribe to {self._config.topic} as {self._config.subscription}",
            lambda: _open(self._client).subscribe(
                self._config.topic,
                self._config.subscription,
                pulsar.ConsumerType.Failover,
                NativeSchema(),
                receiver_queue_size=max(1, min(1000, self._config.max_unacknowledged)),
                consumer_name=consumer_name(self._config.region, id(self)),
                initial_position=pulsar.InitialPosition.Earliest,
            ),
        )

    def _fetch(self, room: int) -> tuple[tuple[Incoming, ...], _pulsar.MessageId | None]:
        """Wait a little for one message, then take those that are here already."""
        consumer = self._consumer
        if consumer is None:
            raise BusUnavailable(f"the consumer of {self._config.topic} is closed")
        found: list[Incoming] = []
        last, size = None, 0
        try:
            while len(found) < room and size < DELIVERY_BYTES:
                message = consumer.receive(timeout_millis=_IDLE_MS if last is None else 0)
                last = message.message_id()
                found.append(_read(message))
                size += message_bytes(Outgoing(found[-1].payload, found[-1].properties))
        except Timeout:
            pass
        except PulsarException as exc:
            if last is None:
                raise BusUnavailable(f"the consumer of {self._config.topic} failed: {exc}") from exc
        return tuple(found), last

    def _mark(self, upto: _pulsar.MessageId) -> None:
        consumer = self._consumer
        if consumer is not None:
            self._try(f"acknowledge on {self._config.topic}", lambda: consumer.acknowledge_cumulative(upto))

    def _close_consumer(self) -> None:
        if self._consumer is not None:
            with suppress(PulsarException):
                self._consumer.close()
            self._consumer = None

    # On the lock keeper's thread.

    def _keep_lock(self) -> float:
        """Get the lock, or prove that it is still held by a message on it; answers when to look again.

        The pause after a failure is not stamina's: nothing sleeps here, the thread is free for other jobs meanwhile.
        """
        if self._lock is None:
            try:
                self._lock = _open(self._lock_client).create_producer(
                    self._config.lock,
                    send_timeout_millis=int(self._config.lock_timeout.total_seconds() * 1000),
                    access_mode=pulsar.ProducerAccessMode.WaitForExclusive,
                )
            except Timeout:
                self._lock_failures = 0
                return 0.0  # somebody else holds it, or the broker is silent: wait again
            except PulsarException as exc:
                self._lock_failures += 1
                _log.warning(
                    "bus_lock_unavailable", topic=self._config.lock, error=str(exc), failures=self._lock_failures
                )
                return min(_LONGEST_BACK_OFF_S, 0.1 * 2.0 ** min(self._lock_failures, 10))
            self._lock_failures = 0
        try:
            self._lock.send(str(time.time_ns() // 1_000_000).encode())
        except PulsarException as exc:
            _log.warning("bus_lock_lost", topic=self._config.lock, error=str(exc))
            self._feed.set_from_thread(Role.STANDBY)
            self._receiver.post(self._close_consumer)  # a consumer that stays would starve the next holder's
            self._close_lock()
            return 0.0
        self._feed.set_from_thread(Role.ACTIVE)
        return self._config.lock_timeout.total_seconds() / _LOCK_BEATS

    def _close_lock(self) -> None:
        if self._lock is not None:
            with suppress(PulsarException):
                self._lock.close()
            self._lock = None

    def _try(self, what: str, call: Callable[[], Any]) -> Any:  # noqa: ANN401 - a client's object
        try:
            return call()
        except IncompatibleSchema as exc:
            raise TransportError(
                f"cannot {what}: the topic has another schema than Pulsar's MetadataEvent ({exc})",
                hint="Use a topic of its own: 'syncer topic init' with another name, or delete the topic's schema.",
            ) from exc
        except PulsarException as exc:
            raise BusUnavailable(f"cannot {what}: {exc}") from exc


def _read(message: pulsar.Message) -> Incoming:
    """What was received. The client takes bytes that are no UTF-8 as properties, and cannot give them back."""
    properties, trouble = {}, ""
    try:
        properties = message.properties()
    except UnicodeDecodeError as exc:
        trouble = f"a property of the message is no UTF-8: {exc.reason}"
    return Incoming(
        payload=message.data(),
        properties=properties,
        position=str(message.message_id()),
        published_at_ms=Millis(message.publish_timestamp()),
        redelivered=message.redelivery_count(),
        trouble=trouble,
    )


@contextmanager
def _of_admin(what: str) -> Iterator[None]:
    """Have what the admin API answers be an error of the bus."""
    try:
        yield
    except AdminUnreachable as exc:
        raise BusUnavailable(exc.message, hint=exc.hint) from exc
    except AdminError as exc:
        raise TransportError(f"{what}: {exc.message}", hint=exc.hint) from exc


def _open(client: pulsar.Client | None) -> pulsar.Client:
    if client is None:
        raise BusUnavailable("the bus is closed")
    return client
