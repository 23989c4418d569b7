"""Rules of read repair by snapshots: a version of an old picture is published again, or not, for a reason.

A snapshot may say anything that was once true. To tell it again is safe as long as nobody tells what he has outgrown:

* A version that is lesser than the known one is never told. So whoever has folded a delete tells nothing before it.
* Once a delete is forgotten, its path starts above the *floor*, the greatest time that was ever forgotten here. What is
  stamped at or below that and is unknown here may be what was deleted, so it is not told.
* A region that took a path into its scope does not know what was deleted and forgotten before; whatever it does not
  know and is stamped before that, with the greatest error of a clock, it does not tell.
* A database that was made after the snapshot was taken does not know what was forgotten before its time, and has no
  floor of its own that shows it. It tells nothing that it does not know.

These are the conditions under which a comparison of trees tells a register too; so all that
:mod:`syncer.conflict.tombstones` argues about what is told again holds for a repair, whatever it says and whenever.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from syncer.conflict.acts import HoldEvent, Outcome
from syncer.conflict.causality.order import later
from syncer.conflict.changeover import made_anew
from syncer.conflict.fields.brokers import refusal
from syncer.conflict.folding import fold_event, version_of
from syncer.conflict.projection import parse
from syncer.conflict.register import Register
from syncer.conflict.settings import Settings
from syncer.errors import ValueInvalid
from syncer.model import MetadataChangeEvent, Millis


class Why(StrEnum):
    """Why a version is not told."""

    SUPERSEDED = "superseded"
    FORGOTTEN = "forgotten"
    CAME_IN = "came-in"
    YOUNG_DATABASE = "young-database"
    HELD = "held"
    TWO_VALUES = "two-values"
    UNREADABLE = "unreadable"
    FROM_THE_FUTURE = "from-the-future"
    BUS_RESOURCE = "bus-resource"
    OUT_OF_SCOPE = "out-of-scope"
    UNSTAMPED = "unstamped"


DETAILS: Final = {
    Why.SUPERSEDED: "a later change is known here",
    Why.FORGOTTEN: "it is unknown here, and not later than deletes that were forgotten: it could raise what was "
    "deleted; if its value is wanted, write it anew ('syncer snapshot restore')",
    Why.CAME_IN: "it is unknown here, and older than what this region remembers of the path: it may have been deleted "
    "before the path came into the scope of this region, or before its database kept since when; tell it from a region "
    "that knows it; if none does and its value is wanted, write it anew ('syncer snapshot restore')",
    Why.YOUNG_DATABASE: "it is unknown here, and this database is younger than the snapshot: it cannot know what was "
    "deleted; tell it from another region",
    Why.HELD: "this region's own change is held back here: see 'syncer holds list'",
    Why.TWO_VALUES: "the same stamp names another value here; nothing decides between them",
    Why.UNREADABLE: "its value is not what its path calls for",
    Why.FROM_THE_FUTURE: "it is stamped too far ahead of this clock",
    Why.BUS_RESOURCE: "the bus itself depends on this resource",
    Why.OUT_OF_SCOPE: "the path takes no part here",
    Why.UNSTAMPED: "no daemon had stamped it when the snapshot was taken: the one of its own region finds it",
}
"""Each reason in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What of the past this database can know.

    Args:
        floor_ms: Greatest time of any delete that was ever forgotten here.
        knows_all: It was there before the snapshot was taken, or the message came.
        carried_since_ms: Since when the region has carried the path; 0: since the database was made.
        met: What is known of the path counts: it was not let go, and the store was read since it came in.
    """

    floor_ms: Millis
    knows_all: bool
    carried_since_ms: Millis = Millis(0)
    met: bool = True


def may_be_deleted(settings: Settings, event: MetadataChangeEvent, bounds: Bounds) -> Why | None:
    """Return why a version that is unknown here may be what was deleted and forgotten; ``None``: it is not."""
    time, since = event.stamp.updated_at_ms, bounds.carried_since_ms
    if time <= bounds.floor_ms:
        return Why.FORGOTTEN
    if not bounds.met or (since and time <= since + settings.limits.max_clock_skew_ms):
        return Why.CAME_IN
    return None if bounds.knows_all else Why.YOUNG_DATABASE


def retell(
    settings: Settings, register: Register, event: MetadataChangeEvent, now: Millis, bounds: Bounds
) -> Outcome | Why:
    """Fold what a snapshot says as any event; what is known afterwards is that version, and may be told.

    Args:
        settings: The region's settings.
        register: The path's register.
        event: The version as its author has published it.
        now: The daemon's clock.
        bounds: What of the past this database can know.

    Returns:
        The outcome of folding; or why the version is not told, and nothing is changed.
    """
    if event.path in settings.bus_paths:
        return Why.BUS_RESOURCE
    try:
        version = version_of(settings, event)
    except ValueInvalid:
        return Why.UNREADABLE
    if event.value is not None and refusal(settings.brokers, event.resource, parse(event.value)):
        return Why.UNREADABLE
    known = made_anew(settings.projections, register, (event.value,))[0].known
    if known is None or not bounds.met:
        if (why := may_be_deleted(settings, event, bounds)) is not None:
            return why
    elif known.stamp == event.stamp:
        if known.digest != version.digest:
            return Why.TWO_VALUES
        if register.hold is not None and register.hold.local:
            return Why.HELD
    elif later(known.stamp, event.stamp, settings.ties):
        return Why.SUPERSEDED
    outcome = fold_event(settings, register, event, now, released=False)
    if any(isinstance(act, HoldEvent) for act in outcome.acts):
        return Why.FROM_THE_FUTURE
    return outcome
