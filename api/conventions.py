"""Conventions of HTTP for every server: HEAD where there is GET, an answer to OPTIONS, whole URLs, caching, queries."""

from __future__ import annotations

import http
import re
from collections import Counter
from collections.abc import Iterator
from typing import Final, get_origin
from urllib.parse import unquote

from fastapi import Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from syncer.errors import RequestInvalid

LIVE: Final = "no-store"
"""Answers tell of now; so do refusals."""
STATIC: Final = {"/openapi.json": "public, max-age=300"}
"""What changes with the version of the program only."""

MAX_NAMED: Final = 5
"""Parameters that a refusal names, by so many signs of each at most."""
MAX_NAME: Final = 50

HEAD_ONLY: Final = "head_only"
"""Key in the state of a request: nobody wants the body of its answer."""
ALL: Final = "GET, HEAD, OPTIONS"
_WHOLE: Final = re.compile(rb"https?://[^/?#]*(/.*)?", re.IGNORECASE)


class Conventions:
    """Answers HEAD as GET without the body, and says of every answer how long it may be kept.

    A request for a whole URL, as to a proxy, is one for its path; OPTIONS for ``*`` asks about the server.

    Args:
        app: Whose routes know GET.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        target = scope.get("raw_path") or b""
        if scope["method"] == "OPTIONS" and target == b"*":
            await Response(status_code=http.HTTPStatus.NO_CONTENT, headers={"Allow": ALL})(scope, receive, send)
            return
        if whole := _WHOLE.fullmatch(target):
            path = whole[1] or b"/"
            scope = {**scope, "raw_path": path, "path": unquote(path.decode("ascii", "replace"))}
        head = scope["method"] == "HEAD"

        async def told(message: Message) -> None:
            if message["type"] == "http.response.start":
                kept = STATIC.get(scope["path"], LIVE) if message["status"] == http.HTTPStatus.OK else LIVE
                MutableHeaders(scope=message).setdefault("Cache-Control", kept)
            elif head and message["type"] == "http.response.body":
                message = {**message, "body": b""}
            await send(message)

        if head:
            scope = {**scope, "method": "GET", "state": {**scope.get("state", {}), HEAD_ONLY: True}}
        await self._app(scope, receive, told)


def options(request: Request, allowed: str) -> Response | None:
    """The answer to OPTIONS for a path that exists; ``None`` for another method.

    Args:
        request: One whose method its path does not have.
        allowed: What its path has, as of :func:`allow`.
    """
    if request.method != "OPTIONS":
        return None
    return Response(status_code=http.HTTPStatus.NO_CONTENT, headers={"Allow": allowed})


def allow(methods: str) -> str:
    """The methods of a path, given those of its route: HEAD goes with GET, and OPTIONS with all."""
    own = {each.strip() for each in methods.split(",") if each.strip()}
    return ", ".join(sorted(own | {"OPTIONS"} | ({"HEAD"} if "GET" in own else set())))


NUL: Final = "\0"
"""No name of the product has it, and PostgreSQL stores no text with it."""


def check_query(request: Request) -> None:
    """Refuse parameters that the route does not have, and those that are given twice, unless it takes several.

    A filter that is misspelt, and passed by, would show more than was asked for. A NUL is refused in every parameter,
    of the path too.

    Raises:
        RequestInvalid: There are such; it names them.
    """
    texts = (
        *map(str, request.path_params.values()),
        *(text for pair in request.query_params.multi_items() for text in pair),
    )
    if any(NUL in text for text in texts):
        raise RequestInvalid("a parameter holds a NUL", hint="Leave %00 out: no name has it.")
    given = Counter(name for name, _ in request.query_params.multi_items())
    route = request.scope.get("route")
    if not given or not isinstance(route, APIRoute):
        return
    known = dict(parameters(route.dependant))
    unknown = [name for name in given if name not in known]
    twice = [name for name in given if given[name] > 1 and not known.get(name)]
    if unknown:
        takes = f"this takes {', '.join(sorted(known))}" if known else "this takes none"
        raise RequestInvalid(f"no such query parameter: {_named(unknown)}; {takes}")
    if twice:
        raise RequestInvalid(f"given more than once: {_named(twice)}", hint="Give each query parameter once.")


def parameters(dependant: Dependant) -> Iterator[tuple[str, bool]]:
    """Names of the query parameters of a route, by what it depends on; whether it takes several of each."""
    for each in dependant.query_params:
        yield each.alias, get_origin(each.field_info.annotation) in {list, tuple}
    for other in dependant.dependencies:
        yield from parameters(other)


def _named(names: list[str]) -> str:
    shown = ", ".join(repr(each[:MAX_NAME]) for each in names[:MAX_NAMED])
    return shown if len(names) <= MAX_NAMED else f"{shown} and {len(names) - MAX_NAMED} more"
