"""Errors over HTTP: ``application/problem+json`` (RFC 9457) with our ``code`` and ``hint``, by the table of errors."""

from __future__ import annotations

import http
from typing import Final

import structlog
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import (  # type: ignore[attr-defined]  # what the router raises is not named as exported
    RequestValidationError,
    StarletteHTTPException,
)
from pydantic import BaseModel, ConfigDict, Field

from api.conventions import LIVE, allow, options
from syncer.dispositions import disposition
from syncer.errors import SyncerError
from syncer.terminal import json_text

MEDIA_TYPE: Final = "application/problem+json"

log = structlog.get_logger()


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


def respond(request: Request, *, status: int, code: str, detail: str, hint: str) -> Response:
    """Make the response of an error."""
    problem = Problem(
        type=f"urn:pulsar-syncer:error:{code}",
        title=http.HTTPStatus(status).phrase,
        status=status,
        detail=detail,
        instance=request.url.path,
        code=code,
        hint=hint,
    )
    headers = {"Cache-Control": LIVE}
    if status == http.HTTPStatus.SERVICE_UNAVAILABLE:
        headers["Retry-After"] = "5"
    return Response(
        json_text(problem.model_dump(mode="json")), status_code=status, media_type=MEDIA_TYPE, headers=headers
    )


def install(app: FastAPI) -> None:
    """Have every error of the application leave as a problem."""

    async def ours(request: Request, exc: Exception) -> Response:
        if not isinstance(exc, SyncerError):
            raise exc
        row = disposition(exc)
        getattr(log, row.log_level)("request_failed", path=request.url.path, code=exc.code, cause=exc.message)
        return respond(request, status=row.http_status, code=exc.code, detail=exc.message, hint=exc.hint)

    async def http_error(request: Request, exc: Exception) -> Response:
        if not isinstance(exc, StarletteHTTPException):
            raise exc
        headers = dict(exc.headers or {})
        if exc.status_code == http.HTTPStatus.METHOD_NOT_ALLOWED:
            headers["Allow"] = allow(headers.get("Allow", ""))
            if answer := options(request, headers["Allow"]):
                return answer
        code = http.HTTPStatus(exc.status_code).phrase.lower().replace(" ", "-")
        hint = "See /openapi.json for what there is."
        response = respond(request, status=exc.status_code, code=code, detail=str(exc.detail), hint=hint)
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
