"""The doors of the HTTP surface over real sockets: TLS, client certificates, tokens, and changes without a restart."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import os
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import pytest

from api.admission import Admission, RefusedAttempt
from api.connections import Dropped
from api.inside import RegionInside
from deploy.lab.ports import free_ports
from syncer.access import token_file, tokens
from syncer.access.roles import AccessRole
from syncer.access.tokens import ID_BYTES, SECRET_BYTES, ClientEntry
from syncer.config.api_table import ApiConfig
from syncer.errors import ConfigError
from syncer.serving import CERTIFICATE, Doors
from syncer.state.sql.database import SqlState
from syncer.state.views.region import Views
from syncer.waiting import WAIT_S, wait_until
from tests.api.test_app import Daemon
from tests.support.certificates import Authority, Certificate
from tests.support.event_streams import SocketClient
from tests.support.looking import LookingInside
from tests.support.loop_clock import LoopClock
from tests.unit.registers import HERE

STATUS: Final = "/api/v1/status"


@dataclass
class House:
    """A folder with the files of a server."""

    folder: Path
    authority: Authority
    certificate: Certificate
    told: list[RefusedAttempt] = field(default_factory=list)

    @property
    def tokens(self) -> Path:
        return self.folder / "tokens.json"

    @property
    def tls(self) -> dict[str, Path]:
        return {"certificate": self.folder / "server.pem", "key": self.folder / "server.key"}

    def install(self, certificate: Certificate) -> None:
        shutil.copy(certificate.cert, self.tls["certificate"])
        shutil.copy(certificate.key, self.tls["key"])

    def token(self, name: str, role: AccessRole = AccessRole.READ, *, expires: datetime | None = None) -> str:
        with token_file.changing(self.tokens) as change:
            rights, made = tokens.made(
                change.rights,
                os.urandom(ID_BYTES + SECRET_BYTES),
                name=name,
                role=role,
                values=False,
                expires=expires,
                now=datetime.now(UTC),
            )
            change.write(rights)
        return made.text

    @contextlib.contextmanager
    def open(self, host: str = "127.0.0.1", inside: RegionInside | None = None, **table: Any) -> Iterator[Door]:
        """Serve as the daemon does, in a thread."""
        main, probes = free_ports(2)
        if table.pop("second", False):
            table["probes"] = f"0.0.0.0:{probes}"
        doors = Doors(ApiConfig.model_validate({"listen": f"{host}:{main}", **table}), inside, refused=self.told.append)
        opened, ended = threading.Event(), asyncio.Event()
        loop = asyncio.new_event_loop()
        clock = LoopClock(loop)
        trouble = list[BaseException]()

        async def serve() -> None:
            async with doors.open(Daemon()):
                opened.set()
                await ended.wait()

        def run() -> None:
            try:
                loop.run_until_complete(serve())
            except BaseException as exc:  # noqa: BLE001 - told by who waits
                trouble.append(exc)
                opened.set()
            finally:
                loop.close()

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        assert opened.wait(WAIT_S)
        try:
            if not trouble:
                yield Door(main, probes, doors, self.authority.ca, clock)
        finally:
            if not trouble:
                loop.call_soon_threadsafe(ended.set)
            thread.join(WAIT_S)
            assert not thread.is_alive()
        if trouble:
            raise trouble[0]


@dataclass
class Door:
    """A server, as a client sees it."""

    port: int
    probes: int
    doors: Doors
    ca: Path
    clock: LoopClock

    def ask(
        self,
        path: str = STATUS,
        *,
        token: str | None = None,
        shown: Certificate | None = None,
        tls: bool = True,
        host: str | None = None,
        **more: Any,
    ) -> tuple[int, Any]:
        """Status and document of an answer."""
        headers = {**({"Authorization": f"Bearer {token}"} if token else {}), **({"Host": host} if host else {})}
        link = self.link(shown) if tls else http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT_S)
        with contextlib.closing(link):
            link.request(more.pop("method", "GET"), path, headers=headers, **more)
            answer = link.getresponse()
            text = answer.read()
            return answer.status, json.loads(text) if "json" in answer.headers.get("content-type", "") else text

    def link(self, shown: Certificate | None = None, **bounds: Any) -> http.client.HTTPSConnection:
        context = ssl.create_default_context(cafile=self.ca)
        for name, value in bounds.items():
            setattr(context, name, value)
        if shown is not None:
            context.load_cert_chain(shown.cert, shown.key)
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=WAIT_S, context=context)

    def serial(self) -> str:
        """Of the certificate that the server shows."""
        link = self.link()
        with contextlib.closing(link):
            link.connect()
            found = link.sock.getpeercert()
        assert found
        return str(found["serialNumber"])


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"), "trusted")


@pytest.fixture(scope="module")
def certificate(authority: Authority) -> Certificate:
    return authority.issue("server")


@pytest.fixture
def house(tmp_path: Path, authority: Authority, certificate: Certificate) -> House:
    made = House(tmp_path, authority, certificate)
    made.install(certificate)
    return made


def test_off_loopback_tls_and_a_token_open_what_the_role_may(house: House) -> None:
    text = house.token("grafana")
    with house.open("0.0.0.0", tls=house.tls, tokens=house.tokens) as door:
        assert door.ask("/livez")[0] == 200
        assert [door.ask(path)[0] for path in (STATUS, "/readyz", "/metrics")] == [401] * 3
        assert [door.ask(path, token=text)[0] for path in (STATUS, "/readyz", "/metrics")] == [200] * 3
        assert door.ask(token=text + "x")[0] == 401
        with pytest.raises((OSError, http.client.HTTPException)):
            door.ask(tls=False, token=text)
    assert {each.route for each in house.told} == {STATUS, "/readyz", "/metrics"}
    assert {each.address for each in house.told} == {"127.0.0.1"}


def test_tokens_come_go_and_expire_without_a_restart(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    later = [timedelta()]
    monkeypatch.setattr("syncer.serving.Admission", partial(Admission, clock=lambda: datetime.now(UTC) + later[0]))
    with house.open(tokens=house.tokens) as door:
        assert door.ask(tls=False)[0] == 401
        text = house.token("grafana", expires=datetime.now(UTC) + timedelta(hours=1))
        wait_until(lambda: door.ask(tls=False, token=text)[0] == 200, "the new token is known")
        second = house.token("grafana")
        wait_until(lambda: door.ask(tls=False, token=second)[0] == 200, "so is the second one of its name")
        later[0] = timedelta(hours=2)
        wait_until(
            lambda: "has expired" in door.ask(tls=False, token=text)[1].get("detail", ""), "the first one expires"
        )
        with token_file.changing(house.tokens) as change:
            change.write(tokens.revoked(change.rights, "grafana")[0])
        wait_until(lambda: door.ask(tls=False, token=second)[0] in {401, 429}, "it is revoked")


def test_a_file_that_breaks_is_told_by_a_condition_and_lets_nobody_in(house: House) -> None:
    text = house.token("grafana")
    with house.open(tokens=house.tokens) as door:
        assert door.ask(tls=False, token=text)[0] == 200
        house.tokens.chmod(0o644)
        wait_until(lambda: door.ask(tls=False, token=text)[0] == 503, "it is refused")
        assert "0644" in door.doors.troubles["api-rights-unreadable"]
        house.tokens.chmod(0o600)
        wait_until(lambda: door.ask(tls=False, token=text)[0] == 200, "it is mended")
        assert door.doors.troubles["api-rights-unreadable"] == ""


def test_a_client_certificate_opens_by_its_subject_until_that_is_struck_out(
    house: House, authority: Authority, tmp_path: Path
) -> None:
    known, unknown = authority.issue("backup"), authority.issue("somebody")
    foreign = Authority(tmp_path, "foreign").issue("backup")
    with token_file.changing(house.tokens) as change:
        entry = ClientEntry(name="backup", role=AccessRole.READ, created=datetime.now(UTC), subject="CN=backup")
        change.write(tokens.allowed(change.rights, entry))
    with house.open("0.0.0.0", tls={**house.tls, "client_ca": authority.ca}, tokens=house.tokens) as door:
        assert door.ask(shown=known)[0] == 200
        assert door.ask(shown=unknown)[0] == door.ask()[0] == door.ask(shown=known, token="wrong")[0] == 401
        with pytest.raises((OSError, http.client.HTTPException)):
            door.ask(shown=foreign)
        with token_file.changing(house.tokens) as change:
            change.write(tokens.removed(change.rights, "backup")[0])
        wait_until(lambda: door.ask(shown=known)[0] == 401, "it is struck out")


async def test_a_certificate_follows_streams_until_it_is_struck_out(
    house: House, authority: Authority, tmp_path: Path
) -> None:
    shown, url = authority.issue("backup"), f"sqlite:///{tmp_path / 'state.db'}"
    with token_file.changing(house.tokens) as change:
        entry = ClientEntry(name="backup", role=AccessRole.READ, created=datetime.now(UTC), subject="CN=backup")
        change.write(tokens.allowed(change.rights, entry))
    context = ssl.create_default_context(cafile=str(authority.ca))
    context.load_cert_chain(shown.cert, shown.key)
    with contextlib.closing(SqlState.open(url, HERE)) as state, contextlib.closing(Views.open(url, HERE)) as views:
        state.activate()
        inside = LookingInside(views, SimpleNamespace(region="here"))
        table: dict[str, Any] = {"tls": {**house.tls, "client_ca": authority.ca}, "tokens": house.tokens}
        with (
            house.open(inside=inside, **table) as door,
            SocketClient(door.port, "/api/v1/streams/events", "", tls=context) as client,
        ):
            await client.begun()
            assert client.status == 200
            with token_file.changing(house.tokens) as change:
                change.write(tokens.removed(change.rights, "backup")[0])
            found = await client.until_ended()
            assert (found[-1].type, found[-1].data["code"]) == ("end", "unauthorized")


def test_no_client_is_asked_for_a_certificate_where_no_authority_is_named(house: House, authority: Authority) -> None:
    with token_file.changing(house.tokens) as change:
        entry = ClientEntry(name="backup", role=AccessRole.READ, created=datetime.now(UTC), subject="CN=backup")
        change.write(tokens.allowed(change.rights, entry))
    with house.open("0.0.0.0", tls=house.tls, tokens=house.tokens) as door:
        assert door.ask(shown=authority.issue("backup"))[0] == 401


def test_a_new_certificate_is_shown_without_a_restart_and_one_that_does_not_fit_never(
    house: House, authority: Authority
) -> None:
    with house.open(tls=house.tls) as door:
        before = door.serial()
        other = authority.issue("server-2")
        shutil.copy(other.cert, house.tls["certificate"])
        wait_until(
            lambda: door.serial() and door.doors.troubles[CERTIFICATE], "it does not fit its key, and that is told"
        )
        assert door.serial() == before
        shutil.copy(other.key, house.tls["key"])
        wait_until(lambda: door.serial() != before, "the new one is shown")
        assert door.doors.troubles[CERTIFICATE] == ""
        house.tls["key"].unlink()
        wait_until(
            lambda: door.ask("/livez")[0] == 200 and door.doors.troubles[CERTIFICATE], "a key that is gone is told"
        )


def test_no_version_before_1_2(house: House) -> None:
    with house.open(tls=house.tls) as door:
        asked = [
            "openssl",
            "s_client",
            "-connect",
            f"127.0.0.1:{door.port}",
            "-CAfile",
            str(door.ca),
            "-cipher",
            "ALL:@SECLEVEL=0",
        ]
        found = {
            version: subprocess.run(
                [*asked, version], check=False, input=b"", capture_output=True, timeout=WAIT_S
            ).returncode
            for version in ("-tls1_1", "-tls1_2", "-tls1_3")
        }
    assert (found["-tls1_1"] != 0, found["-tls1_2"], found["-tls1_3"]) == (True, 0, 0)


def test_who_never_ends_a_handshake_keeps_nobody_out_and_is_gone_after_the_bound(house: House) -> None:
    bounds: dict[str, Any] = {"request_timeout": f"{WAIT_S:g}s", "max_connections": 8, "max_connections_per_address": 8}
    with house.open(tls=house.tls, **bounds) as door, contextlib.ExitStack() as stack:
        silent = [
            stack.enter_context(socket.create_connection(("127.0.0.1", door.port), timeout=WAIT_S)) for _ in range(40)
        ]
        for each in silent[::2]:
            with contextlib.suppress(OSError):
                each.sendall(b"\x16\x03\x01\x02\x00")
        assert door.ask("/livez")[0] == 200
        assert door.doors.connections <= 8
        door.clock.put_forward(WAIT_S)
        wait_until(lambda: door.doors.connections == 0, "they are late")
        assert set(door.doors.dropped) == {Dropped.CROWDED, Dropped.LATE}
        assert door.ask("/livez")[0] == 200


def test_a_client_may_ask_again_on_one_connection_of_tls(house: House) -> None:
    with house.open(tls=house.tls) as door, contextlib.closing(door.link()) as link:
        for _ in range(3):
            link.request("GET", "/livez")
            assert json.loads(link.getresponse().read())["alive"]


def test_probes_stand_open_at_an_address_of_their_own(house: House) -> None:
    with house.open("0.0.0.0", tls=house.tls, tokens=house.tokens, second=True) as door:
        assert door.ask("/metrics")[0] == 401
        probes = Door(door.probes, 0, door.doors, door.ca, door.clock)
        for path in ("/livez", "/readyz", "/metrics"):
            assert probes.ask(path, tls=False, host="any.example")[0] == 200
        assert probes.ask(STATUS, tls=False)[0] == 404


def test_an_installation_of_before_that_listens_everywhere_has_its_probes(house: House) -> None:
    with house.open("0.0.0.0") as door:
        for path in ("/livez", "/readyz", "/metrics"):
            assert door.ask(path, tls=False, host="any.example")[0] == 200
        assert door.ask(STATUS, tls=False)[0] == 404


@pytest.mark.parametrize("half", ["tls", "tokens"])
def test_half_protected_it_does_not_open(half: str, house: House) -> None:
    with pytest.raises(ConfigError, match=r"api\.listen"), house.open("0.0.0.0", **{half: getattr(house, half)}):
        pass
    without = {"tls": "rights", "tokens": "tls"}[half]
    with house.open("0.0.0.0", **{half: getattr(house, half), "without": [without]}) as door:
        assert door.ask(tls=half == "tls")[0] == (200 if half == "tls" else 401)


def test_files_of_tls_that_cannot_be_used_keep_it_from_opening(house: House) -> None:
    house.tls["key"].write_text("nonsense")
    with pytest.raises(ConfigError, match=r"api\.tls"), house.open(tls=house.tls):
        pass


def test_a_request_for_another_host_goes_no_further(house: House) -> None:
    with house.open(hosts=["syncer.example"]) as door:
        for host in ("localhost", "syncer.example:80", "[::1]:8950"):
            assert door.ask(tls=False, host=host)[0] == 200
        assert door.ask(tls=False, host="evil.example")[0] == 421
        assert door.ask("http://evil.example/livez", tls=False, host="localhost")[0] == 421


def test_a_body_that_says_to_be_large_is_refused_before_it_comes(house: House) -> None:
    with house.open() as door, socket.create_connection(("127.0.0.1", door.port), timeout=WAIT_S) as client:
        client.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\n\r\n")
        answer = b""
        while part := client.recv(65_536):
            answer += part
    assert answer.startswith(b"HTTP/1.1 413")
