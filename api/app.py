"""The HTTP surface of a daemon: its application, and one of probes alone, over one probe."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from fastapi import APIRouter, FastAPI

from api import admission, problems
from api.admission import Admission
from api.bodies import MAX_BODY_BYTES, BodyLimit
from api.conventions import Conventions
from api.hosts import AcceptedHosts, HostCheck
from api.inquiries import Inquiries
from api.inside import RegionInside
from api.probe import Probe
from api.problems import Problem
from api.routes import (
    clusters,
    configuration,
    conflicts,
    health,
    holds,
    jobs,
    membership,
    migration_commands,
    migrations,
    move_runs,
    operations,
    paths,
    quarantine,
    regions,
    replication,
    snapshot_syncs,
    status,
    streams,
)
from api.routes.ledgers import answers as ledger_answers
from api.routes.ledgers import history as ledger_history
from api.shared_status import SharedStatus, StatusForgetting
from api.streams.places import Streams
from api.turns import Turns
from api.uploads import MAX_UPLOAD_BYTES
from syncer.balancer.running.plan_file import MAX_FILE_BYTES
from syncer.version import version

NOUNS: Final = (
    regions,
    membership,
    replication,
    paths,
    holds,
    conflicts,
    quarantine,
    operations,
    jobs,
    snapshot_syncs,
    migrations,
    migration_commands,
    move_runs,
    ledger_history,
    configuration,
)
"""What is shown and changed of a region, in the order of the description."""


LARGER_BODIES: Final = {
    "/api/v1/snapshot-syncs": MAX_UPLOAD_BYTES,
    "/api/v1/migrations": MAX_UPLOAD_BYTES,
    "/api/v1/migrations/": MAX_BODY_BYTES,
    "/api/v1/move-runs": MAX_FILE_BYTES,
    "/api/v1/move-runs/": MAX_BODY_BYTES,
}
"""Bytes that requests below a prefix of a path may carry, where it is more than elsewhere."""


class DescribedApp(FastAPI):
    """An application whose description holds the schema of a problem once, for all responses that are one."""

    def openapi(self) -> dict[str, Any]:
        """Its description."""
        document = super().openapi()
        schemas = document.setdefault("components", {}).setdefault("schemas", {})
        schemas.setdefault(Problem.__name__, Problem.model_json_schema())
        return document


def create_app(
    probe: Probe,
    *,
    inside: RegionInside | None = None,
    admitting: Admission | None = None,
    hosts: AcceptedHosts | None = None,
    larger_bodies: Mapping[str, int] = LARGER_BODIES,
    places: Streams | None = None,
    inquiries: Inquiries | None = None,
) -> FastAPI:
    """Make the application.

    Args:
        probe: The daemon that it looks into.
        inside: The region that it shows and changes; without it, health and status alone.
        admitting: Who may do what; without it nobody has a credential, and probes and status are open.
        hosts: For which hosts requests are taken; for any if not given.
        larger_bodies: Bytes that requests below a prefix of a path may carry, where it is more than elsewhere.
        places: Of streams; so many as is usual if not given.
        inquiries: About clusters; so many at a time as is usual if not given.
    """
    app, shared = _bare(openapi="/openapi.json"), SharedStatus(probe)
    problems.install(app)
    admission.install(app, admitting or Admission())
    app.add_middleware(BodyLimit, larger=larger_bodies)
    app.add_middleware(StatusForgetting, status=shared)
    app.add_middleware(Conventions)
    if hosts is not None:
        app.add_middleware(HostCheck, hosts=hosts)
    app.add_middleware(Turns)
    _include(app, health.router(probe))
    _include(app, status.router(shared))
    if inside is not None:
        for noun in NOUNS:
            _include(app, noun.router(inside))
        asked = inquiries or Inquiries()
        _include(app, clusters.router(inside, asked))
        _include(app, ledger_answers.router(inside, asked))
        _include(app, streams.router(shared, inside, places or Streams()))
    return app


def create_probes_app(probe: Probe) -> FastAPI:
    """Make the application of a listener that is open to everybody: probes, and nothing else, for any host.

    Args:
        probe: The daemon that it looks into.
    """
    app = _bare(openapi=None)
    problems.install(app, elsewhere="Here are /livez, /readyz and /metrics only; the rest is at 'api.listen'.")
    admission.install(app, Admission())
    app.add_middleware(BodyLimit)
    app.add_middleware(Conventions)
    _include(app, health.router(probe))
    return app


def _include(app: FastAPI, router: APIRouter) -> None:
    """Take in the routes as they are: ``include_router`` would make each once more, at the first request."""
    app.router.routes.extend(router.routes)


def _bare(openapi: str | None) -> FastAPI:
    return DescribedApp(
        title="pulsar-syncer",
        version=version(),
        description="Health, metrics and status of one region's daemon, and its operation. Errors are problem "
        "documents (RFC 9457).",
        redirect_slashes=False,  # to wherever the client's own Host header says
        openapi_url=openapi,
        docs_url=None,
        redoc_url=None,
        swagger_ui_oauth2_redirect_url=None,
    )


def openapi_text(app: FastAPI) -> str:
    """The description of the application as it is committed: stable order, without the version of the program."""
    document: dict[str, Any] = app.openapi()
    return json.dumps({**document, "info": {**document["info"], "version": "1"}}, indent=2, sort_keys=True) + "\n"
