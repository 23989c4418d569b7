"""Folding, the merge of a register: a version meets what is known of its path, and known only grows in stamp order."""

from __future__ import annotations

from typing import Final

from syncer.conflict.acts import Act, Decision, HoldEvent, Journal, Need, Outcome, RecordConflict, ReleaseHeld
from syncer.conflict.causality.order import Relation, later, prevails, relate
from syncer.conflict.causality.skew import admitted_at
from syncer.conflict.causality.vectors import believed, invented, joined
from syncer.conflict.changeover import made_anew
from syncer.conflict.completing import dropped, owed
from syncer.conflict.rebuilding import filled
from syncer.conflict.register import HoldReason, Register, Wish
from syncer.conflict.settings import Settings
from syncer.errors import InvariantBroken, ValueInvalid
from syncer.model import Digest, EventType, MetadataChangeEvent, MetaPath, Millis, Stamp, Version
from syncer.replacing import replace

_ABOUT_THE_STORE: Final = frozenset({HoldReason.UNREADABLE, HoldReason.UNTOLD})
"""Holds that only a read ends: what the store holds is in doubt."""
TWO_VALUES: Final = "one-stamp-two-values"


def fold_event(
    settings: Settings, register: Register, event: MetadataChangeEvent, now: Millis, *, released: bool
) -> Outcome:
    """Take an event of the bus; see :meth:`syncer.conflict.replica.Replica.fold`."""
    if event.path != register.path:
        raise InvariantBroken(f"event of {event.path} folded into {register.path}")
    told = event.value
    value = None if told is None else settings.projections.carried(event.resource, told)
    if value is not told:
        event = replace(event, value=value)  # of a member that projects otherwise
    version = version_of(settings, event)
    until = now if released else admitted_at(settings, register, version, now)
    if until > now:
        note = journal(event.path, version, Decision.HELD_FUTURE, detail=_ahead(version, now))
        return Outcome(register, (HoldEvent(event=event, until=until), note))
    version = believed(settings, register, version)
    doubtful = invented(settings, register, version)
    if event.stamp.region == settings.region:
        own = max(register.own, event.stamp.updated_at_ms)  # a former database of this region has given this time
        register = replace(register, own=own)
    relation = relate(register.known, version)
    filled_in: tuple[Act, ...] = ()
    known = register.known
    if settings.projections.former or (relation is Relation.SAME and known and known.digest != version.digest):
        register, filled_in = made_anew(settings.projections, register, (told,))
    folded, acts = fold_version(settings, register, version, own=False, doubtful=doubtful)
    acts = (*filled_in, *acts, *overtaken(register, folded))
    if register.kept is not None and folded.known is not register.known and relation is Relation.SUCCESSOR:
        acts = (*acts, *dropped(settings, register, event, version))
    if deleted_elsewhere(folded, version, relation):
        folded, acts = replace(folded, hold=None), (*acts, ReleaseHeld(path=event.path))
    completed = owed(settings, folded, event, relation)
    return Outcome(completed, acts, Need.READ if completed.due or completed is not folded else Need.NOTHING)


def deleted_elsewhere(register: Register, version: Version, relation: Relation) -> bool:
    """Return whether another region has deleted what a broker may have deleted here: nobody is asked any more."""
    hold = register.hold
    collected = hold is not None and hold.local and hold.reason is HoldReason.COLLECTED_TOPIC
    return collected and version.digest is None and relation not in {Relation.SAME, Relation.ANCESTOR}


def _ahead(version: Version, now: Millis) -> str:
    """How far a version is ahead of this clock, in words."""
    time = version.stamp.updated_at_ms
    claimed = max(version.seen.values(), default=time)
    if claimed <= time:
        return f"stamped {(time - now) // 1000} s ahead of this clock"
    return f"says to have seen what is {(claimed - now) // 1000} s ahead of this clock"


def fold_version(
    settings: Settings, register: Register, version: Version, *, own: bool, doubtful: bool = False
) -> tuple[Register, tuple[Act, ...]]:
    """Known becomes the greater of the two; the relation decides what is recorded.

    A vector that contradicts the order of stamps (a broken clock, a broken author) never decides: the greater stamp
    wins all the same, and the other version is recorded.

    Args:
        settings: The region's settings.
        register: The path's register; for an own version it already holds it as stored.
        version: The version, with its author's value.
        own: This region has just stamped it: its journal row is written by the caller.
        doubtful: It is told in the name of this very database, which never made it: it has seen nothing.
    """
    known = register.known
    relation = relate(known, version)
    if known is None:
        return knowing(register, version), _note(register.path, version, Decision.ADOPTED, own=own)
    if relation is Relation.SAME:
        if known.digest == version.digest:
            return filled(register, known, version), ()
        return _two_values(settings, register, known, version, own=own)
    wins = later(version.stamp, known.stamp, settings.ties)
    if relation is Relation.ANCESTOR and not own:  # nobody can have seen what is stamped here just now
        return register, _note(register.path, version, Decision.IGNORED, own=own, against=known.stamp)
    if relation is Relation.SUCCESSOR and not doubtful:
        return knowing(register, version), _note(register.path, version, Decision.ADOPTED, own=own, against=known.stamp)
    if known.digest == version.digest:
        return _merge(register, known, version, wins=wins, own=own)
    return _conflict(register, known, version, wins=wins)


def _two_values(
    settings: Settings, register: Register, known: Version, version: Version, *, own: bool
) -> tuple[Register, tuple[Act, ...]]:
    """One stamp names two values, which no author does: the same one stands everywhere, so that regions end equal.

    The other is kept whole where it was known, or stamped just now, by a name of this region's: the stamp names the
    winner too. What was only listed, and whose value is not known here, gives way to what was told.
    """
    wins = prevails(version.digest, known.digest) or register.value_missing
    detail = f"one stamp names two values; {'this' if wins else 'the known'} one stands"
    note = journal(register.path, version, Decision.ALARM, detail=detail)
    if wins and register.value_missing:
        return knowing(register, version), (note,)
    if not wins and not own:
        return register, (note,)
    register, loser = register.dated(Millis(0)), known if wins else version
    record = RecordConflict(
        path=register.path,
        loser=Stamp(register.own, settings.region),
        loser_seen=loser.seen,
        loser_digest=loser.digest,
        value=loser.value,
        winner=known.stamp,
        reason=TWO_VALUES,
    )
    return (knowing(register, version) if wins else register), (record, note)


def _merge(
    register: Register, known: Version, version: Version, *, wins: bool, own: bool
) -> tuple[Register, tuple[Act, ...]]:
    """Two authors wrote the same: the greater stamp stands, what both had seen is joined.

    The value of the one is that of the other: it is taken where that lacks.
    """
    acts = _note(register.path, version, Decision.MERGED, own=own, against=known.stamp)
    if wins:
        return knowing(register, joined(version, known.seen)), acts
    both = joined(known, version.seen)
    merged = replace(register, known=both)
    return (filled(merged, both, version) if merged.value_missing else merged), acts


def _conflict(register: Register, known: Version, version: Version, *, wins: bool) -> tuple[Register, tuple[Act, ...]]:
    """Neither author saw the other: the loser is kept whole."""
    return (knowing(register, version) if wins else register), told_apart(register.path, known, version, wins=wins)


def told_apart(path: MetaPath, known: Version, version: Version, *, wins: bool) -> tuple[Act, ...]:
    """Record that a version and the known one met, neither of whose authors saw the other; the loser is kept whole."""
    winner, loser = (version, known) if wins else (known, version)
    record = RecordConflict(
        path=path,
        loser=loser.stamp,
        loser_seen=loser.seen,
        loser_digest=loser.digest,
        value=loser.value,
        winner=winner.stamp,
    )
    decision = Decision.CONFLICT_WON if wins else Decision.CONFLICT_LOST
    return (record, journal(path, version, decision, against=known.stamp))


def knowing(register: Register, known: Version) -> Register:
    """Take a newer known version: it ends a hold, a permission and a wish that belonged to the former one.

    A held local change keeps its path frozen, a stored value in doubt keeps it closed. The value is kept only while the
    store has yet to be brought to it.
    """
    hold, former = register.hold, register.known
    another = hold is not None and (hold.stamp != known.stamp or (former is not None and former.digest != known.digest))
    if hold is not None and another and not hold.local and hold.reason not in _ABOUT_THE_STORE:
        hold = None
    stored = register.stored
    applied = stored is not None and (stored.stamp, stored.digest) == (known.stamp, known.digest)
    kept = None if applied or not known.alive else known.value
    known = known if known.value is kept else replace(known, value=kept)
    return replace(register.without_wish(), known=known, hold=hold, allowed=None)


def overtaken(before: Register, after: Register) -> tuple[Act, ...]:
    """Tell that an operator's decision has ended undone: what he was shown is not so any more.

    Args:
        before: The register before a step.
        after: The register after it.
    """
    known = before.known
    if before.wish is not Wish.REASSERT or after.wish is not None or known is None:
        return ()
    detail = "a decision that this region's value wins has ended: the path is not as it was shown"
    return (Journal(path=before.path, decision=Decision.OVERTAKEN, stamp=known.stamp, detail=detail),)


def version_of(settings: Settings, event: MetadataChangeEvent) -> Version:
    """The version that an event stands for, with its author's value.

    Args:
        settings: The region's settings.
        event: The event.

    Raises:
        ValueInvalid: The event's value is not what its path calls for.
    """
    digest: Digest | None = None
    if event.type is not EventType.DELETED:
        if event.value is None:
            raise ValueInvalid(f"a {event.type} event of {event.path} without a value")
        digest = settings.projections.by_kind[event.resource].digest(event.value)
    return Version(stamp=event.stamp, by=event.by, seen=event.seen, digest=digest, value=event.value)


def journal(
    path: MetaPath, version: Version, decision: Decision, *, against: Stamp | None = None, detail: str = ""
) -> Journal:
    """One journal row about a version."""
    return Journal(
        path=path,
        decision=decision,
        stamp=version.stamp,
        digest=version.digest,
        seen=version.seen,
        against=against,
        detail=detail,
    )


def _note(
    path: MetaPath, version: Version, decision: Decision, *, own: bool, against: Stamp | None = None
) -> tuple[Act, ...]:
    return () if own else (journal(path, version, decision, against=against),)
