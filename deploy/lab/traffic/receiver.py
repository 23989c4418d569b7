"""A consumer that counts what it is given, and acknowledges it, some of it only when it comes again."""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from typing import Final

import pulsar
from pulsar.exceptions import PulsarException, Timeout

from deploy.lab.traffic.account import ReceiverStory
from deploy.lab.traffic.loads import TopicLoad

_RECEIVE_MS: Final = 300
_AGAIN_S: Final = 0.2
_REFUSED_MS: Final = 500


class Receiver(threading.Thread):
    """One consumer, on a thread of its own.

    Attributes:
        ending: Set to make it end.
    """

    def __init__(
        self, client: pulsar.Client, load: TopicLoad, kind: pulsar.ConsumerType, subscription: str, number: int = 0
    ) -> None:
        name = f"{subscription}-{number}"
        super().__init__(name=name, daemon=True)
        self._consumer = client.subscribe(
            load.topic,
            subscription,
            consumer_type=kind,
            schema=load.schema,
            consumer_name=name,
            initial_position=pulsar.InitialPosition.Earliest,
            negative_ack_redelivery_delay_ms=_REFUSED_MS,
        )
        self.ending = threading.Event()
        self._at = (load.topic, subscription)
        self._nacked_every = load.nacked_every
        self._nacked: set[tuple[str, int]] = set()
        self._came: Counter[tuple[str, int]] = Counter()
        self._disordered = 0
        self._latest: dict[str, int] = defaultdict(lambda: -1)
        self._kind = kind

    def story(self) -> ReceiverStory:
        """What it was given until now."""
        topic, subscription = self._at
        return ReceiverStory(
            topic=topic, subscription=subscription, came=self._came.copy(), disordered=self._disordered
        )

    def run(self) -> None:
        """Take what comes until it is told to end."""
        while not self.ending.is_set():
            try:
                message = self._consumer.receive(_RECEIVE_MS)
            except Timeout:
                continue
            except PulsarException:
                self.ending.wait(_AGAIN_S)
                continue
            publisher, number, _ = message.data().decode().split(" ", 2)
            if self._refuses(publisher, int(number)):
                self._consumer.negative_acknowledge(message)
            else:
                self._take(publisher, int(number), in_order=self._in_order(message))
                self._consumer.acknowledge(message)

    def _refuses(self, publisher: str, number: int) -> bool:
        """Whether it refuses a message, for the first time that it is given it."""
        if not self._nacked_every or number % self._nacked_every or (publisher, number) in self._nacked:
            return False
        self._nacked.add((publisher, number))
        return True

    def _in_order(self, message: pulsar.Message) -> bool:
        """Whether it has to come after what its publisher has sent before; by key, it needs one for that."""
        if self._kind == pulsar.ConsumerType.KeyShared and not message.partition_key():
            return False
        return self._kind != pulsar.ConsumerType.Shared and not self._nacked_every

    def _take(self, publisher: str, number: int, *, in_order: bool) -> None:
        if in_order and not self._came[publisher, number] and number < self._latest[publisher]:
            self._disordered += 1
        self._latest[publisher] = max(number, self._latest[publisher])
        self._came[publisher, number] += 1
