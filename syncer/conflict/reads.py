"""Stale reads are told from valid ones, which alone may decide.

A notice, a scan and a refusal decide nothing; they only cause a read. The answer of a read is valid only if (a) the row
did not change since the read was issued, (b) no read of the path that was issued later was handled before, (c) it was
issued after the watch was last armed, and the watch is whole still, (d) no write of ours to the path is in flight.

Memory: bounded by what changed, and what was handled, since the oldest outstanding read was issued.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from syncer.model import MetaPath

_UNARMED: Final = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticket:
    """Identifies one issued read. ``number`` rises with each one."""

    number: int
    arming: int


class ReadLedger:
    """Issues tickets and says of each answer whether it may decide."""

    def __init__(self) -> None:
        self._number = 0
        self._armings = 0
        self._arming = _UNARMED
        self._outstanding: dict[int, None] = {}
        self._changed: OrderedDict[MetaPath, int] = OrderedDict()
        self._handled: OrderedDict[MetaPath, int] = OrderedDict()

    @property
    def armed(self) -> bool:
        """Whether the watch is whole."""
        return self._arming != _UNARMED

    @property
    def idle(self) -> bool:
        """Whether no read is outstanding."""
        return not self._outstanding

    def arm(self) -> None:
        """The watch is armed: reads issued from now on may decide."""
        self._armings += 1
        self._arming = self._armings

    def disarm(self) -> None:
        """The watch may have missed something: no read issued before the next arming may decide."""
        self._arming = _UNARMED

    def issue(self) -> Ticket:
        """A read is about to be sent."""
        self._number += 1
        self._outstanding[self._number] = None
        return Ticket(number=self._number, arming=self._arming)

    def changed(self, paths: Iterable[MetaPath]) -> None:
        """The rows of these paths changed: reads issued before say nothing about them any more."""
        if self._outstanding:
            for path in paths:
                self._changed[path] = self._number
                self._changed.move_to_end(path)

    def valid(self, ticket: Ticket, path: MetaPath) -> bool:
        """Whether the ticket's answer for this path may decide (conditions a, b and c); never once it was closed."""
        return (
            self.current(ticket)
            and ticket.number in self._outstanding
            and self._changed.get(path, 0) < ticket.number
            and self._handled.get(path, 0) < ticket.number
        )

    def current(self, ticket: Ticket) -> bool:
        """Whether it was issued since the watch was armed, which is whole still (condition c)."""
        return ticket.arming == self._arming != _UNARMED

    def handled(self, ticket: Ticket, path: MetaPath) -> None:
        """The ticket's answer for this path was used."""
        if len(self._outstanding) > 1:
            self._handled[path] = max(ticket.number, self._handled.get(path, 0))
            self._handled.move_to_end(path)

    def close(self, ticket: Ticket) -> None:
        """All answers of the ticket were handled, or will never come."""
        self._outstanding.pop(ticket.number, None)
        oldest = next(iter(self._outstanding), self._number + 1)
        for marks in (self._changed, self._handled):
            while marks and next(iter(marks.values())) < oldest:
                marks.popitem(last=False)  # no read that is still under way was issued before it
