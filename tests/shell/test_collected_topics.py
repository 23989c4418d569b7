"""Declarations that a broker may have deleted: held in its region, answered late, and deleted with their namespace."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from syncer.conflict.register import HoldReason
from syncer.model import EventType, MetaPath
from syncer.replication.local.deletes.questions import COLLECTED, UNTOLD
from syncer.waiting import until
from tests.shell.conftest import MakeSite
from tests.shell.on_bus import distinct_changes_on
from tests.shell.region import NAMESPACE, TENANT, TOPIC, Site, active, equal, tenant
from tests.support.admin_server import Asked, serving

OTHER = MetaPath("/admin/partitioned-topics/acme/orders/persistent/paid")
VALUE = b'{"partitions":3}'
DELETES = "brokerDeleteInactivePartitionedTopicMetadataEnabled"


def policies(**more: object) -> bytes:
    return json.dumps({"replication_clusters": ["east", "west"], **more}, separators=(",", ":")).encode()


@dataclass
class Broker:
    """One broker's admin API: its settings, or a refusal."""

    settings: dict[str, str] = field(default_factory=lambda: {DELETES: "true"})
    status: int = 200
    url: str = ""

    def answer(self, asked: Asked) -> tuple[int, str]:
        if asked.path == "/admin/v2/brokers/configuration/runtime":
            return self.status, json.dumps(self.settings)
        if asked.path == "/admin/v2/brokers/version":
            return 200, '"4.0.8"'
        if asked.path == "/admin/v2/brokers/east":
            return 200, json.dumps([self.url.removeprefix("http://")])
        return 404, json.dumps({"reason": "not found"})


@pytest.fixture
def broker() -> Iterator[Broker]:
    broker = Broker()
    with serving(broker.answer) as broker.url:
        yield broker


@pytest.fixture
def east(make_site: MakeSite, broker: Broker) -> Site:
    return make_site("east", admin={"url": broker.url})


async def both_hold(east: Site, west: Site, namespace: bytes = b"") -> None:
    """East writes a tenant, a namespace and two declarations; west takes them."""
    await active(east, west)
    for path, value in ((TENANT, tenant()), (NAMESPACE, namespace or policies()), (TOPIC, VALUE), (OTHER, VALUE)):
        east.writer.put(path, value)
    await until(lambda: west.get(OTHER) is not None and west.get(TOPIC) is not None, "both hold all")


def deleted(bus_file: Path) -> set[str]:
    return {event.path for event in distinct_changes_on(bus_file) if event.type is EventType.DELETED}


@pytest.mark.parametrize("decision", ["confirm", "undo"])
async def test_what_a_broker_may_have_deleted_waits_for_a_person(
    decision: str, east: Site, west: Site, bus_file: Path
) -> None:
    async with east.running(), west.running():
        await both_hold(east, west)
        east.writer.delete(TOPIC)
        await until(lambda: TOPIC in east.holds(), "it is held")
        hold = east.holds()[TOPIC].hold
        assert (hold.reason, hold.local) == (HoldReason.COLLECTED_TOPIC, True)
        assert f"syncer holds confirm {TOPIC}" in hold.detail
        assert west.get(TOPIC) is not None
        assert deleted(bus_file) == set()
        answer = await east.decide(decision, TOPIC)
        assert answer.code == ""
        await equal(east, west)
        await until(lambda: east.holds() == {}, "nothing waits any more")
        assert (west.get(TOPIC) is None) == (decision == "confirm")
        assert (east.get(TOPIC) is None) == (decision == "confirm")


async def test_a_hold_outlives_a_restart_and_the_setting(
    east: Site, west: Site, broker: Broker, bus_file: Path
) -> None:
    async with east.running(), west.running():
        await both_hold(east, west)
        east.writer.delete(TOPIC)
        await until(lambda: TOPIC in east.holds(), "it is held")
    broker.settings = {DELETES: "false"}
    async with east.running(), west.running():
        await active(east, west)
        east.writer.delete(OTHER)
        await until(lambda: west.get(OTHER) is None, "that one is carried")
        assert list(east.holds()) == [TOPIC]
    assert deleted(bus_file) == {OTHER}


async def test_a_delete_waits_for_the_first_answer(east: Site, west: Site, broker: Broker, bus_file: Path) -> None:
    async with east.running(), west.running():
        await both_hold(east, west)
        broker.status = 500
        east.writer.delete(TOPIC)
        east.writer.put(TENANT, tenant("changed"))
        await until(lambda: b"changed" in (west.get(TENANT) or b""), "others go on")
        assert deleted(bus_file) == set()
        assert east.holds() == {}
    async with east.running(), west.running():
        await active(east, west)
        await until(lambda: UNTOLD in east.conditions(), "it is said")
        broker.status, broker.settings = 200, {DELETES: "false"}
        await until(lambda: west.get(TOPIC) is None, "it is carried")
    assert deleted(bus_file) == {TOPIC}


@pytest.mark.parametrize(("status", "condition"), [(403, UNTOLD), (200, COLLECTED)])
async def test_a_region_that_may_not_ask_carries_and_says_so(
    status: int, condition: str, east: Site, west: Site, broker: Broker
) -> None:
    broker.status = status
    async with east.running(scope={"collected_topics": "hold" if status == 403 else "carry"}), west.running():
        await both_hold(east, west)
        east.writer.delete(TOPIC)
        await until(lambda: west.get(TOPIC) is None, "it is carried")
        await until(lambda: condition in east.conditions(), "it is said")


async def test_a_namespace_that_keeps_its_topics_has_its_deletes_carried(east: Site, west: Site) -> None:
    async with east.running(), west.running():
        await both_hold(east, west, policies(inactive_topic_policies={"deleteWhileInactive": False}))
        east.writer.delete(TOPIC)
        await until(lambda: west.get(TOPIC) is None, "it is carried")


async def test_a_namespace_takes_what_is_held_of_its_topics_with_it(east: Site, west: Site) -> None:
    async with east.running(), west.running():
        await both_hold(east, west)
        east.writer.delete(TOPIC)
        await until(lambda: TOPIC in east.holds(), "it is held")
        east.writer.delete(OTHER)
        east.writer.delete(NAMESPACE)
        await until(lambda: west.get(NAMESPACE) is None, "the namespace is gone")
        assert (west.get(TOPIC), west.get(OTHER)) == (None, None)
        await until(lambda: east.holds() == {}, "nothing waits any more")


async def test_a_delete_elsewhere_ends_the_hold(east: Site, west: Site) -> None:
    async with east.running(), west.running():
        await both_hold(east, west)
        east.writer.delete(TOPIC)
        await until(lambda: TOPIC in east.holds(), "it is held")
        west.writer.delete(TOPIC)
        await until(lambda: east.holds() == {}, "nothing waits any more")
        await equal(east, west)
