"""The publish rate limiter: token buckets of a topic, and the connections that they stop.

Source: ``PublishRateLimiterImpl``, ``AsyncTokenBucket``, Pulsar 4.0.8.
"""

from __future__ import annotations

import math
from typing import Final, Protocol

from tests.migration.clusters.timeline import Timeline

_RESOLUTION_MS: Final = 16
_SLOW_RATE: Final = 62
"""Below it a token takes longer than the resolution."""


class Stoppable(Protocol):
    """A connection: it is read only while nobody stops it."""

    def stop(self) -> None:
        """Read no more; as often as it is said."""

    def go(self) -> None:
        """Take one stop back."""


class TokenBucket:
    """A bucket whose capacity, first content and rate per second are one number; it can be in debt."""

    def __init__(self, rate: int, now: int) -> None:
        self.rate = rate
        self._tokens = float(rate)
        self._since = now
        self._resolution_ms = _RESOLUTION_MS if rate >= _SLOW_RATE else 1000 / rate

    def consume(self, tokens: int, now: int) -> None:
        """Take tokens, whether they are there or not."""
        self._fill(now)
        self._tokens -= tokens

    def pause_ms(self, now: int) -> int:
        """Until a hundredth of the rate, or one token, is there; 0: nobody has to wait."""
        self._fill(now)
        if self._tokens > 0:
            return 0
        wanted = max(1, math.floor(0.01 * self.rate)) - self._tokens
        return max(1, math.ceil(wanted * 1000 / self.rate))

    def _fill(self, now: int) -> None:
        passed = now - self._since
        if passed >= self._resolution_ms:
            self._tokens = min(float(self.rate), self._tokens + passed * self.rate / 1000)
            self._since = now


class PublishLimiter:
    """Stops whoever publishes beyond the rate, by his own publish only, and releases all together."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._buckets: tuple[TokenBucket | None, TokenBucket | None] = (None, None)
        self._stopped: list[Stoppable] = []

    def set(self, in_bytes: int, in_messages: int) -> None:
        """Take a rate, each no number above zero being none: buckets are new and full, the timer stays as it is."""
        now = self._timeline.now
        rates = (in_bytes, in_messages)
        bytes_, messages = (TokenBucket(rate, now) if rate > 0 else None for rate in rates)
        self._buckets = (bytes_, messages)

    @property
    def limited(self) -> bool:
        """Whether there is a rate."""
        return self._buckets != (None, None)

    def published(self, connection: Stoppable, size: int, count: int) -> None:
        """Count an entry, and stop its connection if that was too much."""
        if not self.limited:
            return
        now = self._timeline.now
        for bucket, tokens in zip(self._buckets, (size, count), strict=True):
            if bucket is not None:
                bucket.consume(tokens, now)
        pause = self._pause_ms()
        if pause:
            connection.stop()
            self._stopped.append(connection)
            if len(self._stopped) == 1:
                self._timeline.after(pause, self._look)

    def _pause_ms(self) -> int:
        return max((each.pause_ms(self._timeline.now) for each in self._buckets if each is not None), default=0)

    def _look(self) -> None:
        pause = self._pause_ms()
        if pause:
            self._timeline.after(pause, self._look)
            return
        stopped, self._stopped = self._stopped, []
        for connection in stopped:
            connection.go()
