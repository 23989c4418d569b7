"""Bus lag: a region's own heartbeats come back to it behind all that was sent before, which shows how far it is behind.

Memory only. Units: milliseconds, of this region's own clock.
"""

from __future__ import annotations

from dataclasses import dataclass

from syncer.model import Millis


@dataclass(slots=True)
class BusLag:
    """Which of this region's heartbeats have not come back yet.

    Args:
        first: Not after the oldest of them was sent; ``None``: all have come back.
        last: When the latest one was sent.
        since: Since when this region has been behind; ``None``: it was not when it was last asked.
    """

    first: Millis | None = None
    last: Millis = Millis(0)
    since: Millis | None = None

    def said(self, now: Millis) -> None:
        """A heartbeat goes out; it may be lost, then the next one comes back all the same."""
        if self.first is None or now < self.first:  # a clock that was set back counts from there
            self.first = now
        self.last = now

    def heard(self, sent_at_ms: int) -> None:
        """One of them has come back, and with it all that was said before."""
        if sent_at_ms >= self.last:
            self.first = None
        elif self.first is not None and sent_at_ms >= self.first:
            self.first = Millis(sent_at_ms + 1)

    def behind(self, now: Millis, late_ms: int) -> Millis | None:
        """Since when heartbeats have needed longer than ``late_ms`` to come back; ``None``: they have not."""
        if self.first is None or now - self.first <= late_ms:
            self.since = None
        elif self.since is None:
            self.since = now
        return self.since
