"""``/api/v1/paths`` and ``/api/v1/events``: what is known of each path, and what was decided about it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from api.admission import Reader, Seer
from api.documents import (
    FINDING,
    READING,
    AfterNumber,
    AfterPath,
    Limit,
    StorePath,
    StoreTimeout,
    Tenant,
    document,
    store_path,
)
from api.inside import RegionInside
from syncer.documents.explain import EventList, ExplainDocument, PathList
from syncer.inspection.explaining import explained, stands
from syncer.inspection.pages import event_list, latest_event_list, path_list
from syncer.inspection.stored_value import read_present

Prefix = Annotated[str, Query(max_length=4_096, description="Only paths that start so.")]


def router(inside: RegionInside) -> APIRouter:
    """Make the routes."""
    routes = APIRouter(prefix="/api/v1", tags=["paths"])

    @routes.get("/paths", response_model=PathList, responses=READING)
    async def paths(
        caller: Reader, limit: Limit = 100, after: AfterPath = "", prefix: Prefix = "", tenant: Tenant = ""
    ) -> Response:
        """Every path that is known, in order, without values."""
        del caller
        return document(await inside.look(lambda views: path_list(views, limit, after, prefix=prefix, tenant=tenant)))

    @routes.get("/paths/{path:path}", response_model=ExplainDocument, responses=FINDING)
    async def path(
        caller: Seer,
        path: StorePath,
        decisions: Annotated[int, Query(ge=1, le=10_000, description="How many of the latest decisions.")] = 50,
        store_timeout: StoreTimeout = 5.0,
    ) -> Response:
        """Why a path is as it is: what won and why, what the store holds, what every other version would change."""
        del caller
        key = store_path(path)
        alive = await inside.look(lambda views: stands(views, key))
        present = await read_present(inside.config, key, store_timeout, alive=alive)
        return document(await inside.look(lambda views: explained(views, inside.config, key, present, decisions)))

    @routes.get("/events", response_model=EventList, responses=READING)
    async def events(
        caller: Reader,
        limit: Limit = 100,
        after: AfterNumber = 0,
        path: Prefix = "",
        latest: Annotated[
            int | None, Query(ge=0, le=2**31, description="Begin so many before the end, instead of behind 'after'.")
        ] = None,
    ) -> Response:
        """Decisions about changes, oldest first; 'next' is always there, for what comes later."""
        del caller
        if latest is not None:
            return document(await inside.look(lambda views: latest_event_list(views, latest, limit, prefix=path)))
        return document(await inside.look(lambda views: event_list(views, limit, after, prefix=path)))

    return routes
