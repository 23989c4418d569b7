"""A TCP link that a test can cut: forwards the loopback port ``port`` to another one while it is whole."""

from __future__ import annotations

import contextlib
import socket
import threading
from typing import Final, Self

_BUFFER: Final = 65_536


class Link:
    """Forwards connections to ``target``.

    Cutting resets every connection and refuses new ones until :meth:`mend`.
    """

    def __init__(self, target: int) -> None:
        self._target = target
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

    def mend(self) -> None:
        """Let connections through again."""
        with self._lock:
            self._whole = True

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
            self._run(self._forward, near, far)
            self._run(self._forward, far, near)

    def _forward(self, source: socket.socket, sink: socket.socket) -> None:
        try:
            while data := source.recv(_BUFFER):
                sink.sendall(data)
        except OSError:
            pass
        with self._lock:
            self._sockets -= {source, sink}
        _end(source)
        _end(sink)


def _end(link: socket.socket) -> None:
    with contextlib.suppress(OSError):
        link.shutdown(socket.SHUT_RDWR)
    link.close()
