"""Failure detection by a region's own evidence: that it hears the bus, that the bus has heard it, and since when.

What others say of a region counts only where this agrees with it (:mod:`syncer.replication.group.hearsay`). The
evidence is this region's own heartbeats: each of them comes back to it, behind all that was said before. As long as
they do, what others say arrives, so the silence of a database is a silence; and nobody who listens can have found this
region silent. Units: milliseconds, of this region's own clock.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Final

from syncer.model import Millis

SILENCE_MS: Final = 5 * 60_000
SAID_KEPT: Final = 256


@dataclass(slots=True)
class Evidence:
    """When this region's heartbeats came back to it.

    Args:
        silence_ms: Who does not speak for so long is silent.
        until_ms: When one of them came back last, to earlier daemons too; 0: none ever did.
        started_ms: When this daemon began to look; ``None``: it has yet to.
        since_ms: Since when they come back to this daemon without such a silence between; ``None``: they do not.
        gone_ms: When one came back last before the last such silence of this region began; 0: its database is new,
            and nobody knows when an earlier one of its region was heard, and
        back_ms: when that ended; ``None``: there was none in the time of this daemon.
        said: When the last ones were sent: one that was not is somebody else's.
    """

    silence_ms: int = SILENCE_MS
    until_ms: Millis = Millis(0)
    started_ms: Millis | None = None
    since_ms: Millis | None = None
    gone_ms: Millis = Millis(0)
    back_ms: Millis | None = None
    said: deque[Millis] = field(default_factory=lambda: deque(maxlen=SAID_KEPT))

    def begin(self, now: Millis) -> None:
        """This daemon looks for the first time."""
        if self.started_ms is None:
            self.started_ms = now

    def came_back(self, sent_at_ms: Millis, now: Millis) -> None:
        """A heartbeat of this region was delivered to it."""
        if sent_at_ms not in self.said:
            return
        if self._was_silent(now):
            self.gone_ms, self.back_ms, self.since_ms = self.until_ms, now, None
        if self.since_ms is None:
            self.since_ms = now
        self.until_ms = now

    def listening_since(self, now: Millis) -> Millis | None:
        """Since when all that is said arrives here; ``None``: it is not known to."""
        return None if self._was_silent(now) else self.since_ms

    def silent(self, heard_at_ms: Millis, now: Millis) -> bool:
        """Whether who was heard last at this time has been silent for long enough, while this region listened."""
        since = self.listening_since(now)
        return since is not None and now - max(since, heard_at_ms) >= self.silence_ms

    def away(self, now: Millis) -> bool:
        """Whether this region itself was silent until lately, or is: others may have forgotten it meanwhile."""
        return self._was_silent(now) or (self.back_ms is not None and 0 <= now - self.back_ms < self.silence_ms)

    def new(self, now: Millis) -> bool:
        """No heartbeat of this database came back before it was away: nobody had heard it who can have missed it."""
        return not self._before_ms(now)

    def heard_last_ms(self, now: Millis) -> Millis:
        """When this region was last known to be heard before it was silent: who speaks later has seen it silent."""
        return max(self.started_ms or Millis(0), self._before_ms(now))

    def vouched(self, now: Millis) -> None:
        """An operator says that this region is there."""
        self.until_ms, self.back_ms = now, None

    def _was_silent(self, now: Millis) -> bool:
        return not self.until_ms or now - self.until_ms >= self.silence_ms

    def _before_ms(self, now: Millis) -> Millis:
        return self.until_ms if self._was_silent(now) else self.gone_ms
