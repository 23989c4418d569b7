"""``/api/v1/holds`` and ``/api/v1/hold-reasons``: what waits for a person, and what they decide."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import Field

from api.admission import Operator, Reader
from api.deciding import DECIDING, AskedChange, AskingHeaders, Because, decide
from api.documents import FINDING, READING, AfterPath, Limit, StorePath, Tenant, document, store_path
from api.inside import RegionInside
from syncer.documents.explain import PathDocument, path_document
from syncer.documents.holds import HoldDetail, HoldList, HoldsOfReason, hold_detail
from syncer.errors import NotFound
from syncer.inspection.pages import hold_list
from syncer.inspection.proposals import DecisionProposal, confirming, held_change, held_changes, rejecting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from syncer.model import MetaPath
    from syncer.operations.decisions import HeldChange
    from syncer.state.views.region import Views


class HoldDecision(Because):
    """What becomes of what is held."""

    decision: Literal["confirm", "reject"] = Field(description="Let it pass, or refuse it.")


def router(inside: RegionInside) -> APIRouter:
    """Make the routes."""
    routes = APIRouter(prefix="/api/v1", tags=["holds"])

    @routes.get("/holds", response_model=HoldList, responses=READING)
    async def holds(
        caller: Reader,
        limit: Limit = 100,
        after: AfterPath = "",
        tenant: Tenant = "",
        reason: Annotated[str, Query(max_length=100, description="Only what is held for this reason.")] = "",
    ) -> Response:
        """What waits for a person, in path order."""
        del caller
        return document(await inside.look(lambda views: hold_list(views, limit, after, tenant=tenant, only=reason)))

    @routes.get("/holds/{path:path}", response_model=HoldDetail, responses=FINDING)
    async def hold(caller: Reader, path: StorePath) -> Response:
        """What is held at a path, and what either decision would lead to. Its ETag is wanted by a decision."""
        del caller
        key = store_path(path)
        held = await inside.look(lambda views: held_change(views, key))
        return document(_detail([held]), etag=confirming([held], key).stamp)

    @routes.post("/holds/{path:path}", responses=DECIDING)
    async def decide_hold(
        caller: Operator,
        request: Request,
        path: StorePath,
        body: HoldDecision,
        wish: Annotated[AskingHeaders, Depends()],
    ) -> Response:
        """Let what is held at a path pass, or refuse it."""
        key = store_path(path)

        def propose(views: Views) -> DecisionProposal:
            return _proposal([held_change(views, key)], key, body)

        decision = AskedChange(
            caller=caller,
            reason=body.reason,
            wish=wish,
            propose=propose,
            now=lambda views: _now(views, key),
        )
        return await decide(inside, request, decision)

    @routes.get("/hold-reasons/{reason}", response_model=HoldsOfReason, responses=FINDING)
    async def hold_reason(caller: Reader, reason: str) -> Response:
        """How much is held for a reason, and what either decision about all of it would lead to; with its ETag."""
        del caller
        held = await inside.look(lambda views: held_changes(views, reason))
        return document(_of_reason(held, reason), etag=confirming(held, reason).stamp)

    @routes.post("/hold-reasons/{reason}", responses=DECIDING)
    async def decide_hold_reason(
        caller: Operator, request: Request, reason: str, body: HoldDecision, wish: Annotated[AskingHeaders, Depends()]
    ) -> Response:
        """Let all pass that is held for a reason, or refuse all of it."""
        decision = AskedChange(
            caller=caller,
            reason=body.reason,
            wish=wish,
            propose=lambda views: _proposal(held_changes(views, reason), reason, body),
            now=lambda views: _of_reason(_still_held(views, reason), reason),
        )
        return await decide(inside, request, decision)

    return routes


def _proposal(held: Sequence[HeldChange], target: str, body: HoldDecision) -> DecisionProposal:
    return confirming(held, target) if body.decision == "confirm" else rejecting(held, target)


def _now(views: Views, path: MetaPath) -> HoldDetail | PathDocument:
    """What is held at a path, or how it is where nothing is held there any more."""
    try:
        return _detail([held_change(views, path)])
    except NotFound:
        register = views.register(path)
        if register is None:
            raise
        return path_document(register)


def _still_held(views: Views, reason: str) -> list[HeldChange]:
    try:
        return held_changes(views, reason)
    except NotFound:
        return []


def _detail(held: Sequence[HeldChange]) -> HoldDetail:
    path = held[0].path
    return hold_detail(held[0], list(confirming(held, path).words), list(rejecting(held, path).words))


def _of_reason(held: Sequence[HeldChange], reason: str) -> HoldsOfReason:
    return HoldsOfReason(
        reason=reason,
        count=len(held),
        confirm=list(confirming(held, reason).words) if held else [],
        reject=list(rejecting(held, reason).words) if held else [],
    )
