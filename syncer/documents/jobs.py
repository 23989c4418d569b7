"""JSON documents of jobs: work on Spark that was asked of the daemon, and what has become of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from syncer.documents.document import Document

if TYPE_CHECKING:
    from syncer.state.contract.jobs import JobRow


class JobDocument(Document):
    """``syncer jobs show``, ``take`` and ``diff``, an entry of ``jobs list``."""

    id: int
    kind: Literal["take", "diff"]
    arguments: dict[str, Any] = Field(description="What it works on: snapshots, tenants, options.")
    state: Literal["queued", "running", "succeeded", "failed", "cancelled", "lost"] = Field(
        description="lost: the machine that began it has gone, so nobody can tell how it ended."
    )
    asked_by: str = Field(description="schedule: the daemon itself, by snapshot_interval.")
    reason: str
    asked_at_ms: int
    host: str = Field(description="Name of the machine that began it; empty: none did yet.")
    began_at_ms: int | None
    ended_at_ms: int | None
    detail: str = Field(description="Why it did not succeed.")
    cancel_asked_by: str = Field(description="Who wants it ended; empty: nobody.")
    different: bool | None = Field(description="Of a comparison that succeeded: whether something differs.")
    output: dict[str, Any] = Field(
        description="As 'syncer snapshot take' or 'diff' prints it; of a long one only whether it is 'different'. "
        "Over HTTP without places of the host, and without stored values for whom has no right to them."
    )


class JobList(Document):
    """``syncer jobs list``, the latest first."""

    items: list[JobDocument]
    next: int | None = Field(description="Give it to --before for older ones; null: there are none.")


def job_document(job: JobRow) -> JobDocument:
    """A job as a document."""
    return JobDocument(
        id=job.id,
        kind=job.kind.value,
        arguments=dict(job.arguments),
        state=job.state.value,
        asked_by=job.asked_by,
        reason=job.reason,
        asked_at_ms=job.asked_at_ms,
        host=job.host,
        began_at_ms=job.began_at_ms,
        ended_at_ms=job.ended_at_ms,
        detail=job.detail,
        cancel_asked_by=job.cancel_asked_by,
        different=_different(job.output),
        output=dict(job.output),
    )


def job_list(jobs: list[JobRow], limit: int) -> JobList:
    """A page of jobs, of which one more was read than is shown."""
    items = [job_document(job) for job in jobs[:limit]]
    return JobList(items=items, next=items[-1].id if len(jobs) > limit else None)


def _different(output: Any) -> bool | None:  # noqa: ANN401 - plain data
    """Whether a comparison has found something: one of regions counts it, one over time counts by what was done."""
    different, counts = output.get("different"), output.get("counts")
    if isinstance(different, int):
        return different > 0
    return any(counts.values()) if isinstance(counts, dict) else None
