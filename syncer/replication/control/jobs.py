"""Operations about jobs: ``job-take``, ``job-diff`` and ``job-cancel``; each writes the queue, and answers at once.

They change nothing of what is replicated, so they are performed while the region is paused, and while a lost database
is being rebuilt.
"""

from __future__ import annotations

from syncer.errors import NotFound, PreconditionFailed
from syncer.jobs.wishes import MAX_QUEUED, arguments_of, require_open, waits
from syncer.model import Millis
from syncer.replication.control.decisions import number_of
from syncer.replication.control.part import OperatorControl
from syncer.state.contract.jobs import KEPT, JobEnd, JobKind, JobRow, JobState
from syncer.state.contract.operations import Operation
from syncer.state.contract.transaction import Transaction


def ask_for(kind: JobKind, control: OperatorControl, tx: Transaction, operation: Operation, now: Millis) -> str:
    """Queue a job.

    Raises:
        PreconditionFailed: This daemon runs no jobs, the queue is full, or an argument cannot be used.
        SparkMissing: What jobs need is not installed here.
    """
    if control.check_jobs is None:
        raise PreconditionFailed("this daemon runs no jobs", hint="Set 'snapshots.folder', and start it anew.")
    control.check_jobs()
    arguments = arguments_of(kind, operation.arguments)
    waiting = sum(job.state is JobState.QUEUED for job in tx.open_jobs())
    if waiting >= MAX_QUEUED:
        raise PreconditionFailed(
            f"{waiting} jobs wait already", hint="Wait until some are done, or end them: 'syncer jobs list'."
        )
    tx.prune_jobs(KEPT)
    number = tx.ask_job(
        JobRow(
            id=0,
            kind=kind,
            arguments=arguments,
            asked_by=operation.asked_by,
            reason=operation.reason,
            asked_at_ms=now,
        )
    )
    return waits(number)


def cancel(tx: Transaction, operation: Operation, now: Millis) -> str:
    """End a job: one that waits at once, one that runs as soon as its machine's daemon looks.

    Raises:
        NotFound: No such job.
        PreconditionFailed: It is over.
    """
    number = number_of(operation, "id")
    job = tx.job(number)
    if job is None:
        raise NotFound(f"there is no job {number}", hint="See 'syncer jobs list'.")
    require_open(job)
    end = JobEnd(state=JobState.CANCELLED, at_ms=now, detail=f"cancelled by {operation.asked_by}")
    if job.state is JobState.QUEUED and tx.end_job(number, "", end):
        return f"job {number} is cancelled"
    if tx.ask_end_of_job(number, operation.asked_by):
        return f"job {number} is being stopped"
    raise PreconditionFailed(f"job {number} has ended at this very moment", hint="See 'syncer jobs list'.")
