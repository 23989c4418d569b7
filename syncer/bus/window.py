"""The window of at-least-once delivery: it bounds what is not acknowledged, and puts acknowledgements into order."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import dataclass
from typing import Generic, TypeVar

_Place = TypeVar("_Place")


@dataclass(frozen=True, slots=True)
class Token:
    """Names one delivery of one turn of a window."""

    turn: int
    number: int


class Window(Generic[_Place]):
    """Deliveries under way, oldest first. The mark moves over a delivery only when all before it are acknowledged.

    So an acknowledgement of everything up to a place never covers a delivery whose fold is not stored.

    Args:
        limit: Messages that may be unacknowledged at once.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._turn = 0
        self._numbers = 0
        self._open: OrderedDict[int, tuple[int, _Place]] = OrderedDict()  # number → (messages, last)
        self._done: set[int] = set()
        self._unacknowledged = 0
        self._last: _Place | None = None
        self._freed = asyncio.Event()

    @property
    def room(self) -> int:
        """How many more messages may be delivered now."""
        return max(0, self._limit - self._unacknowledged)

    @property
    def unacknowledged(self) -> int:
        """Messages delivered in this turn and not acknowledged."""
        return self._unacknowledged

    @property
    def last(self) -> _Place | None:
        """Place of the last message delivered in this turn."""
        return self._last

    def restart(self) -> None:
        """Forget what is under way, because it will be delivered again; older tokens mean nothing from now on."""
        self._turn += 1
        self._open.clear()
        self._done.clear()
        self._unacknowledged = 0
        self._last = None
        self._free()

    def deliver(self, messages: int, last: _Place) -> Token:
        """Note a delivery of some messages, the last of them at the place given."""
        self._numbers += 1
        self._open[self._numbers] = (messages, last)
        self._unacknowledged += messages
        self._last = last
        return Token(self._turn, self._numbers)

    def acknowledge(self, token: object) -> _Place | None:
        """Note an acknowledgement; answers the place up to which everything is acknowledged, if that moved."""
        if not isinstance(token, Token) or token.turn != self._turn or token.number not in self._open:
            return None
        if token.number not in self._done:
            self._done.add(token.number)
            self._unacknowledged -= self._open[token.number][0]
            self._free()
        upto = None
        while self._open and (oldest := next(iter(self._open))) in self._done:
            _, upto = self._open.pop(oldest)
            self._done.discard(oldest)
        return upto

    async def wait_room(self, timeout_s: float) -> None:
        """Wait until an acknowledgement has made room, at most the time given."""
        freed = self._freed
        try:
            async with asyncio.timeout(timeout_s):
                await freed.wait()
        except TimeoutError:
            return

    def _free(self) -> None:
        freed, self._freed = self._freed, asyncio.Event()
        freed.set()
