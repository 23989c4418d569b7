"""Jobs as the command line and REST show them and ask for them; what is said of them beyond the host names no place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from syncer.documents.jobs import JobDocument, JobList, job_document, job_list
from syncer.errors import NotFound
from syncer.inspection import host_places
from syncer.inspection.proposals import DecisionProposal
from syncer.jobs.plans import plan_file
from syncer.jobs.wishes import arguments_of, require_open
from syncer.operations.contract import OperationKind, OperationRequest
from syncer.state.contract.jobs import JobKind, JobState

if TYPE_CHECKING:
    from pathlib import Path

    from syncer.config.model import Config
    from syncer.state.contract.jobs import JobRow
    from syncer.state.views.region import Views

_PLACES: Final = frozenset({"place", "plan", "report"})
"""Of a comparison, or a snapshot in it: where its files lie."""
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


def plan_of(views: Views, config: Config, number: int, host: str) -> Path:
    """Where the repair plan lies that a job has made.

    Args:
        views: Of the region.
        config: Its configuration.
        number: Of the job.
        host: Name of this machine.

    Raises:
        NotFound: There is no such job, or it has made none here.
    """
    job = job_of(views, number)
    if job.state is not JobState.SUCCEEDED or job.arguments.get("plan") is not True:
        raise NotFound(
            f"job {number} has made no plan: it is {job.state}", hint="Compare with 'plan', and wait for its end."
        )
    work = config.snapshots.workplace
    found = plan_file(work, job.run) if work is not None else None
    if found is None or not found.is_file():
        raise NotFound(
            f"the plan of job {number} is not on this machine, {host}: {job.host} has made it, and keeps the latest",
            hint=f"Ask the daemon of {job.host}, or compare again.",
        )
    return found


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
    detail, broke = host_places.before_trace(found.detail)
    detail = host_places.beyond(detail, places)
    output = _unplaced(found.output)
    if isinstance(made := found.output.get("plan"), dict):
        output["plan"] = {name: each for name, each in made.items() if name != "file"}
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


def comparing(
    snapshots: Iterable[str], tenants: Iterable[str] = (), *, fields: bool = False, plan: bool = False
) -> DecisionProposal:
    """Have the daemon compare snapshots of its folder, and make a plan that would make all equal if it is wanted.

    Raises:
        PreconditionFailed: These are not two or more names, or another argument cannot be used.
    """
    flags = {"fields": str(fields).lower(), "plan": str(plan).lower()}
    given = {"snapshots": ",".join(snapshots), "tenants": ",".join(tenants), **flags}
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
