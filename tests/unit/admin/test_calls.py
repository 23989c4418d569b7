"""Answers that are none of Pulsar's are errors that name the call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Self

import pytest

from syncer.admin.calls import AdminCalls
from syncer.errors import AdminError

pytestmark = pytest.mark.anyio
TOPIC = "persistent://t/n/x"


class Answering(AdminCalls):
    """An API that answers every read with the same."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.asked: list[str] = []

    async def get(self, path: str) -> Any:
        self.asked.append(path)
        return self.answer

    async def send(self, method: str, path: str, body: object = None) -> None:
        raise AssertionError(f"{method} {path}")

    def at(self, broker: str) -> Self:
        raise AssertionError(broker)


READS: dict[str, Callable[[AdminCalls], Awaitable[object]]] = {
    "brokers": lambda calls: calls.brokers("blue"),
    "clusters": lambda calls: calls.clusters(),
    "cluster": lambda calls: calls.cluster("blue"),
    "configuration": lambda calls: calls.configuration(),
    "dynamic_settings": lambda calls: calls.dynamic_settings(),
    "loaded_topics": lambda calls: calls.loaded_topics(),
    "load_report": lambda calls: calls.load_report(),
    "leader": lambda calls: calls.leader(),
    "owned_bundles": lambda calls: calls.owned_bundles("blue", "b1:8080"),
    "boundaries": lambda calls: calls.boundaries("t/n"),
    "owned_topics": lambda calls: calls.owned_topics("t/n/0x00000000_0x80000000"),
    "look_up_topic": lambda calls: calls.look_up_topic(TOPIC),
    "isolation_policies": lambda calls: calls.isolation_policies("blue"),
    "failure_domains": lambda calls: calls.failure_domains("blue"),
    "migration_mark": lambda calls: calls.migration_mark("blue"),
    "namespace": lambda calls: calls.namespace("t/n"),
    "topics": lambda calls: calls.topics("t/n"),
    "partitioned_topics": lambda calls: calls.partitioned_topics("t/n"),
    "partitions": lambda calls: calls.partitions(TOPIC),
    "stats": lambda calls: calls.stats(TOPIC),
    "internal_stats": lambda calls: calls.internal_stats(TOPIC),
    "internal_info": lambda calls: calls.internal_info(TOPIC),
    "schema": lambda calls: calls.schema(TOPIC),
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
async def test_a_page_is_no_answer(read: Callable[[AdminCalls], Awaitable[object]]) -> None:
    calls = Answering("<html><body>Welcome to the gateway</body></html>")
    with pytest.raises(AdminError, match="Welcome to the gateway") as caught:
        await read(calls)
    assert calls.asked[0] in str(caught.value)


@pytest.mark.parametrize(
    ("read", "answer"), [("topics", ["a", 1]), ("partitions", {}), ("partitions", {"partitions": "3"})]
)
async def test_neither_is_a_part_of_one(read: str, answer: object) -> None:
    with pytest.raises(AdminError, match="and not"):
        await READS[read](Answering(answer))


async def test_a_namespace_of_no_group_is_answered_with_nothing() -> None:
    assert await Answering(None).anti_affinity_group("t/n") == ""
    assert await Answering("pair").anti_affinity_group("t/n") == "pair"
    with pytest.raises(AdminError, match="and not a name"):
        await Answering({"a": 1}).anti_affinity_group("t/n")


async def test_a_broker_that_has_just_begun_has_loaded_nothing() -> None:
    assert await Answering(None).loaded_topics() == {}


async def test_system_topics_are_listed_where_they_are_asked_for() -> None:
    calls = Answering([])
    await calls.topics("t/n", system=True)
    assert calls.asked == ["/admin/v2/persistent/t/n?includeSystemTopic=true"]
