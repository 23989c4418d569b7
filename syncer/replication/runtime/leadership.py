"""Leader election and failover: the bus says who should try to be active, the fence in the store decides.

bus: ACTIVE ──▶ pumps run ──▶ Fenced: another daemon is the writer ──▶ try again once the bus has said so anew
bus: STANDBY ─▶ pumps are cancelled at once; the fence keeps what was under way from landing twice
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final

import anyio
import structlog

from syncer.bus.contract import Role
from syncer.errors import Fenced, SyncerError
from syncer.replication.runtime.backoff import Backoff

log = structlog.get_logger()

LONG_ENOUGH_S: Final = 30.0
"""A daemon that was active for so long had recovered: its next failure waits shortly again."""


class Leadership:
    """Runs ``active`` exactly while the bus says so.

    Args:
        roles: Makes a new stream of roles; the present one comes first.
        active: What an active daemon does; it ends only by an error or by being cancelled.
        proven: Waits until the bus says anew that this daemon is the active one. One that was paused and is woken may
            believe it for a while, and must not fence the one that took over again and again.
    """

    def __init__(
        self,
        roles: Callable[[], AsyncIterator[Role]],
        active: Callable[[], Awaitable[None]],
        proven: Callable[[], Awaitable[None]],
    ) -> None:
        self._roles = roles
        self._active = active
        self._proven = proven
        self._scope: anyio.CancelScope | None = None
        self._wanted = anyio.Event()
        self.role = Role.STANDBY
        self.turn = 0
        """How often the bus has made this daemon the active one."""

    async def run(self) -> None:
        """Follow the role until cancelled, or until ``active`` ends by an error that no repeat can mend."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._follow)
            tasks.start_soon(self._act)

    async def _follow(self) -> None:
        backoff = Backoff()
        while True:
            try:
                async for role in self._roles():
                    backoff.reset()
                    self._take(role)
                return
            except SyncerError as exc:
                if not exc.retryable:
                    raise
                log.warning("role_unknown", code=exc.code, cause=exc.message)
            await backoff.pause()

    def _take(self, role: Role) -> None:
        if role is self.role:
            return
        self.role = role
        log.info("role_changed", role=role.value)
        if role is Role.ACTIVE:
            self.turn += 1
            self._wanted.set()
            return
        self._wanted = anyio.Event()
        if self._scope is not None:
            self._scope.cancel()

    async def _act(self) -> None:
        backoff = Backoff()
        while True:
            await self._wanted.wait()
            began = time.monotonic()
            with anyio.CancelScope() as self._scope:
                pause: Callable[[], Awaitable[None]] = backoff.pause
                # Nothing is awaited inside an 'except*': a cancellation there would come out wrapped in a group.
                try:
                    await self._active()
                except* Fenced as fenced:
                    log.warning("fenced", cause=str(fenced.exceptions[0]))
                    pause = self._proven
                except* SyncerError as failed:
                    if failed.subgroup(_is_final) is not None:
                        raise
                    if time.monotonic() - began > LONG_ENOUGH_S:
                        backoff.reset()
                    log.warning("activation_repeats", cause=str(failed.exceptions[0]))
                await pause()
            self._scope = None


def _is_final(error: BaseException) -> bool:
    """Whether no repeat can mend it."""
    return not isinstance(error, BaseExceptionGroup) and not (isinstance(error, SyncerError) and error.retryable)
