"""Slow clients of a daemon's HTTP server: it is answered all the same, counts them, and says so."""

from __future__ import annotations

import contextlib
import socket
from typing import Final

import anyio
import anyio.lowlevel
from anyio import to_thread

from deploy.lab.ports import free_ports
from syncer.surface import Surface
from syncer.waiting import WAIT_S, until
from tests.shell.conftest import MakeSite
from tests.shell.region import active

SLOW: Final = 200


def asked(port: int, path: str) -> str:
    """What one who asks for a path gets."""
    with socket.create_connection(("127.0.0.1", port), timeout=WAIT_S) as client:
        client.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        found = b""
        while part := client.recv(65_536):
            found += part
        return found.decode()


async def test_slow_clients_are_counted_and_told_and_keep_nobody_from_being_answered(make_site: MakeSite) -> None:
    (port,) = free_ports(1)
    east = make_site("east", api={"enabled": True, "listen": f"127.0.0.1:{port}", "request_timeout": "1s"})
    async with east.running() as daemon, anyio.create_task_group() as tasks:
        await active(east)
        tasks.start_soon(Surface(daemon, version="1").serve)
        with contextlib.ExitStack() as stack:
            for _ in range(SLOW):
                client = stack.enter_context(socket.socket())
                client.setblocking(False)
                with contextlib.suppress(BlockingIOError):
                    client.connect(("127.0.0.1", port))
                await anyio.lowlevel.checkpoint()
            assert "200 OK" in await to_thread.run_sync(asked, port, "/livez")
            await until(lambda: "http-connections-refused" in east.conditions(), "the status says it")
            told = await to_thread.run_sync(asked, port, "/metrics")
            assert 'syncer_http_connections_dropped_total{reason="late"}' in told
            assert "200 OK" in await to_thread.run_sync(asked, port, "/api/v1/status")
        tasks.cancel_scope.cancel()
