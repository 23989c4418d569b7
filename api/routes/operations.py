"""``/api/v1/operations``: the audit trail, and what became of a request."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from api.admission import Reader
from api.documents import FINDING, READING, AfterNumber, Limit, Number, document
from api.inside import RegionInside
from syncer.documents.operations import OperationDocument, OperationList, operation_document
from syncer.errors import NotFound
from syncer.inspection.pages import operation_list
from syncer.state.contract.operations import OperationState


def router(inside: RegionInside) -> APIRouter:
    """Make the routes."""
    routes = APIRouter(prefix="/api/v1", tags=["operations"])

    @routes.get("/operations", response_model=OperationList, responses=READING)
    async def operations(
        caller: Reader,
        limit: Limit = 100,
        after: AfterNumber = 0,
        state: Annotated[OperationState | None, Query(description="Only those.")] = None,
    ) -> Response:
        """What the daemon was asked to do, by whom, from where and why, and what came of it; oldest first."""
        del caller
        return document(await inside.look(lambda views: operation_list(views, limit, after, state=state)))

    @routes.get("/operations/{number}", response_model=OperationDocument, responses=FINDING)
    async def operation(caller: Reader, number: Number) -> Response:
        """One operation."""
        del caller
        found = await inside.look(lambda views: views.operation(number))
        if found is None:
            raise NotFound(f"no operation {number}", hint="See /api/v1/operations.")
        return document(operation_document(found))

    return routes
