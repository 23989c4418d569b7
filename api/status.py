"""``/api/v1/status``: how replication is going."""

from __future__ import annotations

from fastapi import APIRouter

from api.probe import Probe
from api.problems import MEDIA_TYPE, Problem
from syncer.status import StatusDocument


def router(probe: Probe) -> APIRouter:
    """Make the route."""
    routes = APIRouter(prefix="/api/v1", tags=["status"])

    @routes.get(
        "/status",
        responses={503: {"content": {MEDIA_TYPE: {"schema": Problem.model_json_schema()}}, "description": "Not now."}},
    )
    async def status() -> StatusDocument:
        """The document that ``syncer status -o json`` prints."""
        return StatusDocument.model_validate(await probe.status())

    return routes
