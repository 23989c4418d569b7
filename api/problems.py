"""Errors over HTTP: ``application/problem+json`` (RFC 9457) with our ``code`` and ``hint``, by the table of errors."""

from __future__ import annotations

import http
from collections.abc import Mapping
from typing import Any, Final

import structlog
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import (  # type: ignore[attr-defined]  # what the router raises is not named as exported
    RequestValidationError,
    StarletteHTTPException,
)
from pydantic import BaseModel, ConfigDict, Field

from api.conventions import LIVE, allow, options
from syncer.dispositions import disposition
from syncer.errors import StateError, SyncerError, TooManyFailures
from syncer.terminal import json_text

MEDIA_TYPE: Final = "application/problem+json"

AWAY: Final = "the sidecar database cannot be used now; the daemon's log says why"

log = structlog.get_logger()


PROBLEM: Final[dict[str, Any]] = {"content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}}
"""Of a response, for its description."""


class Problem(BaseModel):
    """An error, for programs (``code``) and for people (``detail``, ``hint``)."""

    model_config = ConfigDict(frozen=True)

    type: str = Field(description="Names the kind of error; ends with its code.")
    title: str
    status: int
    detail: str
    instance: str = Field(description="Path of the request.")
    code: str = Field(description="Stable, kebab-case.")
    hint: str = Field(description="What to do next.")
    now: dict[str, Any] | None = Field(
        default=None, description="What is there now, where something else was looked at."
    )
    operations: list[dict[str, Any]] | None = Field(
        default=None, description="What was asked for, where some of it failed."
    )


def respond(
    request: Request,
    *,
    status: int,
    code: str,
    detail: str,
    hint: str,
    retry_after_s: int = 5,
    more: Mapping[str, Any] | None = None,
) -> Response:
    """Make the response of an error.

    Args:
        request: What was asked.
        status: Of HTTP.
        code: Of the error.
        detail: What is wrong.
        hint: What to do next.
        retry_after_s: Told where a repeat can help.
        more: Further members of the problem.
    """
    problem = Problem(
        type=f"urn:pulsar-syncer:error:{code}",
        title=http.HTTPStatus(status).phrase,
        status=status,
        detail=detail,
        instance=request.url.path,
        code=code,
        hint=hint,
        **(more or {}),
    )
    headers = {"Cache-Control": LIVE}
    if status in {http.HTTPStatus.SERVICE_UNAVAILABLE, http.HTTPStatus.TOO_MANY_REQUESTS}:
        headers["Retry-After"] = str(retry_after_s)
    if status == http.HTTPStatus.UNAUTHORIZED:
        headers["WWW-Authenticate"] = "Bearer"
    return Response(
        json_text(problem.model_dump(mode="json", exclude_none=True)),
        status_code=status,
        media_type=MEDIA_TYPE,
        headers=headers,
    )


def of_error(request: Request, error: SyncerError) -> Response:
    """Make the response of one of our errors, and leave a line in the log.

    What is wrong with the sidecar database names files and addresses of the daemon's host: that is for its log alone.
    """
    row = disposition(error)
    getattr(log, row.log_level)("request_failed", path=request.url.path, code=error.code, cause=error.message)
    retry_after_s = error.retry_after_s if isinstance(error, TooManyFailures) else 5
    return respond(
        request,
        status=row.http_status,
        code=error.code,
        detail=AWAY if isinstance(error, StateError) else error.message,
        hint=type(error).default_hint if isinstance(error, StateError) else error.hint,
        retry_after_s=retry_after_s,
    )


def install(app: FastAPI, elsewhere: str = "See /openapi.json for what there is.") -> None:
    """Have every error of the application leave as a problem.

    Args:
        app: The application.
        elsewhere: Hint of an error of HTTP itself, such as a path that does not exist.
    """

    async def ours(request: Request, exc: Exception) -> Response:
        if not isinstance(exc, SyncerError):
            raise exc
        return of_error(request, exc)

    async def http_error(request: Request, exc: Exception) -> Response:
        if not isinstance(exc, StarletteHTTPException):
            raise exc
        headers = dict(exc.headers or {})
        if exc.status_code == http.HTTPStatus.METHOD_NOT_ALLOWED:
            headers["Allow"] = allow(headers.get("Allow", ""))
            if answer := options(request, headers["Allow"]):
                return answer
        code = http.HTTPStatus(exc.status_code).phrase.lower().replace(" ", "-")
        response = respond(request, status=exc.status_code, code=code, detail=str(exc.detail), hint=elsewhere)
        response.headers.update(headers)
        return response

    async def invalid(request: Request, exc: Exception) -> Response:
        if not isinstance(exc, RequestValidationError):
            raise exc
        detail = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in exc.errors())
        hint = "See /openapi.json for what is accepted."
        return respond(request, status=422, code="request-invalid", detail=detail, hint=hint)

    async def bug(request: Request, exc: Exception) -> Response:
        log.error("request_broke", path=request.url.path, exc_info=exc)
        hint = "This is a bug: keep the log, and report it."
        return respond(request, status=500, code="internal-error", detail="the request broke the server", hint=hint)

    app.add_exception_handler(SyncerError, ours)
    app.add_exception_handler(StarletteHTTPException, http_error)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(Exception, bug)
