"""The admin client against a small HTTP server: what it asks, what it repeats, and what it makes of each refusal."""

from __future__ import annotations

import asyncio
import json
import threading
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import httpx2
import pytest

from syncer.admin.auth import CertificateAuth, OAuth2Auth, TokenAuth, Trust
from syncer.admin.calls import AdminRefused
from syncer.admin.client import AdminClient, AdminSettings
from syncer.errors import AdminError, AdminUnreachable, ConfigError
from syncer.waiting import WAIT_S
from tests.support.admin_server import Asked, serving

pytestmark = pytest.mark.anyio


@dataclass
class Broker:
    """Answers with what was laid out, in order; keeps what it was asked."""

    url: str = ""
    answers: deque[tuple[int, str]] = field(default_factory=deque)
    asked: list[tuple[str, str, str, str]] = field(default_factory=list)

    def lay_out(self, *answers: tuple[int, object]) -> None:
        self.answers.extend((status, body if isinstance(body, str) else json.dumps(body)) for status, body in answers)

    def client(self, **settings: object) -> AdminClient:
        return AdminClient(AdminSettings.model_validate({"url": self.url, **settings}))


@pytest.fixture
def broker() -> Iterator[Broker]:
    broker = Broker()

    def answer(asked: Asked) -> tuple[int, str]:
        broker.asked.append((asked.method, asked.path, asked.body, asked.authorization))
        return broker.answers.popleft() if broker.answers else (500, "nothing laid out")

    with serving(answer) as broker.url:
        yield broker


async def test_names_are_quoted_once(broker: Broker) -> None:
    broker.lay_out((200, {"partitions": 3}), (404, {"reason": "Namespace not found"}))
    async with broker.client() as admin:
        assert await admin.partitions("persistent://t/n/a%2Fb c") == 3
        assert await admin.namespace("t/n") is None
    assert [path for _, path, _, _ in broker.asked] == [
        "/admin/v2/persistent/t/n/a%252Fb%20c/partitions?checkAllowAutoCreation=false",
        "/admin/v2/namespaces/t/n",
    ]


async def test_a_read_is_repeated_while_the_broker_is_not_ready(broker: Broker) -> None:
    broker.lay_out((503, "starting"), (502, ""), (200, ["a", "b"]))
    async with broker.client() as admin:
        assert await admin.clusters() == ["a", "b"]
    assert len(broker.asked) == 3


async def test_closing_ends_a_call_that_is_under_way_and_asks_nothing_again() -> None:
    path = "/admin/v2/clusters"
    asked, answering = threading.Event(), threading.Event()

    def answer(_: Asked) -> tuple[int, str]:
        asked.set()
        answering.wait(WAIT_S)
        return 200, "[]"

    with serving(answer) as url:
        admin = AdminClient(AdminSettings(url=url))
        try:
            async with asyncio.timeout(WAIT_S):
                call = asyncio.create_task(admin.get(path))
                await asyncio.to_thread(asked.wait, WAIT_S)
                await admin.close()
                with pytest.raises(AdminUnreachable, match=f"GET {url}{path}: the client was closed") as caught:
                    await call
                assert isinstance(caught.value.__cause__, httpx2.HTTPError), "the call was under way"
        finally:
            answering.set()
        with pytest.raises(AdminUnreachable, match="the client was closed"):
            await admin.get(path)
    await admin.close()


async def test_a_write_is_never_repeated(broker: Broker) -> None:
    broker.lay_out((503, {"reason": "Service unit not ready"}), (204, ""))
    async with broker.client() as admin:
        with pytest.raises(AdminRefused, match="Service unit not ready") as caught:
            await admin.create_tenant("t", {"adminRoles": [], "allowedClusters": ["a"]})
    assert caught.value.status == 503
    assert len(broker.asked) == 1
    assert json.loads(broker.asked[0][2]) == {"adminRoles": [], "allowedClusters": ["a"]}


@pytest.mark.parametrize(
    ("status", "body", "reason", "hint"),
    [
        (401, {"reason": "Token expired"}, "Token expired", "check the token"),
        (403, {"reason": "Unauthorized"}, "Unauthorized", "superuser"),
        (412, {"reason": "Clusters do not exist"}, "Clusters do not exist", "answer of the broker"),
        (500, "<html>boom</html>", "<html>boom</html>", "answer of the broker"),
        (409, "", "Conflict", "answer of the broker"),
        (400, ["odd"], "['odd']", "answer of the broker"),
    ],
)
async def test_a_refusal_has_status_words_and_hint(
    broker: Broker, status: int, body: object, reason: str, hint: str
) -> None:
    broker.lay_out((status, body))
    async with broker.client() as admin:
        with pytest.raises(AdminRefused) as caught:
            await admin.send("POST", "/admin/v2/namespaces/t/n/retention", {})
    error = caught.value
    assert (error.status, error.reason) == (status, reason)
    assert f"/admin/v2/namespaces/t/n/retention answered {status}" in error.message
    assert hint in error.hint


async def test_a_broker_that_is_away_is_unreachable_and_named() -> None:
    async with AdminClient(AdminSettings(url="http://127.0.0.1:9", retry_for=timedelta(0))) as admin:
        with pytest.raises(
            AdminUnreachable, match=r"GET http://127.0.0.1:9/admin/v2/clusters: connection refused"
        ) as caught:
            await admin.clusters()
    assert caught.value.retryable


async def test_an_existing_subscription_is_no_error_but_other_refusals_are(broker: Broker) -> None:
    broker.lay_out((204, ""), (409, {"reason": "exists"}), (404, {"reason": "Topic not found"}))
    async with broker.client() as admin:
        assert await admin.create_subscription_at_earliest("persistent://t/n/x", "s") is True
        assert await admin.create_subscription_at_earliest("persistent://t/n/x", "s") is False
        with pytest.raises(AdminRefused, match="Topic not found"):
            await admin.create_subscription_at_earliest("persistent://t/n/x", "s")


async def test_a_rotated_token_is_used_at_once_and_never_told(broker: Broker, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("first\n")
    broker.lay_out((200, []), (200, []), (401, {"reason": "no"}))
    async with broker.client(auth=TokenAuth(file=file)) as admin:
        await admin.tenants()
        file.write_text("second")
        await admin.tenants()
        with pytest.raises(AdminRefused) as caught:
            await admin.tenants()
        assert "second" not in f"{caught.value}{caught.value.hint}"
        file.write_text("  \n")
        with pytest.raises(ConfigError, match="is empty"):
            await admin.tenants()
        file.unlink()
        with pytest.raises(ConfigError, match="cannot be read"):
            await admin.tenants()
    assert [authorization for *_, authorization in broker.asked[:2]] == ["Bearer first", "Bearer second"]


async def test_oauth2_fetches_one_token_and_keeps_it(broker: Broker, tmp_path: Path) -> None:
    file = tmp_path / "client.json"
    file.write_text(json.dumps({"client_id": "me", "client_secret": "planted", "type": "client_credentials"}))
    broker.lay_out(
        (200, {"token_endpoint": f"{broker.url}/token"}),
        (200, {"access_token": "abc", "expires_in": 3600}),
        (200, []),
        (200, []),
    )
    auth = OAuth2Auth(issuer_url=broker.url, credentials_file=file, audience="urn:pulsar", scope="all")
    async with broker.client(auth=auth) as admin:
        await admin.tenants()
        await admin.tenants()
    assert [path for _, path, _, _ in broker.asked] == [
        "/.well-known/openid-configuration",
        "/token",
        "/admin/v2/tenants",
        "/admin/v2/tenants",
    ]
    assert set(broker.asked[1][2].split("&")) == {
        "grant_type=client_credentials",
        "client_id=me",
        "client_secret=planted",
        "audience=urn%3Apulsar",
        "scope=all",
    }
    assert broker.asked[3][3] == "Bearer abc"


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        ([(403, "")], "answered 403"),
        ([(200, {})], "without a token"),
        ([(200, "no json")], "without a token"),
    ],
)
async def test_an_issuer_that_gives_no_token_is_named(
    broker: Broker, tmp_path: Path, answers: list[tuple[int, object]], reason: str
) -> None:
    file = tmp_path / "client.json"
    file.write_text('{"client_id": "me", "client_secret": "planted"}')
    broker.lay_out(*answers)
    async with broker.client(auth=OAuth2Auth(issuer_url=broker.url, credentials_file=file)) as admin:
        with pytest.raises(AdminError, match=reason) as caught:
            await admin.tenants()
    assert "planted" not in str(caught.value)


async def test_broken_credentials_are_a_mistake_of_configuration(broker: Broker, tmp_path: Path) -> None:
    file = tmp_path / "client.json"
    file.write_text('{"client_id": "me"}')
    async with broker.client(auth=OAuth2Auth(issuer_url=broker.url, credentials_file=file)) as admin:
        with pytest.raises(ConfigError, match="client_secret"):
            await admin.tenants()


def test_tls_is_verified_unless_it_is_switched_off(tmp_path: Path) -> None:
    strict = Trust().context(None)
    assert (strict.verify_mode.name, strict.check_hostname) == ("CERT_REQUIRED", True)
    names_off = Trust(verify_hostname=False).context(None)
    assert (names_off.verify_mode.name, names_off.check_hostname) == ("CERT_REQUIRED", False)
    off = Trust(verify=False).context(None)
    assert (off.verify_mode.name, off.check_hostname) == ("CERT_NONE", False)
    with pytest.raises(ConfigError, match="cannot be loaded"):
        Trust(certificates=tmp_path / "none.pem").context(None)
    with pytest.raises(ConfigError, match="cannot be loaded"):
        Trust().context(CertificateAuth(certificate=tmp_path / "c.pem", key=tmp_path / "k.pem"))
