"""Jobs as the command line and REST show them and ask for them; what is said of them beyond the host names no place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from syncer.documents.jobs import JobDocument, JobList, job_document, job_list
from syncer.errors import NotFound
from syncer.inspection.proposals import DecisionProposal
from syncer.jobs.wishes import arguments_of, require_open
from syncer.operations.contract import OperationKind, OperationRequest
from syncer.state.contract.jobs import JobKind

if TYPE_CHECKING:
    from syncer.config.model import Config
    from syncer.state.contract.jobs import JobRow
    from syncer.state.views.region import Views

_PLACES: Final = frozenset({"place", "plan", "report"})
"""Of a comparison, or a snapshot in it: where its files lie."""
_TRACE: Final = "Traceback (most recent call last)"
_ELSEWHERE: Final = "the rest is shown on the host by 'syncer jobs show'"


def job_of(views: Views, number: int) -> JobRow:
    """A job by its number.

    Raises:
        NotFound: There is none.
    """
    job = views.job(number)
    if job is None:
        raise NotFound(f"there is no job {number}", hint="See 'syncer jobs list'; the last 50 that are over are kept.")
    return job


def job_page(views: Views, limit: int, before: int | None = None) -> JobList:
    """Jobs, the latest first, below a number if one is given."""
    return job_list(views.jobs(limit + 1, before), limit)


def job_status(views: Views, number: int) -> JobDocument:
    """A job, and what it said at its end.

    Raises:
        NotFound: There is none.
    """
    return job_document(job_of(views, number))


# -- beyond the host


def places_of(config: Config) -> tuple[str, ...]:
    """Where a region's files lie on its host, as far as a job may speak of them; longer ones first."""
    snapshots, database = config.snapshots, config.state.path
    known = {str(each) for each in (snapshots.folder, snapshots.work, database, database.parent) if each is not None}
    return tuple(sorted(known - {"/", "."}, key=lambda each: (-len(each), each)))


def beyond_host(found: JobDocument, places: Sequence[str], *, values: bool) -> JobDocument:
    """A job without places of the host, and without stored values for whom has no right to them.

    Args:
        found: As it is shown on the host.
        places: Of :func:`places_of`.
        values: Whether the reader may see stored values.
    """
    detail, broke, _ = found.detail.partition(_TRACE)
    for each in places:
        detail = detail.replace(each, "…")
    output = _unplaced(found.output)
    for name in ("before", "after"):
        if isinstance(output.get(name), dict):
            output[name] = _unplaced(output[name])
    for name in ("snapshots", "items"):
        if isinstance(output.get(name), list):
            output[name] = [_unplaced(each) for each in output[name]]
    if not values:
        for each in output.get("items", []):
            each["fields"] = [{**field, "values": {}} for field in each.get("fields") or []] or None
    return found.model_copy(update={"detail": f"{detail}{_ELSEWHERE}" if broke else detail, "output": output})


def _unplaced(said: Mapping[str, Any]) -> dict[str, Any]:
    return {name: each for name, each in said.items() if name not in _PLACES}


# -- what is asked for


def taking(
    tenants: Iterable[str] = (), *, allow_empty: bool = False, accept_shrunken: bool = False
) -> DecisionProposal:
    """Have the daemon take a snapshot.

    Raises:
        PreconditionFailed: An argument cannot be used.
    """
    flags = {"allow_empty": allow_empty, "accept_shrunken": accept_shrunken}
    words = "It would be kept however much of what was held before is gone." if any(flags.values()) else ""
    given = {"tenants": ",".join(tenants), **{name: str(flag).lower() for name, flag in flags.items()}}
    return _job(JobKind.TAKE, OperationKind.JOB_TAKE, given, (words,) if words else ())


def comparing(snapshots: Iterable[str], tenants: Iterable[str] = (), *, fields: bool = False) -> DecisionProposal:
    """Have the daemon compare snapshots of its folder.

    Raises:
        PreconditionFailed: These are not two or more names, or another argument cannot be used.
    """
    given = {"snapshots": ",".join(snapshots), "tenants": ",".join(tenants), "fields": str(fields).lower()}
    return _job(JobKind.DIFF, OperationKind.JOB_DIFF, given, ())


def _job(kind: JobKind, operation: OperationKind, given: dict[str, str], words: tuple[str, ...]) -> DecisionProposal:
    arguments_of(kind, given)
    return DecisionProposal(target=kind.value, words=words, requests=(OperationRequest(operation, given),))


def ending(views: Views, number: int) -> DecisionProposal:
    """End a job.

    Raises:
        NotFound: There is none.
        PreconditionFailed: It is over.
    """
    require_open(job_of(views, number))
    return DecisionProposal(
        target=f"job {number}", requests=(OperationRequest(OperationKind.JOB_CANCEL, {"id": str(number)}),)
    )
