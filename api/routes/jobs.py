"""``/api/v1/jobs``, ``/api/v1/snapshots`` and ``/api/v1/diffs``: snapshots taken and compared, asked for and ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Depends, Request, Response
from pydantic import Field

from api.admission import Admin, Operator, Reader
from api.deciding import CHANGING, AskedChange, AskingHeaders, Because, Reason, decide
from api.documents import FINDING, READING, BeforeNumber, Limit, Number, document
from api.inside import RegionInside
from syncer.access.roles import Caller
from syncer.documents.jobs import JobDocument, JobList
from syncer.errors import PreconditionFailed, RequestInvalid
from syncer.inspection import jobs
from syncer.jobs.wishes import MAX_NAMES

if TYPE_CHECKING:
    from collections.abc import Callable

    from syncer.inspection.proposals import DecisionProposal

Asking = Annotated[AskingHeaders, Depends()]
Name = Annotated[str, Field(min_length=1, max_length=200, pattern="^[^,]+$")]
ONLY = "Only what belongs to these; none: all."


class SnapshotWish(Because):
    """A snapshot that is to be taken."""

    tenants: list[Name] = Field(default=[], max_length=MAX_NAMES, description=ONLY)


class RiskySnapshotWish(SnapshotWish):
    """A snapshot that is to be kept though it holds much less than the one before."""

    allow_empty: bool = Field(default=False, description="Though the store holds nothing, and held much before.")
    accept_shrunken: bool = Field(default=False, description="However much of what was held before is gone.")


class DiffWish(Because):
    """Snapshots that are to be compared."""

    snapshots: list[Name] = Field(
        min_length=2, max_length=MAX_NAMES, description="Of the folder: ids, or regions for their newest."
    )
    tenants: list[Name] = Field(default=[], max_length=MAX_NAMES, description=ONLY)
    fields: bool = Field(default=False, description="Say which fields differ.")
    plan: bool = Field(default=False, description="Make a plan for a sync, too: POST /snapshot-syncs?job=…")


def router(inside: RegionInside) -> APIRouter:
    """Make the routes."""
    routes = APIRouter(prefix="/api/v1", tags=["jobs"])

    def leaving(found: JobDocument, caller: Caller) -> JobDocument:
        return jobs.beyond_host(found, jobs.places_of(inside.config), values=caller.values)

    @routes.get("/jobs", response_model=JobList, responses=READING)
    async def job_list(caller: Reader, limit: Limit = 20, before: BeforeNumber = None) -> Response:
        """Jobs, the latest first: those that wait or run, and the last 50 that are over."""
        found = await inside.look(lambda views: jobs.job_page(views, limit, before))
        items = [leaving(each, caller) for each in found.items]
        return document(found.model_copy(update={"items": items}))

    @routes.get("/jobs/{number}", response_model=JobDocument, responses=FINDING)
    async def job(caller: Reader, number: Number) -> Response:
        """A job, and what it said at its end; values of fields that differ with the right to values only."""
        found = await inside.look(lambda views: jobs.job_status(views, number))
        return document(leaving(found, caller))

    @routes.delete("/jobs/{number}", responses=CHANGING)
    async def cancel(caller: Operator, request: Request, number: Number, reason: Reason, wish: Asking) -> Response:
        """End a job: one that waits never begins, one that runs is stopped and leaves nothing half done."""
        decision = AskedChange(
            caller=caller, reason=reason, wish=wish, propose=lambda views: jobs.ending(views, number)
        )
        return await decide(inside, request, decision)

    @routes.post("/snapshots", responses=CHANGING)
    async def take(caller: Operator, request: Request, body: SnapshotWish, wish: Asking) -> Response:
        """Have a snapshot taken; the operation's answer names the job."""
        proposal = _understood(lambda: jobs.taking(body.tenants))
        return await decide(inside, request, AskedChange.of(caller, body.reason, wish, proposal))

    @routes.post("/snapshots-by-force", responses=CHANGING)
    async def take_by_force(caller: Admin, request: Request, body: RiskySnapshotWish, wish: Asking) -> Response:
        """Have a snapshot taken and kept though the store holds nothing, or much less than before."""
        proposal = _understood(
            lambda: jobs.taking(body.tenants, allow_empty=body.allow_empty, accept_shrunken=body.accept_shrunken)
        )
        return await decide(inside, request, AskedChange.of(caller, body.reason, wish, proposal))

    @routes.post("/diffs", responses=CHANGING)
    async def compare(caller: Operator, request: Request, body: DiffWish, wish: Asking) -> Response:
        """Have snapshots compared; the operation's answer names the job."""
        proposal = _understood(lambda: jobs.comparing(body.snapshots, body.tenants, fields=body.fields, plan=body.plan))
        return await decide(inside, request, AskedChange.of(caller, body.reason, wish, proposal))

    return routes


def _understood(propose: Callable[[], DecisionProposal]) -> DecisionProposal:
    """A wish that nobody could fulfil, whatever the state of the region, is one that cannot be understood."""
    try:
        return propose()
    except PreconditionFailed as exc:
        raise RequestInvalid(exc.message, hint=exc.hint) from exc
