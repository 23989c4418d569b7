"""``/api/v1/snapshot-syncs``: what snapshots show to differ is told to the group, by a plan that was looked at before.

    POST …?reason=…                                 the plan as body, or ?job=N      200: what would change; an ETag
    POST …?reason=…&dry_run=false, If-Match: ETag   the same                         202: an operation

A plan that is sent is read into a file without a name; its versions go into the sidecar database before the daemon is
asked, so any daemon of the region may take it, and the one that is active, or becomes so, tells it.
"""

from __future__ import annotations

import contextlib
import functools
import socket
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import anyio
from fastapi import APIRouter, Depends, Query, Request, Response

from api.admission import Admin, Operator, Reader
from api.deciding import CHANGING, DECIDING, AskedChange, AskingHeaders, Reason, decide
from api.documents import FINDING, READING, Number, document
from api.inside import RegionInside
from api.problems import PROBLEM
from api.uploads import uploaded
from syncer import local_files
from syncer.access.roles import Caller
from syncer.documents.operations import OperationList
from syncer.documents.snapshots import RepairDocument, RepairList, RepairPreview
from syncer.errors import NotFound, PreconditionFailed
from syncer.inspection.jobs import plan_of
from syncer.inspection.proposals import DecisionProposal
from syncer.inspection.repair_plans import plan_preview, read_plan
from syncer.inspection.repairs import cancelling, repair_list, repair_status
from syncer.model import Millis
from syncer.repair.loading import ask_for, bring_in
from syncer.repair.preview import Consent, refused
from syncer.repair.repair_file import RepairFile

if TYPE_CHECKING:
    from syncer.state.contract.operations import Asked
    from syncer.state.views.region import Views

MAX_AT_ONCE: Final = 2
"""Plans that are read at a time; who comes meanwhile waits."""
Latest = Annotated[int, Query(ge=1, le=1_000, description="So many of the latest.")]
Asking = Annotated[AskingHeaders, Depends()]
SYNCING: Final[dict[int | str, dict[str, Any]]] = {
    **DECIDING,
    200: {"model": RepairPreview | OperationList, "description": "Of a dry run what would change, else it has begun."},
    507: {**PROBLEM, "description": "There is no room to read the plan."},
}
BODY: Final[dict[str, Any]] = {
    "requestBody": {
        "description": "A plan that 'syncer snapshot diff --plan' wrote; nothing where 'job' names one.",
        "content": {"application/jsonl": {"schema": {"type": "string"}}},
    }
}


@dataclass(frozen=True, slots=True)
class SyncQuery:
    """Which plan is meant, why, and whether anything is to happen."""

    reason: Reason
    job: Annotated[
        int | None, Query(ge=1, le=2**63 - 1, description="The plan that this job has made, not one that is sent.")
    ] = None
    dry_run: Annotated[bool, Query(description="Show what would change where, and be refused; ask nobody.")] = True


@dataclass(frozen=True, slots=True)
class SyncForce:
    """What is let pass."""

    allow_deletes: Annotated[bool, Query(description="However much is deleted.")] = False
    force_old: Annotated[bool, Query(description="However old the snapshots are.")] = False


def router(inside: RegionInside) -> APIRouter:
    """Make the routes."""
    routes = APIRouter(prefix="/api/v1", tags=["snapshot syncs"])
    room = anyio.CapacityLimiter(MAX_AT_ONCE)

    @routes.get("/snapshot-syncs", response_model=RepairList, responses=READING)
    async def repairs(caller: Reader, limit: Latest = 20) -> Response:
        """What was told again from snapshots, and what is being told, the latest first."""
        del caller
        return document(await inside.look(lambda views: repair_list(views, limit)))

    @routes.get("/snapshot-syncs/{number}", response_model=RepairDocument, responses=FINDING)
    async def repair(caller: Reader, number: Number) -> Response:
        """How far one is, and what was refused."""
        del caller
        return document(await inside.look(lambda views: repair_status(views, number)))

    @routes.delete("/snapshot-syncs/{number}", responses=CHANGING)
    async def cancel(caller: Operator, request: Request, number: Number, reason: Reason, wish: Asking) -> Response:
        """End one. What was told stays told; the rest is dropped."""
        decision = AskedChange(caller=caller, reason=reason, wish=wish, propose=lambda views: cancelling(views, number))
        return await decide(inside, request, decision)

    async def synced(
        request: Request, caller: Caller, wish: AskingHeaders, query: SyncQuery, consent: Consent
    ) -> Response:
        async with room, _plan(inside, request, query.job) as (file, content):
            config = inside.config
            read = functools.cache(lambda: read_plan(file, config))

            def look(_: Views) -> RepairPreview:
                return plan_preview(read(), list(refused(read(), config.repair_terms, _now(), consent)))

            def bring(views: Views, asked: Asked) -> list[int]:
                for each in refused(read(), config.repair_terms, _now(), consent):
                    raise PreconditionFailed(each.why, hint=each.hint)
                return ask_for(views, bring_in(views, file, asked, made_at_ms=_now()), consent, asked)

            if query.dry_run:
                shown = await inside.look(look)
                return document(shown, etag=shown.sha256)
            decision = AskedChange(
                caller=caller,
                reason=query.reason,
                wish=wish,
                propose=lambda _: DecisionProposal(target="the plan", requests=()),
                now=look,
                stamp=lambda _: read().sha256,
                leave=bring,
                content=content,
            )
            return await decide(inside, request, decision)

    @routes.post("/snapshot-syncs", responses=SYNCING, openapi_extra=BODY)
    async def sync(
        caller: Operator, request: Request, wish: Asking, query: Annotated[SyncQuery, Depends()]
    ) -> Response:
        """Make all regions equal by a plan: what would change, or by the ETag of that have it told."""
        return await synced(request, caller, wish, query, Consent())

    @routes.post("/snapshot-syncs-by-force", responses=SYNCING, openapi_extra=BODY)
    async def sync_by_force(
        caller: Admin,
        request: Request,
        wish: Asking,
        query: Annotated[SyncQuery, Depends()],
        force: Annotated[SyncForce, Depends()],
    ) -> Response:
        """The same, however much is deleted, or however old the snapshots are."""
        return await synced(request, caller, wish, query, Consent(deletes=force.allow_deletes, old=force.force_old))

    return routes


@contextlib.asynccontextmanager
async def _plan(inside: RegionInside, request: Request, job: int | None) -> AsyncIterator[tuple[RepairFile, str]]:
    """The plan that is meant, and what tells requests with another one apart."""
    if job is None:
        async with uploaded(request, inside.config.state.path) as found:
            yield RepairFile(Path("the plan"), found.file), found.sha256
        return
    place = await inside.look(lambda views: plan_of(views, inside.config, job, socket.gethostname()))
    try:
        with local_files.opened(place) as file:
            yield RepairFile(Path(f"the plan of job {job}"), file), ""
    except OSError as exc:
        raise NotFound(
            f"the plan of job {job} is not on this machine any more", hint="Compare again, and ask by the new job."
        ) from exc


def _now() -> Millis:
    return Millis(time.time_ns() // 1_000_000)
