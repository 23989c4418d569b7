"""``/api/v1/migrations``: how far they are and what has happened in them, and begun by a plan that was reviewed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, Final

import anyio
import anyio.to_thread
from fastapi import APIRouter, Depends, Query, Request, Response

from api.admission import Operator, Reader
from api.deciding import CHANGING, AskedChange, AskingHeaders, Reason, decide
from api.documents import FINDING, READING, AfterNumber, Limit, Number, document
from api.inside import RegionInside
from api.problems import PROBLEM
from api.uploads import uploaded
from syncer.documents.migration import MigrationEventList, MigrationList, MigrationStatusDocument
from syncer.documents.migration_report.document import MigrationReportDocument
from syncer.inspection.migration_control import (
    migration_report,
    stamp_of,
    starting_as_reviewed,
)
from syncer.inspection.migrations import migration_event_list, migration_list, migration_status
from syncer.migration.reading.plan_file import from_text

if TYPE_CHECKING:
    from syncer.migration.migration_plan import MigrationPlan

Asking = Annotated[AskingHeaders, Depends()]
Fingerprint = Annotated[
    str, Query(pattern="^[0-9a-f]{64}$", description="'sha256' of the plan that was reviewed; another is refused.")
]
STARTING: Final[dict[int | str, dict[str, Any]]] = {
    **CHANGING,
    507: {**PROBLEM, "description": "There is no room to read the plan."},
}
BODY: Final[dict[str, Any]] = {
    "requestBody": {
        "required": True,
        "description": "A plan that 'syncer migration plan --save' wrote.",
        "content": {"application/json": {"schema": {"type": "object"}}},
    }
}
Latest = Annotated[int, Query(ge=1, le=1_000, description="So many of the latest.")]


def router(inside: RegionInside) -> APIRouter:
    """Make the routes."""
    routes = APIRouter(prefix="/api/v1", tags=["migrations"])
    room = anyio.CapacityLimiter(1)

    @routes.get("/migrations", response_model=MigrationList, responses=READING)
    async def migrations(caller: Reader, limit: Latest = 20) -> Response:
        """The migrations of this region, the latest first."""
        del caller
        return document(await inside.look(lambda views: migration_list(views, limit)))

    @routes.get("/migrations/{number}", response_model=MigrationStatusDocument, responses=FINDING)
    async def migration(caller: Reader, number: Number) -> Response:
        """How far a migration is, what it waits for, and what commands would lead to. Its ETag is wanted by them."""
        del caller
        found = await inside.look(lambda views: migration_status(views, number))
        return document(found, etag=stamp_of(found))

    @routes.get("/migrations/{number}/events", response_model=MigrationEventList, responses=FINDING)
    async def migration_events(caller: Reader, number: Number, limit: Limit = 100, after: AfterNumber = 0) -> Response:
        """What has happened in a migration, oldest first; 'next' is always there, for what comes later."""
        del caller
        return document(await inside.look(lambda views: migration_event_list(views, number, limit, after)))

    @routes.get("/migrations/{number}/report", response_model=MigrationReportDocument, responses=FINDING)
    async def report(caller: Reader, number: Number) -> Response:
        """What has happened in a migration, and what is known of its messages and clients, from the database alone."""
        del caller
        return document(await inside.look(lambda views: migration_report(views, number)))

    @routes.post("/migrations", responses=STARTING, openapi_extra=BODY)
    async def start(caller: Operator, request: Request, reason: Reason, sha256: Fingerprint, wish: Asking) -> Response:
        """Begin a migration by a plan that was reviewed: it checks, prepares green, guards blue, and waits for a go."""
        async with room, uploaded(request, inside.config.state.path) as found:
            plan = await anyio.to_thread.run_sync(_read, found.file)
        decision = AskedChange(
            caller=caller,
            reason=reason,
            wish=wish,
            propose=lambda views: starting_as_reviewed(views, plan, sha256),
            content=found.sha256,
        )
        return await decide(inside, request, decision)

    return routes


def _read(file: BinaryIO) -> MigrationPlan:
    file.seek(0)
    return from_text(file.read())
