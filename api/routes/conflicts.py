"""``/api/v1/conflicts``: what lost against a concurrent change; getting it back, or letting go of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Depends, Query, Request, Response

from api.admission import Operator, Reader
from api.deciding import DECIDING, AskedChange, AskingHeaders, Because, decide
from api.documents import FINDING, READING, AfterNumber, Limit, Number, StoreTimeout, Tenant, document
from api.inside import RegionInside
from syncer.documents.conflicts import (
    ConflictDetail,
    ConflictDocument,
    ConflictList,
    LosersOfRegion,
    conflict_detail,
    without_values,
)
from syncer.documents.values import Present
from syncer.inspection import proposals
from syncer.inspection.pages import conflict_list
from syncer.inspection.stored_value import read_present
from syncer.model import Region
from syncer.operations.decisions import lost_in

if TYPE_CHECKING:
    from syncer.state.views.region import Views


def router(inside: RegionInside) -> APIRouter:
    """Make the routes."""
    routes = APIRouter(prefix="/api/v1", tags=["conflicts"])

    @routes.get("/conflicts", response_model=ConflictList, responses=READING)
    async def conflicts(
        caller: Reader,
        limit: Limit = 100,
        after: AfterNumber = 0,
        tenant: Tenant = "",
        restored: Annotated[bool, Query(description="Those that were restored, too.")] = False,
    ) -> Response:
        """Conflicts, oldest first, without their values."""
        del caller
        return document(
            await inside.look(lambda views: conflict_list(views, limit, after, restored=restored, tenant=tenant))
        )

    @routes.get("/conflicts/{number}", response_model=ConflictDetail, responses=FINDING)
    async def conflict(caller: Reader, number: Number, store_timeout: StoreTimeout = 5.0) -> Response:
        """A conflict with both values and their difference, for who may see values. Its ETag is wanted by a restore."""
        lost, stamp = await inside.look(
            lambda views: (lost_in(views, number), proposals.restoring(views, number).stamp)
        )
        if not caller.values:
            return document(without_values(conflict_detail(lost, Present(trouble="not asked"))), etag=stamp)
        alive = lost.shown.digest is not None
        present = await read_present(inside.config, lost.row.path, store_timeout, alive=alive)
        return document(conflict_detail(lost, present), etag=stamp)

    @routes.post("/conflicts/{number}/restore", responses=DECIDING)
    async def restore_conflict(
        caller: Operator, request: Request, number: Number, body: Because, wish: Annotated[AskingHeaders, Depends()]
    ) -> Response:
        """Make the loser of a conflict the newest, everywhere."""
        decision = AskedChange(
            caller=caller,
            reason=body.reason,
            wish=wish,
            propose=lambda views: proposals.restoring(views, number),
            now=lambda views: _now(views, number),
        )
        return await decide(inside, request, decision)

    @routes.post("/conflicts/{number}/discard", responses=DECIDING)
    async def discard_conflict(
        caller: Operator, request: Request, number: Number, body: Because, wish: Annotated[AskingHeaders, Depends()]
    ) -> Response:
        """Forget a conflict, as it was looked at: the lost value is gone here, and can be restored no more."""
        decision = AskedChange(
            caller=caller,
            reason=body.reason,
            wish=wish,
            propose=lambda views: proposals.forgetting_conflict(views, number),
            stamp=lambda views: proposals.restoring(views, number).stamp,
            now=lambda views: _now(views, number),
        )
        return await decide(inside, request, decision)

    @routes.get("/conflicts-of/{region}", response_model=LosersOfRegion, responses=FINDING)
    async def conflicts_of(caller: Reader, region: str) -> Response:
        """How much a region has lost; with the ETag that a discard of all of it wants."""
        del caller
        found, stamp = await inside.look(
            lambda views: (_lost_by(views, region), proposals.forgetting_conflicts_of(views, region).stamp)
        )
        return document(found, etag=stamp)

    @routes.post("/conflicts-of/{region}/discard", responses=DECIDING)
    async def discard_conflicts_of(
        caller: Operator, request: Request, region: str, body: Because, wish: Annotated[AskingHeaders, Depends()]
    ) -> Response:
        """Forget all that a region has lost, up to the conflict that was looked at."""
        decision = AskedChange(
            caller=caller,
            reason=body.reason,
            wish=wish,
            propose=lambda views: proposals.forgetting_conflicts_of(views, region),
            now=lambda views: _lost_by(views, region),
        )
        return await decide(inside, request, decision)

    return routes


def _now(views: Views, number: int) -> ConflictDocument:
    return without_values(conflict_detail(lost_in(views, number), Present(trouble="not asked")))


def _lost_by(views: Views, region: str) -> LosersOfRegion:
    words = list(proposals.forgetting_conflicts_of(views, region).words)
    count, last = views.lost_by(Region(region))
    return LosersOfRegion(region=region, count=count, until=last, discard=words)
