"""Handshakes of TLS within the bounds of the server's connections, and the subject of a client's certificate.

uvicorn makes a connection's protocol once TLS stands, so that whoever never finishes a handshake would be counted by
nobody. Here a connection has its place, and its time, from the moment at which it is accepted.

    accepted ──handshake──▶ Bounded, with the subject in the state of each request
       └── late, or no place ── dropped
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from cryptography import x509

from api.certificates import Certificates
from api.connections import CLIENT_SUBJECT, Bounded, Dropped, Room

SHUTDOWN_S: Final = 5.0
"""Time in which a client may answer the end of TLS."""
_SLACK_S: Final = 5.0


class Handshake(asyncio.Protocol):
    """A connection until TLS stands. Made by :func:`over_tls`.

    Attributes:
        waits: It has asked for nothing yet, and gives its place to who does.
    """

    room: Room
    certificates: Certificates
    inner: type[Bounded]

    def __init__(self, **made_of: Any) -> None:  # noqa: ANN401 - uvicorn's own, passed on
        self._made_of = made_of
        self._connections: set[Any] = made_of["server_state"].connections
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._late: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None
        self._early = bytearray()
        self.waits = True

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client has come."""
        if not isinstance(transport, asyncio.Transport):
            raise TypeError("a stream is wanted")
        self._transport = transport
        transport.pause_reading()  # what comes belongs to TLS
        self._connections.add(self)
        self._late = self._loop.call_later(self.room.request_s, self.drop, Dropped.LATE)
        self.room.enter(self, str((transport.get_extra_info("peername") or ("",))[0]))
        if not transport.is_closing():
            self._task = self._loop.create_task(self._shake(transport))

    def data_received(self, data: bytes) -> None:
        """Keep what came with the last of the handshake, until the protocol that it is for is there: a turn later."""
        self._early += data

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's
        """It has gone before TLS stood."""
        self._leave()

    def drop(self, why: Dropped) -> None:
        """End it."""
        self.room.dropped[why] += 1
        self.shutdown()

    def shutdown(self) -> None:
        """The server stops."""
        self._leave()
        if self._transport is not None:
            self._transport.abort()

    def _leave(self) -> None:
        self.room.leave(self)
        self._connections.discard(self)
        if self._late is not None:
            self._late.cancel()

    async def _shake(self, transport: asyncio.Transport) -> None:
        tls: asyncio.Transport | None = None
        with suppress(OSError, TimeoutError):  # of ssl too: a client of another kind, or one that distrusts us
            tls = await self._loop.start_tls(
                transport,
                self,
                self.certificates.context(),
                server_side=True,
                ssl_handshake_timeout=self.room.request_s + _SLACK_S,  # ours comes first, and is counted
                ssl_shutdown_timeout=SHUTDOWN_S,
            )
        self._leave()
        if tls is None or tls.is_closing():
            transport.abort()
            return
        state = {**self._made_of["app_state"], CLIENT_SUBJECT: subject_of(tls.get_extra_info("ssl_object"))}
        inner = self.inner(**{**self._made_of, "app_state": state})
        tls.set_protocol(inner)
        inner.connection_made(tls)
        if self._early:
            inner.data_received(bytes(self._early))


def over_tls(room: Room, certificates: Certificates, inner: type[Bounded]) -> Callable[..., Handshake]:
    """The protocol of a server that speaks TLS, whose connections share a room."""
    return type("HandshakeInRoom", (Handshake,), {"room": room, "certificates": certificates, "inner": inner})


def subject_of(connection: ssl.SSLObject | None) -> str | None:
    """Subject of the client certificate that was verified, as RFC 4514 writes it; ``None``: there is none."""
    if connection is None or connection.context.verify_mode is ssl.CERT_NONE:
        return None
    shown = connection.getpeercert(binary_form=True)
    if not shown:
        return None
    try:
        return x509.load_der_x509_certificate(shown).subject.rfc4514_string()
    except ValueError:
        return None  # OpenSSL took a name that is none
