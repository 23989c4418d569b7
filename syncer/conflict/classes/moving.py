"""Paths that leave a region's scope, or come into it: what of their registers still counts.

What leaves is frozen. Where a write was due it will not be made, and a delete that was held back is published no more:
of such a path nothing is known from then on. What comes in is met for the first time, whatever was known of it before
it had left: meanwhile it may have been deleted everywhere, and the delete be forgotten, as the region was not waited
for. So what its store holds becomes a baseline of a generation of its own, older than all that the group has and
included in nothing of it; it is replaced, or deleted, only when an operator has seen both. A value that lacks where one
was is held like any delete found there.
"""

from __future__ import annotations

from typing import Final

from syncer.conflict.acts import Decision, DropHeld, Journal, Outcome
from syncer.conflict.register import Register, Stored
from syncer.model import NOTHING_SEEN, Counter, Millis, Region, Stamp
from syncer.replacing import replace

FROZEN: Final = "left "
"""Before the counter of a stored version that stands as it did when its path left the scope; in no other counter."""
_LEFT: Final = Stored(
    stamp=Stamp(Millis(0), Region("")), by=Counter(FROZEN), seen=NOTHING_SEEN, digest=None, revision=None
)
"""Marks a path that was let go: its store has to be read again, whichever scope this region has by then."""
LEFT_SCOPE = "the path has left this region's scope: what was due or held here is not done"


def left(register: Register) -> Outcome:
    """Forget a register that has left the scope while something was due, wished or held.

    What the store holds under another name than the group knows, may have no name of its own: it is not told as such.
    """
    if register.intent is not None:
        return Outcome(register)  # what was sent is found out first
    hold = register.hold
    drops = (DropHeld(path=register.path),) if hold is not None and hold.local else ()
    known = register.known
    journal = Journal(
        path=register.path,
        decision=Decision.IGNORED,
        stamp=known.stamp if known is not None else None,
        digest=known.digest if known is not None else None,
        detail=LEFT_SCOPE,
    )
    return Outcome(Register(path=register.path, own=register.own, stored=_LEFT), (*drops, journal))


def is_unmet(register: Register) -> bool:
    """Return whether a path has left the scope, or come into it, and its store was not read since.

    Its next read is a first contact, whichever scopes this region has had meanwhile.
    """
    return register.stored is not None and register.stored.by.startswith(FROZEN)


def frozen(register: Register) -> Register:
    """Mark the register of a path that has come into the scope: what its store holds is met at the next read.

    Its revision is forgotten with that: it is read even where the store has not changed meanwhile.
    """
    stored, hold = register.stored, register.hold
    if stored is None or not stored.alive or stored.by.startswith(FROZEN) or register.intent is not None:
        return register
    if hold is not None and hold.local:
        return register
    return replace(register, stored=replace(stored, by=Counter(FROZEN + stored.by), revision=None))


def entered(register: Register, *, alive: bool) -> Register:
    """The register of a path that has come into the scope, as a read of it finds it.

    Args:
        register: As it was frozen, or as it was met since.
        alive: The read has found a value.
    """
    stored = register.stored
    if stored is None or not stored.by.startswith(FROZEN):
        return register
    if not alive and stored == _LEFT:
        return replace(register, stored=None)
    if not alive:
        return replace(register, stored=replace(stored, by=Counter(stored.by.removeprefix(FROZEN))))
    return Register(path=register.path, known=register.known if register.due else None, own=register.own)
