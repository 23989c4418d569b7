"""``/api/v1/quarantine`` and ``/api/v1/parked``: what could not be handled, and what waits without anybody."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Depends, Request, Response

from api.admission import Operator, Reader
from api.deciding import DECIDING, AskedChange, AskingHeaders, Because, decide
from api.documents import FINDING, READING, AfterNumber, AfterPath, Limit, Number, Tenant, document
from api.inside import RegionInside
from syncer.access.roles import Caller
from syncer.documents.holds import ParkedList
from syncer.documents.quarantine import QuarantineDocument, QuarantineList
from syncer.inspection import proposals
from syncer.inspection.pages import parked_list, quarantine_entry, quarantine_list

if TYPE_CHECKING:
    from collections.abc import Callable

    from syncer.inspection.proposals import DecisionProposal
    from syncer.state.views.region import Views


def router(inside: RegionInside) -> APIRouter:
    """Make the routes."""
    routes = APIRouter(prefix="/api/v1", tags=["quarantine"])

    def decision(
        caller: Caller,
        number: int,
        body: Because,
        wish: AskingHeaders,
        propose: Callable[[Views, int], DecisionProposal],
    ) -> AskedChange:
        return AskedChange(
            caller=caller,
            reason=body.reason,
            wish=wish,
            propose=lambda views: propose(views, number),
            now=lambda views: quarantine_entry(views, number),
        )

    @routes.get("/quarantine", response_model=QuarantineList, responses=READING)
    async def quarantine(caller: Reader, limit: Limit = 100, after: AfterNumber = 0, tenant: Tenant = "") -> Response:
        """What could not be handled, oldest first, without payloads."""
        del caller
        return document(await inside.look(lambda views: quarantine_list(views, limit, after, tenant=tenant)))

    @routes.get("/quarantine/{number}", response_model=QuarantineDocument, responses=FINDING)
    async def entry(caller: Reader, number: Number) -> Response:
        """An entry, without its payload. Its ETag is wanted by a decision."""
        del caller
        found, stamp = await inside.look(
            lambda views: (quarantine_entry(views, number), proposals.retrying(views, number).stamp)
        )
        return document(found, etag=stamp)

    @routes.post("/quarantine/{number}/retry", responses=DECIDING)
    async def retry_entry(
        caller: Operator, request: Request, number: Number, body: Because, wish: Annotated[AskingHeaders, Depends()]
    ) -> Response:
        """Handle an entry again, after its cause was removed."""
        return await decide(inside, request, decision(caller, number, body, wish, proposals.retrying))

    @routes.post("/quarantine/{number}/discard", responses=DECIDING)
    async def discard_entry(
        caller: Operator, request: Request, number: Number, body: Because, wish: Annotated[AskingHeaders, Depends()]
    ) -> Response:
        """Throw an entry away, for good."""
        return await decide(inside, request, decision(caller, number, body, wish, proposals.throwing_away))

    @routes.get("/parked", response_model=ParkedList, responses=READING)
    async def parked(caller: Reader, limit: Limit = 100, after: AfterPath = "", tenant: Tenant = "") -> Response:
        """Writes that wait for a parent, for children or for the store, in path order; they go on by themselves."""
        del caller
        return document(await inside.look(lambda views: parked_list(views, limit, after, tenant=tenant)))

    return routes
