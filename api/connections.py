"""Bounds of the HTTP server's connections: how long a request may take, and how many clients there may be.

uvicorn waits for a request without end, and takes as many connections as the process can have. Here a request must be
whole within its time, an answer must be read within its own, and a client that comes when all places are taken gets
that of the one that has kept a place longest without having asked for anything. So slow clients, however many, keep
nobody from being answered.

    connected ──request whole──▶ answering ──answer sent──▶ idle (uvicorn's keep-alive) ──next begins──▶ connected
        │                            │                           │
        └── late ── dropped          └── unread ── dropped       └── closed

A stream has no end that could be waited for. Its connection keeps its place as long as its client reads: it is dropped
as unread when nothing more can be written to it for as long as another answer may take.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from collections import Counter
from collections.abc import MutableMapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, Protocol

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

MAX_HEAD_BYTES: Final = 16 * 1024
"""Of a request: line and headers. No route reads a body."""

UNREAD_S: Final = 30.0
"""Time that an answer may take, until its client has read it."""

CLIENT_SUBJECT: Final = "client_subject"
"""Key in the state of a request: subject of the client certificate that TLS has verified, as RFC 4514 writes it."""

CONNECTION: Final = "connection"
"""Key in the state of a request: its connection, a :class:`Bounded`."""

STREAM_BUFFER_BYTES: Final = 16 * 1024
"""Of a stream, written and not yet taken by the system: more waits for its client."""
STREAM_SOCKET_BYTES: Final = 128 * 1024
"""Of a stream, taken by the system and not yet read."""
VANISHED_MS: Final = 30_000
"""For so long the system sends again what a stream's client does not acknowledge, then it is taken as gone: heartbeats
are so small that a client whose host is off would keep its place until they fill all buffers."""

_COMING: Final = frozenset({h11.IDLE, h11.SEND_BODY})


class Dropped(StrEnum):
    """Why a connection was ended by the server."""

    LATE = "late"
    """Its request was not whole in time."""
    UNREAD = "unread"
    """Its answer was not made, or not read, in time."""
    FULL = "full"
    """All places were taken, and it had waited longest without a request; or it came last and nobody waited."""
    CROWDED = "crowded"
    """Likewise, of the places that one address has."""


class Occupant(Protocol):
    """A connection that has a place."""

    @property
    def waits(self) -> bool:
        """It has not asked for anything yet, or has been answered."""
        ...

    def drop(self, why: Dropped) -> None:
        """End it."""
        ...


@dataclass(slots=True, kw_only=True)
class Room:
    """Who is connected, and who was sent away.

    Args:
        request_s: Time for a whole request.
        most: Connections at once.
        most_of_one: From one address.
    """

    request_s: float
    most: int
    most_of_one: int
    dropped: Counter[Dropped] = field(default_factory=Counter)
    _inside: dict[Occupant, str] = field(default_factory=dict)
    _of_one: Counter[str] = field(default_factory=Counter)

    def __len__(self) -> int:
        return len(self._inside)

    def enter(self, one: Occupant, address: str) -> None:
        """Take a connection in; where there is no place, one that waits gives its own, or this one goes."""
        self._inside[one] = address
        self._of_one[address] += 1
        if self._of_one[address] > self.most_of_one:
            self._make_room(Dropped.CROWDED, address)
        elif len(self._inside) > self.most:
            self._make_room(Dropped.FULL, None)

    def leave(self, one: Occupant) -> None:
        """It is closed, whoever did it."""
        address = self._inside.pop(one, None)
        if address is None:
            return
        self._of_one[address] -= 1
        if not self._of_one[address]:
            del self._of_one[address]

    def _make_room(self, why: Dropped, address: str | None) -> None:
        """End the one that has waited longest: they are kept in the order in which they came."""
        among = (one for one, of in self._inside.items() if address is None or of == address)
        last = next(reversed(self._inside))
        next((one for one in among if one.waits), last).drop(why)


class Bounded(H11Protocol):
    """One connection. Made by :func:`bounded`, for a room.

    Attributes:
        waits: It has not asked for anything yet, or has been answered.
    """

    room: Room

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - uvicorn's own, passed on
        super().__init__(*args, **kwargs)
        self.waits = True
        self._streams = False
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """A client has come."""
        super().connection_made(transport)
        self.app_state = {**self.app_state, CONNECTION: self}
        self._due(Dropped.LATE)
        self.room.enter(self, str((transport.get_extra_info("peername") or ("",))[0]))

    def connection_lost(self, exc: Exception | None) -> None:
        """It has gone."""
        self._due(None)
        self.room.leave(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Part of a request has come."""
        if self.transport.is_closing():
            return
        super().data_received(data)
        if self.conn.their_state in _COMING:
            if self._deadline is None:
                self._due(Dropped.LATE)
        elif self.waits:
            self.waits = False
            self._due(Dropped.UNREAD)

    def on_response_complete(self) -> None:
        """An answer was given; what follows is idle, or already the next request."""
        self.waits = True
        self._due(None if self.conn.their_state is not h11.SEND_BODY else Dropped.LATE)
        super().on_response_complete()
        if self.cycle is not None and not self.cycle.response_complete:  # the next one had come already
            self.waits = False
            self._due(Dropped.UNREAD)

    def begin_wait(self, within_s: float) -> None:
        """The answer under way may take so long to be made, and then as long as another one to be read."""
        if not self.transport.is_closing():
            self._due(Dropped.UNREAD, within_s)

    def begin_stream(self) -> None:
        """The answer under way has no end: its time is counted while its client does not read, and no longer."""
        if self.transport.is_closing():  # the client has gone before it began
            return
        self._streams = True
        self.transport.set_write_buffer_limits(STREAM_BUFFER_BYTES)
        client = self.transport.get_extra_info("socket")
        client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, STREAM_SOCKET_BYTES)
        if sys.platform == "linux":
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, VANISHED_MS)
        self._due(None)

    def end_stream(self, last: bytes, *, at_once: bool) -> None:
        """Write the last of a stream whose client may not read, and close; nobody waits for that.

        Args:
            last: Written behind what the client has not read yet.
            at_once: Do not leave it the time to read that.
        """
        if self.cycle is None or self.cycle.response_complete or self.transport.is_closing():
            return
        for event in (h11.Data(data=last), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.cycle.response_complete = True
        self.transport.close()
        if at_once:
            self.transport.abort()
        else:
            self._due(Dropped.UNREAD)

    @property
    def unread(self) -> bool:
        """Whether something that was written is still here."""
        return bool(self.transport.get_write_buffer_size())

    def pause_writing(self) -> None:
        """Its client does not read as fast as is written."""
        super().pause_writing()
        if self._streams:
            self._due(Dropped.UNREAD)

    def resume_writing(self) -> None:
        """It has read on."""
        super().resume_writing()
        if self._streams and not self.transport.is_closing():
            self._due(None)

    def timeout_keep_alive_handler(self) -> None:
        """It was idle too long; what it has not read by now it never will."""
        super().timeout_keep_alive_handler()
        if self.transport.get_write_buffer_size():
            self.drop(Dropped.UNREAD)

    def drop(self, why: Dropped) -> None:
        """End it, whatever is under way."""
        self.room.dropped[why] += 1
        self.room.leave(self)
        self._due(None)
        self.transport.abort()

    def _due(self, why: Dropped | None, more_s: float = 0.0) -> None:
        """Begin to count the time of what is expected next, and more; ``None``: nothing is."""
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        if why is not None:
            within_s = self.room.request_s if why is Dropped.LATE else UNREAD_S
            self._deadline = self.loop.call_later(within_s + more_s, self.drop, why)


def allow_time(scope: MutableMapping[str, Any], within_s: float) -> None:
    """Let the answer to a request take longer to be made than another one.

    Args:
        scope: Of the request.
        within_s: So long.
    """
    connection: Bounded | None = scope.get("state", {}).get(CONNECTION)
    if connection is not None:
        connection.begin_wait(within_s)


def bounded(room: Room) -> type[Bounded]:
    """The protocol of a server whose connections share this room."""
    return type("BoundedInRoom", (Bounded,), {"room": room})
