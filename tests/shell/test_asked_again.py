"""A delete that waits because no broker could tell about topics: it is asked again, and decided without a person."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from syncer.conflict.guards import UNTOLD_TOPICS
from syncer.conflict.register import HoldReason
from syncer.daemon import Daemon
from syncer.replication.local import topic_answers
from syncer.waiting import until
from tests.shell.conftest import MakeSite
from tests.shell.region import NAMESPACE, TENANT, Site, active, equal, tenant
from tests.support.admin_server import Asked, serving

POLICIES = b'{"replication_clusters":["east","west"],"bundles":{"numBundles":4}}'


@dataclass
class Broker:
    """Tells of topics; at first it cannot."""

    url: str = ""
    topics: list[str] | None = None
    asked: list[str] = field(default_factory=list)


@pytest.fixture
def broker() -> Iterator[Broker]:
    """A small HTTP server with the two calls of the admin API that are asked."""
    broker = Broker()

    def answer(asked: Asked) -> tuple[int, str]:
        broker.asked.append(asked.path)
        return (500, "busy") if broker.topics is None else (200, json.dumps(broker.topics))

    with serving(answer) as broker.url:
        yield broker


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """A minute is short."""
    monkeypatch.setattr(topic_answers, "AGAIN_MS", 100)


def held(site: Site) -> tuple[str, str] | None:
    """Why the namespace's delete is held."""
    row = site.holds().get(NAMESPACE)
    return None if row is None else (row.hold.reason, row.hold.detail)


async def ticks(daemon: Daemon, count: int) -> None:
    """Wait until a daemon has looked that often at what waits for time."""
    assert daemon.pumps is not None
    for _ in range(count):
        at = daemon.pumps.alive_at
        await until(lambda at=at: daemon.pumps is not None and daemon.pumps.alive_at > at, "the clock ticks")  # type: ignore[misc]  # mypy has no type for a default


async def deleted_while_the_broker_is_away(east: Site, west: Site, broker: Broker) -> None:
    await active(east, west)
    west.writer.put(TENANT, tenant())
    west.writer.put(NAMESPACE, POLICIES)
    await until(lambda: east.get(NAMESPACE) is not None, "both hold it")
    west.writer.delete(NAMESPACE)
    await until(lambda: held(east) == (HoldReason.HAS_TOPICS, UNTOLD_TOPICS), "it is held")


@pytest.mark.usefixtures("soon")
async def test_a_delete_goes_on_by_itself_once_a_broker_tells(make_site: MakeSite, west: Site, broker: Broker) -> None:
    east = make_site("east", admin={"url": broker.url})
    async with east.running(), west.running():
        await deleted_while_the_broker_is_away(east, west, broker)
        before = len(broker.asked)
        await until(lambda: len(broker.asked) >= before + 3, "it is asked again and again")
        assert held(east) == (HoldReason.HAS_TOPICS, UNTOLD_TOPICS)
        assert east.get(NAMESPACE) is not None
        broker.topics = []
        await until(lambda: east.get(NAMESPACE) is None, "it is deleted, and nobody had to decide")
        await equal(east, west)
        await until(lambda: not east.holds(), "nothing waits")


@pytest.mark.usefixtures("soon")
async def test_with_topics_it_stays_held_for_that_and_is_asked_no_more(
    make_site: MakeSite, west: Site, broker: Broker
) -> None:
    east = make_site("east", admin={"url": broker.url})
    async with east.running() as running, west.running():
        await deleted_while_the_broker_is_away(east, west, broker)
        broker.topics = ["persistent://acme/orders/created"]
        await until(lambda: held(east) == (HoldReason.HAS_TOPICS, "topics still exist here"), "it says why")
        broker.topics, asked = [], len(broker.asked)
        await ticks(running, 3)
        assert len(broker.asked) == asked
        assert held(east) == (HoldReason.HAS_TOPICS, "topics still exist here")
        answer = await east.decide("confirm", NAMESPACE)
        assert answer.code == ""
        await until(lambda: east.get(NAMESPACE) is None, "a person has decided")


@pytest.mark.usefixtures("soon")
async def test_what_a_person_decides_meanwhile_stays_decided(make_site: MakeSite, west: Site, broker: Broker) -> None:
    east = make_site("east", admin={"url": broker.url})
    async with east.running() as running, west.running():
        await deleted_while_the_broker_is_away(east, west, broker)
        answer = await east.decide("reject", NAMESPACE)
        assert answer.code == ""
        await until(lambda: west.get(NAMESPACE) is not None, "it has come back")
        broker.topics = []
        await ticks(running, 3)
        await equal(east, west)
        assert east.get(NAMESPACE) is not None
        assert not east.holds()
