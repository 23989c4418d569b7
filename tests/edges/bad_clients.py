"""A hundred clients that have rights and use them badly, in a process of their own.

    python -m tests.edges.bad_clients PORT

The first line of its standard input is their token. At any further one they stop, and what the kinds have read, in the
order of ``KINDS``, is the answer.
"""

from __future__ import annotations

import contextlib
import socket
import sys
import threading
from typing import Final

KINDS: Final = ("slow head", "half body", "huge page", "endless")
EACH: Final = 25
TICK_S: Final = 0.1


class BadClient:
    """One that has a token, and misbehaves by its kind; it comes again when it is sent away.

    Args:
        kind: How.
        port: Of the server.
        token: A good one.
    """

    def __init__(self, kind: str, port: int, token: str) -> None:
        self.kind, self._port = kind, port
        head = f"Host: localhost\r\nAuthorization: Bearer {token}\r\n"
        self._said = {
            "slow head": f"GET /api/v1/holds HTTP/1.1\r\n{head}",
            "half body": f"POST /api/v1/pause HTTP/1.1\r\n{head}Content-Length: 9000\r\n\r\n{{",
            "huge page": f"GET /api/v1/holds?limit=1000 HTTP/1.1\r\n{head}\r\n",
            "endless": f"GET /api/v1/version HTTP/1.1\r\n{head}\r\n",
        }[kind].encode()
        self._link: socket.socket | None = None
        self.got = 0

    def act(self) -> None:
        """Do the next bad thing."""
        try:
            if self._link is None:
                self._connect()
            self._go_on()
        except OSError:
            self.leave()

    def leave(self) -> None:
        """Close the connection."""
        if self._link is not None:
            self._link.close()
        self._link = None

    def _connect(self) -> None:
        self._link = socket.socket()
        if self.kind == "huge page":
            self._link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self._link.connect(("127.0.0.1", self._port))
        self._link.sendall(self._said)
        self._link.setblocking(False)

    def _go_on(self) -> None:
        assert self._link is not None
        with contextlib.suppress(BlockingIOError):
            match self.kind:
                case "slow head":
                    self._link.sendall(b"X-A: b\r\n")
                case "half body":
                    self._link.sendall(b" ")
                case "huge page":
                    self._read(512)
                    self._link.sendall(self._said)  # the next one is asked for before this one is read
                case _:
                    self._read(65_536)
                    self._link.sendall(self._said)

    def _read(self, most: int) -> None:
        assert self._link is not None
        found = self._link.recv(most)
        if not found:
            raise ConnectionResetError
        self.got += len(found)


def _main(port: int) -> None:
    token = sys.stdin.readline().strip()
    clients = [BadClient(kind, port, token) for kind in KINDS for _ in range(EACH)]
    over = threading.Event()

    def listen() -> None:
        sys.stdin.readline()
        over.set()

    threading.Thread(target=listen, daemon=True).start()
    while not over.wait(TICK_S):
        for each in clients:
            each.act()
    for each in clients:
        each.leave()
    print(*(sum(each.got for each in clients if each.kind == kind) for kind in KINDS), flush=True)


if __name__ == "__main__":
    _main(int(sys.argv[1]))
