"""Version vectors: the versions that an author had seen, how far that is believed, and how much room it may take.

A vector is a claim. Three things bound what a false one can do:

* *An author cannot have seen what is not earlier than the own change.* A local change is stamped above all that its
  author's store held, so every other time in its vector is below its own. A claim beyond that covers nothing
  (:func:`covers`), and does not travel (:func:`sound`).
* *Nobody has seen what this region never gave out.* It knows the greatest time that it ever gave to a path; who claims
  more of its counter is not believed at all (:func:`believed`).
* *The room is bounded*, in counters and in bytes; the latest times stay (:func:`bounded`).

To forget an entry can only make more conflicts, never fewer. Of two versions the one is an ancestor only if it is the
earlier one, a successor only if it is the later one, so never both; and each of them for an entry of one vector alone.
Without that entry they are concurrent, and the loser is recorded: no version that was recorded before is ignored or
adopted in silence after it. So both trimming and disbelief are on the side of no loss.
"""

from __future__ import annotations

from heapq import nsmallest
from typing import TYPE_CHECKING, Final

from syncer.model import Counter, Millis, Seen
from syncer.replacing import replace

if TYPE_CHECKING:
    from syncer.conflict.register import Register, Stored
    from syncer.conflict.settings import Settings
    from syncer.model import Version

MAX_COUNTERS: Final = 256
"""Of one vector. A group has one for each region, and one more for each database that a region has lost since."""
MAX_NAMES_BYTES: Final = 16 * 1024
"""Of the names of a vector's counters, as UTF-8."""
_SURELY_FITS: Final = 8
"""Counters that fit whatever they are called: a name has 512 characters at most."""


def covers(version: Version, by: Counter, time: Millis) -> bool:
    """Whether a version's author had seen another change. Nobody has seen what is not earlier than his own change."""
    own = version.stamp.updated_at_ms
    return time < own and time <= version.seen.get(by, -1) <= own


def join(left: Seen, right: Seen) -> Seen:
    """Join two version vectors: per counter the later time. Neither argument is changed."""
    if not right or left is right:
        return left
    if not left:
        return right
    joined = dict(left)
    for counter, time in right.items():
        if time > joined.get(counter, -1):
            joined[counter] = time
    return joined


def bounded(seen: Seen, *kept: Counter) -> Seen:
    """The latest entries of a vector that there is room for, those of ``kept`` before all others."""
    if len(seen) <= _SURELY_FITS or (len(seen) <= MAX_COUNTERS and sum(map(_bytes, seen)) <= MAX_NAMES_BYTES):
        return seen
    latest = nsmallest(MAX_COUNTERS, seen.items(), key=lambda entry: (entry[0] not in kept, -entry[1], entry[0]))
    room, found = MAX_NAMES_BYTES, dict[Counter, Millis]()
    for counter, time in latest:
        room -= _bytes(counter)
        if room < 0:
            break
        found[counter] = time
    return found


def sound(seen: Seen, by: Counter, time: Millis, *covered: Version | Stored) -> Seen:
    """What the author of a change can have seen: nothing later than it, the change itself, and these versions.

    A time beyond the change is cut to what is known of its counter: that of one of ``covered``, or nothing.
    """
    if len(seen) < _SURELY_FITS and max(seen.values(), default=time) <= time:
        for version in covered:
            if seen.get(version.by, time) < version.stamp.updated_at_ms:
                break
        else:
            return seen if seen.get(by) == time else {**seen, by: time}
    found = {counter: at for counter, at in seen.items() if at <= time}
    for version in covered:
        at = version.stamp.updated_at_ms
        if version.by in seen and found.get(version.by, -1) < at <= time:
            found[version.by] = at
    found[by] = time
    return bounded(found, by, *(version.by for version in covered))


def joined(version: Version, seen: Seen) -> Version:
    """The version, whose value somebody else has written too: what he had seen is seen by both."""
    if not seen or seen is version.seen:
        return version
    return replace(version, seen=sound(join(version.seen, seen), version.by, version.stamp.updated_at_ms))


def believed(settings: Settings, register: Register, version: Version) -> Version:
    """The version with as much of its vector as this region believes.

    Who claims to have seen of this region what it never gave out is not believed in anything: what is a lie in one
    entry is no evidence in another. A database that was put back from a copy does not know what it gave out since; it
    records more conflicts for that, and loses nothing.
    """
    by, time = version.by, version.stamp.updated_at_ms
    honest = version.seen.get(settings.by, -1) <= register.own
    seen = sound(version.seen if honest else {}, by, time)
    return version if seen is version.seen else replace(version, seen=seen)


def invented(settings: Settings, register: Register, version: Version) -> bool:
    """Whether a version is told as a change of this very database, with a time that it never gave out.

    Nobody made it: a member tells it in this region's name, so it has seen nothing that is known here. (Or the database
    was put back from a copy, and has forgotten: then it records more conflicts than there were.)
    """
    return version.by == settings.by and version.stamp.updated_at_ms > register.own


def _bytes(counter: Counter) -> int:
    return len(counter.encode(errors="surrogatepass"))
