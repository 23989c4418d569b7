"""HTTP transport of the client: one request at a time, bounded in time and bytes, of which nothing is followed.

A redirect is no answer: it would take the token to where nobody has said it may go. The proxies of the environment are
not used. What the token is, no message says.

Units: seconds, bytes.
"""

from __future__ import annotations

import re
from typing import Final

import anyio
import httpx2
import orjson

from syncer.client.contract import ApiReply, ApiRequest
from syncer.client.reading import error_in
from syncer.client.server import Server
from syncer.connecting.causes import ENDED, why_not
from syncer.errors import AnswerInvalid, ServerUnreachable
from syncer.version import version

MAX_ANSWER_BYTES: Final = 64 << 20
"""Of an answer: the largest list has some megabytes."""
TIMEOUT_S: Final = 20.0
RESTS: Final = 2
"""Between readings of ledgers; the daemon takes them beside the time that it is asked to wait."""
APART_S: Final = 10.0
"""Each rest takes so long where nobody says how long."""
CONNECT_S: Final = 10.0
SLOWEST_BYTES_PER_S: Final = 1 << 20
"""A file that is sent may take so long."""
_WAIT: Final = re.compile(r"wait=(\d{1,4})\Z")
_FIRST_ERROR: Final = 400
_REDIRECTS: Final = range(300, 400)


class HttpTransport:
    """Carries requests to a daemon, each by a connection of its own.

    Args:
        server: The daemon's REST API.
        timeout_s: For a whole request, beside the time that the daemon is asked to wait.
    """

    def __init__(self, server: Server, *, timeout_s: float = TIMEOUT_S) -> None:
        self._server = server
        self._timeout_s = timeout_s

    def send(self, request: ApiRequest) -> ApiReply:
        """Send a request, and wait for the reply; see :class:`syncer.client.contract.Transport`."""
        reply = anyio.run(self._bounded, request)
        if reply.status >= _FIRST_ERROR:
            raise error_in(reply.content, reply.status, reply.server)
        return reply

    async def _bounded(self, request: ApiRequest) -> ApiReply:
        where, within_s = self._server.address, self._timeout_s + patience_s(request)
        try:
            with anyio.fail_after(within_s):
                return await self._call(request, within_s)
        except TimeoutError:
            raise ServerUnreachable(f"{where} has not answered within {within_s:g} s") from None
        except httpx2.RemoteProtocolError as exc:
            if "disconnected" in str(exc):
                raise ServerUnreachable(f"{where} cannot be reached: {ENDED}") from None
            raise AnswerInvalid(f"{where} does not speak HTTP as a daemon does: is it a port of TLS?") from None
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError) as exc:
            why = why_not(exc) or f"the call has failed ({type(exc).__name__})"
            raise ServerUnreachable(f"{where} cannot be reached: {why}") from None

    async def _call(self, request: ApiRequest, within_s: float) -> ApiReply:
        server = self._server
        async with (
            httpx2.AsyncClient(
                timeout=httpx2.Timeout(within_s, connect=min(within_s, CONNECT_S)),
                verify=server.believed(),
                follow_redirects=False,
                trust_env=False,
            ) as client,
            client.stream(
                request.method,
                server.address + request.path,
                params=[(name, word) for name, value in request.query.items() for word in _words(value)],
                content=orjson.dumps(dict(request.body)) if request.body is not None else request.content,
                headers=self._headers(request),
            ) as answer,
        ):
            if answer.status_code in _REDIRECTS:
                raise AnswerInvalid(f"{server.address} sends the call on ({answer.status_code}), where it does not go")
            if answer.headers.get("content-encoding", "identity") != "identity":
                raise AnswerInvalid(f"{server.address} has packed its answer, which nobody asked for")
            return ApiReply(
                server=server.address,
                status=answer.status_code,
                headers={name.lower(): value for name, value in answer.headers.items()},
                content=await self._whole(answer),
            )

    async def _whole(self, answer: httpx2.Response) -> bytes:
        content = bytearray()
        async for part in answer.aiter_raw():
            content += part
            if len(content) > MAX_ANSWER_BYTES:
                raise AnswerInvalid(f"{self._server.address} has answered with more than {MAX_ANSWER_BYTES} bytes")
        return bytes(content)

    def _headers(self, request: ApiRequest) -> dict[str, str]:
        headers = {name: value for name, value in request.headers.items() if value is not None}
        headers |= {
            "Accept": "application/json, application/problem+json",
            "Accept-Encoding": "identity",
            "User-Agent": f"pulsar-syncer/{version()}",
        }
        if request.body is not None or request.content is not None:
            headers["Content-Type"] = request.media
        if self._server.token:
            headers["Authorization"] = f"Bearer {self._server.token}"
        return headers


def patience_s(request: ApiRequest) -> float:
    """How long the daemon is asked to wait itself, for an operation, the store or a cluster; a file is on its way."""
    wait = _WAIT.search(request.headers.get("Prefer") or "")
    told = (request.query.get(each) for each in ("store_timeout", "within"))
    asked_s = (float(wait[1]) if wait else 0.0) + sum(each for each in told if isinstance(each, (int, float)))
    if "apart" in request.query:
        apart = request.query["apart"]
        asked_s += RESTS * (apart if isinstance(apart, (int, float)) else APART_S)
    return asked_s + len(request.content or b"") / SLOWEST_BYTES_PER_S


def _words(value: object) -> list[str]:
    """A parameter as it is sent: once, once for each of several, or not at all."""
    if isinstance(value, (list, tuple)):
        return [word for each in value for word in _words(each)]
    if value is None:
        return []
    return [str(value).lower() if isinstance(value, bool) else str(value)]
