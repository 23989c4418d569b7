"""Bootstrap of a lost database: learning anew what the group knows, and judging what the store holds.

Nothing of what was lost is inferred. What peers list is known, without values; a value of the store that differs from
it has no past: it is kept as a conflict of unknown provenance, never stamped. Only a path that nobody knows is a
baseline. What was listed and nobody can supply any more gives way to what stands in the stores.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from syncer.conflict.acts import Decision, Journal, Need, Outcome, RecordConflict
from syncer.conflict.causality.order import later, prevails
from syncer.conflict.causality.vectors import believed, joined
from syncer.conflict.register import Hold, HoldReason, ParkReason, Register, Stored, Wish
from syncer.model import NOTHING_SEEN, Digest, Millis, Region, Stamp, Version
from syncer.replacing import replace

if TYPE_CHECKING:
    from syncer.conflict.settings import Settings
    from syncer.stores.contract import Entry

UNKNOWN_PROVENANCE = "unknown-provenance"


class Answer(StrEnum):
    """How far a member of the group has got in telling what it knows."""

    SILENT = "silent"
    TELLING = "telling"
    TOLD = "told"
    REBUILDING = "rebuilding"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hearing:
    """What is known of the group while a region listens.

    Args:
        answers: Members of the group, and how far each has got.
        without: Members that an operator has declared absent.
        alone: An operator has declared that nobody else has anything to tell.
        complete: All members are known: they are configured, or had the time to speak.
    """

    answers: dict[Region, Answer]
    without: Collection[Region]
    alone: bool
    complete: bool

    @property
    def waits_for(self) -> list[Region]:
        """Members that have yet to tell what they know.

        One that is rebuilding itself has told what it has learned since; what it finds later comes as changes. But if
        there is nobody else, it may be that all have lost everything, and only an operator can say so.
        """
        expected = {region: answer for region, answer in self.answers.items() if region not in self.without}
        told = Answer.TOLD in expected.values()
        done = {Answer.TOLD, Answer.REBUILDING} if told else {Answer.TOLD}
        return sorted(region for region, answer in expected.items() if answer not in done)

    @property
    def over(self) -> bool:
        """Whether the store may be looked at now."""
        if self.alone:
            return True
        return self.complete and bool(self.answers) and not self.waits_for


def learn(settings: Settings, register: Register, version: Version) -> Outcome:
    """Take what a peer lists of a path: known only grows in stamp order.

    No conflict is recorded between what two peers list: each of them records it when the other's change arrives.

    Args:
        settings: The region's settings.
        register: What is known of the path.
        version: What the peer knows, without value.
    """
    if version.stamp.region == settings.region:  # a former database of this region has given this time
        register = replace(register, own=max(register.own, version.stamp.updated_at_ms))
    known, version = register.known, believed(settings, register, version)
    if known is not None:
        other = version.stamp == known.stamp and prevails(version.digest, known.digest)
        if not other and not later(version.stamp, known.stamp, settings.ties):
            return Outcome(register)
        if known.digest == version.digest:
            version = replace(joined(version, known.seen), value=known.value)
    elif register.hold is not None and register.hold.reason is HoldReason.UNTOLD:
        register = replace(register, hold=None)  # another peer has told it
    return Outcome(replace(register, known=version))


def untold(register: Register, teller: Region, now: Millis, why: str) -> Outcome:
    """A peer knows something of the path that cannot be understood: what the store holds is left alone meanwhile.

    It is no baseline, since it is not unknown to all; and it is not stamped. An event of the path, or another peer's
    listing, ends that, and so does an operator.

    Args:
        register: The path's register.
        teller: Whose listing it is.
        now: Our clock.
        why: What is wrong with it.
    """
    if register.known is not None or register.hold is not None:
        return Outcome(register)
    hold = Hold(reason=HoldReason.UNTOLD, stamp=Stamp(Millis(0), teller), since_ms=now, detail=f"{teller}: {why}")
    note = Journal(path=register.path, decision=Decision.HELD, stamp=hold.stamp, detail=f"{hold.reason}: {why}")
    return Outcome(replace(register, hold=hold), (note,))


def unknown_provenance(
    settings: Settings, register: Register, known: Version, entry: Entry, digest: Digest | None, modified_at: Millis
) -> Outcome:
    """The store differs from what the group knows, and nobody can say who is the newer: the value is kept, not stamped.

    Args:
        settings: The region's settings.
        register: The path's register; nothing is stored.
        known: What is known of the path.
        entry: What the store holds.
        digest: Of its projection.
        modified_at: When it was written, as far as can be told.
    """
    register = register.dated(modified_at)
    found = Stamp(register.own, settings.region)
    record = RecordConflict(
        path=register.path,
        loser=found,
        loser_seen=NOTHING_SEEN,
        loser_digest=digest,
        value=entry.value,
        winner=known.stamp,
        reason=UNKNOWN_PROVENANCE,
    )
    stored = Stored(
        stamp=Stamp(Millis(0), settings.region),
        by=settings.by,
        seen=NOTHING_SEEN,
        digest=digest,
        revision=entry.revision,
    )
    note = Journal(
        path=register.path, decision=Decision.UNKNOWN_PROVENANCE, stamp=found, digest=digest, against=known.stamp
    )
    return Outcome(replace(register, stored=stored), (record, note))


def filled(register: Register, known: Version, version: Version) -> Register:
    """The same version came again: its value is taken where it is due and lacking."""
    if known.value is not None or version.value is None or not register.due:
        return register
    found = replace(register, known=replace(known, value=version.value))
    if register.parked is not None and register.parked.reason is ParkReason.VALUE_MISSING:
        found = replace(found, parked=None)
        return found.without_wish() if found.wish is Wish.REVIVE else found
    return found


def unsupplied(register: Register, *, publishes: bool, instead: Version | None = None) -> Outcome:
    """No member has the value of what is known here: it was lost with the database or the region that had it.

    What members know in its place is known here too, as if it had been listed. Where they know nothing, what the store
    holds is asserted; where it holds nothing either, the path is unknown again. If the value comes after all, it is met
    like any other: nobody has claimed to have seen it.

    Args:
        register: The path's register.
        publishes: Whether this region's changes of the path leave it.
        instead: The greatest version that members know in its place, with its value.
    """
    known, parked = register.known, register.parked
    if known is None or parked is None or parked.reason is not ParkReason.VALUE_MISSING or not register.value_missing:
        return Outcome(register)
    note = Journal(
        path=register.path,
        decision=Decision.UNSUPPLIED,
        stamp=known.stamp,
        digest=known.digest,
        seen=known.seen,
        against=instead.stamp if instead is not None else None,
        detail="no member has its value any more",
    )
    if instead is not None:
        return Outcome(replace(register, known=instead, parked=None), (note,), Need.READ)  # nothing of it is stored
    if publishes and register.stored_alive:
        return Outcome(replace(register, wish=Wish.REVIVE), (note,), Need.READ)
    # what the store holds may have waited for the value in order to be judged: then it is read anew
    need = Need.READ if register.kept is not None else Need.NOTHING
    return Outcome(replace(register, known=None, parked=None, kept=None), (note,), need)
