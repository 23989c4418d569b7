"""``/api/v1/pause`` and ``/api/v1/resume``: here, or by a route of its own and the role admin everywhere."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from api.admission import Admin, Operator
from api.deciding import CHANGING, AskedChange, AskingHeaders, Because, decide
from api.inside import RegionInside
from syncer.inspection import proposals

Asking = Annotated[AskingHeaders, Depends()]


def router(inside: RegionInside) -> APIRouter:
    """Make the routes."""
    routes = APIRouter(prefix="/api/v1", tags=["replication"])

    @routes.post("/pause", responses=CHANGING)
    async def pause(caller: Operator, request: Request, body: Because, wish: Asking) -> Response:
        """Stop writing and publishing here; changes are still read and kept."""
        return await decide(
            inside, request, AskedChange.of(caller, body.reason, wish, proposals.pausing(everywhere=False))
        )

    @routes.post("/pause-everywhere", responses=CHANGING)
    async def pause_everywhere(caller: Admin, request: Request, body: Because, wish: Asking) -> Response:
        """Stop writing and publishing in all regions."""
        return await decide(
            inside, request, AskedChange.of(caller, body.reason, wish, proposals.pausing(everywhere=True))
        )

    @routes.post("/resume", responses=CHANGING)
    async def resume(caller: Operator, request: Request, body: Because, wish: Asking) -> Response:
        """Go on writing and publishing here."""
        return await decide(
            inside, request, AskedChange.of(caller, body.reason, wish, proposals.resuming(everywhere=False))
        )

    @routes.post("/resume-everywhere", responses=CHANGING)
    async def resume_everywhere(caller: Admin, request: Request, body: Because, wish: Asking) -> Response:
        """Go on writing and publishing in all regions."""
        return await decide(
            inside, request, AskedChange.of(caller, body.reason, wish, proposals.resuming(everywhere=True))
        )

    return routes
