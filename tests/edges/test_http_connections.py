"""Slow clients, idle clients, too many clients, over real sockets: whoever asks is answered, whoever does not goes."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import anyio
import pytest
import uvicorn
from fastapi import FastAPI, Request

from api.app import create_app
from api.connections import MAX_HEAD_BYTES, UNREAD_S, Bounded, Dropped, Room, allow_time, bounded
from syncer.metrics import HTTP_DROPPED
from syncer.waiting import WAIT_S, wait_until
from tests.api.test_app import Daemon
from tests.support.loop_clock import LoopClock

ASKING: Final = b"GET /livez HTTP/1.1\r\nHost: x\r\n"
REQUEST_S: Final = WAIT_S
"""So long that it never runs out by itself: the tests put the clock forward by it."""


@dataclass
class Served:
    """A server on a port of its own."""

    port: int
    room: Room
    clock: LoopClock

    def connect(self, said: bytes = b"") -> socket.socket:
        """A client, which has said something."""
        client = socket.create_connection(("127.0.0.1", self.port), timeout=WAIT_S)
        if said:
            client.sendall(said)
        return client

    def livez(self) -> bytes:
        """What a supervisor gets."""
        with self.connect(ASKING + b"Connection: close\r\n\r\n") as client:
            return everything(client)

    def inside(self) -> list[Bounded]:
        """Return the connections that have a place."""
        return [each for each in list(self.room._inside) if isinstance(each, Bounded)]

    def gone(self, why: Dropped) -> int:
        """How many were sent away so."""
        return self.room.dropped[why]


def everything(client: socket.socket) -> bytes:
    """All that comes until the other end closes."""
    found = b""
    with contextlib.suppress(ConnectionResetError):
        while part := client.recv(65_536):
            found += part
    return found


@contextlib.contextmanager
def serving(room: Room, app: FastAPI | None = None) -> Iterator[Served]:
    """Run the application as the daemon does, in a thread."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(
            uvicorn.Config(
                app or create_app(Daemon()),
                http=bounded(room),
                h11_max_incomplete_event_size=MAX_HEAD_BYTES,
                log_config=None,
                lifespan="off",
                access_log=False,
                proxy_headers=False,
                timeout_graceful_shutdown=1,
                timeout_keep_alive=int(WAIT_S),
            )
        )
        with contextlib.closing(asyncio.new_event_loop()) as loop:
            clock = LoopClock(loop)
            thread = threading.Thread(target=lambda: loop.run_until_complete(server.serve([listener])), daemon=True)
            thread.start()
            try:
                wait_until(lambda: server.started, "it serves")
                yield Served(listener.getsockname()[1], room, clock)
            finally:
                server.should_exit = True
                thread.join(WAIT_S)
                assert not thread.is_alive()
    assert len(room) == 0


@pytest.fixture
def served() -> Iterator[Served]:
    with serving(Room(request_s=REQUEST_S, most=256, most_of_one=64)) as found:
        yield found


def test_200_slow_clients_keep_nobody_from_being_answered_and_are_gone_after_the_bound(served: Served) -> None:
    with contextlib.ExitStack() as stack:
        slow = [stack.enter_context(served.connect(ASKING)) for _ in range(200)]
        wait_until(lambda: served.gone(Dropped.CROWDED) >= 136, "one address has so many places")
        assert len(served.room) <= 64
        for _ in range(5):
            assert served.livez().startswith(b"HTTP/1.1 200")
            for each in slow:
                with contextlib.suppress(OSError):
                    each.sendall(b"X-A: b\r\n")  # a little more of the head, for ever
        served.clock.put_forward(REQUEST_S)
        wait_until(lambda: len(served.room) == 0, "they are late")
        assert served.gone(Dropped.LATE)
        assert all(everything(each) == b"" for each in slow)
    assert served.livez().startswith(b"HTTP/1.1 200")


def test_clients_that_say_nothing_are_gone_after_the_bound(served: Served) -> None:
    with served.connect() as silent, served.connect(b"G") as nearly:
        wait_until(lambda: len(served.room) == 2, "both are there")
        served.clock.put_forward(REQUEST_S * 0.9)
        assert served.livez().startswith(b"HTTP/1.1 200"), "which comes after what was due"
        assert not served.room.dropped
        served.clock.put_forward(REQUEST_S * 0.1)
        assert everything(silent) == everything(nearly) == b""
    assert served.gone(Dropped.LATE) == 2


def test_idle_clients_beyond_all_places_give_theirs_to_who_asks() -> None:
    with serving(Room(request_s=REQUEST_S, most=8, most_of_one=100)) as served, contextlib.ExitStack() as stack:
        idle = [stack.enter_context(served.connect()) for _ in range(40)]
        for _ in range(10):
            assert served.livez().startswith(b"HTTP/1.1 200")
        assert len(served.room) <= 8
        wait_until(lambda: served.gone(Dropped.FULL) >= 32, "the oldest give way")
        assert everything(idle[0]) == b""


def test_a_body_that_never_ends_is_late_too(served: Served) -> None:
    with served.connect(ASKING + b"Content-Length: 1000000\r\n\r\n") as client:

        def closed() -> bool:
            served.clock.put_forward(REQUEST_S)
            return _trickled(client)

        wait_until(closed, "it is closed")
    wait_until(lambda: served.gone(Dropped.LATE) == 1, "it was late")


def _trickled(client: socket.socket) -> bool:
    try:
        client.sendall(b"x")
    except OSError:
        return True
    return False


def test_a_head_beyond_its_bound_is_refused(served: Served) -> None:
    with served.connect(ASKING + b"X-A: " + b"a" * MAX_HEAD_BYTES * 2) as client:
        assert everything(client)[:12] in {b"HTTP/1.1 400", b""}  # the answer, or the reset of what was not read
    assert served.livez().startswith(b"HTTP/1.1 200")


def test_a_client_may_ask_again_and_again_on_one_connection(served: Served) -> None:
    with served.connect() as client:
        for _ in range(3):
            client.sendall(ASKING + b"\r\n")
            answer = b""
            while b'"alive":true' not in answer:
                answer += client.recv(4096)
        client.sendall((ASKING + b"\r\n") * 3 + ASKING + b"Connection: close\r\n\r\n")  # all at once
        assert everything(client).count(b"HTTP/1.1 200") == 4
    assert not served.room.dropped


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        (b"HEAD /livez HTTP/1.0", b"HTTP/1.1 200"),
        (b"OPTIONS * HTTP/1.1", b"HTTP/1.1 204"),
        (b"GET http://anybody/livez?x HTTP/1.1", b"HTTP/1.1 200"),
        (b"GET http://anybody HTTP/1.1", b"HTTP/1.1 404"),
        (b"get /livez HTTP/1.1", b"HTTP/1.1 405"),
        (b"GET /livez/ HTTP/1.1", b"HTTP/1.1 404"),
        (b"GET //livez HTTP/1.1", b"HTTP/1.1 404"),
        (b"GET /livez%00 HTTP/1.1", b"HTTP/1.1 404"),
        (b"CONNECT x:1 HTTP/1.1", b"HTTP/1.1 404"),
    ],
)
def test_odd_requests_are_answered_by_convention_and_never_sent_elsewhere(
    line: bytes, answer: bytes, served: Served
) -> None:
    with served.connect(line + b"\r\nHost: evil.example\r\nConnection: close\r\n\r\n") as client:
        found = everything(client)
    assert found.startswith(answer)
    assert b"evil.example" not in found
    assert found.endswith(b"\r\n\r\n") == line.startswith((b"HEAD", b"OPTIONS"))


def test_a_client_that_reads_nothing_is_let_go() -> None:
    with serving(Room(request_s=REQUEST_S, most=8, most_of_one=8)) as served, contextlib.ExitStack() as stack:
        client = stack.enter_context(socket.socket())
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.settimeout(WAIT_S)
        client.connect(("127.0.0.1", served.port))
        client.setblocking(False)
        wait_until(
            lambda: _asked_in_vain(client) and any(each.unread and not each.waits for each in served.inside()),
            "the server takes no further request of it, and cannot write its answer",
        )
        assert not served.room.dropped
        served.clock.put_forward(UNREAD_S)
        wait_until(lambda: served.gone(Dropped.UNREAD) == 1, "it is let go")
        assert len(served.room) == 0
        assert served.livez().startswith(b"HTTP/1.1 200")


def _asked_in_vain(client: socket.socket) -> bool:
    """Ask until no more can be written; whether that was so at once."""
    asking = b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n" * 100
    sent = 0
    with contextlib.suppress(BlockingIOError):
        while True:
            sent += client.send(asking)
    return not sent


@pytest.mark.parametrize(("more_s", "answered"), [(2 * UNREAD_S, True), (0.0, False)])
def test_an_answer_takes_as_long_as_its_request_says(more_s: float, answered: bool) -> None:
    app = create_app(Daemon())
    begun = threading.Event()

    @app.get("/slow")
    async def slow(request: Request) -> str:
        allow_time(request.scope, more_s)
        begun.set()
        await anyio.sleep(2 * UNREAD_S)
        return "made"

    with serving(Room(request_s=REQUEST_S, most=8, most_of_one=8), app) as served:
        with served.connect(b"GET /slow HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n") as client:
            assert begun.wait(WAIT_S)
            served.clock.put_forward(UNREAD_S)
            assert served.livez().startswith(b"HTTP/1.1 200"), "which comes after what was due"
            assert served.gone(Dropped.UNREAD) == (not answered)
            served.clock.put_forward(UNREAD_S)
            assert (b"made" in everything(client)) is answered
        assert served.gone(Dropped.UNREAD) == (not answered)


def test_each_reason_is_a_value_of_the_metric() -> None:
    assert tuple(why.value for why in Dropped) == HTTP_DROPPED.values


class Standing(Bounded):
    """A connection without a socket."""

    def __init__(self, room: Room, *, waits: bool = True) -> None:
        self.room, self.waits = room, waits

    def drop(self, why: Dropped) -> None:
        self.room.dropped[why] += 1
        self.room.leave(self)


def test_who_is_being_answered_keeps_its_place_and_the_last_to_come_goes() -> None:
    room = Room(request_s=1, most=2, most_of_one=2)
    busy = [Standing(room, waits=False) for _ in range(2)]
    for each in busy:
        room.enter(each, "a")
    late = Standing(room, waits=False)
    room.enter(late, "b")
    assert (len(room), room.dropped) == (2, {Dropped.FULL: 1})
    room.enter(late, "a")
    assert (len(room), room.dropped[Dropped.CROWDED]) == (2, 1)
    busy[1].waits = True
    room.enter(late, "b")
    room.leave(busy[1])
    assert len(room) == 2
    for each in (*busy, late):
        room.leave(each)
    assert len(room) == 0
