"""``/api/v1/regions`` and ``/api/v1/first-contact``: the regions of the group, and letting this one take part."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Depends, Query, Request, Response

from api.admission import Admin, Reader
from api.deciding import CHANGING, DECIDING, AskedChange, AskingHeaders, Because, decide
from api.documents import FINDING, READING, document
from api.inside import RegionInside
from syncer.documents.regions import FirstContactPlan, RegionList
from syncer.inspection import proposals
from syncer.inspection.first_contact import first_contact
from syncer.inspection.pages import region_list
from syncer.inspection.status import collect

if TYPE_CHECKING:
    from collections.abc import Callable

    from syncer.state.views.region import Views

Asking = Annotated[AskingHeaders, Depends()]
FIRST_CONTACT_PATHS = 100


def router(inside: RegionInside) -> APIRouter:
    """Make the routes."""
    routes = APIRouter(prefix="/api/v1", tags=["regions"])
    here = inside.config.region

    @routes.get("/regions", response_model=RegionList, responses=READING)
    async def regions(caller: Reader) -> Response:
        """This region and every one that was ever heard: mode, lag, skew, watermark, equality."""
        del caller
        return document(await inside.look(lambda views: region_list(collect(views, inside.config))))

    @routes.get("/first-contact", response_model=FirstContactPlan, responses={**FINDING, 412: CHANGING[412]})
    async def plan(
        caller: Reader,
        limit: Annotated[int, Query(ge=1, le=10_000, description="Paths to list.")] = FIRST_CONTACT_PATHS,
    ) -> Response:
        """What first contact would change in this region's store. Its ETag is wanted to let it."""
        del caller
        found = await inside.look(lambda views: first_contact(views, limit))
        return document(found, etag=proposals.taking_part(here, found).stamp)

    @routes.post("/first-contact", responses=DECIDING)
    async def take_part(caller: Admin, request: Request, body: Because, wish: Asking) -> Response:
        """Let a new region take part, or let all pass that first contact holds."""
        look: Callable[[Views], FirstContactPlan] = lambda views: first_contact(views, FIRST_CONTACT_PATHS)  # noqa: E731
        decision = AskedChange(
            caller=caller,
            reason=body.reason,
            wish=wish,
            propose=lambda views: proposals.taking_part(here, look(views)),
            now=look,
        )
        return await decide(inside, request, decision)

    return routes
