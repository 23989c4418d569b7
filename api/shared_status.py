"""The status as all who ask at about the same time are told it: one look for them, not one for each.

To make the document costs the daemon far more than to send it, most of all beside a busy sync. So it is told for a
second after it was looked at: in the first half as it is, in the second while it is looked at anew; whoever comes later
waits for the next look together with all others. Behind a change that was asked for here nobody is told what was seen
before it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.probe import Probe
from syncer.documents.status import StatusDocument
from syncer.inspection import host_places
from syncer.terminal import json_text

FRESH_S: Final = 1.0
TOLD_THERE: Final = "the rest is shown on the host by 'syncer status'"
READING: Final = frozenset({"GET", "HEAD", "OPTIONS"})


@dataclass(frozen=True)
class ToldStatus:
    """The document of one look.

    Args:
        document: As plain data.
        at_s: When the look began, by the clock of who shares it.
    """

    document: dict[str, Any]
    at_s: float

    @cached_property
    def text(self) -> str:
        """The document as JSON."""
        return json_text(self.document)


class SharedStatus:
    """Looks at the status for all who ask. For one event loop.

    Args:
        probe: Knows the status.
        fresh_s: For so long after its look a document is told.
        clock_s: Seconds of a clock that never goes back.
    """

    def __init__(
        self, probe: Probe, *, fresh_s: float = FRESH_S, clock_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._probe, self._fresh_s, self._clock_s = probe, fresh_s, clock_s
        self._told: ToldStatus | None = None
        self._looking: asyncio.Task[ToldStatus] | None = None

    async def told(self) -> ToldStatus:
        """The status of now, or of just before.

        Raises:
            SyncerError: The sidecar database cannot be read now.
        """
        age_s = self._clock_s() - self._told.at_s if self._told is not None else self._fresh_s
        if age_s < self._fresh_s / 2 and self._told is not None:
            return self._told
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look())
            self._looking.add_done_callback(_heard)
        if age_s < self._fresh_s and self._told is not None:
            return self._told
        return await asyncio.shield(self._looking)  # who goes away leaves it to the others

    def forget(self) -> None:
        """Tell nobody who asks from now on what was seen until now."""
        self._told = self._looking = None

    async def _look(self) -> ToldStatus:
        at_s, this = self._clock_s(), asyncio.current_task()
        found = StatusDocument.model_validate(await self._probe.status()).model_dump(mode="json")
        told = ToldStatus(_beyond_host(found), at_s)
        if self._looking is this:
            self._told = told
        return told


class StatusForgetting:
    """Has the status forgotten before a request that may have changed something is answered.

    Args:
        app: Answers requests.
        status: Of the region.
    """

    def __init__(self, app: ASGIApp, status: SharedStatus) -> None:
        self._app, self._status = app, status

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http" or scope["method"] in READING:
            await self._app(scope, receive, send)
            return

        async def told(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._status.forget()
            await send(message)

        await self._app(scope, receive, told)


def _beyond_host(found: dict[str, Any]) -> dict[str, Any]:
    """The document without places of the host in what libraries and processes have said."""
    conditions = [{**each, "message": host_places.beyond(each["message"])} for each in found["conditions"]]
    snapshots, rebuilding = found["snapshots"], found["rebuilding"]
    return {
        **found,
        "conditions": conditions,
        "snapshots": snapshots and {**snapshots, "trouble": _trouble(snapshots["trouble"])},
        "rebuilding": rebuilding and host_places.beyond(rebuilding),
    }


def _trouble(said: str) -> str:
    before, broke = host_places.before_trace(said)
    return host_places.beyond(before) + (TOLD_THERE if broke else "")


def _heard(look: asyncio.Task[ToldStatus]) -> None:
    """Take note of how a look failed, though all who waited for it may be gone."""
    if not look.cancelled():
        look.exception()
