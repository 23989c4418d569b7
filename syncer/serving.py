"""Doors of the HTTP surface: its listener, that of the probes, and who is let in at each.

api.listen  ──[TLS]──▶ Room ──▶ hosts ──▶ rights ──▶ routes          (or, unprotected off loopback: probes alone)
api.probes  ─────────▶ Room ──▶ /livez, /readyz, /metrics
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

import anyio
import uvicorn
from fastapi import FastAPI

from api.admission import Admission, RefusedAttempt
from api.app import create_app, create_probes_app
from api.certificates import Certificates
from api.connections import MAX_HEAD_BYTES, Dropped, Room, bounded
from api.handshakes import over_tls
from api.hosts import AcceptedHosts
from api.inquiries import Inquiries
from api.inside import RegionInside
from api.probe import Probe
from api.streams.places import Streams
from syncer.access.gate import Gate, RightsReader
from syncer.config.api_table import ApiConfig
from syncer.errors import ConfigError, RightsUnreadable

STOP_S: Final = 2
TURN_S: Final = 0.0005
CERTIFICATE: Final = "api-certificate-unusable"


class Doors:
    """The listeners of a daemon.

    Args:
        config: The table ``[api]``.
        inside: The region that is shown and changed.
        refused: Told each attempt that is refused for want of rights; it must not wait.
    """

    def __init__(
        self,
        config: ApiConfig,
        inside: RegionInside | None = None,
        refused: Callable[[RefusedAttempt], None] | None = None,
    ) -> None:
        self._config = config
        self._inside = inside
        self._refused = refused
        self._gate = Gate(RightsReader(config.tokens)) if config.tokens is not None else None
        self._certificates: Certificates | None = None
        self._refusals = Counter[str]()
        self._main, self._probes = self._room(), self._room()
        self._inquiries = Inquiries()
        self._streams = Streams(
            most=min(config.max_streams, config.max_connections // 2), most_of_one=config.max_streams_per_client
        )

    def _room(self) -> Room:
        return Room(
            request_s=self._config.request_timeout.total_seconds(),
            most=self._config.max_connections,
            most_of_one=self._config.max_connections_per_address,
        )

    @property
    def connections(self) -> int:
        """How many there are now."""
        return len(self._main) + len(self._probes)

    @property
    def dropped(self) -> Mapping[Dropped, int]:
        """Connections that were ended by the server since the start."""
        return Counter(self._main.dropped) + Counter(self._probes.dropped)

    @property
    def streams(self) -> Streams:
        """Who follows what."""
        return self._streams

    @property
    def inquiries(self) -> Inquiries:
        """Questions about clusters."""
        return self._inquiries

    @property
    def refusals(self) -> Mapping[str, int]:
        """By the code of its refusal: requests that were refused since the start for want of rights."""
        return self._refusals

    @property
    def troubles(self) -> Mapping[str, str]:
        """By the code of a condition: why files cannot be used as they are now; empty: they can."""
        return {
            RightsUnreadable.code: self._gate.trouble if self._gate is not None else "",
            CERTIFICATE: self._certificates.trouble if self._certificates is not None else "",
        }

    @contextlib.asynccontextmanager
    async def open(self, probe: Probe) -> AsyncIterator[None]:
        """Listen, and answer until left.

        Args:
            probe: The daemon that the routes look into.

        Raises:
            ConfigError: An address cannot be had, is half protected, or files of TLS cannot be used.
        """
        exposure = self._config.exposure()
        tls = self._config.tls
        if tls is not None:
            self._certificates = Certificates(tls.certificate, tls.key, tls.client_ca)
        async with contextlib.AsyncExitStack() as stack:
            stack.enter_context(short_turns())
            main = stack.enter_context(listening(*self._config.address))
            second: socket.socket | None = None
            if self._config.probes_address is not None:
                second = stack.enter_context(listening(*self._config.probes_address, field="api.probes"))
            app = create_probes_app(probe) if exposure.probes_only else self._guarded(probe)
            await stack.enter_async_context(serving(app, main, self._main, self._certificates, self._streams.stop))
            if second is not None:
                await stack.enter_async_context(serving(create_probes_app(probe), second, self._probes))
            yield

    def _guarded(self, probe: Probe) -> FastAPI:
        admission = Admission(gate=self._gate, exposure=self._config.exposure(), refusals=self._refusals)
        if self._refused is not None:
            admission = replace(admission, refused=self._refused)
        hosts = AcceptedHosts(listens=self._config.address[0], names=frozenset(self._config.hosts))
        return create_app(
            probe,
            inside=self._inside,
            admitting=admission,
            hosts=hosts,
            places=self._streams,
            inquiries=self._inquiries,
        )


@contextlib.contextmanager
def short_turns() -> Iterator[None]:
    """Let a thread that asks for the interpreter have it after ``TURN_S``.

    The loop asks for it after each call of the system, many times for one answer; while other threads make documents,
    each time costs a turn of each of them.
    """
    before = sys.getswitchinterval()
    sys.setswitchinterval(min(before, TURN_S))
    try:
        yield
    finally:
        sys.setswitchinterval(before)


@contextlib.asynccontextmanager
async def serving(
    app: FastAPI,
    listener: socket.socket,
    room: Room,
    certificates: Certificates | None = None,
    stopping: Callable[[], None] | None = None,
) -> AsyncIterator[None]:
    """Answer requests at a listener until left.

    Args:
        app: Answers them.
        listener: A socket that listens.
        room: Bounds of its connections.
        certificates: Of its TLS; ``None``: plain HTTP.
        stopping: Called before the server stops, to end what has no end of its own.
    """
    inner = bounded(room)
    protocol: Any = inner if certificates is None else over_tls(room, certificates, inner)
    server = Quiet(
        uvicorn.Config(
            app,
            http=protocol,
            h11_max_incomplete_event_size=MAX_HEAD_BYTES,
            log_config=None,
            lifespan="off",
            access_log=False,
            proxy_headers=False,
            timeout_graceful_shutdown=STOP_S,
        )
    )
    async with anyio.create_task_group() as tasks:
        running = asyncio.ensure_future(server.serve([listener]))
        tasks.start_soon(_ended, running)
        try:
            yield
        finally:
            if stopping is not None:
                stopping()
            server.should_exit = True
            with anyio.CancelScope(shield=True):
                await running
            tasks.cancel_scope.cancel()


async def _ended(running: asyncio.Future[None]) -> None:
    """Have the end of a server that nobody asked to end end those who serve by it."""
    await asyncio.shield(running)


class Quiet(uvicorn.Server):
    """A server that leaves signals to the daemon."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave them alone."""
        yield


def listening(host: str, port: int, field: str = "api.listen") -> socket.socket:
    """A socket that listens.

    Args:
        host: Address.
        port: Port.
        field: Where the configuration has it.

    Raises:
        ConfigError: The address cannot be had.
    """
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family)
    except OSError as exc:
        raise ConfigError(
            f"{field}: cannot listen on {host}:{port}: {exc.strerror or exc}",
            hint=f"Give another address as {field}, or switch the server off with api.enabled = false.",
        ) from exc
