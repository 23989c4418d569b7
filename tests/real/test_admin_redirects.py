"""Two real brokers that ask for tokens: calls about topics are answered whichever broker owns them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

import httpx2
import pytest

from deploy.lab.brokers.broker import Broker, further_broker
from deploy.lab.pulsar import ClusterSettings, PulsarCluster
from deploy.lab.software import java, pulsar_home
from syncer.admin.auth import TokenAuth
from syncer.admin.client import AdminClient, AdminSettings
from syncer.errors import AdminRedirectRefused
from tests.conftest import require
from tests.support.tokens import SUPERUSER, Tokens

pytestmark = [pytest.mark.anyio, pytest.mark.real("pulsar", "zookeeper")]

TENANT_ADMIN = "acme-admin"
"""May do everything in its tenant, and may not list the brokers."""

MODULAR = "org.apache.pulsar.broker.loadbalance.impl.ModularLoadManagerImpl"
"""A standalone broker's own load manager knows no other broker."""

NO_SYSTEM_TOPICS = {"topicLevelPoliciesEnabled": "false", "systemTopicEnabled": "false"}
"""A standalone broker sends every binary lookup to itself, so it would wait for a system topic of the other one without
end; calls over HTTP, which are tested here, it leads to the owner."""


class Place(NamedTuple):
    """A cluster of two brokers, and who may speak to them."""

    cluster: PulsarCluster
    second: Broker
    tokens: Tokens
    folder: Path

    def admin(self, url: str, role: str, *brokers: str) -> AdminClient:
        file = self.folder / role
        file.write_text(self.tokens.token(role))
        retry = timedelta(seconds=20 if role == SUPERUSER else 0)
        return AdminClient(AdminSettings(url=url, auth=TokenAuth(file=file), brokers=brokers, retry_for=retry))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    require(java, pulsar_home)
    folder = tmp_path_factory.mktemp("two-brokers")
    tokens = Tokens(folder / "signing-key")
    broker = {**tokens.broker_settings, **NO_SYSTEM_TOPICS, "loadManagerClassName": MODULAR}
    settings = ClusterSettings(name="two", broker=broker, token=tokens.token(SUPERUSER))
    cluster = PulsarCluster(folder / "two", settings, leashed=True)
    second = further_broker(cluster, leashed=True)
    try:
        cluster.start()
        second.start()
        yield Place(cluster, second, tokens, folder)
    finally:
        second.stop()
        cluster.stop()


async def test_a_topic_is_asked_about_at_either_broker_and_its_owner_answers(place: Place) -> None:
    urls = (place.cluster.admin_url, place.second.admin_url)
    names = [f"persistent://acme/orders/t{number}" for number in range(4)]
    async with place.admin(urls[0], SUPERUSER) as admin:
        await admin.create_tenant("acme", {"adminRoles": [TENANT_ADMIN], "allowedClusters": ["two"]})
        await admin.create_namespace("acme/orders", {"bundles": {"numBundles": 4, "boundaries": None}})
    sent_on = set()
    for url in urls:
        async with place.admin(url, SUPERUSER) as admin:
            for name in names:
                if url == urls[0]:
                    await admin.send("PUT", f"/admin/v2/{name.replace('://', '/')}")
                assert await admin.stats(name) is not None
                assert await admin.create_subscription_at_earliest(name, f"s{urls.index(url)}")
        sent_on |= {(url, name) for name in names if _redirects(url, name, place)}
    assert {url for url, _ in sent_on} == set(urls) or len({name for _, name in sent_on}) == len(names), (
        "each topic was asked about at a broker that does not own it"
    )
    async with place.admin(urls[0], TENANT_ADMIN) as one, place.admin(urls[1], TENANT_ADMIN) as other:
        refused = [await _refused(admin, name) for admin in (one, other) for name in names]
    assert any(refused), "a role that may not list the brokers is not led anywhere by a redirect"
    for url in urls:
        async with place.admin(url, TENANT_ADMIN, *urls) as admin:
            for name in names:
                assert await admin.stats(name) is not None


def _redirects(url: str, name: str, place: Place) -> bool:
    """Whether this broker sends the call on, as a client sees it that does not follow."""
    answer = httpx2.get(
        f"{url}/admin/v2/{name.replace('://', '/')}/stats",
        headers={"Authorization": f"Bearer {place.tokens.token(SUPERUSER)}"},
        follow_redirects=False,
        trust_env=False,
    )
    return answer.status_code == 307


async def _refused(admin: AdminClient, name: str) -> bool:
    try:
        await admin.stats(name)
    except AdminRedirectRefused as exc:
        return "may not list" in exc.message
    return False
