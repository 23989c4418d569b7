"""A Key_Shared subscription that consumers join under load: what its broker does by itself, and without look-ahead.

Where the first of the two steps finds no stall any more, brokers do without what the second one is for.
"""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Final

import anyio
import anyio.to_thread
import pulsar
import pytest
from pulsar.exceptions import PulsarException, Timeout

from deploy.lab.client import patient_client
from syncer.admin.client import AdminClient, AdminSettings
from syncer.migration.running.clock import WallClock
from syncer.migration.running.former import FormerValues
from syncer.migration.running.look_ahead import LEAST, LOOK_AHEAD, LookAhead
from syncer.waiting import starvation, until, wait_until
from tests.conftest import PulsarPair
from tests.migration.flips import MemoryJournal
from tests.real.migrations import GREEN

pytestmark = [pytest.mark.anyio, pytest.mark.real("pulsar"), pytest.mark.slow]

TOPICS: Final = 4
PER_S: Final = 200
JOINS: Final = 50
"""Of each topic; the first stall was seen at the second or third."""
STAYS_S: Final = 0.5
STALL_S: Final = 4.0
"""Nothing has come for so long, though hundreds were published."""
_TURN_MS: Final = 200
_POLL_S: Final = 0.05


class KeyedTopic:
    """A topic with one key, a publisher, and a consumer that stays; others can join.

    Attributes:
        stored: How many were published.
        came: Number of a message → how often.
    """

    def __init__(self, client: pulsar.Client, name: str) -> None:
        self.name = name
        self.stored = 0
        self.came: Counter[int] = Counter()
        self._client = client
        self._last = time.monotonic()
        self._publishes = threading.Event()
        self._publishes.set()
        self._ends = threading.Event()
        self._begin(partial(self._read, self._subscribe("stays"), self._ends))
        self._publisher = self._begin(self._publish)

    @property
    def still_s(self) -> float:
        """For how long nothing has come."""
        return time.monotonic() - self._last

    def survives(self, name: str) -> bool:
        """Whether messages go on to come while a second consumer joins; it leaves after that, or stays in a stall."""
        consumer, ends = self._subscribe(name), threading.Event()
        thread = self._begin(partial(self._read, consumer, ends))
        time.sleep(STAYS_S)
        stall_s = STALL_S * starvation.patience()
        while STAYS_S / 2 < self.still_s < stall_s:
            time.sleep(_POLL_S)
        if self.still_s >= stall_s:
            return False
        ends.set()
        thread.join()
        consumer.close()
        return True

    def settled(self) -> bool:
        """Whether all has come, once nobody publishes any more."""
        self._publishes.clear()
        self._publisher.join()
        wait_until(lambda: len(self.came) == self.stored, f"all of {self.name} has come")
        return True

    def end(self) -> None:
        """End who publishes, and the consumer that has stayed."""
        self._publishes.clear()
        self._publisher.join()
        self._ends.set()

    def _begin(self, work: Callable[[], None]) -> threading.Thread:
        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        return thread

    def _subscribe(self, name: str) -> pulsar.Consumer:
        return self._client.subscribe(
            self.name, "work", consumer_type=pulsar.ConsumerType.KeyShared, consumer_name=name
        )

    def _publish(self) -> None:
        producer = self._client.create_producer(self.name, batching_enabled=False, block_if_queue_full=True)
        while self._publishes.is_set():
            producer.send_async(b"%d" % self.stored, lambda *_: None, partition_key="one")
            self.stored += 1
            time.sleep(1 / PER_S)
        producer.flush()

    def _read(self, consumer: pulsar.Consumer, ends: threading.Event) -> None:
        while not ends.is_set():
            try:
                message = consumer.receive(_TURN_MS)
                self.came[int(message.data())] += 1
                self._last = time.monotonic()
                consumer.acknowledge(message)
            except Timeout:
                continue
            except PulsarException:
                return


async def stalled(topics: list[KeyedTopic], prefix: str) -> str:
    """Have consumers join all topics, one after another; the first topic that has not survived one, or nothing."""
    found: list[str] = []

    def joins(topic: KeyedTopic) -> None:
        for number in range(JOINS):
            if found:
                return
            if not topic.survives(f"{prefix}-{number}"):
                found.append(f"{topic.name} at join {number}, {topic.stored} published, {len(topic.came)} came")

    async with anyio.create_task_group() as tasks:
        for topic in topics:
            tasks.start_soon(anyio.to_thread.run_sync, joins, topic)
    return found[0] if found else ""


async def set_to(admin: AdminClient, value: str) -> None:
    """Wait until the broker goes by a value: it hears of it a moment later."""

    async def told() -> bool:
        return (await admin.configuration())[LOOK_AHEAD] == value

    await until(told, f"the broker goes by {value}")


async def test_without_look_ahead_no_join_keeps_messages_from_everybody(pulsar_pair: PulsarPair) -> None:
    cluster = pulsar_pair.clusters[GREEN]
    async with AdminClient(AdminSettings(url=cluster.admin_url)) as admin:
        clock, journal = WallClock(), MemoryJournal()
        look_ahead = LookAhead(admin, clock, FormerValues(admin, clock, journal, cluster="green"))
        before = (await admin.configuration())[LOOK_AHEAD]
        client = patient_client(cluster.service_url)
        topics = [KeyedTopic(client, f"persistent://public/default/keyed-{os.getpid()}-{n}") for n in range(TOPICS)]
        try:
            seen = await stalled(topics, "looked-ahead")
            print(seen)
            assert seen, "the broker does not stall any more: the product need not hold its look-ahead off"
            await look_ahead.hold()
            await set_to(admin, LEAST)
            await until(lambda: max(each.still_s for each in topics) < STAYS_S, "messages come of each topic")
            assert not (again := await stalled(topics, "held-off")), again
            await look_ahead.release()
            await set_to(admin, before)
            assert all([await anyio.to_thread.run_sync(each.settled) for each in topics])
        finally:
            await look_ahead.release()
            for topic in topics:
                topic.end()
            client.close()
    assert journal.kept == {}
