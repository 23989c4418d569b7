"""A role as others see it: the present one first, then each change, set from any thread."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from syncer.bus.contract import Role


class RoleFeed:
    """Holds the role of a bus; readers on the event loop follow it.

    A reader that is slow sees the latest role, not each one in between; a change from active to standby and back is
    still seen as two steps, because every turn has a number.
    """

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._role = Role.STANDBY
        self._turn = 0
        self._proofs = 0
        self._closed = False
        self._changed = asyncio.Event()

    @property
    def current(self) -> Role:
        """The role as last set."""
        return self._role

    @property
    def turn(self) -> int:
        """How many times the role has changed."""
        return self._turn

    def attach(self) -> None:
        """Bind to the running event loop; called once, before any thread sets a role."""
        self._loop = asyncio.get_running_loop()

    def set_from_thread(self, role: Role) -> None:
        """Change the role, from a thread that is not the event loop's."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self.set, role)

    def set(self, role: Role) -> None:
        """Change the role, on the event loop; the same role again is no change, but it proves that it is still held."""
        if self._closed:
            return
        self._proofs += role is Role.ACTIVE
        if role is not self._role:
            self._role = role
            self._turn += 1
        self._wake()

    def close(self) -> None:
        """End every stream; the role falls back to standby."""
        self._role = Role.STANDBY
        self._closed = True
        self._wake()

    @property
    def closed(self) -> bool:
        """Whether the bus is closed."""
        return self._closed

    async def wait_changed(self, timeout_s: float | None = None) -> None:
        """Wait for the next change, at most the time given."""
        turn = self._turn
        try:
            async with asyncio.timeout(timeout_s):
                while self._turn == turn and not self._closed:
                    await self._changed.wait()
        except TimeoutError:
            return

    async def proven(self) -> None:
        """Wait until the role was taken or renewed by a call to the bus that began after this one.

        Whoever sets the role does so one call after the other, and the first to be heard of may have begun before.
        """
        enough = self._proofs + 2
        while self._proofs < enough and not self._closed:
            await self._changed.wait()

    async def stream(self) -> AsyncIterator[Role]:
        """Yield the present role, then each change; ends when the bus is closed."""
        turn = self._turn
        yield self._role
        while not self._closed:
            changed = self._changed
            if self._turn == turn:
                await changed.wait()
                continue
            if (self._turn - turn) % 2 == 0:  # left and came back: both steps are told
                turn = self._turn
                last = self._role
                yield Role.STANDBY if last is Role.ACTIVE else Role.ACTIVE
                yield last
            else:
                turn = self._turn
                yield self._role

    def _wake(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()
