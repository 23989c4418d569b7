"""Changes as they are asked for over HTTP: by what was looked at, once for each key, waited for as preferred.

    Idempotency-Key   repeated within 24 h: the operations of the first request, whatever has changed since
    If-Match          the ETag of what was looked at; 428 without, 412 with what is there now where it differs
    Prefer: wait=N    wait so many seconds, 60 at most, for the daemon's answers

The answer is 202 while an operation waits for the daemon, with its Location; 200 once all are done; a problem by the
code of the first that failed. What was answered 202 is a row in the sidecar database: no restart, and no switch of the
active daemon, loses it.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final

import anyio
from fastapi import Header, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field, model_validator

from api.connections import allow_time
from api.conventions import NUL
from api.documents import FINDING, document
from api.inside import RegionInside
from api.problems import PROBLEM, respond
from syncer.dispositions import disposition_of_code
from syncer.documents.operations import OperationList, operation_document
from syncer.errors import NotFound, PreconditionFailed, PreconditionRequired, RequestInvalid, SyncerError
from syncer.state.contract.operations import Asked, OperationState

if TYPE_CHECKING:
    from syncer.access.roles import Caller
    from syncer.inspection.proposals import DecisionProposal
    from syncer.state.contract.operations import Operation
    from syncer.state.views.region import Views

MAX_WAIT_S: Final = 60.0
POLL_S: Final = 0.1
API: Final = "/api/v1"
_KEY: Final = re.compile(r"[\x21-\x7e]{1,200}")
_WAIT: Final = re.compile(r"(?:^|[,;])\s*wait\s*=\s*\"?(\d{1,6})\"?\s*(?:$|[,;])", re.IGNORECASE)
_TAG: Final = re.compile(r'(?:W/)?"([^"]*)"')

CHANGING: Final[dict[int | str, dict[str, Any]]] = {
    **FINDING,
    200: {"model": OperationList, "description": "The daemon has done all of it."},
    202: {"model": OperationList, "description": "It waits for the daemon: see Location."},
    400: {**PROBLEM, "description": "The body is no JSON."},
    409: {**PROBLEM, "description": "It cannot be done in this state."},
    412: {**PROBLEM, "description": "A condition for it does not hold."},
    413: {**PROBLEM, "description": "The body is larger than any that is accepted."},
}
DECIDING: Final[dict[int | str, dict[str, Any]]] = {
    **CHANGING,
    412: {**PROBLEM, "description": "It is not what was looked at: 'now' is what is there."},
    428: {**PROBLEM, "description": "If-Match is wanted: the ETag of what was looked at."},
}


class Because(BaseModel):
    """Why somebody asks for a change; kept in the audit trail."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    reason: str = Field(min_length=1, max_length=2_000, description="Why; kept in the audit trail.")

    @model_validator(mode="before")
    @classmethod
    def _no_nul(cls, body: object) -> object:
        """Refuse a NUL in any text: no name has it, and PostgreSQL stores no text with it."""
        if _holds_nul(body):
            raise ValueError("a text holds a NUL")
        return body


def _holds_nul(body: object) -> bool:
    """Return whether a text of a JSON document has a NUL, however deep the document is."""
    waiting = [body]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            waiting += (*each, *each.values())
        elif isinstance(each, list):
            waiting += each
        elif isinstance(each, str) and NUL in each:
            return True
    return False


Reason = Annotated[str, Query(min_length=1, max_length=2_000, description="Why; kept in the audit trail.")]
"""Why somebody ends what has begun: a DELETE has no body."""


@dataclass(frozen=True, slots=True)
class AskingHeaders:
    """What the headers of a request say about how its change is asked for."""

    key: Annotated[str | None, Header(alias="Idempotency-Key", description="Of this request; repeat it unchanged.")] = (
        None
    )
    match: Annotated[str | None, Header(alias="If-Match", description="ETag of what was looked at.")] = None
    prefer: Annotated[str, Header(alias="Prefer", description="wait=N: wait so many seconds for the answer.")] = ""

    @property
    def wait_s(self) -> float:
        """How long the daemon's answers are waited for."""
        found = _WAIT.search(self.prefer)
        return min(float(found[1]), MAX_WAIT_S) if found else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedChange:
    """A change that somebody asks for.

    Args:
        caller: Who.
        reason: Why.
        wish: How.
        propose: Looks up what would be asked for, as things are now.
        now: What is there now, for who has looked at something else; ``None``: nothing need have been looked at. It
            raises ``NotFound`` where nothing of that name was ever there.
        stamp: Of what was to be looked at; ``None``: the proposal's own.
        leave: Leaves the requests, where something is to be brought along with them; the operations' numbers.
        content: What tells bodies apart, where the body was read already.
    """

    caller: Caller
    reason: str
    wish: AskingHeaders
    propose: Callable[[Views], DecisionProposal]
    now: Callable[[Views], BaseModel] | None = None
    stamp: Callable[[Views], str] | None = None
    leave: Callable[[Views, Asked], list[int]] | None = None
    content: str | None = None

    @classmethod
    def of(cls, caller: Caller, reason: str, wish: AskingHeaders, proposal: DecisionProposal) -> AskedChange:
        """A change for which nothing is looked up."""
        return cls(caller=caller, reason=reason, wish=wish, propose=lambda _: proposal)


class _Changed(Exception):
    def __init__(self, detail: str, now: BaseModel, etag: str | None) -> None:
        super().__init__()
        self.detail, self.now, self.etag = detail, now, etag


async def decide(inside: RegionInside, request: Request, decision: AskedChange) -> Response:
    """Ask the daemon for a change, as the module says.

    Raises:
        PreconditionRequired: It was not said what was looked at.
        RequestInvalid: A header cannot be understood.
        RequestKeyReused: The key stands for another request.
        SyncerError: What looking it up raises.
    """
    asked = await _asked(request, decision)
    try:
        numbers = await inside.look(lambda views: _once(views, decision, asked))
    except _Changed as exc:
        return _changed(request, exc)
    return await answer(inside, request, numbers, decision.wish.wait_s, decision.now)


async def answer(
    inside: RegionInside,
    request: Request,
    numbers: Sequence[int],
    wait_s: float,
    now: Callable[[Views], BaseModel] | None = None,
) -> Response:
    """Wait for the answers of operations, and tell how they are; with what is there now, where another one came first.

    Args:
        inside: The region.
        request: Which asks.
        numbers: Of the operations.
        wait_s: How long they are waited for.
        now: What is there now of what they are about.
    """
    deadline = time.monotonic() + wait_s
    allow_time(request.scope, wait_s)
    while True:
        found = await inside.look(lambda views: [each for each in map(views.operation, numbers) if each is not None])
        pending = any(each.state is OperationState.PENDING for each in found)
        if not pending or time.monotonic() >= deadline:
            break
        await anyio.sleep(POLL_S)
    listed = OperationList(items=[operation_document(each) for each in found])
    failed = next((each for each in found if each.state is OperationState.FAILED), None)
    if pending:
        response = document(listed, headers={"Location": f"{API}/operations/{numbers[0]}"})
        response.status_code = 202
        return response
    if failed is None:
        return document(listed)
    late = now is not None and failed.code == PreconditionFailed.code
    return _failed(request, failed, listed, await inside.look(now) if late and now is not None else None)


def _once(views: Views, decision: AskedChange, asked: Asked) -> list[int]:
    """Ask; where it cannot be asked any more because it was, under the same key and meanwhile, so be it."""
    try:
        return _ask(views, decision, asked)
    except (_Changed, SyncerError):
        if before := views.asked_before(asked):
            return before
        raise


def _ask(views: Views, decision: AskedChange, asked: Asked) -> list[int]:
    if before := views.asked_before(asked):
        return before
    if decision.now is not None and decision.wish.match is None:
        raise PreconditionRequired("a decision names what was looked at: If-Match is missing")
    try:
        proposal = decision.propose(views)
    except NotFound as exc:
        if decision.now is None:
            raise
        raise _Changed(exc.message, decision.now(views), None) from exc
    if decision.now is not None:
        stamp = proposal.stamp if decision.stamp is None else decision.stamp(views)
        if stamp not in _TAG.findall(decision.wish.match or ""):
            raise _Changed("it is not as it was when it was looked at", decision.now(views), stamp)
    if decision.leave is not None:
        return decision.leave(views, asked)
    return views.ask_all(proposal.requests, asked)


async def _asked(request: Request, decision: AskedChange) -> Asked:
    key = decision.wish.key
    if key is not None and not _KEY.fullmatch(key):
        raise RequestInvalid(
            "Idempotency-Key is empty, too long or holds other signs than printable ASCII",
            hint="Make it a random UUID, new for each request.",
        )
    caller, said = decision.caller, hashlib.sha256()
    for part in (request.method, str(request.url.path), request.url.query, decision.wish.match or ""):
        said.update(part.encode())
        said.update(b"\n")
    said.update(await request.body() if decision.content is None else decision.content.encode())
    return Asked(
        by=caller.name,
        reason=decision.reason,
        origin=caller.origin,
        credential=caller.credential,
        key=key,
        fingerprint=said.hexdigest() if key is not None else "",
    )


def _changed(request: Request, changed: _Changed) -> Response:
    response = respond(
        request,
        status=412,
        code=PreconditionFailed.code,
        detail=changed.detail,
        hint="Look at 'now'; what is still to be decided wants the ETag that it has now as If-Match.",
        more={"now": changed.now.model_dump(mode="json")},
    )
    if changed.etag is not None:
        response.headers["ETag"] = f'"{changed.etag}"'
    return response


def _failed(request: Request, failed: Operation, listed: OperationList, now: BaseModel | None) -> Response:
    row = disposition_of_code(failed.code)
    there = {"now": now.model_dump(mode="json")} if now is not None else {}
    return respond(
        request,
        status=row.http_status,
        code=failed.code or "error",
        detail=failed.answer,
        hint=f"See {API}/operations/{failed.id}; nothing of it was changed.",
        more={"operations": listed.model_dump(mode="json")["items"], **there},
    )
