"""Streams of whole daemons: after a restart a reader gets just what it has missed; a revoked token ends its own."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import anyio

from deploy.lab.ports import free_ports
from syncer.access import token_file, tokens
from syncer.surface import Surface
from syncer.waiting import until
from tests.shell.conftest import MakeSite
from tests.shell.region import Site, active, path_of, tenant
from tests.support.api_tokens import made
from tests.support.event_streams import SentEvent, SocketClient

EVENTS: Final = "/api/v1/streams/events"
OPERATIONS: Final = "/api/v1/streams/operations"


@asynccontextmanager
async def served(site: Site) -> AsyncIterator[None]:
    """Run a daemon with its HTTP surface."""
    async with site.running() as daemon, anyio.create_task_group() as tasks:
        await active(site)
        tasks.start_soon(Surface(daemon, version="1").serve)
        port = site.config().api.address[1]
        await until(lambda: _listens(port), "it listens")
        yield
        tasks.cancel_scope.cancel()


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except ConnectionError:
        return False
    return True


def with_api(make_site: MakeSite, file: Path) -> tuple[Site, int]:
    (port,) = free_ports(1)
    return make_site("east", api={"enabled": True, "listen": f"127.0.0.1:{port}", "tokens": str(file)}), port


async def test_a_reader_that_comes_back_after_a_restart_has_missed_nothing_and_gets_nothing_twice(
    make_site: MakeSite, tmp_path: Path
) -> None:
    token = made(tmp_path / "tokens.json", "reader")
    east, port = with_api(make_site, tmp_path / "tokens.json")
    got: list[SentEvent] = []
    async with served(east):
        begun = east.ask(lambda views: views.journal_end())
        with SocketClient(port, EVENTS, token) as events, SocketClient(port, OPERATIONS, token) as operations:
            await events.begun()
            await operations.begun()
            for number in range(3):
                east.writer.put(path_of(f"before-{number}"), tenant("a"))
            await east.do("pause")
            while len(got) < 3:
                got += await events.more()
            asked = east.ask(lambda views: views.ask("resume", {}, "a test", "because"))
            told = await operations.until_number(asked)
    cut = got[:2]
    for number in range(3):
        east.writer.put(path_of(f"between-{number}"), tenant("a"))
    late = east.ask(lambda views: views.ask("pause", {}, "a test", "while nobody was there"))
    async with served(east):
        with (
            SocketClient(port, EVENTS, token, last_id=cut[-1].id) as events,
            SocketClient(port, OPERATIONS, token, last_id=told[-1].id) as operations,
        ):
            await until(lambda: east.ask(lambda views: views.operation(late)).finished_at_ms, "it is answered")
            end = east.ask(lambda views: views.journal_end())
            cut += await events.until_number(end)
            while not any(each.data["id"] == late and each.data["state"] == "done" for each in told):
                told += await operations.more()
    listed = [row.id for row in east.ask(lambda views: views.journal_after(begun, 1_000))]
    assert [each.data["id"] for each in cut] == listed[: len(cut)]
    assert cut[-1].data["id"] == end
    states = [(each.data["id"], each.data["state"]) for each in told]
    assert len(states) == len(set(states)), "nothing twice"
    assert {number for number, state in states if state == "done"} >= {asked, late}


async def test_a_token_that_is_revoked_ends_its_streams_within_seconds(make_site: MakeSite, tmp_path: Path) -> None:
    file = tmp_path / "tokens.json"
    token, kept = made(file, "reader"), made(file, "kept")
    east, port = with_api(make_site, file)
    async with served(east):
        with SocketClient(port, EVENTS, token) as doomed, SocketClient(port, EVENTS, kept) as other:
            await doomed.begun()
            await other.begun()
            with token_file.changing(file) as change:
                change.write(tokens.revoked(change.rights, "reader")[0])
            found = await doomed.until_ended()
            assert (found[-1].type, found[-1].data["code"]) == ("end", "unauthorized")
            east.writer.put(path_of("acme"), tenant("a"))
            while not await other.more():
                pass
