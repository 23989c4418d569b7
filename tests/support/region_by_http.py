"""A region that is asked by HTTP alone: by people with tokens, who repeat what a killed daemon has not answered."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import anyio
import h11
import httpx2

from deploy.lab.region import LabRegion
from syncer.access.roles import AccessRole
from syncer.waiting import wait_until
from tests.support.api_tokens import made
from tests.support.event_streams import SentEvent, SocketClient

API: Final = "/api/v1"
TIMEOUT_S: Final = 300.0
AGAIN_S: Final = 0.1
NO_TLS: Final = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""Trusts nobody: to load the system's authorities takes as long as many requests."""


def api_table(folder: Path, port: int, *people: str) -> tuple[dict[str, object], dict[str, str]]:
    """The configuration of a region's HTTP surface, and the tokens of its operators by name."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "tokens.json"
    found = {name: made(file, name, role=AccessRole.OPERATE) for name in people}
    return {"enabled": True, "listen": f"127.0.0.1:{port}", "tokens": str(file)}, found


@dataclass
class Follower:
    """Follows a stream, and goes on by the last id that it has got, whatever becomes of the daemon.

    Attributes:
        got: All that has come.
        connected: How often a stream has begun.
    """

    port: int
    path: str
    token: str
    got: list[SentEvent] = field(default_factory=list)
    connected: int = 0
    _client: SocketClient | None = None
    _over: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        """Follow until :meth:`leave`."""
        last_id = ""
        while not self._over.is_set():
            try:
                with SocketClient(self.port, self.path, self.token, last_id=last_id) as self._client:
                    last_id = anyio.run(self._follow, self._client)
            except OSError:
                self._over.wait(AGAIN_S)  # nobody listens now

    def leave(self) -> None:
        """Follow no longer."""
        self._over.set()
        if self._client is not None:
            self._client.hang_up()

    async def _follow(self, client: SocketClient) -> str:
        """Take what comes until it ends; the id to go on by."""
        began = False
        while not client.ended and not self._over.is_set():
            try:
                self.got += await client.more()
            except (OSError, h11.RemoteProtocolError):
                break  # the daemon is gone
            assert client.status in {0, 200, 503}, client.status
            if not began and client.status == 200:
                self.connected, began = self.connected + 1, True
        return client.parser.last_id


@dataclass(frozen=True, slots=True, eq=False)
class HttpRegion:
    """A region and how it is reached; ``tokens``: of its operators by name."""

    region: LabRegion
    port: int
    tokens: Mapping[str, str]

    def ask(
        self, method: str, path: str, *, by: str = "ann", body: object = None, **headers: str | None
    ) -> httpx2.Response:
        """A request, and its answer.

        Raises:
            httpx2.TransportError: There was none.
        """
        sent = {name.replace("_", "-"): value for name, value in headers.items() if value is not None}
        sent["Authorization"] = f"Bearer {self.tokens[by]}"
        address = f"http://127.0.0.1:{self.port}"
        with httpx2.Client(base_url=address, timeout=TIMEOUT_S, trust_env=False, verify=NO_TLS) as client:
            return client.request(method, API + path, json=body, headers=sent)

    def get(self, path: str) -> Any:
        """What is there."""
        answer = self.ask("GET", path)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def operations(self, reason: str) -> list[dict[str, Any]]:
        """What was asked for with a reason; each request of a test has one of its own."""
        items = self.get("/operations?limit=500")["items"]
        return [each for each in items if each["reason"] == reason]

    def jobs(self, reason: str) -> list[dict[str, Any]]:
        """Jobs that were asked for with a reason."""
        return [each for each in self.get("/jobs?limit=100")["items"] if each["reason"] == reason]

    @contextmanager
    def following(self, stream: str) -> Iterator[Follower]:
        """Follow a stream, from now on."""
        follower = Follower(self.port, f"{API}/streams/{stream}", self.tokens["ann"])
        thread = threading.Thread(target=follower.run, name=f"follows {stream}")
        thread.start()
        try:
            wait_until(lambda: follower.connected > 0, f"the stream of {stream} has begun")
            yield follower
        finally:
            follower.leave()
            thread.join(30)
            assert not thread.is_alive()
