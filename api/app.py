"""The HTTP surface of a daemon: one application over one probe."""

from __future__ import annotations

import json
from typing import Any

from fastapi import FastAPI

from api import problems
from api.conventions import Conventions
from api.probe import Probe
from api.routes import health, status
from syncer.version import version


def create_app(probe: Probe) -> FastAPI:
    """Make the application.

    Args:
        probe: The daemon that it looks into.
    """
    app = FastAPI(
        title="pulsar-syncer",
        version=version(),
        description="Health, metrics and status of one region's daemon. Errors are problem documents (RFC 9457).",
        redirect_slashes=False,  # to wherever the client's own Host header says
        docs_url=None,
        redoc_url=None,
        swagger_ui_oauth2_redirect_url=None,
    )
    problems.install(app)
    app.add_middleware(Conventions)
    app.include_router(health.router(probe))
    app.include_router(status.router(probe))
    return app


def openapi_text(app: FastAPI) -> str:
    """The description of the application as it is committed: stable order, without the version of the program."""
    document: dict[str, Any] = app.openapi()
    return json.dumps({**document, "info": {**document["info"], "version": "1"}}, indent=2, sort_keys=True) + "\n"
