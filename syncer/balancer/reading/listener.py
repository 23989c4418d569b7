"""The topics of the extensible manager, heard from early on: its load topics keep nothing for who comes late.

A reader makes a topic that is not there, so only clusters whose registry names the extensible manager are listened to.
"""

from __future__ import annotations

import time
from copy import deepcopy
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

import pulsar
import structlog
from pulsar.exceptions import PulsarException, Timeout

from syncer.balancer.decoding.records import BROKER_LOAD, CHANNEL, TOP_BUNDLES, LoadRecords, TopicRecord
from syncer.bus.pulsar.client import PulsarBusConfig, make_client
from syncer.bus.worker import ClientThread

if TYPE_CHECKING:
    from syncer.admin.client import AdminSettings

_log = structlog.get_logger(__name__)

TOPICS: Final = (CHANNEL, BROKER_LOAD, TOP_BUNDLES)
OPERATION_S: Final = 5
"""How long one call of the client may take: a topic that does not answer keeps the others waiting for so long."""
AGAIN_S: Final = 5.0
"""Pause before a topic that refused is tried again."""
_NOBODY: Final = "listener"
"""Name of a region that never publishes."""
_WAIT_MS: Final = 1
"""How long one look for a message waits: what is there was fetched already."""
_IDLE_S: Final = 0.1
_AT_ONCE: Final = 1000
"""Messages that are taken of a topic before the others have their turn."""


def listener_to(service_url: str, settings: AdminSettings) -> LoadListener:
    """Make a listener to a cluster; nothing is connected.

    Args:
        service_url: Address of its brokers' binary protocol.
        settings: How its admin API is spoken to: the same credentials serve here.
    """
    return LoadListener(
        PulsarBusConfig(
            region=_NOBODY, service_url=service_url, topic=CHANNEL, auth=settings.auth, trust=settings.trust
        )
    )


class LoadListener:
    """Hears a cluster's load topics on a thread of its own; :meth:`heard` is what was heard until then.

    Args:
        config: How the cluster's brokers are reached; its own topic does not matter.
    """

    def __init__(self, config: PulsarBusConfig) -> None:
        self._config = config
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
        return await self._thread.call(lambda: deepcopy(self._records), timeout_s=(len(TOPICS) + 1) * OPERATION_S)

    def _round(self) -> float:
        """Take what is there of each topic; how long the next look may wait."""
        found = [self._taken(topic) for topic in TOPICS]
        return 0.0 if max(found) >= _AT_ONCE else _IDLE_S

    def _taken(self, topic: str) -> int:
        reader = self._reader(topic)
        number = 0
        while reader is not None and number < _AT_ONCE:
            try:
                message = reader.read_next(timeout_millis=_WAIT_MS)
            except Timeout:
                break
            except PulsarException as exc:
                self._failed(topic, exc)
                break
            self._records.put(
                topic, TopicRecord(message.partition_key(), message.data(), message.publish_timestamp() or None)
            )
            number += 1
        return number

    def _reader(self, topic: str) -> pulsar.Reader | None:
        known = self._readers.get(topic)
        try:
            if known is None:
                if time.monotonic() < self._not_before.get(topic, 0.0):
                    return None
                if self._client is None:
                    self._client = make_client(self._config, operation_timeout_s=OPERATION_S)
                begin = pulsar.MessageId.earliest if topic == CHANNEL else pulsar.MessageId.latest
                known = self._client.create_reader(topic, begin, is_read_compacted=topic == CHANNEL)
                self._readers[topic] = known
            if topic == CHANNEL and not self._records.channel_read:
                self._records.channel_read = not known.has_message_available()
        except PulsarException as exc:
            self._failed(topic, exc)
            return None
        return known

    def _failed(self, topic: str, error: Exception) -> None:
        self._readers.pop(topic, None)
        self._not_before[topic] = time.monotonic() + AGAIN_S
        _log.warning("load_topic_unreadable", topic=topic, error=type(error).__name__, message=str(error))

    def _close(self) -> None:
        if self._client is not None:
            self._client.close()
