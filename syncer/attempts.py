"""Attempts that were refused, on their way into the audit trail: never waited for, bounded, one at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final

import anyio
import anyio.to_thread
import structlog

from api.admission import RefusedAttempt
from syncer.errors import SyncerError
from syncer.state.contract.operations import Asked
from syncer.state.views.region import Views

log = structlog.get_logger()

MOST_WAITING: Final = 100
"""Attempts that wait to be written; beyond that they are counted and not kept."""
REQUEST: Final = "request"
"""Kind of a row that stands for a request which no operation came of."""


class AttemptTrail:
    """Writes refused attempts into the trail, beside whoever answers them.

    Args:
        views: Opens the sidecar database, or gives what is open.
    """

    def __init__(self, views: Callable[[], Views]) -> None:
        self._views = views
        self._left_out = 0
        self._waiting: deque[RefusedAttempt] = deque()
        self._come = anyio.Event()

    def keep(self, attempt: RefusedAttempt) -> None:
        """Have an attempt written, or counted where too many wait."""
        if len(self._waiting) >= MOST_WAITING:
            self._left_out += 1
            return
        self._waiting.append(attempt)
        self._come.set()

    async def run(self) -> None:
        """Write what is to be kept, until cancelled."""
        while True:
            while not self._waiting:
                self._come = anyio.Event()
                await self._come.wait()
            attempt, left_out, self._left_out = self._waiting.popleft(), self._left_out, 0
            try:
                await anyio.to_thread.run_sync(self._write, attempt, left_out)
            except SyncerError as exc:
                log.warning("attempt_not_kept", code=exc.code, cause=exc.message, route=attempt.route)

    def _write(self, attempt: RefusedAttempt, left_out: int) -> None:
        answer = f"{left_out} more, that came faster than they could be written, are not kept" if left_out else ""
        who = attempt.credential.partition(":")[2]
        self._views().note_refused(
            REQUEST,
            {"method": attempt.method, "route": attempt.route},
            Asked(
                by=who,
                reason="",
                origin=attempt.address,
                credential=attempt.credential,
            ),
            code=attempt.code,
            answer=answer,
        )
