"""Acknowledgements of one publish, noted in the thread of Pulsar's client."""

from __future__ import annotations

import threading

import _pulsar


class PublishAcks:
    """Counts them; the client's thread does nothing else here.

    Args:
        count: How many messages were sent.

    Attributes:
        good: Messages that the broker has stored.
        failed: The first message that it has not, by its index, and why; ``None``: none.
    """

    def __init__(self, count: int) -> None:
        self._missing = count
        self._guard = threading.Lock()
        self._all = threading.Event()
        self.failed: tuple[int, object] | None = None
        self.good = 0

    def note(self, index: int, result: object, _id: object) -> None:
        """Take the answer to one message."""
        with self._guard:
            if result is _pulsar.Result.Ok or result == _pulsar.Result.Ok:
                self.good += 1
            elif self.failed is None or index < self.failed[0]:
                self.failed = (index, result)
            self._missing -= 1
            if self._missing == 0:
                self._all.set()

    def wait(self, timeout_s: float) -> bool:
        """Wait until all are answered; whether they are."""
        return self._all.wait(timeout_s)
