"""The board of jobs: what a daemon sees of them, active or not, and where it tells how one has ended on its machine.

The daemon on whose machine a job runs need not be the active one any more when the job ends. So an end is told beside
the transactions of the writer, by a connection of its own, as one change that is conditional on the run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import URL, Connection, inspect, select

from syncer.model import Millis
from syncer.state.contract.jobs import SCHEDULE, JobEnd, JobRow, JobState
from syncer.state.sql import opening, presence, tables
from syncer.state.sql.opening import translated
from syncer.state.sql.work import jobs

BUSY_S: Final = 2.0
PRESENT_MS: Final = 15_000
"""A daemon that has said so little ago that it is there is there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobsKept:
    """What the database says at one moment.

    Args:
        jobs: Those that are not over, in the order in which they were asked for.
        last: The schedule's latest that is over.
        hosts: Machines where a daemon is there, but for the one that asks.
    """

    jobs: list[JobRow]
    last: JobRow | None
    hosts: frozenset[str]


class JobBoard:
    """Reads jobs and tells their ends. Used by one thread at a time.

    Args:
        url: Of the sidecar database.
        host: Name of this machine.
        pid: Of this process.
        clock: Where the database has no clock of its own.
    """

    def __init__(self, url: str, *, host: str, pid: int, clock: Callable[[], Millis]) -> None:
        self._url: Final[URL] = opening.parse_url(url)
        self._engine: Final = opening.connect(self._url, "asker", busy_timeout_s=BUSY_S)
        self._reader: Final = opening.connect(self._url, "reader", busy_timeout_s=BUSY_S)
        self._me: Final = (host, pid)
        self._clock = clock
        self._has_table = False

    def read(self) -> JobsKept | None:
        """What the database says now; ``None``: its schema is still one without jobs.

        Raises:
            StateUnavailable: The database cannot be read now.
        """
        with translated(self._url), self._reader.connect() as connection, connection.begin():
            if not self._known(connection):
                return None
            open_jobs = [jobs.job_of(row) for row in connection.execute(jobs.still_open())]
            last = connection.execute(_last_of_schedule()).first()
            there = presence.read(connection, self._clock) if open_jobs else []
        hosts = frozenset(
            each.host for each in there if each.age_ms <= PRESENT_MS and (each.host, each.pid) != self._me
        )
        return JobsKept(jobs=open_jobs, last=jobs.job_of(last) if last is not None else None, hosts=hosts)

    def end(self, job: JobRow, how: JobEnd) -> bool:
        """Tell how a job ended; ``False``: it was over, or runs elsewhere.

        Raises:
            StateUnavailable: The database cannot be written now.
        """
        with translated(self._url), self._engine.begin() as connection:
            return jobs.end(connection, job.id, job.run, how)

    def requeue(self, job: JobRow) -> bool:
        """Queue a job again that never began; ``False``: it does not run there.

        Raises:
            StateUnavailable: The database cannot be written now.
        """
        with translated(self._url), self._engine.begin() as connection:
            return jobs.requeue(connection, job.id, job.run)

    def close(self) -> None:
        """Let go of the database."""
        self._engine.dispose()
        self._reader.dispose()

    def _known(self, connection: Connection) -> bool:
        self._has_table = self._has_table or inspect(connection).has_table(tables.jobs.name)
        return self._has_table


def _last_of_schedule() -> Any:  # noqa: ANN401 - a query
    c = tables.jobs.c
    ended = [state.value for state in JobState if state.over]
    return select(tables.jobs).where(c.asked_by == SCHEDULE, c.state.in_(ended)).order_by(c.id.desc()).limit(1)
