"""``/api/v1/status``: how replication is going."""

from __future__ import annotations

from fastapi import APIRouter, Depends, Response

from api.admission import Opening, needs
from api.documents import READING
from api.probe import Probe
from syncer.access.roles import AccessRole
from syncer.documents.status import StatusDocument
from syncer.terminal import json_text


def router(probe: Probe) -> APIRouter:
    """Make the route."""
    routes = APIRouter(prefix="/api/v1", tags=["status"])

    @routes.get(
        "/status",
        response_model=StatusDocument,
        responses=READING,
        dependencies=[Depends(needs(AccessRole.READ, opening=Opening.STATUS))],
    )
    async def status() -> Response:
        """The document that ``syncer status -o json`` prints."""
        document = StatusDocument.model_validate(await probe.status())
        return Response(json_text(document.model_dump(mode="json")), media_type="application/json")

    return routes
