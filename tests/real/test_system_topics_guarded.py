"""Topics of policies behind brokers that ask who is there: what a role may not read waits, and nothing else does."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

import pytest

from deploy.lab.pulsar import ClusterSettings, PulsarCluster
from deploy.lab.software import java, pulsar_home
from syncer.admin.auth import TokenAuth
from syncer.admin.client import AdminClient, AdminSettings
from syncer.bus.pulsar.client import PulsarBusConfig
from syncer.errors import TopicPoliciesWithheld
from syncer.model import MetaPath
from syncer.stores.zookeeper.config import ZooKeeperConfig
from syncer.stores.zookeeper.store import ZooKeeperStore
from syncer.system_topics.pulsar import PulsarTopicLogs
from syncer.system_topics.source import SystemTopics
from syncer.waiting import until
from tests.conftest import require
from tests.support.tokens import SUPERUSER, Tokens

pytestmark = [pytest.mark.anyio, pytest.mark.real("pulsar", "zookeeper"), pytest.mark.slow]

TENANT, ROLE = "guarded", "syncer"
OPEN, CLOSED = f"{TENANT}/open", f"{TENANT}/closed"


class Place(NamedTuple):
    """A cluster that asks for tokens, and who may speak to it."""

    cluster: PulsarCluster
    tokens: Tokens
    folder: Path

    def auth(self, role: str, text: str | None = None) -> TokenAuth:
        file = self.folder / role
        file.write_text(text or self.tokens.token(role))
        return TokenAuth(file=file)

    def admin(self, auth: TokenAuth) -> AdminSettings:
        return AdminSettings(url=self.cluster.admin_url, auth=auth, retry_for=timedelta(seconds=20))

    def logs(self, admin: TokenAuth) -> PulsarTopicLogs:
        bus = PulsarBusConfig(
            region=TENANT, service_url=self.cluster.service_url, topic="persistent://a/b/c", auth=self.auth(ROLE)
        )
        return PulsarTopicLogs(TENANT, bus, self.admin(admin))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    require(java, pulsar_home)
    folder = tmp_path_factory.mktemp(TENANT)
    tokens = Tokens(folder / "signing-key")
    settings = ClusterSettings(name=TENANT, broker=tokens.broker_settings, token=tokens.token(SUPERUSER))
    cluster = PulsarCluster(folder / TENANT, settings, leashed=True)
    try:
        cluster.start()
        yield Place(cluster, tokens, folder)
    finally:
        cluster.stop()


@contextlib.asynccontextmanager
async def source(place: Place) -> AsyncIterator[SystemTopics]:
    """What is found by a superuser's REST API and read by a role of few rights."""
    store = ZooKeeperStore(ZooKeeperConfig(hosts=place.cluster.store.endpoint))
    await store.open()
    found = SystemTopics([f"{TENANT}/*"], store, place.logs(place.auth(SUPERUSER)))
    try:
        await found.begin()
        yield found
    finally:
        await found.close()
        await store.close()


async def test_a_namespace_that_the_role_may_not_read_waits_alone_until_it_may(place: Place) -> None:
    paths = {name: MetaPath(f"/admin/topic-policies/global/{name}/persistent/a") for name in (OPEN, CLOSED)}

    async def permit(admin: AdminClient, name: str) -> None:
        await admin.send("POST", f"/admin/v2/namespaces/{name}/permissions/{ROLE}", ["consume", "produce"])

    async with AdminClient(place.admin(place.auth(SUPERUSER))) as admin:
        await admin.create_tenant(TENANT, {"adminRoles": [], "allowedClusters": [TENANT]})
        for name in (OPEN, CLOSED):
            await admin.create_namespace(name, {"replication_clusters": [TENANT]})
            await admin.create_topic(f"persistent://{name}/a")
            await admin.send("POST", f"/admin/v2/persistent/{name}/a/maxConsumers?isGlobal=true", 7)
        await permit(admin, OPEN)
        async with source(place) as policies:
            await until(lambda: set(policies.standing().withheld) == {CLOSED}, "it alone is withheld")
            answers, withheld, _ = await policies.read(list(paths.values()))
            entry = answers[paths[OPEN]]
            assert entry is not None
            assert b'"maxConsumerPerTopic":7' in entry.value
            assert "Authorization" in withheld[paths[CLOSED]]
            await permit(admin, CLOSED)
            await until(lambda: not policies.standing().withheld, "it goes on by itself")
            answers, withheld, _ = await policies.read(list(paths.values()))
            assert not withheld
            assert answers[paths[CLOSED]] is not None


@pytest.mark.parametrize(
    ("role", "token", "of_settings", "of_topics"),
    [("stranger", "no token of this cluster", 401, 401), ("nobody", None, 401, 403)],
)
async def test_a_broker_that_refuses_the_admin_role_is_told_with_what_to_do(
    place: Place, role: str, token: str | None, of_settings: int, of_topics: int
) -> None:
    """Of its own settings it says 401 to a role that is known and has no right."""
    hints = {401: "a role that is no superuser", 403: "give it superuser"}
    logs = place.logs(place.auth(role, token))
    try:
        for ask, status in ((logs.check_service, of_settings), (lambda: logs.find("public/default"), of_topics)):
            with pytest.raises(TopicPoliciesWithheld, match=f"answered {status}") as refused:
                await ask()
            assert refused.value.lasting
            assert hints[status] in str(refused.value.hint)
    finally:
        await logs.close()
