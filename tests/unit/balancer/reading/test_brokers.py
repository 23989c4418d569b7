"""Reading by the admin API: who refuses or hangs is a finding with a code, and the others are read."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from syncer.balancer.decoding.parts import PictureParts
from syncer.balancer.picture import FigureOrigin, Known, LoadFindingKind, LoadSource
from syncer.balancer.placement.decision import BrokerTraits
from syncer.balancer.reading.brokers import BrokerReading
from syncer.errors import AdminDenied
from syncer.waiting import WAIT_S
from tests.support.load_documents import FIRST, NOW_MS
from tests.support.load_sources import RUNTIME, TOPICS, Answer, brokers_with, client, whole_cluster

pytestmark = pytest.mark.anyio


def registered(broker: str) -> PictureParts:
    parts = PictureParts()
    parts.brokers.registrations[broker] = Known(BrokerTraits(), FigureOrigin(LoadSource.STORE, "x"))
    return parts


async def test_settings_tell_the_name_of_the_cluster() -> None:
    parts = PictureParts()
    answers: dict[str, Answer] = {RUNTIME: (200, {"clusterName": "east", "loadBalancerBrokerMaxTopics": "7"})}
    with brokers_with(answers) as url:
        async with client(url) as admin:
            assert await BrokerReading(admin, NOW_MS, parts).settings() == "east"
    assert parts.constraints.settings is not None
    assert parts.constraints.settings.value.placement.max_topics == 7
    assert parts.constraints.settings.origin.source is LoadSource.REST


@pytest.mark.parametrize(
    ("status", "code"),
    [(401, "admin-access-denied"), (403, "admin-access-denied"), (500, "admin-error"), (503, "admin-error")],
)
async def test_a_refusal_is_a_finding_with_its_code(status: int, code: str) -> None:
    parts = PictureParts()
    with brokers_with({RUNTIME: (status, {"reason": "no"})}) as url:
        async with client(url) as admin:
            asked = BrokerReading(admin, NOW_MS, parts)
            assert await asked.settings() is None
    assert [each.kind for each in parts.notes.findings] == [LoadFindingKind.UNREADABLE]
    assert f"({code}); the settings stay unknown" in parts.notes.findings[0].what
    assert parts.notes.findings[0].remedy
    assert isinstance(asked.trouble, AdminDenied) is (code == "admin-access-denied")


async def test_a_redirect_to_a_stranger_is_a_finding() -> None:
    parts = PictureParts()
    with brokers_with({RUNTIME: (307, "http://stranger.invalid:8080/x"), "/brokers": (200, ["b1:8080"])}) as url:
        async with client(url) as admin:
            assert await BrokerReading(admin, NOW_MS, parts).settings() is None
    assert "admin-redirect-refused" in parts.notes.findings[0].what


async def test_a_broker_that_hangs_is_waited_for_no_longer_than_said() -> None:
    gate = threading.Event()

    def hang() -> tuple[int, Any]:
        gate.wait(WAIT_S)
        return 200, {}

    with brokers_with({"/broker-stats/topics": hang}) as url:
        broker = url.removeprefix("http://")
        parts = registered(broker)
        async with client(url) as admin:
            await BrokerReading(admin, NOW_MS, parts, broker_s=0.3).topics()
        gate.set()
    assert [(each.kind, each.what) for each in parts.notes.findings] == [
        (LoadFindingKind.UNREADABLE, "no answer within 0.3 s; its topics stay unknown")
    ]


async def test_topics_are_asked_of_each_registered_broker() -> None:
    with brokers_with({"/broker-stats/topics": (200, TOPICS)}) as url:
        parts = registered(url.removeprefix("http://"))
        parts.brokers.registrations["127.0.0.1:1"] = Known(BrokerTraits(), FigureOrigin(LoadSource.STORE, "x"))
        async with client(url) as admin:
            await BrokerReading(admin, NOW_MS, parts).topics()
    assert list(parts.bundles.topics) == [FIRST]
    assert parts.bundles.topics[FIRST].origin.written_ms == NOW_MS
    assert [each.where for each in parts.notes.findings] == ["127.0.0.1:1 broker-stats/topics"]


async def test_without_a_store_the_brokers_tell_all() -> None:
    parts, here = PictureParts(), [""]
    answers = whole_cluster(lambda: here[0])
    with brokers_with(answers) as url:
        here[0] = url.removeprefix("http://")
        answers[f"/brokers/east/{here[0].replace(':', '%3A')}/ownedNamespaces"] = (200, {FIRST: {"is_active": True}})
        async with client(url) as admin:
            await BrokerReading(admin, NOW_MS, parts).instead_of_stores("east")
    assert parts.notes.findings == []
    assert parts.brokers.registrations[here[0]].value.version == "4.0.8"
    assert parts.bundles.owners[FIRST].value.broker == here[0]
    assert parts.bundles.reported[FIRST].keys() == {here[0]}
    assert parts.constraints.boundaries["shop/orders"].value == (0, 0x80000000, 0xFFFFFFFF)
    assert parts.constraints.groups["shop/orders"].value == "pair"
    assert parts.constraints.policies is not None
    assert parts.constraints.domains is not None
    assert parts.constraints.domains.value == {"b1:8080": "rack"}
    assert parts.brokers.leader is not None


async def test_what_the_brokers_refuse_stays_unknown() -> None:
    parts, here = PictureParts(), [""]
    answers: dict[str, Answer] = {"/brokers/east": lambda: (200, [here[0]])}
    for path in ("/clusters/east/namespaceIsolationPolicies", "/clusters/east/failureDomains"):
        answers[path] = (403, {"reason": "not you"})
    with brokers_with(answers) as url:
        here[0] = url.removeprefix("http://")
        async with client(url) as admin:
            await BrokerReading(admin, NOW_MS, parts).instead_of_stores("east")
    assert (parts.constraints.policies, parts.constraints.domains) == (None, None)
    assert list(parts.brokers.registrations) == here
    assert (parts.brokers.figures, parts.bundles.owners) == ({}, {})
    assert len(parts.notes.findings) == 5
    assert {each.kind for each in parts.notes.findings} == {LoadFindingKind.UNREADABLE}
