"""``/api/v1/move-runs``: plans of moves, tried or carried out by the active daemon, and how they are.

POST …?reason=…                  the plan as body    an operation: what would keep each move back
POST …?reason=…&dry_run=false    the same            an operation: the run has begun
POST …/{number}/stop                                 an operation: it begins nothing more

The plan is sealed: its fingerprint is its own, or it is refused. Unless ``dry_run`` is false nothing is moved.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, Final

import anyio
import anyio.to_thread
from fastapi import APIRouter, Depends, Query, Request, Response

from api.admission import Operator, Reader
from api.deciding import CHANGING, AskedChange, AskingHeaders, Because, Reason, decide
from api.documents import FINDING, READING, Number, document
from api.inside import RegionInside
from api.problems import PROBLEM
from api.uploads import uploaded
from syncer.balancer.running.plan_file import from_text
from syncer.documents.balancing.moves import MoveRunDocument, MoveRunList
from syncer.inspection.move_runs import applying, move_run_list, move_run_status, stopping

if TYPE_CHECKING:
    from syncer.balancer.moving.move_plan import MovePlan

Asking = Annotated[AskingHeaders, Depends()]
Latest = Annotated[int, Query(ge=1, le=1_000, description="So many of the latest.")]
Dry = Annotated[bool, Query(description="Say what would keep each move back; nothing is moved.")]
APPLYING: Final[dict[int | str, dict[str, Any]]] = {
    **CHANGING,
    507: {**PROBLEM, "description": "There is no room to read the plan."},
}
BODY: Final[dict[str, Any]] = {
    "requestBody": {
        "required": True,
        "description": "A plan of moves, as 'syncer balancer advise --save' writes it.",
        "content": {"application/json": {"schema": {"type": "object"}}},
    }
}


def router(inside: RegionInside) -> APIRouter:
    """Make the routes."""
    routes = APIRouter(prefix="/api/v1", tags=["move runs"])
    room = anyio.CapacityLimiter(1)

    @routes.get("/move-runs", response_model=MoveRunList, responses=READING)
    async def runs(caller: Reader, limit: Latest = 20) -> Response:
        """The runs of moves of this region, the latest first."""
        del caller
        return document(await inside.look(lambda views: move_run_list(views, limit)))

    @routes.get("/move-runs/{number}", response_model=MoveRunDocument, responses=FINDING)
    async def run(caller: Reader, number: Number) -> Response:
        """How a run is, each move beside its prediction."""
        del caller
        return document(await inside.look(lambda views: move_run_status(views, number)))

    @routes.post("/move-runs", responses=APPLYING, openapi_extra=BODY)
    async def apply(caller: Operator, request: Request, reason: Reason, wish: Asking, dry_run: Dry = True) -> Response:
        """Have it looked what would keep each move of a plan back, or have the plan carried out."""
        async with room, uploaded(request, inside.config.state.path) as found:
            plan = await anyio.to_thread.run_sync(_read, found.file)
        decision = AskedChange(
            caller=caller,
            reason=reason,
            wish=wish,
            propose=lambda views: applying(views, plan, go=not dry_run),
            content=found.sha256,
        )
        return await decide(inside, request, decision)

    @routes.post("/move-runs/{number}/stop", responses=CHANGING)
    async def stop(caller: Operator, request: Request, number: Number, body: Because, wish: Asking) -> Response:
        """Begin nothing more, put Pulsar's settings back, and end."""
        decision = AskedChange(
            caller=caller, reason=body.reason, wish=wish, propose=lambda views: stopping(views, number)
        )
        return await decide(inside, request, decision)

    return routes


def _read(file: BinaryIO) -> MovePlan:
    file.seek(0)
    return from_text(file.read())
