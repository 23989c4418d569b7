"""A receiver of webhooks on the loopback address that keeps what it was sent, and misbehaves as a test says.

It is written on bare sockets: what it does wrong, no library of servers would let it do.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

Behaviour = Callable[[socket.socket, threading.Event], None]


@dataclass(frozen=True, slots=True)
class Posted:
    """A request: its first line, its headers by name in small letters, its body."""

    line: str
    headers: dict[str, str]
    body: bytes


@dataclass(slots=True)
class WebhookServer:
    """The server.

    Args:
        url: Where it listens.
        behaviours: What it does with the next requests, in order; the last one stays.
        posted: What it was sent, in order.
    """

    url: str
    behaviours: list[Behaviour]
    posted: list[Posted] = field(default_factory=list)

    def ids(self) -> list[str]:
        """The ids of the notices that were sent, in order."""
        return [each.headers["webhook-id"] for each in self.posted]


def answering(status: int, body: bytes = b"", *headers: str) -> Behaviour:
    """Answer as it should be."""

    def behave(connection: socket.socket, _stop: threading.Event) -> None:
        head = [f"HTTP/1.1 {status} Said", f"Content-Length: {len(body)}", "Connection: close", *headers]
        connection.sendall("\r\n".join([*head, "", ""]).encode() + body)

    return behave


def saying(raw: bytes) -> Behaviour:
    """Send these bytes, and end the connection."""
    return lambda connection, _stop: connection.sendall(raw)


def hanging(raw: bytes = b"") -> Behaviour:
    """Send these bytes, and then nothing."""

    def behave(connection: socket.socket, stop: threading.Event) -> None:
        connection.sendall(raw)
        stop.wait(30)

    return behave


def endless(head: bytes, part: bytes, pause_s: float = 0.0) -> Behaviour:
    """Send a part again and again, without an end."""

    def behave(connection: socket.socket, stop: threading.Event) -> None:
        connection.sendall(head)
        while not stop.is_set():
            connection.sendall(part)
            time.sleep(pause_s)

    return behave


@contextmanager
def receiving(*behaviours: Behaviour) -> Iterator[WebhookServer]:
    """Serve; without behaviours every request is answered by 204."""
    stop = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = WebhookServer(
            f"http://127.0.0.1:{listener.getsockname()[1]}/hook", list(behaviours) or [answering(204)]
        )
        threads: list[threading.Thread] = []

        def one(connection: socket.socket) -> None:
            with connection, suppress(OSError):
                posted = _read(connection)
                if posted is None:
                    return
                server.posted.append(posted)
                behave = server.behaviours.pop(0) if len(server.behaviours) > 1 else server.behaviours[0]
                behave(connection, stop)

        def accept() -> None:
            listener.settimeout(0.05)
            while not stop.is_set():
                with suppress(TimeoutError):
                    thread = threading.Thread(target=one, args=(listener.accept()[0],))
                    thread.start()
                    threads.append(thread)

        accepting = threading.Thread(target=accept)
        accepting.start()
        try:
            yield server
        finally:
            stop.set()
            accepting.join()
            for thread in threads:
                thread.join()


def _read(connection: socket.socket) -> Posted | None:
    connection.settimeout(10)
    found = b""
    while b"\r\n\r\n" not in found:
        part = connection.recv(65536)
        if not part:
            return None
        found += part
    head, _, body = found.partition(b"\r\n\r\n")
    line, *rest = head.decode().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (each.partition(":") for each in rest)}
    while len(body) < int(headers.get("content-length", "0")):
        body += connection.recv(65536)
    return Posted(line, headers, body)
