"""``/api/v1/configuration`` and ``/api/v1/version``: what this daemon is, and how it is set up."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Response

from api.admission import Admin, Reader
from api.documents import READING, document
from api.inside import RegionInside
from syncer.config.showing import shown
from syncer.documents.configuration import ProgramDocument
from syncer.terminal import json_text
from syncer.version import version


def router(inside: RegionInside) -> APIRouter:
    """Make the routes."""
    routes = APIRouter(prefix="/api/v1", tags=["configuration"])

    @routes.get("/configuration", response_model=dict[str, Any], responses=READING)
    async def configuration(caller: Admin) -> Response:
        """Every setting in force, defaults included, secrets hidden. It names files of the daemon's host."""
        del caller
        return Response(json_text(shown(inside.config)), media_type="application/json")

    @routes.get("/version", response_model=ProgramDocument, responses=READING)
    async def program(caller: Reader) -> Response:
        """Region and version of this daemon."""
        del caller
        return document(ProgramDocument(region=inside.config.region, version=version()))

    return routes
