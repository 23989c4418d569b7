"""Effects of an operation outside of its transaction."""

from __future__ import annotations

from dataclasses import dataclass

from syncer.bus.wire.messages import ControlAction


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A control message that an operation asks the shell to publish.

    ``number`` rises from one request of this database to the next, so that one that comes again is told apart.
    """

    action: ControlAction
    paths: tuple[str, ...] = ()
    reason: str = ""
    number: int = 0


Effect = Wanted | None
