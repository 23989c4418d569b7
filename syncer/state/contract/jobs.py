"""Jobs as the sidecar database keeps them: work on Spark that was asked for, and what has become of it.

        asked                begun                        ended
    ────────▶  queued  ────────────▶  running  ────────────────────▶  succeeded, failed, cancelled, lost
                 │  ▲                    │
                 │  └────────────────────┘  its process has never begun
                 └──▶  cancelled

Values, and what the shell needs of a transaction about them; see :mod:`syncer.state.contract.transaction`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Protocol

from syncer.model import Millis

SCHEDULE: Final = "schedule"
"""Who asks for the jobs that nobody asks for."""
KEPT: Final = 50
"""Jobs that are over and still shown; the latest of the schedule stays beside them."""


class JobKind(StrEnum):
    """Every kind of job, by the name that is stored."""

    TAKE = "take"
    DIFF = "diff"


class JobState(StrEnum):
    """Life of a job; ``lost``: nobody is left who could tell how it ended."""

    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    LOST = "lost"

    @property
    def over(self) -> bool:
        """Whether nothing of it will change any more."""
        return self not in {JobState.QUEUED, JobState.RUNNING}


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRow:
    """A job.

    Args:
        id: Its number: those asked for later have greater ones, and no number is given twice.
        arguments: What it works on, as plain data.
        asked_by: Who asked for it; ``schedule``: nobody.
        host: Name of the machine on which it was begun; empty: it was not.
        run: Name of the directory of its files there; empty while it is queued.
        attempts: How often it was begun.
        began_at_ms: When it was begun last.
        detail: Why it did not succeed.
        output: What it said at its end, as plain data.
        cancel_asked_by: Who wants it ended; empty: nobody.
    """

    id: int
    kind: JobKind
    arguments: Mapping[str, object]
    asked_by: str
    reason: str
    asked_at_ms: Millis
    state: JobState = JobState.QUEUED
    host: str = ""
    run: str = ""
    attempts: int = 0
    began_at_ms: Millis | None = None
    ended_at_ms: Millis | None = None
    detail: str = ""
    output: Mapping[str, object] = field(default_factory=dict)
    cancel_asked_by: str = ""

    @property
    def over(self) -> bool:
        """Whether nothing of it will change any more."""
        return self.state.over


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEnd:
    """How a job ends: in a state that is over, with the reason or with what it said."""

    state: JobState
    at_ms: Millis
    detail: str = ""
    output: Mapping[str, object] = field(default_factory=dict)


class JobTransaction(Protocol):
    """The part of a transaction that is about jobs.

    Each change names the state that it goes out from, and says whether the job was in it: the daemon on whose machine
    a job runs tells its end beside the transactions of the active one, so either may find that the other was first.
    """

    def ask_job(self, job: JobRow) -> int:
        """Queue a job behind all others; its number. What ``job`` says beyond who wants what, and why, is not kept."""
        ...

    def job(self, number: int) -> JobRow | None:
        """A job by its number."""
        ...

    def open_jobs(self) -> list[JobRow]:
        """Jobs that are not over, in the order in which they were asked for."""
        ...

    def last_job(self, asked_by: str) -> JobRow | None:
        """The job of the greatest number that is over, of all that one has asked for."""
        ...

    def begin_job(self, number: int, host: str, run: str, now: Millis) -> bool:
        """A queued job runs from now on, on that machine, with its files in that directory there."""
        ...

    def requeue_job(self, number: int, run: str) -> bool:
        """The process of a running job has never begun: the job is queued again, in its old place."""
        ...

    def ask_end_of_job(self, number: int, asked_by: str) -> bool:
        """A running job is to be ended; who asked first is kept."""
        ...

    def end_job(self, number: int, run: str, how: JobEnd) -> bool:
        """A job that is not over, and whose directory this is, ends; ``run`` is empty of one that is queued."""
        ...

    def prune_jobs(self, keep: int) -> int:
        """Drop jobs that are over but for the latest ``keep`` (1 or more), and the schedule's latest; how many went."""
        ...
