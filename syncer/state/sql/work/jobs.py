"""Jobs in the sidecar database: begun by the daemon that may write, watched where they run, looked at by everybody."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final

import orjson
from sqlalchemy import Connection, Select, case, delete, func, insert, or_, select, update

from syncer.errors import InvariantBroken
from syncer.model import Millis
from syncer.state import encoding
from syncer.state.contract.jobs import SCHEDULE, JobEnd, JobKind, JobRow, JobState
from syncer.state.sql import numbers, tables

_C: Final = tables.jobs.c
_OPEN: Final = (JobState.QUEUED.value, JobState.RUNNING.value)


def job_of(row: Sequence[Any]) -> JobRow:
    """A job from its columns in the table's order."""
    (number, kind, arguments, asked_by, reason, asked_at, state, host, run, attempts, began_at, ended_at, *last) = row
    detail, output, cancel_asked_by = last
    return JobRow(
        id=number,
        kind=JobKind(kind),
        arguments=orjson.loads(arguments),
        asked_by=asked_by,
        reason=reason,
        asked_at_ms=asked_at,
        state=JobState(state),
        host=host,
        run=run,
        attempts=attempts,
        began_at_ms=began_at,
        ended_at_ms=ended_at,
        detail=detail,
        output=orjson.loads(output),
        cancel_asked_by=cancel_asked_by,
    )


def still_open() -> Select[Any]:
    """The query of jobs that are not over, in the order in which they were asked for."""
    return select(tables.jobs).where(_C.state.in_(_OPEN)).order_by(_C.id)


def requeue(connection: Connection, number: int, run: str) -> bool:
    """Queue a running job again; ``False``: it does not run there."""
    nowhere = {"state": JobState.QUEUED.value, "host": "", "run": "", "began_at": None}
    running = update(tables.jobs).where(_C.id == number, _C.state == JobState.RUNNING.value, _C.run == run)
    return connection.execute(running.values(nowhere)).rowcount == 1


def end(connection: Connection, number: int, run: str, how: JobEnd) -> bool:
    """End a job that is not over; ``False``: it is, or runs elsewhere."""
    values = {
        "state": how.state.value,
        "ended_at": how.at_ms,
        "detail": encoding.storable(how.detail),
        "output": encoding.dumps_plain(how.output),
    }
    this = update(tables.jobs).where(_C.id == number, _C.state.in_(_OPEN), _C.run == run)
    return connection.execute(this.values(values)).rowcount == 1


class JobRows:
    """Implements :class:`~syncer.state.contract.jobs.JobTransaction`."""

    _connection: Connection

    def ask_job(self, job: JobRow) -> int:
        """Queue a job behind all others; its number."""
        row = {
            "kind": job.kind.value,
            "arguments": encoding.dumps_plain(job.arguments),
            "asked_by": encoding.storable(job.asked_by),
            "reason": encoding.storable(job.reason),
            "asked_at": job.asked_at_ms,
            "state": JobState.QUEUED.value,
            "host": "",
            "run": "",
            "attempts": 0,
            "detail": "",
            "output": "{}",
            "cancel_asked_by": "",
        }
        key = self._connection.execute(insert(tables.jobs).values(row)).inserted_primary_key
        if key is None:
            raise InvariantBroken("the database gave no number to a job")
        return int(key[0])

    def job(self, number: int) -> JobRow | None:
        """A job by its number."""
        row = self._connection.execute(select(tables.jobs).where(_C.id == number)).first()
        return job_of(row) if row is not None else None

    def open_jobs(self) -> list[JobRow]:
        """Jobs that are not over, in the order in which they were asked for."""
        return [job_of(row) for row in self._connection.execute(still_open())]

    def last_job(self, asked_by: str) -> JobRow | None:
        """The job of the greatest number that is over, of all that one has asked for."""
        theirs = select(tables.jobs).where(_C.asked_by == asked_by, _C.state.not_in(_OPEN))
        row = self._connection.execute(theirs.order_by(_C.id.desc()).limit(1)).first()
        return job_of(row) if row is not None else None

    def begin_job(self, number: int, host: str, run: str, now: Millis) -> bool:
        """A queued job runs from now on, on that machine, with its files in that directory there."""
        values = {
            "state": JobState.RUNNING.value,
            "host": encoding.storable(host),
            "run": run,
            "attempts": _C.attempts + 1,
            "began_at": now,
        }
        queued = update(tables.jobs).where(_C.id == number, _C.state == JobState.QUEUED.value)
        return self._connection.execute(queued.values(values)).rowcount == 1

    def requeue_job(self, number: int, run: str) -> bool:
        """The process of a running job has never begun: the job is queued again, in its old place."""
        return requeue(self._connection, number, run)

    def ask_end_of_job(self, number: int, asked_by: str) -> bool:
        """A running job is to be ended; who asked first is kept."""
        first = case((_C.cancel_asked_by == "", encoding.storable(asked_by)), else_=_C.cancel_asked_by)
        running = update(tables.jobs).where(_C.id == number, _C.state == JobState.RUNNING.value)
        return self._connection.execute(running.values(cancel_asked_by=first)).rowcount == 1

    def end_job(self, number: int, run: str, how: JobEnd) -> bool:
        """A job that is not over, and whose directory this is, ends."""
        return end(self._connection, number, run, how)

    def prune_jobs(self, keep: int) -> int:
        """Drop jobs that are over but for the latest ``keep``, and the latest of the schedule; how many went."""
        ended = select(_C.id).where(_C.state.not_in(_OPEN))
        oldest_kept = ended.order_by(_C.id.desc()).offset(keep - 1).limit(1).scalar_subquery()
        of_schedule = select(func.max(_C.id)).where(_C.asked_by == SCHEDULE, _C.state.not_in(_OPEN)).scalar_subquery()
        old = delete(tables.jobs).where(
            _C.state.not_in(_OPEN), _C.id < oldest_kept, or_(of_schedule.is_(None), _C.id != of_schedule)
        )
        return self._connection.execute(old).rowcount


class JobViews:
    """What the command line and REST see of jobs."""

    _reading: Callable[[], AbstractContextManager[Connection]]

    def job(self, number: int) -> JobRow | None:
        """A job by its number; of those that are over the latest are kept."""
        with self._reading() as connection:
            row = connection.execute(select(tables.jobs).where(_C.id == number)).first()
            return job_of(row) if row is not None else None

    def jobs(self, limit: int, before: int | None = None) -> list[JobRow]:
        """Jobs, the latest first, of numbers below ``before``."""
        query = select(tables.jobs).order_by(_C.id.desc()).limit(limit)
        if before is not None:
            query = query.where(_C.id < before)
        with self._reading() as connection:
            return [job_of(row) for row in connection.execute(query)]

    def jobs_after(self, number: int, limit: int) -> list[JobRow]:
        """Jobs of greater numbers, the oldest first."""
        query = select(tables.jobs).where(_C.id > number).order_by(_C.id).limit(limit)
        with self._reading() as connection:
            return [job_of(row) for row in connection.execute(query)]

    def jobs_at(self, given: Sequence[int]) -> list[JobRow]:
        """Jobs of these numbers, in order; those that are not there any more are left out."""
        query = select(tables.jobs).where(_C.id.in_(given)).order_by(_C.id)
        with self._reading() as connection:
            return [job_of(row) for row in connection.execute(query)]

    def open_jobs(self) -> list[JobRow]:
        """Jobs that are not over, in the order in which they were asked for."""
        with self._reading() as connection:
            return [job_of(row) for row in connection.execute(still_open())]

    def latest_job(self) -> int:
        """Number of the job that was asked for last, be it dropped since; 0: none ever was."""
        with self._reading() as connection:
            return numbers.last(connection, tables.jobs)
