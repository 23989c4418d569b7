"""A cluster is read with every broker asked apart; what one refuses to tell is unknown, and no failure."""

from __future__ import annotations

from typing import Any

import pytest

from syncer.admin.calls import AdminRefused
from syncer.errors import AdminError, AdminUnreachable
from syncer.migration.evidence import BrokerSeen, ClusterSeen, ClusterUrls, Mark, TenantSeen
from syncer.migration.reading.cluster import read_cluster
from syncer.model import Millis
from tests.unit.migration.reading.samples import CLUSTER, LOADED, MARK, TENANT
from tests.unit.migration.reading.scripted import ScriptedCalls, refused

pytestmark = pytest.mark.anyio
API = "/admin/v2"
RUNTIME = f"{API}/brokers/configuration/runtime"
SETTINGS = {"clusterName": "blue", "functionsWorkerEnabled": "false", "transactionCoordinatorEnabled": "false"}
ANSWERS: dict[str, Any] = {
    RUNTIME: SETTINGS,
    f"{API}/brokers/blue": ["b:8080", "a:8080"],
    **{f"{broker}{API}/brokers/version": "4.0.8" for broker in ("a:8080", "b:8080")},
    **{f"{broker}{RUNTIME}": SETTINGS for broker in ("a:8080", "b:8080")},
    f"a:8080{API}/broker-stats/topics": LOADED,
    f"b:8080{API}/broker-stats/topics": None,
    f"{API}/brokers/configuration/values": {"loadBalancerSheddingEnabled": "false"},
    f"{API}/clusters": ["green", "blue"],
    f"{API}/clusters/blue": {},
    f"{API}/clusters/green": CLUSTER,
    f"{API}/clusters/blue/migrate": MARK,
    f"{API}/tenants/acme": TENANT,
}
GREEN = ClusterUrls(
    http="http://green:8080",
    https="https://green:8443",
    pulsar="pulsar://green:6650",
    pulsar_ssl="pulsar+ssl://green:6651",
)


async def read(changes: dict[str, Any], *, load: bool = False) -> ClusterSeen:
    return await read_cluster(
        ScriptedCalls({**ANSWERS, **changes}),
        urls=GREEN,
        namespaces=["acme/none", "nobody/none"],
        now_ms=Millis(7),
        load=load,
    )


async def test_a_cluster_is_read_whole() -> None:
    assert await read({}) == ClusterSeen(
        name="blue",
        urls=GREEN,
        read_at_ms=Millis(7),
        brokers=tuple(
            BrokerSeen(address=broker, version="4.0.8", settings=SETTINGS) for broker in ("a:8080", "b:8080")
        ),
        clusters={"blue": ClusterUrls(), "green": GREEN},
        mark=Mark(migrated=False, target=GREEN),
        dynamic={"loadBalancerSheddingEnabled": "false"},
        functions_worker=False,
        transactions=False,
        tenants={
            "acme": TenantSeen(admin_roles=frozenset({"ops"}), allowed_clusters=frozenset({"blue", "green"})),
        },
    )


async def test_what_a_broker_refuses_is_unknown() -> None:
    seen = await read({f"b:8080{RUNTIME}": refused(403), f"b:8080{API}/brokers/version": refused(500)})
    assert seen.brokers[1] == BrokerSeen(address="b:8080", version=None, settings=None)
    assert (seen.functions_worker, seen.transactions) == (None, None)


async def test_what_one_broker_has_the_cluster_has() -> None:
    both = {**SETTINGS, "functionsWorkerEnabled": "true", "transactionCoordinatorEnabled": "true"}
    seen = await read({f"a:8080{RUNTIME}": both, f"b:8080{RUNTIME}": refused(403)})
    assert (seen.functions_worker, seen.transactions) == (True, True)


async def test_a_worker_beside_the_brokers_leaves_its_topics() -> None:
    seen = await read({f"{API}/persistent/public/functions": ["persistent://public/functions/metadata"]})
    assert seen.functions_worker


async def test_without_brokers_nothing_is_known_of_their_settings() -> None:
    seen = await read({f"{API}/brokers/blue": []})
    assert (seen.brokers, seen.functions_worker, seen.transactions) == ((), None, None)


async def test_a_mark_under_a_wrong_name_is_no_cluster() -> None:
    odd = {f"{API}/clusters": ["blue", "green", "gren"], f"{API}/clusters/gren": refused(500)}
    assert set((await read({**odd, f"{API}/clusters/gren/migrate": MARK})).clusters) == {"blue", "green"}
    with pytest.raises(AdminRefused):
        await read(odd)


async def test_nobody_is_asked_what_is_loaded_where_all_is_to_be_loaded() -> None:
    calls = ScriptedCalls(ANSWERS)
    await read_cluster(calls, urls=GREEN, namespaces=(), now_ms=Millis(7), load=True)
    assert not [path for path in calls.asked if "broker-stats" in path]


@pytest.mark.parametrize(
    "path", [RUNTIME, f"{API}/brokers/blue", f"{API}/clusters/blue", f"{API}/tenants/acme", f"a:8080{RUNTIME}"]
)
async def test_wrong_credentials_and_silence_come_through(path: str) -> None:
    with pytest.raises(AdminRefused) as caught:
        await read({path: refused(401)})
    assert caught.value.status == 401
    with pytest.raises(AdminUnreachable):
        await read({path: AdminUnreachable("no answer")})


@pytest.mark.parametrize(
    ("path", "answer", "words"),
    [
        (RUNTIME, {}, "run-time configuration: the answer has no 'clusterName'"),
        (f"a:8080{RUNTIME}", {"x": 1}, "run-time configuration of a:8080: 'x' is '1' and not a text"),
        (f"{API}/clusters/green", {"serviceUrl": 1}, "cluster green: 'serviceUrl'"),
        (f"{API}/clusters/blue/migrate", {}, "migration state of blue: the answer has no 'migrated'"),
        (f"{API}/tenants/acme", {"adminRoles": "ops"}, "tenant acme: 'adminRoles'"),
        (f"{API}/brokers/configuration/values", {"x": []}, "dynamic settings: 'x'"),
        (f"a:8080{API}/broker-stats/topics", {"acme/orders": 1}, "loaded topics of a:8080: 'acme/orders'"),
    ],
)
async def test_odd_answers_are_named(path: str, answer: object, words: str) -> None:
    with pytest.raises(AdminError, match=words):
        await read({path: answer})
