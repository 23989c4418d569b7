"""The clock of a simulated pair of clusters: time passes while somebody waits."""

from __future__ import annotations

from syncer.migration.running.clock import Clock
from syncer.model import Millis
from tests.migration.clusters.timeline import BEGINNING_MS, Timeline


class SimulatedClock(Clock):
    """Virtual time, as it is on a timeline."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline

    def now_ms(self) -> Millis:
        """Milliseconds since the epoch."""
        return Millis(BEGINNING_MS + self._timeline.now)

    async def sleep(self, seconds: float) -> None:
        """Let so many seconds pass."""
        self._timeline.run(round(seconds * 1000))
