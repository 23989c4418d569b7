"""Places of streams: how many may be followed at once, by one client and by all; which end, and why."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from api.streams.hub import StreamPace
from syncer.errors import DaemonStopping, StreamsFull, TooManyStreams

KINDS: Final = ("status", "events", "operations", "jobs")


@dataclass(slots=True, kw_only=True)
class Streams:
    """The streams of one server.

    Args:
        most: At once.
        most_of_one: Of one client, by its credential; where nobody has any, by its address.
        pace: How often they do what.

    Attributes:
        ended: Streams that were ended by the server, by the code of the cause.
        stopping: Whether no more are begun, since the daemon stops.
    """

    most: int = 64
    most_of_one: int = 16
    pace: StreamPace = field(default_factory=StreamPace)
    ended: Counter[str] = field(default_factory=Counter)
    stopping: bool = False
    _open: Counter[str] = field(default_factory=Counter)
    _of_one: Counter[str] = field(default_factory=Counter)
    _enders: set[Callable[[], None]] = field(default_factory=set)

    @property
    def open(self) -> Mapping[str, int]:
        """How many are followed now, by kind."""
        return {kind: self._open[kind] for kind in KINDS}

    @contextlib.contextmanager
    def place(self, kind: str, client: str, end: Callable[[], None]) -> Iterator[None]:
        """Have a place until left.

        Args:
            kind: Of the stream.
            client: Who follows it.
            end: Has the stream end at once, because the daemon stops.

        Raises:
            TooManyStreams: The client has as many as it may.
            StreamsFull: There are as many as there may be.
            DaemonStopping: It does.
        """
        if self.stopping:
            raise DaemonStopping("the daemon stops")
        if self._of_one[client] >= self.most_of_one:
            raise TooManyStreams(f"this client follows {self.most_of_one} streams already")
        if self._open.total() >= self.most:
            raise StreamsFull(f"{self.most} streams are followed already")
        self._open[kind] += 1
        self._of_one[client] += 1
        self._enders.add(end)
        try:
            yield
        finally:
            self._enders.discard(end)
            self._open[kind] -= 1
            self._of_one[client] -= 1
            if not self._of_one[client]:
                del self._of_one[client]

    def stop(self) -> None:
        """The daemon stops: end all of them, and begin no more."""
        self.stopping = True
        for end in list(self._enders):
            end()
