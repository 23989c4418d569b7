"""A hundred clients that have rights and use them badly: who asks whether the daemon lives is answered within 1 s."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import pytest

from syncer.access.roles import AccessRole
from syncer.conflict.register import HoldReason
from syncer.model import MetaPath
from syncer.state.sql.database import SqlState
from syncer.state.views.region import Views
from tests.edges.test_http_doors import Door, House, authority, certificate, house
from tests.support.looking import LookingInside
from tests.support.region_database import NEW, hold, on
from tests.unit.registers import HERE, X, settled_on

__all__ = ["authority", "certificate", "house"]

KINDS: Final = ("slow head", "half body", "huge page", "endless")
EACH: Final = 25
ROWS: Final = 2_000
DURATION_S: Final = 6.0
LONGEST_S: Final = 1.0
TICK_S: Final = 0.1


class BadClient:
    """One that has a token, and misbehaves by its kind; it comes again when it is sent away.

    Args:
        kind: How.
        port: Of the server.
        token: A good one.
    """

    def __init__(self, kind: str, port: int, token: str) -> None:
        self.kind, self._port = kind, port
        head = f"Host: localhost\r\nAuthorization: Bearer {token}\r\n"
        self._said = {
            "slow head": f"GET /api/v1/holds HTTP/1.1\r\n{head}",
            "half body": f"POST /api/v1/pause HTTP/1.1\r\n{head}Content-Length: 9000\r\n\r\n{{",
            "huge page": f"GET /api/v1/holds?limit=1000 HTTP/1.1\r\n{head}\r\n",
            "endless": f"GET /api/v1/version HTTP/1.1\r\n{head}\r\n",
        }[kind].encode()
        self._link: socket.socket | None = None
        self.got = 0

    def act(self) -> None:
        """Do the next bad thing."""
        try:
            if self._link is None:
                self._connect()
            self._go_on()
        except OSError:
            self.leave()

    def leave(self) -> None:
        """Close the connection."""
        if self._link is not None:
            self._link.close()
        self._link = None

    def _connect(self) -> None:
        self._link = socket.socket()
        if self.kind == "huge page":
            self._link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self._link.connect(("127.0.0.1", self._port))
        self._link.sendall(self._said)
        self._link.setblocking(False)

    def _go_on(self) -> None:
        assert self._link is not None
        with contextlib.suppress(BlockingIOError):
            match self.kind:
                case "slow head":
                    self._link.sendall(b"X-A: b\r\n")
                case "half body":
                    self._link.sendall(b" ")
                case "huge page":
                    self._read(512)
                    self._link.sendall(self._said)  # the next one is asked for before this one is read
                case _:
                    self._read(65_536)
                    self._link.sendall(self._said)

    def _read(self, most: int) -> None:
        assert self._link is not None
        found = self._link.recv(most)
        if not found:
            raise ConnectionResetError
        self.got += len(found)


@pytest.fixture
def looked_into(tmp_path: Path) -> Iterator[LookingInside]:
    """A region in which much is held."""
    url = f"sqlite:///{tmp_path / 'state.db'}"
    with closing(SqlState.open(url, HERE)) as state:
        state.activate()
        with state.transaction() as tx:
            held = hold(HoldReason.FIRST_CONTACT, NEW)
            tx.save([on(MetaPath(f"/admin/policies/acme/{n:05}"), settled_on(X, NEW), hold=held) for n in range(ROWS)])
    with closing(Views.open(url, HERE)) as views:
        yield LookingInside(views, SimpleNamespace(region="here"))


@contextlib.contextmanager
def crowd(door: Door, token: str) -> Iterator[list[BadClient]]:
    """A hundred of them at work."""
    clients = [BadClient(kind, door.port, token) for kind in KINDS for _ in range(EACH)]
    over = threading.Event()

    def work() -> None:
        while not over.wait(TICK_S):
            for each in clients:
                each.act()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        yield clients
    finally:
        over.set()
        thread.join(20)
        for each in clients:
            each.leave()
        assert not thread.is_alive()


def test_whoever_asks_whether_it_lives_is_answered_within_a_second(house: House, looked_into: LookingInside) -> None:
    token = house.token("operator", AccessRole.OPERATE)
    bounds: dict[str, Any] = {"request_timeout": "2s", "max_connections": 256, "max_connections_per_address": 200}
    with house.open(inside=looked_into, tokens=house.tokens, second=True, **bounds) as door:
        took: list[float] = []
        with crowd(door, token) as clients:
            probes = Door(door.probes, 0, door.doors, door.ca)
            until = time.monotonic() + DURATION_S
            while (began := time.monotonic()) < until:
                assert (door, probes)[len(took) % 2].ask("/livez", tls=False)[0] == 200
                took.append(time.monotonic() - began)
        got = {kind: sum(each.got for each in clients if each.kind == kind) for kind in KINDS}
        print(f"{len(took)} looks beside 100 bad clients: longest {max(took):.3f} s; bytes read by them: {got}")
        late = [each for each in took if each >= LONGEST_S]
        assert len(late) * 50 <= len(took), "a machine may stand still for once; the crowd keeps nobody waiting"
        assert got["huge page"] > 0 < got["endless"], "they have rights, and were answered"
        assert door.doors.connections < 256
        assert door.doors.dropped, "those that never end a request are sent away"
    assert looked_into.views.operations(10) == [], "half a request asks for nothing"
