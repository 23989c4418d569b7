"""kazoo's client on a connection that hands out the events of recursive watches and reads its socket in large pieces.

Handling every whole packet of a piece at once costs an eighth of kazoo's way, several system calls for each packet.
"""

from __future__ import annotations

import logging
import random
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Sequence
from typing import Final, Protocol

import structlog
from kazoo.client import KazooClient
from kazoo.exceptions import AuthFailedError, ConnectionDropped, KazooException, WriterNotClosedException
from kazoo.handlers.threading import KazooTimeoutError, SequentialThreadingHandler
from kazoo.protocol.connection import AUTH_XID, PING_XID, WATCH_XID, ConnectionHandler
from kazoo.protocol.serialization import ReplyHeader
from kazoo.protocol.states import KeeperState
from kazoo.retry import KazooRetry

from syncer.connecting.causes import ENDED, MISSPELT, why_not
from syncer.stores.zookeeper.requests import NOT_READ_ONLY, Request

READ_BYTES: Final = 256 * 1024
MAX_PACKET_BYTES: Final = 256 * 1024 * 1024
CLOSE_GRACE_S: Final = 2.0
CONNECT_TIMEOUT_S: Final = 10.0

_BROKEN: Final = "socket connection broken"
"""kazoo's words for a connection that the server has ended."""
_INT: Final = struct.Struct("!i")
_REPLY_HEADER: Final = struct.Struct("!iqi")
_EVENT_HEAD: Final = 4 + _REPLY_HEADER.size + 8
"""Bytes of an event's packet before its path: length, header, type, state."""

log: Final = structlog.get_logger(__name__)

# kazoo tells every failed attempt, some with a stack; the store tells changes of state in its own words instead.
_KAZOO_LOG: Final = logging.getLogger("syncer.stores.zookeeper.kazoo")
_KAZOO_LOG.setLevel(logging.CRITICAL)


Told = Callable[[list[tuple[str, int]]], None]
"""Takes paths of events, each with the number of the transaction that it tells of."""


class Sendable(Protocol):
    """What goes over the connection: our requests, and kazoo's of the handshake and the pings."""

    @property
    def type(self) -> int | None:
        """ZooKeeper's number of the operation."""
        ...

    def serialize(self) -> bytes | bytearray:
        """The bytes to send."""
        ...


class Reply(Protocol):
    """Where kazoo puts an answer, in the connection's thread."""

    def set(self, value: object = None) -> None:
        """Take the answer."""

    def set_exception(self, exception: BaseException) -> None:
        """Take the error."""


def _refuses_as_read_only(answer: bytes) -> bool:
    """Whether a session was refused by a server without quorum, which sends the header of an error in place of one."""
    return len(answer) == _REPLY_HEADER.size and bool(_REPLY_HEADER.unpack(answer)[2] == NOT_READ_ONLY)


def in_words(error: Exception) -> str:
    """Why a server was not connected to."""
    if isinstance(error, KazooTimeoutError):
        return "no answer in time"
    return why_not(error) or (ENDED if str(error) == _BROKEN else str(error)) or type(error).__name__


class ZooKeeperConnection(ConnectionHandler):
    """kazoo's connection with recursive watches and buffered reads.

    The handshake is read as kazoo reads it, exactly what is due, so that nothing of the stream is ever in two places.

    Attributes:
        failures: Why the last attempts to connect failed, by server; empty once one did not.

    Args:
        client: Whose connection it is.
        retry: How often and how fast to connect again.
        changed: Called in the connection's thread with the paths of events and the numbers of the transactions that
            they tell of (0 or less: the server does not say), before any later answer is handed out.
    """

    def __init__(self, client: KazooClient, retry: KazooRetry, changed: Told) -> None:
        super().__init__(client, retry, logger=_KAZOO_LOG)
        self.failures: dict[str, str] = {}
        self.read_only_refusal = False
        self._changed = changed
        self._handshake = b""
        self._inbox = bytearray()
        self._chunk = memoryview(bytearray(READ_BYTES))

    def _expand_client_hosts(self) -> list[tuple[str, str, int]]:
        # As kazoo's, which ends its thread for good over a name that cannot even be asked for.
        found: list[tuple[str, str, int]] = []
        for named, port in self.client.hosts:
            host = named.strip()
            try:
                answers = socket.getaddrinfo(host, port, 0, 0, socket.IPPROTO_TCP)
            except (socket.gaierror, UnicodeError) as exc:
                self.logger.warning("Cannot resolve %s: %s", host, exc)
                self.failures[f"{host}:{port}"] = MISSPELT if isinstance(exc, UnicodeError) else "the host is unknown"
            else:
                found += [(host, str(address[0]), int(address[1])) for *_, address in answers]
        if self.client.randomize_hosts:
            random.shuffle(found)  # no secret: which server is tried first
        return found

    def _connect(self, host: str, hostip: str, port: int) -> tuple[float, float]:
        self._inbox.clear()
        self.read_only_refusal = False
        where = f"{host}:{port}"
        self.failures.setdefault(where, "no answer yet")
        try:
            timeouts = super()._connect(host, hostip, port)
        except (KazooException, KazooTimeoutError) as exc:
            self.failures[where] = in_words(exc)
            self.read_only_refusal = _refuses_as_read_only(self._handshake)
            raise
        except Exception as exc:
            self.failures[where] = repr(exc)
            raise ConnectionDropped(f"{where}: {exc!r}") from exc  # anything else would end kazoo's thread for good
        self.failures.clear()
        return timeouts

    def _read(self, length: int, timeout: float) -> bytes:
        self._handshake = super()._read(length, timeout)
        return self._handshake

    def _submit(self, request: Sendable, timeout: float, xid: int | None = None) -> None:
        # As kazoo's, without its debug line: that one would show the password of an Auth request.
        head = _INT.pack(xid) if xid else b""
        kind = _INT.pack(request.type) if request.type else b""
        body = request.serialize()
        self._write(b"".join((_INT.pack(len(head) + len(kind) + len(body)), head, kind, body)), timeout)

    def _read_socket(self, read_timeout: float) -> int | None:
        del read_timeout  # the loop's pings notice a server that stops in the middle of a packet
        self._receive()
        try:
            return self._handle_packets()
        except (IndexError, RuntimeError, ValueError, struct.error) as exc:
            raise ConnectionDropped(f"unintelligible answer: {exc!r}") from exc

    def _receive(self) -> None:
        link = self._socket
        if link is None:
            raise ConnectionDropped("no socket")
        pending = getattr(link, "pending", None)
        with self._socket_error_handling():
            while True:
                try:
                    count = link.recv_into(self._chunk)
                except (ssl.SSLWantReadError, ssl.SSLWantWriteError, BlockingIOError):
                    return
                if count == 0:
                    raise ConnectionDropped("socket connection broken")
                self._inbox += self._chunk[:count]
                if pending is None or not pending():  # TLS may hold decrypted bytes that no select will show
                    return

    def _handle_packets(self) -> int | None:
        inbox, size = self._inbox, len(self._inbox)
        start = 0
        events: list[tuple[str, int]] = []
        outcome: int | None = None
        while outcome is None and size - start >= 4:
            (length,) = _INT.unpack_from(inbox, start)
            if not 0 < length <= MAX_PACKET_BYTES:
                raise ValueError(f"packet of {length} bytes")
            end = start + 4 + length
            if end > size:
                break
            header = ReplyHeader._make(_REPLY_HEADER.unpack_from(inbox, start + 4))
            if header.xid == WATCH_XID:
                (path_length,) = _INT.unpack_from(inbox, start + _EVENT_HEAD)
                first = start + _EVENT_HEAD + 4
                events.append((inbox[first : first + path_length].decode(), header.zxid))
            else:
                if events:
                    self._changed(events)
                    events = []
                with memoryview(inbox) as whole:
                    packet = bytes(whole[start + 4 : end])
                outcome = self._handle_answer(header, packet)
            start = end
        if events:
            self._changed(events)
        del inbox[:start]
        return outcome

    def _handle_answer(self, header: ReplyHeader, packet: bytes) -> int | None:
        if header.xid == PING_XID:
            self.ping_outstanding.clear()
            return None
        if header.xid == AUTH_XID:
            _, answer, _ = self.client._pending.popleft()
            if header.err:
                answer.set_exception(AuthFailedError())
                self.client._session_callback(KeeperState.AUTH_FAILED)
            else:
                answer.set(True)
            return None
        return self._read_response(header, packet, _REPLY_HEADER.size)


class Handler(SequentialThreadingHandler):
    """kazoo's threads, with sockets that trust what the context trusts and are closed when a handshake fails."""

    def __init__(self, tls: ssl.SSLContext | None) -> None:
        super().__init__()
        self._tls = tls

    def create_connection(
        self, address: tuple[str, int], hostname: str | None = None, timeout: float = CONNECT_TIMEOUT_S, **_: object
    ) -> socket.socket:
        """Connect; with TLS, shake hands too."""
        link = socket.create_connection(address, timeout)
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self._tls is None:
            return link
        try:
            return self._tls.wrap_socket(link, server_hostname=hostname or address[0])
        except BaseException:
            link.close()
            raise


class Client(KazooClient):
    """A kazoo client on a :class:`Connection` that tries for ever to connect.

    Args:
        hosts: ``host:port`` list, no chroot.
        session_timeout_s: Asked of the server, which may give another.
        auth: ``(scheme, credential)`` pairs.
        tls: How to speak TLS; ``None`` for plain connections.
        changed: See :class:`Connection`.
    """

    def __init__(
        self,
        *,
        hosts: str,
        session_timeout_s: float,
        auth: Sequence[tuple[str, str]],
        tls: ssl.SSLContext | None,
        changed: Told,
    ) -> None:
        retry = KazooRetry(max_tries=-1, delay=0.05, backoff=2, max_delay=2.0)
        super().__init__(
            hosts=hosts,
            timeout=session_timeout_s,
            auth_data=list(auth),
            read_only=True,  # so that a read-only server is told from one that is down
            connection_retry=retry,
            logger=_KAZOO_LOG,
            handler=Handler(tls),
        )
        self._wire = ZooKeeperConnection(self, self._conn_retry.copy(), changed)
        self._connection = self._wire

    @property
    def last_failure(self) -> str:
        """Why the last attempts to connect failed, by server; empty when the last one did not."""
        return "; ".join(f"{where}: {why}" for where, why in list(self._wire.failures.items()))

    @property
    def read_only_refusal(self) -> bool:
        """Whether the last attempt met a server that is read-only and takes no session of any kind."""
        return self._wire.read_only_refusal

    def submit(self, request: Request, answer: Reply) -> None:
        """Queue a request; the answer may come in this thread when there is no connection."""
        self._call(request, answer)

    def shut_down(self) -> None:
        """End the session and the threads; blocks for a few seconds when the server does not answer."""
        cut = threading.Timer(CLOSE_GRACE_S, self._cut)
        cut.daemon = True
        cut.start()
        try:
            self.stop()
            self.close()
        except WriterNotClosedException as exc:
            log.warning("store_close_timed_out", store="zookeeper", cause=str(exc))
        finally:
            cut.cancel()

    def _cut(self) -> None:
        link = self._wire._socket
        if link is not None:
            try:
                link.shutdown(2)
            except OSError:
                return
