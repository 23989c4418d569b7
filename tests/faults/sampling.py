"""Looks at the scene once a second: what waits, how late news are, how much was written. For the report's curves."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Final

from syncer.errors import SyncerError
from tests.faults.record import Answer
from tests.faults.scene import Scene

INTERVAL_S: Final = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One look at one region.

    Args:
        at_ms: When.
        region: Whose.
        writes: Outside writes that its store has acknowledged so far.
        unknown: Outside writes so far of which nobody knows whether they happened.
        outbox: Changes that wait for the bus.
        due: Writes that its store has not got yet.
        conflicts: Conflict records so far.
        lag_ms: Age of the oldest news that it waits for from any other region.
    """

    at_ms: int
    region: str
    writes: int
    unknown: int
    outbox: int
    due: int
    conflicts: int
    lag_ms: int


class Sampler(threading.Thread):
    """Samples until it is ended.

    Args:
        scene: What it looks at.
    """

    def __init__(self, scene: Scene) -> None:
        super().__init__(name="sampler", daemon=True)
        self.samples: list[Sample] = []
        self.missed = 0
        """Looks at a database that could not be read."""
        self._scene = scene
        self._over = threading.Event()

    def run(self) -> None:
        """Look, again and again."""
        while not self._over.wait(INTERVAL_S):
            for name in self._scene.names:
                try:
                    self.samples.append(self._look(name))
                except SyncerError:
                    self.missed += 1

    def end(self) -> None:
        """Look no more."""
        self._over.set()
        self.join()

    def _look(self, name: str) -> Sample:
        scene = self._scene
        status, now = scene.status(name), scene.now_ms()
        told = [row.sent_at_ms for other in scene.others(name) if (row := scene.heard(name, other)) is not None]
        return Sample(
            at_ms=now,
            region=name,
            writes=scene.record.counts[name, Answer.ACKNOWLEDGED],
            unknown=scene.record.counts[name, Answer.UNKNOWN],
            outbox=status.outbox.depth,
            due=status.counts.due,
            conflicts=status.counts.conflicts,
            lag_ms=now - min(told) if told else 0,
        )
