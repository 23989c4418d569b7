"""Progress of a job: rows, rate and what is left, read from Spark's own figures while an action runs."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from py4j.protocol import Py4JError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOOK_EVERY_S: Final = 0.5
_JOIN_S: Final = 10.0
_LEAST_SHARE: Final = 0.02
"""Below this share of the work an estimate would be a guess."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """One phase of a job at one moment.

    Args:
        phase: What is being done: a constant word.
        rows: Rows read so far.
        rate: Rows per second since the phase began.
        done: Tasks that have ended.
        total: Tasks that are known so far.
        eta_s: Seconds until the phase ends, estimated; ``None`` while nothing can be said.
        ended: Whether the phase is over.
    """

    phase: str
    rows: int = 0
    rate: float = 0.0
    done: int = 0
    total: int = 0
    eta_s: float | None = None
    ended: bool = False


Report = Callable[[Progress], None]


def silent(_progress: Progress) -> None:
    """Tell nobody."""


class ProgressWatch:
    """Looks at the actions of one job group from a thread of its own, until it is stopped.

    Args:
        session: Whose actions.
        group: Spark's name for them.
        phase: What is being done.
        report: Told twice a second, and at the end.
        expected_rows: How many rows will be read, where that can be said.
        asked_to_stop: Whether the actions are to be cancelled; asked as often as is looked.
    """

    def __init__(
        self,
        session: SparkSession,
        group: str,
        phase: str,
        report: Report,
        *,
        expected_rows: int | None,
        asked_to_stop: Callable[[], bool],
    ) -> None:
        self._context = session.sparkContext
        self._group = group
        self._phase = phase
        self._report = report
        self._expected = expected_rows
        self._began = time.monotonic()
        self._stopped = threading.Event()
        self._asked_to_stop = asked_to_stop
        self._thread = threading.Thread(target=self._run, name=f"progress-{phase}", daemon=True)

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def stop(self) -> None:
        """Look no more. A report that is on its way is waited for."""
        self._stopped.set()
        self._thread.join(timeout=_JOIN_S)

    def end(self) -> None:
        """Report that the phase is over."""
        self._report(self._look(ended=True))

    def cancel(self) -> None:
        """Have Spark stop what still runs."""
        with contextlib.suppress(Py4JError, OSError):  # the JVM may be gone already
            self._context.cancelJobGroup(self._group)

    def _run(self) -> None:
        while not self._stopped.wait(LOOK_EVERY_S):
            if self._asked_to_stop():
                self.cancel()
            with contextlib.suppress(Py4JError, OSError):  # a figure that cannot be had is no reason to fail
                self._report(self._look(ended=False))

    def _look(self, *, ended: bool) -> Progress:
        tracker = self._context.statusTracker()
        done = total = rows = 0
        for job in tracker.getJobIdsForGroup(self._group):
            info = tracker.getJobInfo(job)
            for number in info.stageIds if info is not None else ():
                stage = tracker.getStageInfo(number)
                if stage is None:
                    continue
                total += stage.numTasks
                done += stage.numCompletedTasks
                rows += self._rows(number)
        passed = max(time.monotonic() - self._began, 1e-3)
        return Progress(
            phase=self._phase,
            rows=rows,
            rate=rows / passed,
            done=done,
            total=total,
            eta_s=0.0 if ended else self._eta(rows, done, total, passed),
            ended=ended,
        )

    def _rows(self, stage: int) -> int:
        """Rows that a stage has read from outside; what goes between stages is not counted twice."""
        store = self._context._jsc.sc().statusStore()
        return int(store.lastStageAttempt(stage).inputRecords())

    def _eta(self, rows: int, done: int, total: int, passed: float) -> float | None:
        if self._expected and rows <= self._expected:
            share = rows / self._expected
        elif total:
            share = done / total
        else:
            return None
        if not _LEAST_SHARE <= share <= 1:
            return None
        return passed * (1 - share) / share
