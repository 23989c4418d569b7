"""``/api/v1/leave``, forgetting and admitting regions, rebuilding: by force only where a route of its own says so."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response
from pydantic import Field

from api.admission import Admin
from api.deciding import CHANGING, AskedChange, AskingHeaders, Because, decide
from api.inside import RegionInside
from syncer.inspection import proposals

Asking = Annotated[AskingHeaders, Depends()]


class AbsentPeers(Because):
    """Whom the rebuild of a lost database need not wait for."""

    without: list[str] = Field(default=[], max_length=1_000, description="Peers that are absent.")
    alone: bool = Field(default=False, description="No peer has anything to tell.")


def router(inside: RegionInside) -> APIRouter:
    """Make the routes."""
    routes = APIRouter(prefix="/api/v1", tags=["membership"])
    here = inside.config.region

    @routes.post("/leave", responses=CHANGING)
    async def leave(caller: Admin, request: Request, body: Because, wish: Asking) -> Response:
        """Take this region out of the group, once every member has got all of its changes."""
        return await decide(
            inside, request, AskedChange.of(caller, body.reason, wish, proposals.leaving(here, force=False))
        )

    @routes.post("/leave-by-force", responses=CHANGING)
    async def leave_by_force(caller: Admin, request: Request, body: Because, wish: Asking) -> Response:
        """Take this region out of the group, even if a member has not got all of its changes."""
        return await decide(
            inside, request, AskedChange.of(caller, body.reason, wish, proposals.leaving(here, force=True))
        )

    @routes.post("/regions/{region}/forget", responses=CHANGING)
    async def forget(caller: Admin, request: Request, region: str, body: Because, wish: Asking) -> Response:
        """Wait no longer for a region that will not come back."""
        return await decide(
            inside, request, AskedChange.of(caller, body.reason, wish, proposals.forgetting_region(region, force=False))
        )

    @routes.post("/regions/{region}/forget-by-force", responses=CHANGING)
    async def forget_by_force(caller: Admin, request: Request, region: str, body: Because, wish: Asking) -> Response:
        """Wait no longer for a region, even if it spoke within the last minutes."""
        return await decide(
            inside, request, AskedChange.of(caller, body.reason, wish, proposals.forgetting_region(region, force=True))
        )

    @routes.post("/regions/{region}/admit", responses=CHANGING)
    async def admit(caller: Admin, request: Request, region: str, body: Because, wish: Asking) -> Response:
        """Take a region for one of the group, whoever says that it was forgotten."""
        proposal = proposals.admitting(region)
        return await decide(inside, request, AskedChange.of(caller, body.reason, wish, proposal))

    @routes.post("/rebuild", responses=CHANGING)
    async def rebuild(caller: Admin, request: Request, body: AbsentPeers, wish: Asking) -> Response:
        """Say whom the rebuild of a lost database need not wait for."""
        proposal = proposals.rebuilding(body.without, alone=body.alone)
        return await decide(inside, request, AskedChange.of(caller, body.reason, wish, proposal))

    return routes
