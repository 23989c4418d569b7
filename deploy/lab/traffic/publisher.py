"""A publisher in Python, on a thread of its own."""

from __future__ import annotations

import threading
import time
from collections import Counter
from datetime import timedelta
from functools import partial
from typing import Final

import _pulsar
import pulsar
from pulsar.exceptions import AlreadyClosed, PulsarException

from deploy.lab.traffic.account import PublisherStory
from deploy.lab.traffic.loads import PublisherLoad, Sending, TopicLoad

_SEND_TIMEOUT_MS: Final = 60_000
_AGAIN_S: Final = 0.2


class Publisher(threading.Thread):
    """One publisher.

    Attributes:
        ending: Set to make it end.
        gap_s: The longest time between two receipts; may be set back.
        dead: It can publish no more.
    """

    def __init__(self, client: pulsar.Client, topic: TopicLoad, name: str, load: PublisherLoad) -> None:
        super().__init__(name=name, daemon=True)
        batched = load.sending is Sending.BATCHED
        self._producer = client.create_producer(
            topic.topic,
            schema=topic.schema,
            send_timeout_millis=_SEND_TIMEOUT_MS,
            block_if_queue_full=True,
            batching_enabled=batched,
            batching_max_publish_delay_ms=5,
        )
        self.gap_s = 0.0
        self.dead = False
        self.ending = threading.Event()
        self._topic = topic.topic
        self._text = topic.text
        self._sent = 0
        self._stored: set[int] = set()
        self._errors: Counter[str] = Counter()
        self._load = load
        self._last: float | None = None

    @property
    def unanswered(self) -> int:
        """Messages for which it was given neither a receipt nor an error."""
        return self._sent - len(self._stored) - self._errors.total()

    def story(self) -> PublisherStory:
        """What it knows now; who waits for a receipt has a gap until now."""
        waited_s = time.monotonic() - self._last if self.unanswered and self._last is not None else 0.0
        return PublisherStory(
            name=self.name,
            topic=self._topic,
            stored=frozenset(self._stored.copy()),
            unanswered=self.unanswered,
            errors=self._errors.copy(),
            gap_s=max(self.gap_s, waited_s),
            dead=self.dead,
        )

    def run(self) -> None:
        """Publish until it is told to end, or can publish no more."""
        pause_s = 1 / self._load.per_s
        while not self.ending.wait(pause_s):
            self._send(self._sent)
            if self.dead or self._sent == self._load.most > 0:
                return

    def _send(self, number: int) -> None:
        text = f"{self.name} {number} ".ljust(self._load.sizes[number % len(self._load.sizes)])
        content = text if self._text else text.encode()
        later = timedelta(seconds=self._load.delay_s) if self._load.delay_s else None
        try:
            if self._load.sending is Sending.EACH:
                self._sent += 1
                self._producer.send(content, partition_key=self.name, deliver_after=later)
                self._receipt(number)
            else:
                answered = partial(self._answered, number)
                self._producer.send_async(content, answered, partition_key=self.name, deliver_after=later)
                self._sent += 1
        except PulsarException as error:
            if self._load.sending is Sending.EACH:
                self._errors[repr(error)] += 1
            self.dead = isinstance(error, AlreadyClosed)
            self.ending.wait(_AGAIN_S)

    def _answered(self, number: int, result: _pulsar.Result, _: object) -> None:
        if result == _pulsar.Result.Ok:
            self._receipt(number)
        else:
            self._errors[str(result)] += 1

    def _receipt(self, number: int) -> None:
        now = time.monotonic()
        if self._last is not None:
            self.gap_s = max(self.gap_s, now - self._last)
        self._last = now
        self._stored.add(number)
