"""TLS: a server with a certificate of its own making, or of another name, is told nothing; what is given up is said."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest

from syncer.admin.auth import OAuth2Auth, TokenAuth, Trust
from syncer.admin.client import AdminClient, AdminSettings
from syncer.admin.oauth2 import OAuth2Tokens
from syncer.bus.pulsar.bus import PulsarBus, PulsarBusConfig
from syncer.config import Config
from syncer.config.trusting import lax
from syncer.connecting.causes import UNTRUSTED
from syncer.errors import SyncerError
from syncer.stores.etcd import EtcdStore
from syncer.stores.etcd.config import EtcdConfig
from syncer.stores.zookeeper.config import ZooKeeperConfig
from syncer.stores.zookeeper.store import ZooKeeperStore
from tests.support.certificates import Authority, Certificate
from tests.support.opening import opened

pytestmark = pytest.mark.anyio


@dataclass
class Impostor:
    """Somebody who speaks TLS at an address where the product expects a server.

    Args:
        port: Of the loopback address.
        greeted: How many connections came.
        heard: What was said to it within TLS.
    """

    port: int
    greeted: int = 0
    heard: list[bytes] = field(default_factory=list)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tls")


@pytest.fixture(scope="module")
def authority(folder: Path) -> Authority:
    """Whom the product trusts."""
    return Authority(folder, "trusted")


@pytest.fixture(params=["foreign authority", "other name"])
def impostor(request: pytest.FixtureRequest, folder: Path, authority: Authority) -> Iterator[Impostor]:
    """Two of them: one whose certificate nobody vouches for, one with a good certificate of somebody else."""
    if request.param == "foreign authority":
        shown = Authority(folder, "foreign").issue("impostor")
    else:
        shown = authority.issue("somebody-else", addresses="DNS:elsewhere.example")
    yield from _listening(shown)


def _listening(shown: Certificate) -> Iterator[Impostor]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(shown.cert, shown.key)
    context.set_alpn_protocols(["h2", "http/1.1"])
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(0.1)
    made, ended = Impostor(port=listener.getsockname()[1]), threading.Event()

    def serve() -> None:
        while not ended.is_set():
            with suppress(OSError):  # a time-out of accept, or a handshake that the client broke off
                connection, _ = listener.accept()
                made.greeted += 1
                with connection:
                    connection.settimeout(60)
                    with context.wrap_socket(connection, server_side=True) as secure:
                        made.heard.append(secure.recv(1000))

    thread = threading.Thread(target=serve)
    thread.start()
    yield made
    ended.set()
    thread.join()
    listener.close()


def _secret(folder: Path) -> Path:
    file = folder / "secret"
    file.write_text("a-secret-that-must-not-leave")
    return file


async def _admin(port: int, ca: Path, folder: Path) -> None:
    settings = AdminSettings(
        url=f"https://127.0.0.1:{port}",
        auth=TokenAuth(file=_secret(folder)),
        trust=Trust(certificates=ca),
        timeout=timedelta(seconds=60),
        retry_for=timedelta(0),
    )
    async with AdminClient(settings) as admin:
        await admin.clusters()


async def _etcd(port: int, ca: Path, folder: Path) -> None:
    settings = {
        "endpoints": [f"127.0.0.1:{port}"],
        "tls": {"ca_file": ca},
        "username": "syncer",
        "password_file": _secret(folder),
        "request_timeout": timedelta(seconds=60),
    }
    async with opened(EtcdStore(EtcdConfig.model_validate(settings))) as store:
        await store.read([])


async def _zookeeper(port: int, ca: Path, folder: Path) -> None:
    settings = {
        "hosts": f"127.0.0.1:{port}",
        "tls": {"ca": ca},
        "auth": {"user": "syncer", "password_file": _secret(folder)},
        "connect_timeout": timedelta(seconds=10),
    }
    async with opened(ZooKeeperStore(ZooKeeperConfig.model_validate(settings))):
        pass


async def _pulsar(port: int, ca: Path, folder: Path) -> None:
    settings = {
        "region": "east",
        "service_url": f"pulsar+ssl://127.0.0.1:{port}",
        "topic": "persistent://pulsar/sync/metadata",
        "auth": {"kind": "token", "file": _secret(folder)},
        "trust": {"certificates": ca},
        "operation_timeout": timedelta(seconds=10),
        "client_log": folder / "client.log",
    }
    async with opened(PulsarBus(PulsarBusConfig.model_validate(settings))):
        pass


Dial = Callable[[int, Path, Path], Awaitable[None]]


@pytest.mark.parametrize("dial", [_admin, _etcd, _zookeeper, _pulsar], ids=["admin", "etcd", "zookeeper", "pulsar"])
async def test_an_impostor_is_told_nothing(
    dial: Dial, impostor: Impostor, authority: Authority, tmp_path: Path
) -> None:
    with pytest.raises(SyncerError) as refused:
        await dial(impostor.port, authority.ca, tmp_path)
    assert dial is _pulsar or UNTRUSTED in refused.value.message, "and the operator is told why"
    assert impostor.greeted, "it was dialled"
    assert not any(impostor.heard), "and nothing was said to it"


async def test_the_token_server_of_oauth2_is_verified_too(impostor: Impostor, tmp_path: Path) -> None:
    credentials = tmp_path / "credentials.json"
    credentials.write_text('{"client_id":"a","client_secret":"a-secret-that-must-not-leave"}')
    auth = OAuth2Auth(issuer_url=f"https://127.0.0.1:{impostor.port}", credentials_file=credentials)
    tokens = OAuth2Tokens(auth, timeout_s=60)
    try:
        with pytest.raises(httpx2.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
            await tokens.current()
    finally:
        await tokens.close()
    assert impostor.greeted
    assert not any(impostor.heard)


def config(**changes: Any) -> Config:
    document: dict[str, Any] = {
        "region": "east",
        "store": {"kind": "zookeeper", "hosts": "zk:2281"},
        "bus": {
            "kind": "pulsar",
            "service_url": "pulsar+ssl://b:6651",
            "admin_url": "https://b:8443",
            "topic": "persistent://pulsar/sync/metadata",
        },
    }
    return Config.model_validate({**document, **{n: {**document.get(n, {}), **more} for n, more in changes.items()}})


def test_every_check_is_on_unless_it_is_given_up_and_what_is_given_up_is_said() -> None:
    assert lax(config(store={"tls": {}})) == []
    assert lax(config(store={"tls": {"verify_hostname": False}}, bus={"trust": {"verify": False}})) == [
        "store.tls.verify_hostname: names of hosts are not verified",
        "bus.trust.verify: certificates are not verified",
    ]


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("postgresql://syncer@db.example/syncer?sslmode=verify-full", 0),
        ("postgresql://syncer@db.example/syncer?sslmode=verify-ca", 0),
        ("postgresql://syncer@127.0.0.1/syncer", 0),
        ("postgresql:///syncer", 0),
        ("postgresql://syncer@db.example/syncer", 1),
        ("postgresql://syncer@db.example/syncer?sslmode=require", 1),
    ],
)
def test_a_database_elsewhere_is_to_be_verified(url: str, said: int) -> None:
    assert len(lax(config(state={"url": url}))) == said
