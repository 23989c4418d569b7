import logging
import socket
import threading
from contextlib import AbstractContextManager
from typing import Any, Protocol

from kazoo.client import KazooClient
from kazoo.protocol.serialization import ReplyHeader
from kazoo.retry import KazooRetry

WATCH_XID: int
PING_XID: int
AUTH_XID: int

class Sendable(Protocol):
    @property
    def type(self) -> int | None: ...
    def serialize(self) -> bytes | bytearray: ...

class ConnectionHandler:
    client: KazooClient
    ping_outstanding: threading.Event
    _socket: socket.socket | None
    def __init__(
        self,
        client: KazooClient,
        retry_sleeper: KazooRetry,
        logger: logging.Logger | None = None,
        sasl_options: dict[str, str] | None = None,
    ) -> None: ...
    def _socket_error_handling(self) -> AbstractContextManager[None]: ...
    def _connect(self, host: str, hostip: str, port: int) -> tuple[float, float]: ...
    def _read_socket(self, read_timeout: float) -> int | None: ...
    def _read_response(self, header: ReplyHeader, buffer: bytes, offset: int) -> int | None: ...
    def _read(self, length: int, timeout: float) -> bytes: ...
    def _submit(self, request: Sendable, timeout: float, xid: int | None = None) -> None: ...
    def _write(self, msg: bytes | bytearray, timeout: float) -> None: ...
    def __getattr__(self, name: str) -> Any: ...
