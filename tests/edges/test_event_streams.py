"""Streams over sockets, with TLS and without: slow readers go with a last word, living ones stay, no stop waits."""

from __future__ import annotations

import asyncio
import itertools
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, TypeVar

import anyio
import anyio.to_thread
import pytest
import structlog

from api.admission import Admission
from api.app import create_app
from api.certificates import Certificates
from api.connections import VANISHED_MS, Bounded, Dropped, Room
from api.streams.hub import StreamPace
from api.streams.places import Streams
from syncer.access.exposure import Exposure
from syncer.access.gate import Gate, RightsReader
from syncer.client.following import Following, ToldEvent
from syncer.client.server import Server
from syncer.conflict.acts import Decision, Journal
from syncer.model import MetaPath, Millis
from syncer.serving import serving
from syncer.state.sql.database import SqlState
from syncer.state.views.region import Views
from syncer.waiting import WAIT_S, until
from tests.api.test_app import Daemon
from tests.property.strategies import NOW
from tests.support.api_tokens import made
from tests.support.certificates import Authority, Certificate
from tests.support.event_streams import SocketClient
from tests.support.loop_clock import LoopClock
from tests.unit.registers import HERE, at

WRITE_S: Final = WAIT_S
"""So long that it never runs out by itself: the tests put the clock forward by it."""
UNREAD_S: Final = 20 * WRITE_S
"""Likewise."""
PACE: Final = StreamPace(look_s=0.02, heartbeat_s=0.1, recheck_s=0.05, write_s=WRITE_S)
LARGE: Final = "x" * 2_000
MOST_DECIDED: Final = 5_000
"""Far more than a slow client and the system between hold."""

Found = TypeVar("Found")


@dataclass
class InThreads:
    """A region that is looked into as the daemon does."""

    views: Views
    config: Any

    async def look(self, question: Callable[[Views], Found]) -> Found:
        return await anyio.to_thread.run_sync(lambda: question(self.views))


@dataclass
class ServedStreams:
    """A server of streams."""

    port: int
    room: Room
    places: Streams
    state: SqlState
    token: str
    tls: ssl.SSLContext | None
    clock: LoopClock

    def events(self, receives: int = 0) -> SocketClient:
        return SocketClient(self.port, "/api/v1/streams/events", self.token, receives=receives, tls=self.tls)

    def decide(self, count: int, detail: str = "") -> None:
        rows = [
            Journal(path=MetaPath("/admin/policies/a"), decision=Decision.PUBLISHED, stamp=at(each), detail=detail)
            for each in range(count)
        ]
        with self.state.transaction() as tx:
            tx.journal(rows, Millis(NOW))


@dataclass(frozen=True)
class Protection:
    """How clients come: plainly, or over TLS."""

    ca: Path
    certificate: Certificate | None

    @property
    def of_server(self) -> Certificates | None:
        if self.certificate is None:
            return None
        return Certificates(self.certificate.cert, self.certificate.key, self.ca)

    @property
    def of_client(self) -> ssl.SSLContext | None:
        return None if self.certificate is None else ssl.create_default_context(cafile=str(self.ca))


@pytest.fixture(scope="module")
def certified(tmp_path_factory: pytest.TempPathFactory) -> Protection:
    authority = Authority(tmp_path_factory.mktemp("authority"))
    return Protection(authority.ca, authority.issue("server"))


@pytest.fixture(params=["plain", "tls"])
def protection(request: pytest.FixtureRequest, certified: Protection) -> Protection:
    return certified if request.param == "tls" else Protection(certified.ca, None)


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no answer run out of time before a test says so."""
    monkeypatch.setattr("api.connections.UNREAD_S", UNREAD_S)


@asynccontextmanager
async def served(tmp_path: Path, protection: Protection) -> AsyncIterator[ServedStreams]:
    url = f"sqlite:///{tmp_path}/state.db"
    with closing(SqlState.open(url, HERE)) as state, socket.create_server(("127.0.0.1", 0)) as listener:
        state.activate()
        with closing(Views.open(url, HERE)) as views:
            token = made(tmp_path / "tokens.json", "reader")
            room, places = Room(request_s=WAIT_S, most=64, most_of_one=64), Streams(most=8, most_of_one=8, pace=PACE)
            admission = Admission(gate=Gate(RightsReader(tmp_path / "tokens.json")), exposure=Exposure())
            inside: Any = InThreads(views, SimpleNamespace(region="here"))
            app = create_app(Daemon(), inside=inside, admitting=admission, places=places)
            clock = LoopClock(asyncio.get_running_loop())
            async with serving(app, listener, room, protection.of_server, places.stop):
                yield ServedStreams(listener.getsockname()[1], room, places, state, token, protection.of_client, clock)
    assert len(room) == 0


async def flood(server: ServedStreams, quick: SocketClient) -> int:
    """Decide until the slow client has been ended, while a quick one follows; return the last number.

    The time of a write runs out only while the quick one has read everything.
    """
    number = 0
    while not server.places.ended:
        assert number < MOST_DECIDED, "the slow one is ended once it is full"
        server.decide(100, LARGE)
        number += 100
        found = await quick.until_number(number)
        assert [each.data["id"] for each in found if each.type == "event"] == list(range(number - 99, number + 1))
        server.clock.put_forward(WRITE_S)
        await quick.heartbeat()  # comes after what was due
    return number


async def test_a_slow_reader_is_ended_with_a_last_word_and_nobody_waits_for_it(
    tmp_path: Path, protection: Protection
) -> None:
    with structlog.testing.capture_logs() as logs:
        async with served(tmp_path, protection) as server:
            with server.events(receives=4_096) as slow, server.events() as quick:
                await slow.asked()  # at once: who has connected and asks nothing is let go
                await quick.begun()
                await until(lambda: server.places.open["events"] == 2, "both follow")
                last = await flood(server, quick)
                assert server.places.ended == {"stream-too-slow": 1}
                await until(lambda: server.places.open["events"] == 1, "its place is free")
                found = await slow.until_ended()
                assert (found[-1].type, found[-1].data["code"]) == ("end", "stream-too-slow")
                got = [each.data["id"] for each in found[:-1]]
                assert got == list(range(got[0], got[0] + len(got))), "what it got is whole"
                assert slow.parser.last_id.endswith(f"-{got[-1]}")
                assert got[-1] < last
                server.decide(1)
                assert (await quick.until_number(last + 1))[-1].data["id"] == last + 1
    assert [each["code"] for each in logs if each["event"] == "stream_ended"] == ["stream-too-slow", "daemon-stopping"]
    assert not [each for each in logs if each["log_level"] == "error"]


async def test_one_that_never_reads_is_let_go(tmp_path: Path, protection: Protection) -> None:
    async with served(tmp_path, protection) as server:
        with server.events(receives=4_096) as silent, server.events() as quick:
            await silent.asked()  # at once: who has connected and asks nothing is let go
            await quick.begun()
            await until(lambda: server.places.open["events"] == 2, "both follow")
            await flood(server, quick)
            server.clock.put_forward(UNREAD_S)
            await until(lambda: server.room.dropped[Dropped.UNREAD] == 1, "its connection is let go")
            assert len(server.room) == 1


async def test_a_stream_lives_beyond_the_time_of_an_answer(tmp_path: Path, protection: Protection) -> None:
    async with served(tmp_path, protection) as server:
        with server.events() as client:
            await client.begun()
            for _ in range(3):
                server.clock.put_forward(UNREAD_S)
                await client.heartbeat()
            server.decide(1)
            assert (await client.until_number(1))[-1].data["id"] == 1
        assert not server.room.dropped
        await until(lambda: server.places.open["events"] == 0, "it has gone, and so has its place")


async def test_who_goes_before_a_stream_begins_is_no_error(
    tmp_path: Path, protection: Protection, caplog: pytest.LogCaptureFixture
) -> None:
    async with served(tmp_path, protection) as server:
        gone = [server.events() for _ in range(4)]
        for each in gone:
            each.reset()
        with server.events() as client:
            await client.begun()
            await until(lambda: server.places.open["events"] == len(server.room) == 1, "only who reads is there")
    assert [each for each in caplog.records if each.name == "uvicorn.error" and each.levelname == "ERROR"] == []


async def test_a_stop_ends_streams_at_once_and_waits_for_none(tmp_path: Path, protection: Protection) -> None:
    async with served(tmp_path, protection) as server:
        with server.events() as reading, server.events(receives=4_096) as stuck:
            await stuck.asked()  # at once, as above
            await reading.begun()
            await until(lambda: server.places.open["events"] == 2, "both follow")
            server.decide(300, LARGE)
            await reading.until_number(300)
            server.places.stop()
            found = await reading.until_ended()
            assert (found[-1].type, found[-1].data["code"]) == ("end", "daemon-stopping")
            await until(lambda: len(server.room) == 0, "both connections are gone, though one was not read")
            assert stuck.status == 0


async def test_one_that_vanishes_is_not_waited_for_longer_than_said(
    tmp_path: Path, protection: Protection, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits_ms: list[int] = []
    begin = Bounded.begin_stream

    def begun(connection: Bounded) -> None:
        begin(connection)
        client = connection.transport.get_extra_info("socket")
        waits_ms.append(client.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT))

    monkeypatch.setattr(Bounded, "begin_stream", begun)
    async with served(tmp_path, protection) as server:
        with server.events() as client:
            await client.begun()
    assert waits_ms == [VANISHED_MS]


async def test_the_typed_client_goes_on_after_a_restart(tmp_path: Path, certified: Protection) -> None:
    got: list[ToldEvent] = []
    last_id = ""
    for begun in range(2):
        async with served(tmp_path, certified) as server, anyio.create_task_group() as tasks:
            place = Server.of(f"https://localhost:{server.port}", token=server.token, ca=certified.ca)
            stream = Following(place, "events", last_id=last_id)
            tasks.start_soon(anyio.to_thread.run_sync, lambda: got.extend(itertools.islice(stream, 3)))  # noqa: B023
            if not begun:
                await until(lambda: stream.last_id, "it follows")  # noqa: B023 - awaited here
            server.decide(3)
        last_id = stream.last_id
        assert [each.data["id"] for each in got] == list(range(1, 4 + 3 * begun))
