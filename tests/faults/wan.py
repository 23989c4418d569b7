"""The links between clusters, as their brokers see them: each can be cut, silenced, and made long."""

from __future__ import annotations

import contextlib
import queue
import socket
import threading
import time
from collections.abc import Iterator
from typing import Final

from deploy.lab.pulsar import PulsarCluster
from tests.support.link import BrokerLink, Link

_UNDER_WAY: Final = 4_096
"""Portions that are on the way at most; then the sender is not read any more."""


class LongLink(BrokerLink):
    """A link to a broker with a delay that can be set: what goes in comes out later, in order, at the same rate."""

    def __init__(self, target: int) -> None:
        self.delay_s = 0.0
        super().__init__(target)

    def _forward(self, words: Iterator[bytes], source: socket.socket, sink: socket.socket) -> None:
        line: queue.Queue[tuple[float, bytes] | None] = queue.Queue(_UNDER_WAY)
        threading.Thread(target=self._deliver, args=(line, source, sink), daemon=True).start()
        with contextlib.suppress(OSError):
            for data in words:
                line.put((time.monotonic() + self.delay_s, data))
        line.put(None)

    def _deliver(
        self, line: queue.Queue[tuple[float, bytes] | None], source: socket.socket, sink: socket.socket
    ) -> None:
        super()._forward(self._arriving(line), source, sink)
        while line.get() is not None:  # who reads must not wait for ever for room in a line that leads nowhere
            pass

    @staticmethod
    def _arriving(line: queue.Queue[tuple[float, bytes] | None]) -> Iterator[bytes]:
        while (portion := line.get()) is not None:
            due, data = portion
            time.sleep(max(0.0, due - time.monotonic()))
            yield data
        line.put(None)


class Way:
    """Everything that one cluster's brokers reach another cluster by.

    Args:
        target: The other cluster.
    """

    def __init__(self, target: PulsarCluster) -> None:
        self._broker = LongLink(target.ports.broker)
        self._web = Link(target.ports.web)

    @property
    def urls(self) -> dict[str, str]:
        """The other cluster as this one's metadata names it."""
        return {"serviceUrl": f"http://{self._web.hosts}", "brokerServiceUrl": self._broker.service_url}

    def cut(self) -> None:
        """Break every connection, refuse new ones."""
        self._broker.cut()
        self._web.cut()

    def silence(self) -> None:
        """Drop everything, without a word."""
        self._broker.silence()
        self._web.silence()

    def lengthen(self, delay_s: float) -> None:
        """Let everything take so much longer, each way."""
        self._broker.delay_s = delay_s

    def mend(self) -> None:
        """As it was at first."""
        self._broker.delay_s = 0.0
        self._broker.mend()
        self._web.mend()

    def close(self) -> None:
        """End it."""
        self._broker.__exit__()
        self._web.__exit__()
