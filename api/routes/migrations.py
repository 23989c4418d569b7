"""``/api/v1/migrations``: how far they are, and what has happened in them."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from api.admission import Reader
from api.documents import FINDING, READING, AfterNumber, Limit, Number, document
from api.inside import RegionInside
from syncer.documents.migration import MigrationEventList, MigrationList, MigrationStatusDocument
from syncer.inspection.migrations import migration_event_list, migration_list, migration_status

Latest = Annotated[int, Query(ge=1, le=1_000, description="So many of the latest.")]


def router(inside: RegionInside) -> APIRouter:
    """Make the routes."""
    routes = APIRouter(prefix="/api/v1", tags=["migrations"])

    @routes.get("/migrations", response_model=MigrationList, responses=READING)
    async def migrations(caller: Reader, limit: Latest = 20) -> Response:
        """The migrations of this region, the latest first."""
        del caller
        return document(await inside.look(lambda views: migration_list(views, limit)))

    @routes.get("/migrations/{number}", response_model=MigrationStatusDocument, responses=FINDING)
    async def migration(caller: Reader, number: Number) -> Response:
        """How far a migration is, what it waits for, and why it has stopped."""
        del caller
        return document(await inside.look(lambda views: migration_status(views, number)))

    @routes.get("/migrations/{number}/events", response_model=MigrationEventList, responses=FINDING)
    async def migration_events(caller: Reader, number: Number, limit: Limit = 100, after: AfterNumber = 0) -> Response:
        """What has happened in a migration, oldest first; 'next' is always there, for what comes later."""
        del caller
        return document(await inside.look(lambda views: migration_event_list(views, number, limit, after)))

    return routes
