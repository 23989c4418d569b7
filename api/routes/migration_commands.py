"""``/api/v1/migrations/{number}/…``: a migration is steered by what was looked at; for good by admins alone."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from api.admission import Admin, Operator
from api.deciding import CHANGING, DECIDING, AskedChange, AskingHeaders, Because, decide
from api.documents import Number
from api.inside import RegionInside
from syncer.access.roles import Caller
from syncer.inspection.migration_control import commanding, foreseeing, stamp_of
from syncer.inspection.migrations import migration_status
from syncer.migration.course import MigrationCommand

Asking = Annotated[AskingHeaders, Depends()]


def router(inside: RegionInside) -> APIRouter:
    """Make the routes."""
    routes = APIRouter(prefix="/api/v1", tags=["migrations"])

    async def commanded(
        asking: tuple[Caller, Request, AskingHeaders], number: int, body: Because, command: MigrationCommand
    ) -> Response:
        caller, request, wish = asking
        decision = AskedChange(
            caller=caller,
            reason=body.reason,
            wish=wish,
            propose=lambda views: commanding(views, command, number),
            now=None if command is MigrationCommand.PAUSE else lambda views: migration_status(views, number),
            stamp=lambda views: stamp_of(migration_status(views, number)),
        )
        return await decide(inside, request, decision)

    @routes.post("/migrations/{number}/go", responses=DECIDING)
    async def go(caller: Admin, request: Request, number: Number, body: Because, wish: Asking) -> Response:
        """Let the step go that waits; clients that it moves come back only by a migration the other way."""
        return await commanded((caller, request, wish), number, body, MigrationCommand.GO)

    @routes.post("/migrations/{number}/auto", responses=DECIDING)
    async def auto(caller: Admin, request: Request, number: Number, body: Because, wish: Asking) -> Response:
        """The same, and all that follow, as long as the bounds of the plan hold."""
        return await commanded((caller, request, wish), number, body, MigrationCommand.AUTO)

    @routes.post("/migrations/{number}/pause", responses=CHANGING)
    async def pause(caller: Operator, request: Request, number: Number, body: Because, wish: Asking) -> Response:
        """Begin nothing new; what was begun of a wave is finished first."""
        return await commanded((caller, request, wish), number, body, MigrationCommand.PAUSE)

    @routes.post("/migrations/{number}/resume", responses=DECIDING)
    async def resume(caller: Operator, request: Request, number: Number, body: Because, wish: Asking) -> Response:
        """Go on where it has stopped, and accept in this step what it has stopped for."""
        return await commanded((caller, request, wish), number, body, MigrationCommand.RESUME)

    @routes.post("/migrations/{number}/abort", responses=DECIDING)
    async def abort(caller: Operator, request: Request, number: Number, body: Because, wish: Asking) -> Response:
        """End it before anything was marked: blue is as it was; what green was given stays there."""
        return await commanded((caller, request, wish), number, body, MigrationCommand.ABORT)

    @routes.post("/migrations/{number}/undoable", responses=CHANGING)
    async def undoable(caller: Operator, request: Request, number: Number, body: Because, wish: Asking) -> Response:
        """Ask the clusters what a rollback could take back; the migration shows it from then on."""
        decision = AskedChange(
            caller=caller, reason=body.reason, wish=wish, propose=lambda views: foreseeing(views, number)
        )
        return await decide(inside, request, decision)

    @routes.post("/migrations/{number}/rollback", responses=DECIDING)
    async def rollback(caller: Admin, request: Request, number: Number, body: Because, wish: Asking) -> Response:
        """Take back what can be taken back, and end."""
        return await commanded((caller, request, wish), number, body, MigrationCommand.ROLLBACK)

    @routes.post("/migrations/{number}/close", responses=DECIDING)
    async def close(caller: Admin, request: Request, number: Number, body: Because, wish: Asking) -> Response:
        """End it once the soak is over. There is no rollback afterwards."""
        return await commanded((caller, request, wish), number, body, MigrationCommand.CLOSE)

    return routes
