"""Answers of brokers about system topics: what cannot be told is withheld, and what will not change is said to last."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import cast

import pulsar
import pytest

from syncer.admin.client import AdminSettings
from syncer.bus.pulsar.client import PulsarBusConfig
from syncer.errors import TopicPoliciesWithheld
from syncer.system_topics.avro import AvroSchema
from syncer.system_topics.log import LogMessage, UnreadablePolicy
from syncer.system_topics.policies import GLOBAL
from syncer.system_topics.pulsar import IN_STORE, SERVICE, PulsarTopicLog, PulsarTopicLogs
from tests.support.admin_server import Asked, serving

pytestmark = pytest.mark.anyio
SPACE = "acme/orders"
WHOLE = f"persistent://{SPACE}/__change_events"
Question = Callable[[PulsarTopicLogs], Awaitable[object]]
QUESTIONS: dict[str, Question] = {
    "service": PulsarTopicLogs.check_service,
    "topics": lambda logs: logs.find(SPACE),
    "schemas": lambda logs: logs.schemas(SPACE),
    "make": lambda logs: logs.make(f"persistent://{SPACE}/one"),
}


class Brokers:
    """A broker that answers what it is told."""

    def __init__(self) -> None:
        self.status, self.body = 200, "{}"
        self.asked: list[Asked] = []

    def answer(self, asked: Asked) -> tuple[int, str]:
        self.asked.append(asked)
        return self.status, self.body


@pytest.fixture
def broker() -> Brokers:
    return Brokers()


@pytest.fixture
async def logs(broker: Brokers) -> AsyncIterator[PulsarTopicLogs]:
    bus = PulsarBusConfig(region="east", service_url="pulsar://127.0.0.1:1", topic="persistent://public/default/bus")
    with serving(broker.answer) as url:
        found = PulsarTopicLogs("east", bus, AdminSettings(url=url))
        yield found
        await found.close()


@pytest.mark.parametrize("status", [401, 403, 409, 412, 429, 500, 502, 503])
@pytest.mark.parametrize("question", QUESTIONS)
async def test_a_broker_that_refuses_has_policies_withheld(
    logs: PulsarTopicLogs, broker: Brokers, question: str, status: int
) -> None:
    broker.status = status
    with pytest.raises(TopicPoliciesWithheld) as raised:
        await QUESTIONS[question](logs)
    assert raised.value.lasting is (status in {401, 403}), "rights do not come by themselves; all else may"
    assert raised.value.hint


@pytest.mark.parametrize("question", QUESTIONS)
async def test_a_redirect_to_a_stranger_is_not_followed(logs: PulsarTopicLogs, broker: Brokers, question: str) -> None:
    stranger = Brokers()
    with serving(stranger.answer) as url:
        broker.status, broker.body = 307, f"{url}/admin/v2/anything"
        with pytest.raises(TopicPoliciesWithheld):
            await QUESTIONS[question](logs)
    assert stranger.asked == []


@pytest.mark.parametrize("body", ["nonsense", "[1, null]", '{"a": 1}', '"text"', "3"])
async def test_an_answer_that_is_no_list_of_topics_tells_of_none(
    logs: PulsarTopicLogs, broker: Brokers, body: str
) -> None:
    broker.body = body
    with pytest.raises(TopicPoliciesWithheld):
        await logs.find(SPACE)


@pytest.mark.parametrize(
    "body",
    [
        "3",
        '{"getSchemaResponses": 3}',
        '{"getSchemaResponses": [null]}',
        '{"getSchemaResponses": [{"type": "AVRO"}]}',
        '{"getSchemaResponses": [{"type": "AVRO", "version": "x", "data": "\\"string\\""}]}',
        '{"getSchemaResponses": [{"type": "AVRO", "version": 0, "data": "nonsense"}]}',
    ],
)
async def test_an_answer_that_is_no_list_of_schemas_is_withheld(
    logs: PulsarTopicLogs, broker: Brokers, body: str
) -> None:
    broker.body = body
    with pytest.raises(TopicPoliciesWithheld):
        await logs.schemas(SPACE)


async def test_partitions_of_the_topic_are_found_in_their_order(logs: PulsarTopicLogs, broker: Brokers) -> None:
    parts = [f"{WHOLE}-partition-{number}" for number in range(11)]
    broker.body = json.dumps([*sorted(parts), f"persistent://{SPACE}/one-partition-0", f"persistent://{SPACE}/two"])
    found = await logs.find(SPACE)
    assert found.system_topics == tuple(parts)
    assert found.topics >= {f"persistent://{SPACE}/one", f"persistent://{SPACE}/two"}


@pytest.mark.parametrize(
    ("settings", "answer"),
    [
        ({}, False),
        ({"topicPoliciesServiceClassName": SERVICE}, False),
        ({"topicPoliciesServiceClassName": IN_STORE, "systemTopicEnabled": "true"}, True),
    ],
)
async def test_the_service_of_the_brokers_is_told(
    logs: PulsarTopicLogs, broker: Brokers, settings: dict[str, str], *, answer: bool
) -> None:
    broker.body = json.dumps(settings)
    assert await logs.check_service() is answer


@pytest.mark.parametrize(
    "settings",
    [
        {"topicPoliciesServiceClassName": IN_STORE, "systemTopicEnabled": "false"},
        {"topicPoliciesServiceClassName": "com.example.Own"},
        {"topicPoliciesServiceClassName": 3},
    ],
)
async def test_another_service_is_said_to_last(
    logs: PulsarTopicLogs, broker: Brokers, settings: dict[str, object]
) -> None:
    broker.body = json.dumps(settings)
    with pytest.raises(TopicPoliciesWithheld, match="not in system topics") as raised:
        await logs.check_service()
    assert raised.value.lasting


class Written:
    """A message that somebody has written, as the client gives it."""

    def __init__(self, data: bytes, version: bytes = bytes(8), properties: dict[str, str] | None = None) -> None:
        self._data, self._version, self._properties = data, version, properties or {}
        self.key = f"{GLOBAL}{WHOLE}"

    def message_id(self) -> pulsar.MessageId:
        return pulsar.MessageId()

    def partition_key(self) -> str:
        return self.key.encode("latin-1").decode()

    def properties(self) -> dict[str, str]:
        return {name: value.encode("latin-1").decode() for name, value in self._properties.items()}

    def data(self) -> bytes:
        return self._data

    def has_null_value(self) -> bool:
        return False

    def schema_version(self) -> str:
        return self._version.decode("latin-1")

    def publish_timestamp(self) -> int:
        return 5


def read(logs: PulsarTopicLogs, message: Written, schema: object = "string") -> LogMessage | None:
    log = PulsarTopicLog(logs, SPACE, [WHOLE])
    log._schemas[0] = AvroSchema(json.dumps(schema))
    return log._read(0, cast("pulsar.Message", message))


@pytest.mark.parametrize(
    "schema", ["string", {"type": "array", "items": "string"}, {"type": "record", "name": "R", "fields": []}]
)
async def test_a_message_by_a_schema_of_somebody_else_is_unreadable_and_nothing_more(
    logs: PulsarTopicLogs, schema: object
) -> None:
    found = read(logs, Written(b"\x02a" if schema == "string" else b"\x00"), schema)
    assert found is not None
    assert isinstance(found.held, UnreadablePolicy)


@pytest.mark.parametrize("version", [b"\xff" * 16, b"\xff" * 8, b"\x00" * 7 + b"\x09", b"\xff" * 4000])
async def test_a_version_that_no_broker_gives_out_is_not_registered(logs: PulsarTopicLogs, version: bytes) -> None:
    found = read(logs, Written(b"\x02a", version))
    assert found is not None
    assert isinstance(found.held, UnreadablePolicy)
    assert "is not registered" in found.held.why


async def test_what_is_no_text_is_no_key_and_no_claim(logs: PulsarTopicLogs) -> None:
    claims = Written(b"\x02a", properties={"syncer-region": "east", "syncer-fence": "3", "x": "\xff"})
    found = read(logs, claims)
    assert found is not None
    assert found.claim is None
    claims.key = "\xff"
    assert read(logs, claims) is None
