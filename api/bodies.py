"""Bounds of what a request may carry: so many bytes for a kind of route, counted as they come."""

from __future__ import annotations

import http
from collections.abc import Mapping
from typing import Final

from fastapi import Request
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.problems import of_error
from syncer.errors import BodyTooLarge

MAX_BODY_BYTES: Final = 1 << 20
"""Of a request to a route that says nothing else."""


class BodyLimit:
    """Refuses bodies that are too large: at once where the request says so, else as soon as they are.

    Args:
        app: What takes the others.
        larger: Bytes that the routes below a prefix of a path take; the longest prefix counts.
    """

    def __init__(self, app: ASGIApp, larger: Mapping[str, int] | None = None) -> None:
        self._app = app
        self._larger = sorted((larger or {}).items(), key=lambda each: -len(each[0]))

    def most(self, path: str) -> int:
        """Bytes that a path takes."""
        return next((most for prefix, most in self._larger if path.startswith(prefix)), MAX_BODY_BYTES)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        most = self.most(scope["path"])
        if _declared(scope) > most:
            await _refuse(scope, receive, send, most)
            return
        got, begun, beyond = 0, False, False

        async def counted() -> Message:
            nonlocal got, beyond
            message = await receive()
            got += len(message.get("body", b""))
            if got > most:
                beyond = True
                raise HTTPException(http.HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
            return message

        async def told(message: Message) -> None:
            nonlocal begun
            if beyond and not begun:
                return  # the route's own words for it
            begun = True
            await send(message)

        try:
            await self._app(scope, counted, told)
        except HTTPException:
            if not beyond:
                raise
        if beyond and not begun:
            await _refuse(scope, receive, send, most)


def _declared(scope: Scope) -> int:
    """Bytes of the body, as the request says beforehand; zero: it does not say."""
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit():
            return int(value[:20])
    return 0


async def _refuse(scope: Scope, receive: Receive, send: Send, most: int) -> None:
    response = of_error(Request(scope), BodyTooLarge(f"the body of a request to this path has at most {most} bytes"))
    response.headers["Connection"] = "close"  # what is left of the body is not read
    await response(scope, receive, send)
