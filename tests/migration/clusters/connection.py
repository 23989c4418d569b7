"""Connections of a client process to a broker: frames in order both ways, unread while the broker stops them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, Final, Protocol

from tests.migration.clusters.timeline import Timeline

_WIRE_MS: Final = (0, 2)
Frame = tuple[Callable[..., object], tuple[Any, ...]]


class Attachment(Protocol):
    """A producer or consumer as its broker knows it."""

    def dropped(self) -> None:
        """Its connection is no more."""


class ConnectedHandler(Protocol):
    """A producer or consumer as its process knows it."""

    def disconnected(self, connection: Connection) -> None:
        """Its connection is no more."""


class Connection:
    """One connection; what is on its way when it ends never arrives."""

    def __init__(self, timeline: Timeline, port: int) -> None:
        self.port = port
        self.is_open = True
        self.attached: list[Attachment] = []
        self.handlers: list[ConnectedHandler] = []
        self._timeline = timeline
        self._stops = 0
        self._unread: deque[Frame] = deque()
        self._there_at = 0
        self._back_at = 0

    @property
    def stopped(self) -> bool:
        """Whether the broker reads nothing from it."""
        return self._stops > 0

    def send(self, action: Callable[..., object], *args: Any) -> None:
        """Send a frame to the broker."""
        timeline = self._timeline
        self._there_at = max(self._there_at, timeline.now + timeline.between(*_WIRE_MS))
        timeline.after(self._there_at - timeline.now, self._read, action, args)

    def reply(self, action: Callable[..., object], *args: Any) -> None:
        """Send a frame to the client: nothing stops it."""
        timeline = self._timeline
        self._back_at = max(self._back_at, timeline.now + timeline.between(*_WIRE_MS))
        timeline.after(self._back_at - timeline.now, self._take, action, args)

    def stop(self) -> None:
        """Read no more; as often as it is said."""
        self._stops += 1

    def go(self) -> None:
        """Take one stop back; what has arrived meanwhile is read at once, until something stops it again."""
        self._stops -= 1
        while self._unread and not self._stops and self.is_open:
            action, args = self._unread.popleft()
            action(*args)

    def close(self) -> None:
        """End it: the broker and the client let go of all that was on it."""
        if not self.is_open:
            return
        self.is_open = False
        self._unread.clear()
        for attachment in tuple(self.attached):
            attachment.dropped()
        self.attached.clear()
        for handler in tuple(self.handlers):
            handler.disconnected(self)
        self.handlers.clear()

    def _read(self, action: Callable[..., object], args: tuple[Any, ...]) -> None:
        if not self.is_open:
            return
        if self._stops or self._unread:
            self._unread.append((action, args))
        else:
            action(*args)

    def _take(self, action: Callable[..., object], args: tuple[Any, ...]) -> None:
        if self.is_open:
            action(*args)
