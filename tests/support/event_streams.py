"""A client of server-sent events: parses as the HTML standard says, over a socket or in this process."""

from __future__ import annotations

import json
import socket
import ssl
import struct
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Self

import anyio
import anyio.to_thread
import h11
from starlette.types import ASGIApp, Message

from syncer.waiting import WAIT_S


@dataclass(frozen=True)
class SentEvent:
    """An event, and the id that its client resumes from then."""

    type: str
    data: Any
    id: str


@dataclass
class EventParser:
    """Parses what comes, in any parts.

    Attributes:
        last_id: What a client sends as Last-Event-ID when it connects again.
        comments: Lines that say nothing.
    """

    last_id: str = ""
    comments: int = 0
    retry_ms: int | None = None
    _rest: str = ""
    _id: str | None = None
    _type: str = ""
    _data: list[str] = field(default_factory=list)

    def feed(self, part: bytes) -> list[SentEvent]:
        """The events that are whole with that."""
        *lines, self._rest = (self._rest + part.decode()).split("\n")
        return [event for line in lines if (event := self._line(line)) is not None]

    def _line(self, line: str) -> SentEvent | None:
        if not line:
            kind, data = self._type, self._data
            self._type, self._data = "", []
            self.last_id = self.last_id if self._id is None else self._id  # of what is not whole, nothing counts
            return SentEvent(kind, json.loads("\n".join(data)), self.last_id) if data else None
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        match name:
            case "":
                self.comments += 1
            case "event":
                self._type = value
            case "data":
                self._data.append(value)
            case "id":
                self._id = value
            case "retry":
                self.retry_ms = int(value)
            case _:
                raise AssertionError(f"no field of an event: {line!r}")
        return None


class Stream:
    """A stream of an application in this process."""

    def __init__(self) -> None:
        self.parser = EventParser()
        self.status = 0
        self.headers: dict[str, str] = {}
        self.text = b""
        self.over = anyio.Event()
        self.gone = anyio.Event()
        self.reads = anyio.Event()
        self._started = anyio.Event()
        self._came = anyio.Event()
        self._got: deque[SentEvent] = deque()

    async def started(self) -> None:
        """Wait for its status."""
        with anyio.fail_after(WAIT_S):
            await self._started.wait()

    async def next(self) -> SentEvent:
        """The next event."""
        with anyio.fail_after(WAIT_S):
            while not self._got:
                came = self._came
                await came.wait()
        return self._got.popleft()

    async def some(self, count: int) -> list[SentEvent]:
        """The next events."""
        return [await self.next() for _ in range(count)]

    async def until_over(self) -> None:
        """Wait until the server has ended it."""
        with anyio.fail_after(WAIT_S):
            await self.over.wait()

    def waiting(self) -> int:
        """How many events have come that nobody has asked for."""
        return len(self._got)

    async def take(self, message: Message) -> None:
        """What the server sends."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {name.decode().lower(): value.decode() for name, value in message["headers"]}
            self._started.set()
            return
        body = message.get("body", b"")
        self.text += body
        if self.headers.get("content-type", "").startswith("text/event-stream"):
            self._got.extend(self.parser.feed(body))
            self._came.set()
            self._came = anyio.Event()
        if not message.get("more_body", False):
            self.over.set()
            return
        await self.reads.wait()


@asynccontextmanager
async def following(
    app: ASGIApp,
    path: str,
    *,
    token: str = "",
    last_id: str = "",
    query: str = "",
    method: str = "GET",
    reads: bool = True,
    address: str = "192.0.2.1",
    headers: Mapping[str, str] | None = None,
) -> AsyncIterator[Stream]:
    """Follow a stream, in this process, until left.

    Args:
        app: The application.
        path: Of the stream.
        token: Of the client.
        last_id: Of the last event that it has got.
        query: Of the request.
        method: Of HTTP.
        reads: Whether it reads; if not, what is written waits until ``stream.reads`` is set.
        address: Of the client.
        headers: Further ones.
    """
    stream = Stream()
    if reads:
        stream.reads.set()
    sent = {"host": "localhost", **(headers or {})}
    if token:
        sent["authorization"] = f"Bearer {token}"
    if last_id:
        sent["last-event-id"] = last_id
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(name.encode(), value.encode()) for name, value in sent.items()],
        "client": (address, 1),
        "server": ("localhost", 80),
        "state": {},
    }
    asked = False

    async def receive() -> Message:
        nonlocal asked
        if not asked:
            asked = True
            return {"type": "http.request", "body": b"", "more_body": False}
        await stream.gone.wait()
        return {"type": "http.disconnect"}

    async def served() -> None:
        await app(scope, receive, stream.take)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(served)
        await stream.started()
        yield stream
        stream.gone.set()
        stream.reads.set()


class SocketClient:
    """A client of one stream, over a socket.

    Args:
        port: Of the server.
        path: Of the stream.
        token: Of the client; empty: its certificate has to do.
        receives: Bytes that its system takes for it.
        last_id: Of the last event that it has got.
        tls: Context of its TLS; ``None``: plain HTTP.
    """

    def __init__(
        self,
        port: int,
        path: str,
        token: str,
        *,
        receives: int = 0,
        last_id: str = "",
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._socket = socket.socket()
        if receives:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receives)
        self._socket.settimeout(WAIT_S)
        self._http = h11.Connection(h11.CLIENT)
        headers = [("Host", "localhost"), *([("Authorization", f"Bearer {token}")] if token else [])]
        if last_id:
            headers.append(("Last-Event-ID", last_id))
        request = h11.Request(method="GET", target=path, headers=headers)
        self._asking = (self._http.send(request) or b"") + (self._http.send(h11.EndOfMessage()) or b"")
        try:
            self._socket.connect(("127.0.0.1", port))
            if tls is None:
                self._ask()
            else:
                self._socket = tls.wrap_socket(self._socket, server_hostname="localhost", do_handshake_on_connect=False)
        except OSError:  # a server that goes may do so behind the connecting, too
            self._socket.close()
            raise
        self.parser = EventParser(last_id)
        self.status = 0
        self.ended = False

    def _ask(self) -> None:
        """Send the request, once; over TLS this waits for the server."""
        asking, self._asking = self._asking, b""
        if asking:
            self._socket.sendall(asking)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def reset(self) -> None:
        """Go at once, as a process that is killed."""
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._socket.close()

    def hang_up(self) -> None:
        """Have whoever waits for more wait no longer."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    async def more(self) -> list[SentEvent]:
        """What comes next; nothing once it has ended."""
        return await anyio.to_thread.run_sync(self._more)

    async def asked(self) -> None:
        """Wait until its request was sent."""
        await anyio.to_thread.run_sync(self._ask)

    def _more(self) -> list[SentEvent]:
        self._ask()
        while True:
            event = self._http.next_event()
            if event is h11.NEED_DATA:
                self._http.receive_data(self._socket.recv(65_536))
            elif isinstance(event, h11.Response):
                self.status = event.status_code
            elif isinstance(event, h11.Data):
                return self.parser.feed(bytes(event.data))
            else:
                self.ended = True
                return []

    async def begun(self) -> None:
        """Wait until it has begun."""
        while not self.parser.last_id:
            await self.more()
            assert not self.ended

    async def heartbeat(self) -> list[SentEvent]:
        """Read up to the next comment."""
        before, found = self.parser.comments, list[SentEvent]()
        while self.parser.comments == before:
            found += await self.more()
            assert not self.ended
        return found

    async def until_number(self, number: int) -> list[SentEvent]:
        """All that comes up to that event."""
        found: list[SentEvent] = []
        while not found or found[-1].data.get("id", 0) < number:
            found += await self.more()
            assert not self.ended
        return found

    async def until_ended(self) -> list[SentEvent]:
        """All that comes."""
        found: list[SentEvent] = []
        while not self.ended:
            found += await self.more()
        return found
