"""Topics of policies in a real cluster: read and written by Pulsar's client, looked for by the admin REST API.

A reader of a topic that is not there makes it, and so does a look at its schema; a listing does neither. So nothing is
asked of a topic before a listing has named it: that of the store, where the cluster keeps its topics there. Payloads go
out by the very schema that brokers have registered: bytes that they cannot read would keep a namespace from being
loaded at all.
"""

from __future__ import annotations

import asyncio
import struct
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from typing import Any, Final, TypeVar

import _pulsar
import pulsar
import pulsar.schema
import structlog
from pulsar.exceptions import AuthenticationError, AuthorizationError, PulsarException, Timeout, TopicNotFound

from syncer.admin.calls import AdminRefused
from syncer.admin.client import AdminClient, AdminSettings
from syncer.bus.pulsar.client import PulsarBusConfig, make_client
from syncer.errors import (
    AccessDenied,
    AdminError,
    StoreError,
    StoreUnavailable,
    SyncerError,
    TopicPoliciesWithheld,
    ValueInvalid,
    ValueRefused,
)
from syncer.model import MetaPath, Millis
from syncer.system_topics.avro import AvroSchema
from syncer.system_topics.contract import FoundTopics, TopicLog
from syncer.system_topics.log import GONE, Held, LogMessage, UnreadablePolicy, WriterClaim, claim_in
from syncer.system_topics.policies import GLOBAL, SYSTEM_TOPIC, document_of, event_of, topic_of
from syncer.system_topics.stored_topics import StoredTopics

_log = structlog.get_logger()
_Answer = TypeVar("_Answer")

SERVICE: Final = "org.apache.pulsar.broker.service.SystemTopicBasedTopicPoliciesService"
IN_STORE: Final = "org.apache.pulsar.broker.service.MetadataStoreTopicPoliciesService"
"""With system topics enabled a namespace's topic goes on where there is one (``LegacyAwareTopicPoliciesService``)."""
THREADS: Final = 8
_NO_TIME: Final = timedelta(0)
_WAIT_MS: Final = 1
_SWEEP_S: Final = 0.05
READ_AT_ONCE: Final = 5_000
"""Messages of a partition that one reading takes: who writes faster than is read fills no memory."""
_READ_MS: Final = 10_000
_LAST_VERSION: Final = (1 << 63) - 1
"""Of a schema, as brokers count them."""
_SEND_MS: Final = 10_000
_FORBIDDEN: Final = frozenset({401, 403})
_PARTITION: Final = "-partition-"


class BrokersSchema(pulsar.schema.Schema):
    """A schema as brokers have registered it, by its exact text; payloads are passed as they are."""

    def __init__(self, text: str) -> None:
        super().__init__(bytes, _pulsar.SchemaType.AVRO, None, "")
        self._schema_info = _pulsar.SchemaInfo(_pulsar.SchemaType.AVRO, SYSTEM_TOPIC, text)

    def encode(self, obj: Any) -> bytes:  # noqa: ANN401 - the base class's signature
        """Pass the bytes."""
        return bytes(obj)

    def decode(self, data: bytes) -> bytes:
        """Pass the bytes."""
        return data

    def __str__(self) -> str:
        return "BrokersSchema"


class PulsarTopicLogs:
    """Implements :class:`syncer.system_topics.contract.TopicLogs`. All of its topics share one connection.

    Args:
        region: Whose messages carry claims.
        bus: How the cluster's brokers are reached; its own topic does not matter.
        admin: Their REST API.
        stored: Where topics are listed; ``None``, or where it has none: by the brokers.
    """

    def __init__(
        self, region: str, bus: PulsarBusConfig, admin: AdminSettings, stored: StoredTopics | None = None
    ) -> None:
        self.region = region
        self._stored = stored
        self._bus = bus
        self._admin_settings = admin
        self._admin: AdminClient | None = None
        self._client: pulsar.Client | None = None
        self._threads = ThreadPoolExecutor(THREADS, "system topics")
        self._sweeper = ThreadPoolExecutor(1, "followed system topics")
        self._opened: dict[str, PulsarTopicLog] = {}
        self._schemas: dict[str, AvroSchema] = {}

    async def open(self) -> None:
        """Nothing is connected before the first question."""

    async def close(self) -> None:
        """End all that is open."""
        for each in list(self._opened.values()):
            await each.close()
        client, self._client = self._client, None
        if client is not None:
            await self.on_thread(client.close)
        if self._admin is not None:
            await self._admin.close()
            self._admin = None
        self._threads.shutdown(wait=False)
        self._sweeper.shutdown(wait=False)

    async def check_service(self) -> bool:
        """Ask a broker which service it uses; that of the store leaves a namespace to its topic where there is one."""
        found = await self._asked(self.admin.get("/admin/v2/brokers/configuration/runtime"), "the brokers' settings")
        settings = found if isinstance(found, dict) else {}
        service = settings.get("topicPoliciesServiceClassName", SERVICE)
        if service == SERVICE:
            return False
        if service == IN_STORE and settings.get("systemTopicEnabled") == "true":
            return True
        raise TopicPoliciesWithheld(
            f"the brokers keep topic policies by {str(service).rpartition('.')[2]}, not in system topics",
            lasting=True,
            hint="Take 'topic_policies.system_topics' out, and carry them from the store: 'scope."
            "global_topic_policies'. See the how-to on topic policies.",
        )

    async def find(self, namespace: str) -> FoundTopics:
        """List a namespace's topics, the brokers' own too."""
        listed = await self._listed(namespace)
        whole = f"persistent://{namespace}/{SYSTEM_TOPIC}"
        parts = [each for each in listed if each.startswith(f"{whole}{_PARTITION}")]
        system = sorted(parts, key=_partition) if parts else [whole] if whole in listed else []
        return FoundTopics(system_topics=tuple(system), topics=frozenset(map(_base, listed)))

    async def foresee(self, namespaces: Sequence[str]) -> None:
        """List the topics of a few namespaces, where the store tells of them."""
        if self._stored is not None:
            with suppress(StoreError):  # each is asked for by itself then
                await self._stored.foresee(namespaces)

    async def _listed(self, namespace: str) -> Sequence[str]:
        try:
            listed = None if self._stored is None else await self._stored.topics(namespace)
        except StoreError as exc:
            raise TopicPoliciesWithheld(f"{namespace}: its topics: {exc.message}", hint=exc.hint) from exc
        if listed is None:
            listed = await self._asked(self.admin.topics(namespace, system=True), namespace)
        return listed

    async def log(self, namespace: str, system_topics: Collection[str]) -> TopicLog:
        """Open a namespace's topic; it was listed."""
        log = PulsarTopicLog(self, namespace, tuple(system_topics))
        try:
            await self.on_thread(log.connect)
        except BaseException:
            await log.close()
            raise
        self._opened[namespace] = log
        return log

    async def make(self, topic: str) -> None:
        """Have a broker look for a policy of a topic: it makes the topic of policies for that."""
        await self._asked(self.admin.topic_policy(topic, "retention"), topic)

    async def stirred(self) -> AsyncIterator[Collection[str]]:
        """Look at each open topic in turn, for what its broker has pushed."""
        loop = asyncio.get_running_loop()
        while True:
            began = time.monotonic()
            if names := await loop.run_in_executor(self._sweeper, self._peek, list(self._opened.values())):
                yield names
            await asyncio.sleep(max(0.0, _SWEEP_S - (time.monotonic() - began)))

    @staticmethod
    def _peek(logs: Sequence[PulsarTopicLog]) -> list[str]:
        return [each.namespace for each in logs if each.peek()]

    # -- for its topics

    @property
    def admin(self) -> AdminClient:
        """The cluster's REST API."""
        if self._admin is None:
            self._admin = AdminClient(self._admin_settings.model_copy(update={"retry_for": _NO_TIME}))
        return self._admin

    @property
    def client(self) -> pulsar.Client:
        """The one client; made when it is needed first."""
        if self._client is None:
            self._client = make_client(self._bus, operation_timeout_s=int(self._bus.operation_timeout.total_seconds()))
        return self._client

    async def on_thread(self, job: Callable[[], _Answer]) -> _Answer:
        """Run a blocking call of the client."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, job)

    def closed(self, log: PulsarTopicLog) -> None:
        """A topic was closed."""
        if self._opened.get(log.namespace) is log:
            del self._opened[log.namespace]

    async def schemas(self, namespace: str) -> dict[int, AvroSchema]:
        """The schemas of a namespace's topic of policies, by version; texts are parsed once."""
        url = f"/admin/v2/schemas/{namespace}/{SYSTEM_TOPIC}/schemas"
        found = await self._asked(self.admin.get(url), namespace)
        listed = found.get("getSchemaResponses", []) if isinstance(found, dict) else found or []
        schemas = {}
        try:
            for each in listed:
                if each["type"] == "AVRO":
                    schemas[int(each["version"])] = self._parsed(each["data"])
        except (ValueInvalid, LookupError, TypeError, ValueError) as exc:
            why = exc.message if isinstance(exc, ValueInvalid) else f"the broker's answer is no list of them: {exc!r}"
            raise TopicPoliciesWithheld(f"{namespace}: the schemas of its topic of policies: {why}") from exc
        return schemas

    def schema(self, topic: str, version: int) -> AvroSchema:
        """One version of a topic's schema, asked of its broker; on a thread.

        Raises:
            ValueInvalid: It is none that can be read.
        """
        found = self.client._client.get_schema_info(topic, version)
        return self._parsed(found.schema())

    def _parsed(self, text: str) -> AvroSchema:
        if text not in self._schemas:
            self._schemas[text] = AvroSchema(text)
        return self._schemas[text]

    @staticmethod
    async def _asked(question: Any, what: str) -> Any:  # noqa: ANN401 - JSON of the broker
        try:
            return await question
        except AdminRefused as exc:
            lasting = exc.status in _FORBIDDEN
            raise TopicPoliciesWithheld(f"{what}: {exc.message}", lasting=lasting, hint=exc.hint) from exc
        except AdminError as exc:
            raise TopicPoliciesWithheld(f"{what}: {exc.message}") from exc


class PulsarTopicLog:
    """Implements :class:`syncer.system_topics.contract.TopicLog`.

    Args:
        logs: Whose topic it is.
        namespace: Whose policies.
        topics: One for each partition.
    """

    def __init__(self, logs: PulsarTopicLogs, namespace: str, topics: Sequence[str]) -> None:
        self._logs = logs
        self.namespace = namespace
        self._topics = topics
        self._schemas: dict[int, AvroSchema] = {}
        self._learned = False
        self.at_end = False
        self._readers: list[pulsar.Reader] = []
        self._producers: dict[str, pulsar.Producer] = {}
        self._pending: deque[tuple[int, pulsar.Message]] = deque()
        self._closed = False
        self._reading = threading.Lock()

    async def learn(self) -> None:
        """Ask which schemas the brokers have registered, in all versions."""
        self._schemas |= await self._logs.schemas(self.namespace)
        self._learned = True

    def connect(self) -> None:
        """Open its readers; on a thread."""
        try:
            for topic in self._topics:
                reader = self._logs.client.create_reader(topic, pulsar.MessageId.earliest, is_read_compacted=True)
                self._readers.append(reader)
        except (PulsarException, SyncerError) as exc:
            self._shut()
            raise self._troubled(exc) from exc

    def peek(self) -> bool:
        """Take one message that was pushed, if there is one; whether there is anything to read. On a thread."""
        if not self._reading.acquire(blocking=False):
            return False
        try:
            return not self._closed and self._peek()
        finally:
            self._reading.release()

    def _peek(self) -> bool:
        if self._pending:
            return True
        for index, reader in enumerate(self._readers):
            try:
                if not reader.is_connected():
                    return True
                self._pending.append((index, reader.read_next(timeout_millis=_WAIT_MS)))
            except Timeout:
                continue
            except PulsarException:
                return True
            return True
        return False

    async def read_on(self) -> Sequence[LogMessage]:
        """Read to the end, as the brokers tell it, or as much as is read at once."""
        found = await self._logs.on_thread(self._drain)
        return [read for index, each in found if (read := self._read(index, each)) is not None]

    async def prepare(self, path: MetaPath, value: bytes | None) -> bytes:
        """Encode by the schema that knows most policies, and connect a producer by it."""
        if not self._learned:
            await self.learn()
        event = event_of(path, value)
        try:
            best = self._best()
            payload = best.encode(event)
        except ValueRefused:
            await self.learn()  # brokers may have become newer since
            best = self._best()
            payload = best.encode(event)
        await self._logs.on_thread(lambda: self._producer(self._topic_of(f"{GLOBAL}{topic_of(path)}"), best.text))
        return payload

    async def append(self, key: str, payload: bytes, claim: WriterClaim) -> str:
        """Write a message, and wait until its broker has stored it."""
        topic = self._topic_of(key)
        producer = self._producers.get(topic)
        if producer is None:
            raise StoreUnavailable(f"{topic}: no producer is connected")
        properties = claim.properties()
        try:
            sent = await self._logs.on_thread(lambda: producer.send(payload, properties=properties, partition_key=key))
        except PulsarException as exc:
            self._producers.pop(topic, None)
            raise StoreUnavailable(f"{topic}: whether a message was stored is unknown: {exc}") from exc
        return _id(self._topics.index(topic), sent)

    async def close(self) -> None:
        """Close readers and producers."""
        self._logs.closed(self)
        if not self._closed:
            self._closed = True
            await self._logs.on_thread(self._shut)

    def _drain(self) -> list[tuple[int, pulsar.Message]]:
        with self._reading:
            return self._drained()

    def _drained(self) -> list[tuple[int, pulsar.Message]]:
        found = list(self._pending)
        self._pending.clear()
        self.at_end = True
        try:
            for index, reader in enumerate(self._readers):
                if not reader.is_connected():
                    raise TopicPoliciesWithheld(f"{self._topics[index]}: the reader has lost its connection")
                for _ in range(READ_AT_ONCE):
                    if not reader.has_message_available():
                        break
                    found.append((index, reader.read_next(timeout_millis=_READ_MS)))
                else:
                    self.at_end = False
            for version in {_version(each) for _, each in found if not each.has_null_value()} - self._schemas.keys():
                with suppress(TopicNotFound, ValueInvalid):  # there is none of such a version, or it is none of theirs
                    self._schemas[version] = self._logs.schema(self._topics[0], version)
        except PulsarException as exc:
            raise self._troubled(exc) from exc
        return found

    def _read(self, index: int, message: pulsar.Message) -> LogMessage | None:
        """A message; ``None``: its key is no text, so it is no topic's."""
        try:
            key = message.partition_key()
        except UnicodeDecodeError:
            return None
        return LogMessage(
            id=_id(index, message.message_id()),
            key=key,
            held=self._held(message),
            published_ms=Millis(message.publish_timestamp()),
            claim=self._claim(message),
            partition=index,
        )

    def _claim(self, message: pulsar.Message) -> WriterClaim | None:
        try:
            return claim_in(message.properties(), self._logs.region)
        except UnicodeDecodeError:
            return None  # none that was written here

    def _held(self, message: pulsar.Message) -> Held:
        if message.has_null_value() or not message.data():
            return GONE
        schema = self._schemas.get(_version(message))
        if schema is None:
            return UnreadablePolicy(f"its schema, version {_version(message)}, is not registered, or no AVRO")
        try:
            return document_of(schema.decode(message.data()))
        except ValueInvalid as exc:
            return UnreadablePolicy(exc.message)
        except Exception as exc:  # noqa: BLE001 - whoever may produce there can write what nobody has thought of
            return UnreadablePolicy(f"{type(exc).__name__}: {exc}")

    def _best(self) -> AvroSchema:
        ranked = [
            (len(schema.fields("topicPoliciesEvent", "policies")), version, schema)
            for version, schema in self._schemas.items()
        ]
        if not ranked:
            raise TopicPoliciesWithheld(f"{self.namespace}: no schema is registered for its topic of policies")
        return max(ranked, key=lambda each: each[:2])[2]

    def _producer(self, topic: str, text: str) -> pulsar.Producer:
        """The producer of a partition; on a thread."""
        producer = self._producers.get(topic)
        if producer is None or not producer.is_connected():
            try:
                producer = self._logs.client.create_producer(
                    topic, schema=BrokersSchema(text), send_timeout_millis=_SEND_MS, batching_enabled=False
                )
            except (PulsarException, SyncerError) as exc:
                if isinstance(exc, AuthenticationError | AuthorizationError):
                    raise AccessDenied(f"{topic}: this role may not produce there: {exc}") from exc
                raise self._troubled(exc) from exc
            self._producers[topic] = producer
        return producer

    def _topic_of(self, key: str) -> str:
        return self._topics[java_string_hash(key) % len(self._topics)]

    def _troubled(self, error: Exception) -> TopicPoliciesWithheld:
        lasting = isinstance(error, AuthenticationError | AuthorizationError)
        return TopicPoliciesWithheld(f"{self.namespace}: {type(error).__name__}: {error}", lasting=lasting)

    def _shut(self) -> None:
        with self._reading:
            closing = [*(each.close for each in self._readers), *(each.close for each in self._producers.values())]
            self._readers.clear()
            self._producers.clear()
        for close in closing:
            try:
                close()
            except PulsarException as exc:
                _log.debug("system_topic_not_closed", namespace=self.namespace, cause=str(exc))


def java_string_hash(key: str) -> int:
    """The hash by which Pulsar's Java client picks a partition: ``String.hashCode``, its sign taken away."""
    number = 0
    for unit in struct.unpack(f"<{len(key.encode('utf-16-le')) // 2}H", key.encode("utf-16-le")):
        number = (31 * number + unit) & 0xFFFFFFFF
    return number & 0x7FFFFFFF


def _partition(topic: str) -> int:
    number = topic.rpartition(_PARTITION)[2]
    return int(number) if number.isdigit() else 0


def _base(topic: str) -> str:
    whole, mark, number = topic.rpartition(_PARTITION)
    return whole if mark and number.isdigit() else topic


def _id(index: int, message_id: Any) -> str:  # noqa: ANN401 - of the client
    """Unique in the topic, and equal for who has sent it and who reads it."""
    batch = message_id.batch_index()
    return f"{index}:{message_id.ledger_id()}:{message_id.entry_id()}" + (f":{batch}" if batch >= 0 else "")


def _version(message: pulsar.Message) -> int:
    """Of its schema; -1: it names none that can be."""
    text = message.schema_version()
    data = text.encode("latin-1", "replace") if isinstance(text, str) else bytes(text)
    version = int.from_bytes(data, "big") if data else -1
    return version if version <= _LAST_VERSION else -1
