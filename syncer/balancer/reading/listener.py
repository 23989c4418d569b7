"""The topics of the extensible manager, heard from early on: its load topics keep nothing for who comes late.

A reader makes a topic that is not there, so only clusters whose registry names the extensible manager are listened to,
and the channel only where owners are not told in the store.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from copy import deepcopy
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

import pulsar
import structlog
from pulsar.exceptions import PulsarException, Timeout

from syncer.balancer.decoding.records import BROKER_LOAD, CHANNEL, TOP_BUNDLES, LoadRecords, TopicRecord
from syncer.bus.pulsar.client import PulsarBusConfig, make_client
from syncer.bus.worker import ClientThread
from syncer.errors import SyncerError

if TYPE_CHECKING:
    from syncer.admin.client import AdminSettings

_log = structlog.get_logger(__name__)

LOAD_TOPICS: Final = (BROKER_LOAD, TOP_BUNDLES)
TOPICS: Final = (CHANNEL, *LOAD_TOPICS)
OPERATION_S: Final = 5
"""How long one call of the client may take."""
_ANSWER_S: Final = 30.0
"""How long a question waits: for a topic that does not answer the client tries twice as long as one call, or more."""
AGAIN_S: Final = 5.0
"""Pause before a topic that refused is tried again."""
_NOBODY: Final = "listener"
"""Name of a region that never publishes."""
_WAIT_MS: Final = 1
"""How long one look for a message waits: what is there was fetched already."""
_IDLE_S: Final = 0.1
_SHOWN: Final = 200
_AT_ONCE: Final = 1000
"""Messages that are taken of a topic before the others have their turn."""


def listener_to(
    service_url: str, settings: AdminSettings, *, channel: bool = True, operation_s: int = OPERATION_S
) -> LoadListener:
    """Make a listener to a cluster; nothing is connected.

    Args:
        service_url: Address of its brokers' binary protocol.
        settings: How its admin API is spoken to: the same credentials serve here.
        channel: Owners are told there, and not in the cluster's store: then there is no such topic.
        operation_s: How long one call of the client may take.
    """
    return LoadListener(
        PulsarBusConfig(
            region=_NOBODY, service_url=service_url, topic=CHANNEL, auth=settings.auth, trust=settings.trust
        ),
        topics=TOPICS if channel else LOAD_TOPICS,
        operation_s=operation_s,
    )


class LoadListener:
    """Hears a cluster's load topics on a thread of its own; :meth:`heard` is what was heard until then.

    Args:
        config: How the cluster's brokers are reached; its own topic does not matter.
        topics: Those that are heard.
        operation_s: How long one call of the client may take.
    """

    def __init__(
        self, config: PulsarBusConfig, *, topics: Sequence[str] = TOPICS, operation_s: int = OPERATION_S
    ) -> None:
        self._config = config
        self._topics = tuple(topics)
        self._operation_s = operation_s
        self._thread = ClientThread("listener to load", self._round)
        self._client: pulsar.Client | None = None
        self._readers: dict[str, pulsar.Reader] = {}
        self._not_before: dict[str, float] = {}
        self._records = LoadRecords()

    async def __aenter__(self) -> Self:
        """Begin to hear; nothing is waited for."""
        self._thread.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Hear no more."""
        await self._thread.stop(self._close)

    async def heard(self) -> LoadRecords:
        """Copy what was heard.

        Raises:
            BusUnavailable: The client stands still.
        """
        return await self._thread.call(lambda: deepcopy(self._records), timeout_s=_ANSWER_S)

    def _round(self) -> float:
        """Take what is there of each topic, and begin with one more; how long the next look may wait."""
        self._begin_one()
        most = max((self._taken(topic, reader) for topic, reader in list(self._readers.items())), default=0)
        return 0.0 if most >= _AT_ONCE else _IDLE_S

    def _begin_one(self) -> None:
        """Begin to read the first topic that is due: one at a time, so that a question never waits for several."""
        now = time.monotonic()
        due = [
            topic for topic in self._topics if topic not in self._readers and now >= self._not_before.get(topic, now)
        ]
        if not due:
            return
        topic = due[0]
        try:
            if self._client is None:
                self._client = make_client(self._config, operation_timeout_s=self._operation_s)
            begin = pulsar.MessageId.earliest if topic == CHANNEL else pulsar.MessageId.latest
            self._readers[topic] = self._client.create_reader(topic, begin, is_read_compacted=topic == CHANNEL)
            self._records.troubles.pop(topic, None)
        except (PulsarException, SyncerError) as exc:
            self._failed(topic, exc)

    def _taken(self, topic: str, reader: pulsar.Reader) -> int:
        """Take what is there of a topic, so far as the others can wait for it; how much it was."""
        number = 0
        try:
            while number < _AT_ONCE:
                message = reader.read_next(timeout_millis=_WAIT_MS)
                self._records.put(
                    topic, TopicRecord(message.partition_key(), message.data(), message.publish_timestamp() or None)
                )
                number += 1
        except Timeout:
            self._ended(topic, reader)
        except PulsarException as exc:
            self._failed(topic, exc)
        return number

    def _ended(self, topic: str, reader: pulsar.Reader) -> None:
        """Note that the channel was read to its end, if it was."""
        if topic != CHANNEL or self._records.channel_read:
            return
        try:
            self._records.channel_read = not reader.has_message_available()
        except PulsarException as exc:
            self._failed(topic, exc)

    def _failed(self, topic: str, error: Exception) -> None:
        self._readers.pop(topic, None)
        self._not_before[topic] = time.monotonic() + AGAIN_S
        self._records.troubles[topic] = f"{type(error).__name__}: {error}"[:_SHOWN]
        _log.warning("load_topic_unreadable", topic=topic, error=type(error).__name__, message=str(error))

    def _close(self) -> None:
        if self._client is not None:
            self._client.close()
