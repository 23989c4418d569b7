"""``/api/v1/status``: how replication is going."""

from __future__ import annotations

from fastapi import APIRouter, Depends, Response

from api.admission import Opening, needs
from api.documents import READING
from api.shared_status import SharedStatus
from syncer.access.roles import AccessRole
from syncer.documents.status import StatusDocument


def router(shared: SharedStatus) -> APIRouter:
    """Make the route."""
    routes = APIRouter(prefix="/api/v1", tags=["status"])

    @routes.get(
        "/status",
        response_model=StatusDocument,
        responses=READING,
        dependencies=[Depends(needs(AccessRole.READ, opening=Opening.STATUS))],
    )
    async def status() -> Response:
        """The document that ``syncer status -o json`` prints, as of a second ago at the earliest."""
        told = await shared.told()
        return Response(told.text, media_type="application/json")

    return routes
