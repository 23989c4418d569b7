"""Turns: of many requests that come at once, each begins in a pass of the loop of its own; probes never wait.

The event loop does in one pass what all are ready for, and who asks whether the daemon lives waits for several passes.
So a pass must stay short, however many clients there are.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send

PROBES: Final = frozenset({"/livez", "/readyz", "/metrics"})


class Turns:
    """Lets requests begin one by one, in the order in which they came.

    Args:
        app: What takes them.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] == "http" and scope["path"] not in PROBES:
            await self._turn()
        await self._app(scope, receive, send)

    async def _turn(self) -> None:
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[None] = loop.create_future()
        self._waiting.append(turn)
        if len(self._waiting) == 1:
            loop.call_soon(self._next, loop)
        await turn

    def _next(self, loop: asyncio.AbstractEventLoop) -> None:
        """Let the oldest one begin, unless its client has left, and look again in the next pass."""
        turn = self._waiting.popleft()
        if not turn.done():
            turn.set_result(None)
        if self._waiting:
            loop.call_soon(self._next, loop)
