"""Clock skew: the guard against clocks that are ahead, as the moment from which on a version may be folded.

The limit is one of the clock, never of what is known: else a chain of changes, each a little beyond the one before,
carries a path ahead of all clocks in no time. Let the *lead* of a version be its time minus the clock of this region,
``S`` the allowed skew, and ``K`` what is known of the path when the version is heard. It is folded

* at once, if its lead is at most ``S``, or it is not later than ``K``;
* at once, if it is a successor of ``K`` and at most 10 ms later: so a path that lies ahead stays editable;
* else when its lead has shrunk to ``S``, or as much time has passed since it was heard as it is beyond ``K`` (beyond
  ``K`` + 10 ms, for a successor), whichever is first. Until then it is held, and shown.

*The law.* When a version is folded, its lead is at most the greater of ``S`` and the lead of ``K`` as it was heard, and
10 ms more for a successor beyond ``S``. So whatever messages come, in any order and any number, no known version ever
has a lead of more than ``max(S, L) + 10 ms * n``: ``L`` is the greatest lead that an operator has let pass (or that was
known before), ``n`` counts the successors that were folded beyond ``S``. Time alone carries nothing ahead.

*Nobody honest is held for long.* A path that lies ahead is stamped a millisecond above what the store held. Who hears
only the last of a hundred such edits holds it for 90 ms, and until the next look at what is held; what is concurrent
with the known one passes likewise. It does not matter what was lost in between, nor who tells it again.

A vector may not speak of the future either. A time in it that is neither covered by the change's own nor by what is
known of that counter here is held as a stamp is; it is cut when the change is folded
(:mod:`syncer.conflict.causality.vectors`).
"""

from __future__ import annotations

from typing import Final

from syncer.conflict.causality.vectors import covers
from syncer.conflict.register import Register
from syncer.conflict.settings import Settings
from syncer.model import Counter, Millis, Version

SUCCESSOR_MS: Final = 10
"""So much later than the known version a successor may be, wherever that lies."""


def admitted_at(settings: Settings, register: Register, version: Version, now: Millis) -> Millis:
    """The moment from which on a version may be folded; not after ``now``: at once.

    Args:
        settings: The region's settings.
        register: What is known of its path.
        version: A version that was just heard, or is looked at again.
        now: The daemon's clock.
    """
    time, known = version.stamp.updated_at_ms, register.known
    at = time - settings.limits.max_clock_skew_ms
    if at > now and known is not None:
        known_time = known.stamp.updated_at_ms
        granted = SUCCESSOR_MS if covers(version, known.by, known_time) else 0
        at = min(at, now + max(time - known_time - granted, 0))
    if max(version.seen.values(), default=time) > time:
        claims = (_claim_at(settings, register, by, of, now) for by, of in version.seen.items() if of > time)
        at = max(at, *claims)
    return Millis(at)


def _claim_at(settings: Settings, register: Register, by: Counter, time: Millis, now: Millis) -> int:
    """The same for a time that a vector gives to a counter, beyond the change's own."""
    at, known = time - settings.limits.max_clock_skew_ms, register.known
    had = register.own if by == settings.by else -1
    if known is not None:
        had = max(had, known.seen.get(by, -1), known.stamp.updated_at_ms if known.by == by else -1)
    return min(at, now + max(time - had - SUCCESSOR_MS, 0)) if had >= 0 else at
