"""A TCP link that a test can cut or silence: forwards the loopback port ``port`` to another one while it is whole."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from typing import Final, Self

_BUFFER: Final = 65_536
_LOOKUP_RESPONSE: Final = b"\x08\x18"
"""How such a command begins, behind its length: its first field, the type, is 24 (Pulsar's binary protocol)."""


class Link:
    """Forwards connections to ``target``.

    Cutting resets every connection and refuses new ones until :meth:`mend`. Silencing is what a network does that drops
    packets: connections stay, nothing comes through, nobody is told.

    Args:
        target: Port on the loopback.
    """

    def __init__(self, target: int) -> None:
        self._target = target
        self._speaks = threading.Event()
        self._speaks.set()
        self._lock = threading.Lock()
        self._sockets: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self._whole = True
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._run(self._accept)

    @property
    def hosts(self) -> str:
        """``host:port`` for clients."""
        return f"127.0.0.1:{self.port}"

    def cut(self) -> None:
        """Break all connections, refuse new ones."""
        with self._lock:
            self._whole = False
            broken, self._sockets = self._sockets, set()
        for each in broken:
            _end(each)
        self._speaks.set()

    def silence(self) -> None:
        """Let nothing through, without a word."""
        self._speaks.clear()

    def mend(self) -> None:
        """Let connections through again, and what was said meanwhile."""
        with self._lock:
            self._whole = True
        self._speaks.set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.cut()
        _end(self._listener)
        for thread in self._threads:
            thread.join(timeout=5)

    def _run(self, target: object, *arguments: object) -> None:
        assert callable(target)
        thread = threading.Thread(target=target, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            try:
                far = socket.create_connection(("127.0.0.1", self._target), timeout=5)
            except OSError:
                near.close()
                continue
            far.settimeout(None)
            with self._lock:
                whole = self._whole
                if whole:
                    self._sockets |= {near, far}
            if not whole:
                _end(near)
                _end(far)
                continue
            self._run(self._forward, self._said(near), near, far)
            self._run(self._forward, self._answered(far), far, near)

    def _said(self, source: socket.socket) -> Iterator[bytes]:
        while data := source.recv(_BUFFER):
            yield data

    def _answered(self, source: socket.socket) -> Iterator[bytes]:
        return self._said(source)

    def _forward(self, words: Iterator[bytes], source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            for data in words:
                self._speaks.wait()
                sink.sendall(data)
        self._speaks.wait()  # the end of a connection is a word too
        with self._lock:
            self._sockets -= {source, sink}
        _end(source)
        _end(sink)


class BrokerLink(Link):
    """A link to a Pulsar broker. Its answers to lookups would lead clients past the link; here they lead them back."""

    def __init__(self, target: int) -> None:
        super().__init__(target)
        self._there, self._here = (f"pulsar://127.0.0.1:{port}".encode() for port in (target, self.port))
        if len(self._there) != len(self._here):
            raise ValueError(f"an answer keeps its length: {target} and {self.port} must have as many digits")

    @property
    def service_url(self) -> str:
        """URL for clients."""
        return self._here.decode()

    def _answered(self, source: socket.socket) -> Iterator[bytes]:
        with source.makefile("rb") as frames:
            while len(size := frames.read(4)) == 4:
                frame = frames.read(int.from_bytes(size))
                is_lookup = frame[4:6] == _LOOKUP_RESPONSE
                yield size + (frame.replace(self._there, self._here) if is_lookup else frame)


def _end(link: socket.socket) -> None:
    with contextlib.suppress(OSError):
        link.shutdown(socket.SHUT_RDWR)
    link.close()
