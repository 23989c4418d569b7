"""What kazoo 2.11 does not speak: recursive watches, reads of many paths in one request, answers with every stat.

Requests carry their bytes ready made, so that the connection's thread cannot fail on one; answers are parsed there. The
connection reads its socket in large pieces and handles every whole packet of a piece, which costs an eighth of kazoo's
two system calls per packet and more.

Source: ZooKeeper 3.9, zookeeper.jute, MultiOperationRecord, MultiResponse.
"""

from __future__ import annotations

import logging
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Sequence
from typing import ClassVar, Final, NamedTuple, Protocol

import structlog
from kazoo.client import KazooClient
from kazoo.exceptions import AuthFailedError, ConnectionDropped, KazooException, WriterNotClosedException
from kazoo.handlers.threading import KazooTimeoutError, SequentialThreadingHandler
from kazoo.protocol.connection import AUTH_XID, PING_XID, WATCH_XID, ConnectionHandler
from kazoo.protocol.serialization import ReplyHeader
from kazoo.protocol.states import KeeperState
from kazoo.retry import KazooRetry

READ_BYTES: Final = 256 * 1024
MAX_PACKET_BYTES: Final = 256 * 1024 * 1024
CLOSE_GRACE_S: Final = 2.0
CONNECT_TIMEOUT_S: Final = 10.0

NO_NODE: Final = -101
NO_AUTH: Final = -102
BAD_VERSION: Final = -103
NO_CHILDREN_FOR_EPHEMERALS: Final = -108
NODE_EXISTS: Final = -110
NOT_EMPTY: Final = -111
INVALID_ACL: Final = -114
NOT_READ_ONLY: Final = -119
BAD_ARGUMENTS: Final = -8

_OK: Final = 0
_NOT_REACHED: Final = -2
"""Code of a multi's operations after the one that failed."""

_INT: Final = struct.Struct("!i")
_REPLY_HEADER: Final = struct.Struct("!iqi")
_PART_HEADER: Final = struct.Struct("!iBi")
_STAT: Final = struct.Struct("!qqqqiiiqiiq")
_EVENT_HEAD: Final = 4 + _REPLY_HEADER.size + 8
"""Bytes of an event's packet before its path: length, header, type, state."""

_CREATE2: Final = 15
_DELETE: Final = 2
_SET_DATA: Final = 5
_GET_DATA: Final = 4
_GET_CHILDREN: Final = 8
_FAILED: Final = -1
_END: Final = _PART_HEADER.pack(-1, 1, -1)

# kazoo tells every failed attempt, some with a stack; the store tells changes of state in its own words instead.
log: Final = structlog.get_logger(__name__)
_KAZOO_LOG: Final = logging.getLogger("syncer.stores.zookeeper.kazoo")
_KAZOO_LOG.setLevel(logging.CRITICAL)


class Stat(NamedTuple):
    """ZooKeeper's record of a node; times in milliseconds since the epoch."""

    czxid: int
    mzxid: int
    ctime: int
    mtime: int
    version: int
    cversion: int
    aversion: int
    ephemeral_owner: int
    data_length: int
    num_children: int
    pzxid: int


class Node(NamedTuple):
    """A node as read."""

    value: bytes
    stat: Stat


class Failed(NamedTuple):
    """One part of a request failed, with ZooKeeper's error code."""

    code: int


class Permission(NamedTuple):
    """One entry of an ACL: permission bits, scheme, id."""

    bits: int
    scheme: str
    identity: str


def _text(value: str) -> bytes:
    raw = value.encode()
    return _INT.pack(len(raw)) + raw


def _buffer(value: bytes) -> bytes:
    return _INT.pack(len(value)) + value


def _read_buffer(data: bytes, offset: int) -> tuple[bytes, int]:
    (length,) = _INT.unpack_from(data, offset)
    start = offset + 4
    return (b"", start) if length < 0 else (data[start : start + length], start + length)


def _read_stat(data: bytes, offset: int) -> tuple[Stat, int]:
    return Stat._make(_STAT.unpack_from(data, offset)), offset + _STAT.size


class Sendable(Protocol):
    """What goes over the connection: our requests, and kazoo's of the handshake and the pings."""

    @property
    def type(self) -> int | None:
        """ZooKeeper's number of the operation."""
        ...

    def serialize(self) -> bytes | bytearray:
        """The bytes to send."""
        ...


class Answer(Protocol):
    """Where kazoo puts an answer, in the connection's thread."""

    def set(self, value: object = None) -> None:
        """Take the answer."""

    def set_exception(self, exception: BaseException) -> None:
        """Take the error."""


class Request:
    """A request with its bytes ready made."""

    type: ClassVar[int]
    __slots__ = ("_body",)

    def __init__(self, body: bytes) -> None:
        self._body = body

    @property
    def size(self) -> int:
        """Bytes of the request without its header."""
        return len(self._body)

    def serialize(self) -> bytes:
        """The bytes to send."""
        return self._body

    @classmethod
    def deserialize(cls, data: bytes, offset: int) -> object:
        """Parse the answer."""
        del data, offset
        return None


class Sync(Request):
    """Let the server catch up with its leader; answered when it has."""

    type = 9
    __slots__ = ()

    def __init__(self, path: str) -> None:
        super().__init__(_text(path))


class AddRecursiveWatch(Request):
    """Watch a path and all below, until the connection ends. The path need not exist."""

    type = 106
    _RECURSIVE: ClassVar[int] = 1
    __slots__ = ()

    def __init__(self, path: str) -> None:
        super().__init__(_text(path) + _INT.pack(self._RECURSIVE))


class RemoveWatches(Request):
    """End all watches on a path."""

    type = 18
    _ANY: ClassVar[int] = 3
    __slots__ = ()

    def __init__(self, path: str) -> None:
        super().__init__(_text(path) + _INT.pack(self._ANY))


class MultiRead(Request):
    """Read many nodes, or the names of many nodes' children, in the order given; each answer stands for itself."""

    type = 22
    __slots__ = ()

    @classmethod
    def nodes(cls, paths: Sequence[str]) -> MultiRead:
        """Read values and stats; the answer is a list of ``Node`` or ``Failed``."""
        return cls(cls._parts(_GET_DATA, paths))

    @classmethod
    def children(cls, paths: Sequence[str]) -> MultiRead:
        """Read the children's names; the answer is a list of lists of names, or ``Failed``."""
        return cls(cls._parts(_GET_CHILDREN, paths))

    @staticmethod
    def _parts(kind: int, paths: Sequence[str]) -> bytes:
        head = _PART_HEADER.pack(kind, 0, -1)
        return b"".join(part for path in paths for part in (head, _text(path), b"\0")) + _END

    @classmethod
    def deserialize(cls, data: bytes, offset: int) -> list[Node | list[str] | Failed]:
        """Parse the parts of the answer."""
        results: list[Node | list[str] | Failed] = []
        while True:
            kind, done, _ = _PART_HEADER.unpack_from(data, offset)
            offset += _PART_HEADER.size
            if done:
                return results
            if kind == _GET_DATA:
                value, offset = _read_buffer(data, offset)
                stat, offset = _read_stat(data, offset)
                results.append(Node(value, stat))
            elif kind == _GET_CHILDREN:
                names, offset = cls._names(data, offset)
                results.append(names)
            else:
                results.append(Failed(_INT.unpack_from(data, offset)[0]))
                offset += 4

    @staticmethod
    def _names(data: bytes, offset: int) -> tuple[list[str], int]:
        (count,) = _INT.unpack_from(data, offset)
        offset += 4
        names: list[str] = []
        for _ in range(count):
            raw, offset = _read_buffer(data, offset)
            names.append(raw.decode())
        return names, offset


class Multi(Request):
    """Write many nodes in one transaction, all or none."""

    type = 14
    __slots__ = ()

    def __init__(self, parts: Sequence[bytes]) -> None:
        super().__init__(b"".join(parts) + _END)

    @staticmethod
    def create(path: str, value: bytes, acl: Sequence[Permission]) -> bytes:
        """Create a lasting node; its result is its stat."""
        entries = b"".join(_INT.pack(each.bits) + _text(each.scheme) + _text(each.identity) for each in acl)
        head = _PART_HEADER.pack(_CREATE2, 0, -1)
        return head + _text(path) + _buffer(value) + _INT.pack(len(acl)) + entries + _INT.pack(0)

    @staticmethod
    def set_data(path: str, value: bytes, version: int) -> bytes:
        """Overwrite a node at a version; its result is its stat."""
        return _PART_HEADER.pack(_SET_DATA, 0, -1) + _text(path) + _buffer(value) + _INT.pack(version)

    @staticmethod
    def delete(path: str, version: int) -> bytes:
        """Delete a node at a version; its result is ``None``."""
        return _PART_HEADER.pack(_DELETE, 0, -1) + _text(path) + _INT.pack(version)

    @classmethod
    def deserialize(cls, data: bytes, offset: int) -> list[Stat | Failed | None]:
        """Parse the parts of the answer; when one failed, nothing was written and every part is ``Failed``."""
        results: list[Stat | Failed | None] = []
        while True:
            kind, done, _ = _PART_HEADER.unpack_from(data, offset)
            offset += _PART_HEADER.size
            if done:
                return results
            if kind == _FAILED:
                results.append(Failed(_INT.unpack_from(data, offset)[0]))
                offset += 4
            elif kind == _DELETE:
                results.append(None)
            else:
                if kind == _CREATE2:
                    _, offset = _read_buffer(data, offset)
                stat, offset = _read_stat(data, offset)
                results.append(stat)


def first_failure(results: Sequence[Stat | Failed | None]) -> tuple[int, int] | None:
    """Index and code of the part because of which a transaction was refused, or ``None`` when it was not."""
    for index, result in enumerate(results):
        if isinstance(result, Failed) and result.code not in {_OK, _NOT_REACHED}:
            return index, result.code
    return None


def _refuses_as_read_only(answer: bytes) -> bool:
    """Whether a session was refused by a server without quorum, which sends the header of an error in place of one."""
    return len(answer) == _REPLY_HEADER.size and bool(_REPLY_HEADER.unpack(answer)[2] == NOT_READ_ONLY)


class Connection(ConnectionHandler):
    """kazoo's connection with recursive watches and buffered reads.

    The handshake is read as kazoo reads it, exactly what is due, so that nothing of the stream is ever in two places.

    Args:
        client: Whose connection it is.
        retry: How often and how fast to connect again.
        changed: Called in the connection's thread with the paths of events, before any later answer is handed out.
    """

    def __init__(self, client: KazooClient, retry: KazooRetry, changed: Callable[[list[str]], None]) -> None:
        super().__init__(client, retry, logger=_KAZOO_LOG)
        self.last_failure = ""
        self.read_only_refusal = False
        self._changed = changed
        self._handshake = b""
        self._inbox = bytearray()
        self._chunk = memoryview(bytearray(READ_BYTES))

    def _connect(self, host: str, hostip: str, port: int) -> tuple[float, float]:
        self._inbox.clear()
        self.read_only_refusal = False
        try:
            timeouts = super()._connect(host, hostip, port)
        except (KazooException, KazooTimeoutError) as exc:
            self.last_failure = f"{host}:{port}: {str(exc) or type(exc).__name__}"
            self.read_only_refusal = _refuses_as_read_only(self._handshake)
            raise
        except Exception as exc:
            self.last_failure = f"{host}:{port}: {exc!r}"
            raise ConnectionDropped(self.last_failure) from exc  # anything else would end kazoo's thread for good
        self.last_failure = ""
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
        events: list[str] = []
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
                events.append(inbox[first : first + path_length].decode())
            else:
                if events:
                    self._changed(events)
                    events = []
                outcome = self._handle_answer(header, bytes(inbox[start + 4 : end]))
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
        changed: Callable[[list[str]], None],
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
        self._wire = Connection(self, self._conn_retry.copy(), changed)
        self._connection = self._wire

    @property
    def last_failure(self) -> str:
        """Why the last attempt to connect failed; empty when it did not."""
        return self._wire.last_failure

    @property
    def read_only_refusal(self) -> bool:
        """Whether the last attempt met a server that is read-only and takes no session of any kind."""
        return self._wire.read_only_refusal

    def submit(self, request: Request, answer: Answer) -> None:
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
