"""The schedule of snapshots, a customer of the jobs: when it asks for one, and how its last one ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import orjson

from syncer.model import Millis
from syncer.state.contract.jobs import SCHEDULE, JobKind, JobRow, JobState

RETRY_MS: Final = 10 * 60_000
"""After a failure the next job is due after so long at the latest, or after the interval if that is shorter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LastTake:
    """How the schedule's last job ended."""

    began_at_ms: Millis
    ended_at_ms: Millis
    succeeded: bool
    detail: str = ""
    cancelled: bool = False


def last_of(job: JobRow) -> LastTake:
    """How a job that is over ended; one that was cancelled in the queue began when it ended."""
    ended_at_ms = job.ended_at_ms or job.asked_at_ms
    return LastTake(
        began_at_ms=job.began_at_ms or ended_at_ms,
        ended_at_ms=ended_at_ms,
        succeeded=job.state is JobState.SUCCEEDED,
        detail=job.detail,
        cancelled=job.state is JobState.CANCELLED,
    )


def former_last(work: Path) -> LastTake | None:
    """How the last one ended that a version before jobs were kept in the database has taken."""
    with suppress(OSError, TypeError, orjson.JSONDecodeError):
        return LastTake(**orjson.loads((work / "last.json").read_bytes()))
    return None


@dataclass(frozen=True, slots=True)
class Schedule:
    """Asks for a snapshot in each interval.

    Args:
        interval_ms: From the beginning of one to that of the next.
    """

    interval_ms: Millis

    def next_at_ms(self, last: LastTake | None) -> Millis:
        """When the next one is due; at once when there was none."""
        if last is None:
            return Millis(0)
        if last.succeeded or last.cancelled:
            return Millis(last.began_at_ms + self.interval_ms)
        return Millis(last.ended_at_ms + min(self.interval_ms, RETRY_MS))

    def wish(self, jobs: Sequence[JobRow], last: LastTake | None, now: Millis) -> JobRow | None:
        """The job to ask for now; ``None``: none is due, or the last one is not over."""
        if now < self.next_at_ms(last) or any(job.asked_by == SCHEDULE for job in jobs):
            return None
        return JobRow(id=0, kind=JobKind.TAKE, arguments={}, asked_by=SCHEDULE, reason="", asked_at_ms=now)

    def report(
        self, jobs: Sequence[JobRow], last: LastTake | None, said: Mapping[str, Any], trouble: str
    ) -> dict[str, object]:
        """How it stands, as plain data.

        Args:
            jobs: That are not over.
            last: How the last one ended.
            said: The progress that the running one has told last.
            trouble: What keeps jobs from being begun; empty: nothing.
        """
        running = next((job for job in jobs if job.asked_by == SCHEDULE and job.state is JobState.RUNNING), None)
        told = said if running is not None else {}
        failed = last is not None and not last.succeeded and not last.cancelled
        return {
            "running": running is not None,
            "began_at_ms": running.began_at_ms if running is not None else None,
            "phase": told.get("phase"),
            "rows": told.get("rows"),
            "rate": told.get("rate"),
            "eta_s": told.get("eta_s"),
            "last_began_at_ms": last.began_at_ms if last is not None else None,
            "last_ended_at_ms": last.ended_at_ms if last is not None else None,
            "last_succeeded": last.succeeded if last is not None else None,
            "trouble": trouble or (last.detail if last is not None and failed else ""),
            "next_at_ms": self.next_at_ms(last),
        }
