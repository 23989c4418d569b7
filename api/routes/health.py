"""``/livez``, ``/readyz`` and ``/metrics``: what supervisors and scrapers ask."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import APIRouter, Depends, Header, Query, Response
from prometheus_client.exposition import choose_encoder
from pydantic import BaseModel, ConfigDict, Field

from api.admission import REFUSALS, Opening, needs
from api.probe import Probe
from syncer.access.roles import AccessRole
from syncer.inspection.host_places import beyond

STALLED_AFTER_S: Final = 30.0
"""A main loop that did not turn for so long is taken as hanging: the supervisor should start the daemon again."""


class Liveness(BaseModel):
    """Whether the main loop turns. Nothing remote counts: a restart would not bring it back."""

    model_config = ConfigDict(frozen=True)

    alive: bool
    heartbeat_age_s: float = Field(description="Seconds since the main loop last turned.")


class DependencyState(BaseModel):
    """One dependency."""

    model_config = ConfigDict(frozen=True)

    name: str
    ok: bool
    cause: str


class Readiness(BaseModel):
    """Whether the daemon can do its work now."""

    model_config = ConfigDict(frozen=True)

    ready: bool
    dependencies: list[DependencyState] = Field(description="With ?verbose; otherwise those that are missing.")


def router(probe: Probe) -> APIRouter:
    """Make the routes."""
    routes = APIRouter(tags=["health"])
    reader = needs(AccessRole.READ, opening=Opening.PROBES)

    @routes.get("/livez", responses={503: {"model": Liveness, "description": "The main loop hangs."}})
    async def livez(response: Response) -> Liveness:
        """Whether the process should live on."""
        age = probe.heartbeat_age_s()
        alive = age < STALLED_AFTER_S
        response.status_code = 200 if alive else 503
        return Liveness(alive=alive, heartbeat_age_s=round(age, 3))

    @routes.get(
        "/readyz",
        responses={**REFUSALS, 503: {"model": Readiness, "description": "Something is missing."}},
        dependencies=[Depends(reader)],
    )
    async def readyz(
        response: Response,
        verbose: Annotated[str | None, Query(description="Present: list every dependency.")] = None,
    ) -> Readiness:
        """Whether the daemon has all that it needs."""
        states = [
            DependencyState(name=each.name, ok=each.ok, cause=beyond(each.cause)) for each in probe.dependencies()
        ]
        missing = [each for each in states if not each.ok]
        response.status_code = 503 if missing else 200
        return Readiness(ready=not missing, dependencies=missing if verbose is None else states)

    @routes.get(
        "/metrics",
        response_class=Response,
        responses={**REFUSALS, 200: {"content": {"application/openmetrics-text": {}, "text/plain": {}}}},
        dependencies=[Depends(reader)],
    )
    async def metrics(accept: Annotated[str, Header()] = "") -> Response:
        """Metrics, as OpenMetrics where the scraper takes it."""
        encode, content_type = choose_encoder(accept)
        return Response(encode(probe.registry), headers={"Content-Type": content_type})

    return routes
