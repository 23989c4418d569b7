"""Jobs as they are kept, for tests that look at them."""

from __future__ import annotations

from syncer.model import Millis
from syncer.state.contract.jobs import JobEnd, JobKind, JobRow, JobState
from syncer.state.sql.database import SqlState


def wanted(kind: JobKind, **arguments: object) -> JobRow:
    """A job that somebody asks for."""
    return JobRow(id=0, kind=kind, arguments=arguments, asked_by="ann", reason="why", asked_at_ms=Millis(1))


def ended(state: SqlState, kind: JobKind, end: JobEnd, **arguments: object) -> int:
    """A job that has run and ended so; its number."""
    with state.transaction() as tx:
        number = tx.ask_job(wanted(kind, **arguments))
        tx.begin_job(number, "h1", "r1", Millis(2))
        tx.end_job(number, "r1", end)
    return number


def succeeded(output: dict[str, object]) -> JobEnd:
    """A good end."""
    return JobEnd(state=JobState.SUCCEEDED, at_ms=Millis(9), output=output)
