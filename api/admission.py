"""Admission to a route: who asks and whether they may, before the route does anything.

    @routes.post("/holds/{id}/release")
    async def release(caller: Annotated[Caller, Depends(needs(AccessRole.OPERATE))]) -> …

A route that shows stored values or payloads asks for ``needs(AccessRole.READ, values=True)``. There are no rights by
tenant or namespace. A request from a browser carries nothing that opens a route: no cookie is set or read, and no other
origin is given leave (CORS).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any, Final

from fastapi import Depends, FastAPI, Request, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from api.connections import CLIENT_SUBJECT
from api.conventions import check_query
from api.problems import PROBLEM
from syncer.access.exposure import Exposure
from syncer.access.gate import Gate
from syncer.access.roles import AccessRole, Caller
from syncer.errors import Forbidden, TooManyFailures, Unauthorized

OPEN: Final = Exposure(probes_open=True, status_open=True)
ANYBODY: Final = "anybody"
"""Name and credential of a caller of what is open."""

REFUSALS: Final[dict[int | str, dict[str, Any]]] = {
    401: {**PROBLEM, "description": "No credential, or none that is known."},
    403: {**PROBLEM, "description": "The role may not do this."},
    429: {**PROBLEM, "description": "Too many requests from there without a good credential."},
    503: {**PROBLEM, "description": "Not now."},
}
"""Answers of a route that asks for a role, for its description."""

_BEARER: Final = HTTPBearer(
    scheme_name="token", description="A token of 'syncer api token create', or a client certificate.", auto_error=False
)


class Opening(StrEnum):
    """What may be open to everybody, by where the daemon listens and what protects it."""

    PROBES = "probes"
    STATUS = "status"


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedAttempt:
    """A request that was refused for want of rights, for the audit trail; it holds no secret.

    Args:
        method: Of the request.
        route: Template of its path, such as ``/api/v1/holds/{id}``.
        address: Where it came from.
        credential: As :class:`Caller` has it, where its secret was right; else empty.
        code: Of the error: ``unauthorized`` or ``forbidden``.
    """

    method: str
    route: str
    address: str
    credential: str
    code: str


def _told_nobody(_: RefusedAttempt) -> None:
    """No trail is kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """Who is let in.

    Args:
        gate: Knows callers by their credentials; ``None``: nobody has any.
        exposure: What is open to everybody.
        refused: Told each attempt that is refused with 401 or 403, in the event loop: it must not wait. Failures
            beyond an address's allowance are refused with 429 and told nobody, so a stranger cannot fill a trail.
        refusals: Counts each refused attempt by its code, those beyond an address's allowance too.
        clock: The present.
    """

    gate: Gate | None = None
    exposure: Exposure = OPEN
    refused: Callable[[RefusedAttempt], None] = _told_nobody
    refusals: Counter[str] = field(default_factory=Counter)
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)

    def opens(self, opening: Opening | None) -> bool:
        """Whether everybody may do what is opened so."""
        match opening:
            case Opening.PROBES:
                return self.exposure.probes_open
            case Opening.STATUS:
                return self.exposure.status_open
            case None:
                return False

    def admit(self, request: Request, role: AccessRole, *, values: bool) -> Caller:
        """Find who asks, and whether they may.

        Raises:
            AccessError: They may not; the trail was told.
        """
        credential = ""
        try:
            caller = self._gate().admit(*_shown(request), self.clock())
            credential = caller.credential
            _check(caller, role, values=values)
        except TooManyFailures as exc:
            self.refusals[exc.code] += 1
            raise
        except (Unauthorized, Forbidden) as exc:
            self.refusals[exc.code] += 1
            if isinstance(exc, Unauthorized):
                credential = exc.credential
            self.refused(
                RefusedAttempt(
                    method=request.method,
                    route=route_of(request),
                    address=address_of(request),
                    credential=credential,
                    code=exc.code,
                )
            )
            raise
        return caller

    def recheck(self, request: Request, role: AccessRole, *, opening: Opening | None = None) -> None:
        """Find out whether who was let in would be now. It is no attempt: no failure is counted, and no trail told.

        Raises:
            AccessError: They would not.
        """
        if not self.opens(opening):
            _check(self._gate().known(*_shown(request), self.clock()), role, values=False)

    def _gate(self) -> Gate:
        if self.gate is None:
            raise Unauthorized(
                "this daemon has given rights to nobody yet",
                hint="Name a file as 'api.tokens', and make a token: 'syncer api token create NAME --role ROLE'.",
            )
        return self.gate


def _shown(request: Request) -> tuple[str | None, str | None, str]:
    """What a request shows of who it is from: a header, the subject of a certificate, an address."""
    subject = request.scope.get("state", {}).get(CLIENT_SUBJECT)
    return request.headers.get("authorization"), subject, address_of(request)


def _check(caller: Caller, role: AccessRole, *, values: bool) -> None:
    """Refuse who is known, and may not do it."""
    if not caller.role.covers(role):
        raise Forbidden(f"this needs the role '{role}', and {caller.name!r} has '{caller.role}'")
    if values and not caller.values:
        raise Forbidden(
            f"this shows stored values, for which {caller.name!r} has no right",
            hint="Use a token that 'syncer api token create --values' has made.",
        )


def install(app: FastAPI, admission: Admission) -> None:
    """Have the routes of an application ask this one."""
    app.state.admission = admission


def needs(
    role: AccessRole, *, values: bool = False, opening: Opening | None = None
) -> Callable[..., Awaitable[Caller]]:
    """A dependency of a route that gives the caller, or refuses them; then, or else, what the route does not take.

    Args:
        role: Least role that the route is for.
        values: It shows stored values or payloads.
        opening: As what it may be open to everybody; the caller is then :data:`ANYBODY`, with the role ``read``.
    """

    async def admitted(request: Request) -> Caller:
        admission: Admission = request.app.state.admission
        if admission.opens(opening):
            caller = Caller(
                name=ANYBODY, role=AccessRole.READ, values=False, credential=ANYBODY, origin=address_of(request)
            )
        else:
            caller = admission.admit(request, role, values=values)
        if opening is not Opening.PROBES:  # scrapers and balancers say what they like
            check_query(request)
        return caller

    if opening is not None:
        return admitted  # a description has no words for what a credential may be wanted for, or not

    shown = Security(_BEARER, scopes=[role.value, *(["values"] if values else [])])  # in the description: who may

    async def described(request: Request, _token: HTTPAuthorizationCredentials | None = shown) -> Caller:
        return await admitted(request)

    return described


def address_of(request: Request) -> str:
    """Where a request came from: the other end of its connection, whatever a header says; empty: not known."""
    return request.client.host if request.client is not None else ""


def route_of(request: Request) -> str:
    """Template of the path that was asked for: bounded in number, and free of what a stranger writes."""
    return str(getattr(request.scope.get("route"), "path", ""))


Reader = Annotated[Caller, Depends(needs(AccessRole.READ))]
"""Of a route that shows no values."""
Seer = Annotated[Caller, Depends(needs(AccessRole.READ, values=True))]
"""Of a route that shows stored values."""
Operator = Annotated[Caller, Depends(needs(AccessRole.OPERATE))]
Admin = Annotated[Caller, Depends(needs(AccessRole.ADMIN))]
