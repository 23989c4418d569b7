"""Change capture: a valid read unlike the stored value is a local change, stamped by a hybrid logical clock."""

from __future__ import annotations

from typing import Final

from syncer.conflict.acts import (
    Act,
    Decision,
    DropHeld,
    FillConflict,
    Journal,
    Moment,
    Need,
    Outcome,
    Publish,
    Quarantine,
    RecordConflict,
)
from syncer.conflict.causality.vectors import joined, sound
from syncer.conflict.changeover import made_anew
from syncer.conflict.completing import (
    AWAITING,
    Understood,
    awaits_value,
    completes,
    first_kept,
    has_more,
    readable_here,
    reading,
)
from syncer.conflict.exclusion import excluding
from syncer.conflict.folding import fold_version, journal, overtaken, told_apart
from syncer.conflict.projection import carried
from syncer.conflict.rebuilding import unknown_provenance
from syncer.conflict.register import Hold, HoldReason, Register, Stored
from syncer.conflict.settings import Settings
from syncer.conflict.withholding import carried_entry, reprojected, shares_more
from syncer.errors import ValueInvalid
from syncer.model import (
    Digest,
    EventType,
    MetadataChangeEvent,
    Millis,
    Seen,
    Stamp,
    Version,
    baseline_time,
)
from syncer.paths import kind_at, resource_at
from syncer.replacing import replace
from syncer.stores.contract import Entry

_MAX_FLIPS_KEPT = 16
STAYS_HERE: Final = "the scope of this region does not let its changes of this path leave"


def observe(settings: Settings, register: Register, entry: Entry | None, moment: Moment, *, publishes: bool) -> Outcome:
    """Take a valid read of the path; see :meth:`syncer.conflict.replica.Replica.observe`."""
    raw, entry, stands = entry, carried_entry(register.path, entry, settings.projections), None
    shares = shares_more(register, entry, settings.projections)
    if shares:
        register = _unread(register)
    if excluding.concerns(settings, register):
        stands = excluding.standing(settings, register, entry)
        register, entry = stands.register, stands.entry
        if stands.waits:
            return Outcome(register)
    if not settings.projections.concerns(register.path):
        return _observe(settings, register, entry, moment, stands, raw, publishes=publishes, shares=shares)
    undoubted = replace(moment, by_scan=True)  # what lacks and may have been removed is there as before
    meant = (*_stored_whole(register, raw), *_meant(settings, register, entry, undoubted))
    register, acts = made_anew(settings.projections, register, meant, stored=True)
    outcome = _observe(settings, register, entry, moment, stands, raw, publishes=publishes)
    return replace(outcome, acts=(*acts, *outcome.acts))


def _observe(
    settings: Settings,
    register: Register,
    entry: Entry | None,
    moment: Moment,
    standing: excluding.ExcludedRead | None,
    raw: Entry | None,
    *,
    publishes: bool,
    shares: bool = False,
) -> Outcome:
    stored = register.stored
    owes = (register.kept is not None and register.kept.owed) or (publishes and register.unspoken)
    if entry is not None and not owes and stored is not None and stored.revision == entry.revision:
        register = _readable(register)
        if moment.by_scan and (kept := first_kept(settings, register, entry)) is not None:
            register = replace(register, kept=kept)
        return reprojected(register, entry)
    untold = register.hold is not None and register.hold.reason is HoldReason.UNTOLD
    if untold and register.known is None:
        return Outcome(register)  # whether it is what the group has, cannot be told
    register = replace(register, hold=None) if untold else register
    try:
        entry = readable_here(settings.brokers, kind_at(register.path), raw, entry)
        found_as = None if standing is None else standing.document
        read = reading(settings, register, kind_at(register.path), entry, moment, found_as=found_as)
        if standing is not None:
            read = excluding.understood(settings, read, standing, moment)
    except ValueInvalid as exc:
        return _unreadable(settings, register, entry, exc, moment)
    register = _readable(register)
    if read.asks:
        return Outcome(register, (), Need.BROKERS)
    stands, completed = register.stored, read.entry
    acts: tuple[Act, ...] = ()
    if stands is not None and completed is not None and read.digest != stands.digest:
        meant = (*_stored_whole(register, raw), *read.values)
        register, acts = made_anew(settings.projections, register, meant, stored=True)
        stands = register.stored
    shared = _shared(settings, register, read, moment) if shares and publishes else None
    if shared is not None:
        outcome = shared
    elif read.stood is not None and stands is not None and completed is not None and read.stood[1] == stands.digest:
        value, digest = read.stood
        acts = (*acts, FillConflict(path=register.path, digest=digest, value=value))
        outcome = _completed(settings, register, stands, completed, read, moment, publishes=publishes)
    else:
        outcome = _judge(settings, register, read, moment, publishes=publishes, untold=untold)
    return replace(outcome, acts=(*acts, *outcome.acts)) if acts else outcome


def _unread(register: Register) -> Register:
    """The register without the revision of what is stored: the next read is looked at, whatever its revision."""
    return register if register.stored is None else replace(register, stored=replace(register.stored, revision=None))


def _shared(settings: Settings, register: Register, read: Understood, moment: Moment) -> Outcome | None:
    """Publish a stored value with the part that is carried from now on; ``None``: it is another value, or known so.

    It is stamped at the time after its own: so it wins over itself as it was, and over no change that somebody made. A
    conflict that it has lost waits for it by the digest that it had until now.
    """
    entry, known, kind = read.entry, register.known, kind_at(register.path)
    projection = settings.projections.by_kind[kind]
    if (
        entry is None
        or (known is not None and known.digest == read.digest)
        or (digest := projection.digest(before := carried(kind, entry.value))) != register.stored_digest
    ):
        return None
    register = replace(register, kept=read.kept)
    outcome = _local_change(settings, register, entry, read.digest, moment, completes=True)
    return replace(outcome, acts=(FillConflict(path=register.path, digest=digest, value=before), *outcome.acts))


def _stored_whole(register: Register, raw: Entry | None) -> tuple[bytes, ...]:
    """The value as a former projection took it: with all that is withheld by now."""
    return () if raw is None or not raw.value else (completes(register, raw.value),)


def _meant(settings: Settings, register: Register, entry: Entry | None, moment: Moment) -> tuple[bytes, ...]:
    """The values that a read may stand for; none where it cannot be read."""
    try:
        return reading(settings, register, kind_at(register.path), entry, moment).values
    except ValueInvalid:
        return ()


def _judge(
    settings: Settings, register: Register, read: Understood, moment: Moment, *, publishes: bool, untold: bool
) -> Outcome:
    entry, digest, known = read.entry, read.digest, register.known
    awaited = register.kept is not None and register.kept == AWAITING
    found = (moment.rebuilding or untold or awaited) and entry is not None and register.stored is None
    if found and awaits_value(settings, register, read) and known is not None and digest != known.digest:
        return Outcome(register if awaited else replace(register, kept=AWAITING))
    if read.kept != register.kept:
        register = replace(register, kept=read.kept)
    if digest == register.stored_digest:
        if publishes and register.unspoken and entry is not None and not moment.rebuilding:
            return _local_change(settings, register, entry, digest, moment)
        return Outcome(_at_revision(register, entry))
    if known is not None and digest == known.digest:
        both = joined(known, register.stored_seen)  # who wrote it here had seen what stood here
        flips = flips_of(settings, register, digest, moment.now)
        met = settled(register.sit(both, entry.revision if entry else None, flips=flips))
        return Outcome(met, (journal(register.path, known, Decision.MET), *overtaken(register, met)))
    if found and entry is not None and known is not None:
        return unknown_provenance(settings, register, known, entry, digest, _modified_at(settings, entry, moment))
    if not publishes:
        return _drift(settings, register, entry, digest, moment)
    if register.stored is None and not moment.first_scan_done and entry is not None:
        return _baseline(settings, register, entry, digest)
    return _local_change(settings, register, entry, digest, moment)


def _completed(
    settings: Settings,
    register: Register,
    stands: Stored,
    entry: Entry,
    read: Understood,
    moment: Moment,
    *,
    publishes: bool,
) -> Outcome:
    """The store stands where it stood, and is completed by another region's value: that is no change of anybody's.

    Where another value is due to be written here, the stored one is compared, and kept, as the whole one from now on.
    Where the stored one has won, it is published whole, at the time after its own: so it wins over itself as it was,
    and over no change that somebody made. A conflict that it has lost waits for it by the digest that it had until now.
    """
    known = register.known
    if known is not None and known.digest == read.digest:
        return _judge(settings, register, read, moment, publishes=publishes, untold=False)
    register = replace(register, kept=read.kept)
    if not register.due and publishes:
        return _local_change(settings, register, entry, read.digest, moment, completes=True)
    return Outcome(replace(register, stored=replace(stands, digest=read.digest, revision=entry.revision)))


def _unreadable(
    settings: Settings, register: Register, entry: Entry | None, cause: ValueInvalid, moment: Moment
) -> Outcome:
    """The path is left as it is, on both sides, until its value can be read again."""
    held = register.hold
    if held is not None and (held.local or held.reason is HoldReason.UNREADABLE):
        return Outcome(register)
    stamp = register.known.stamp if register.known else Stamp(Millis(0), settings.region)
    hold = Hold(reason=HoldReason.UNREADABLE, stamp=stamp, since_ms=moment.now, detail=cause.message)
    acts = (
        Quarantine(path=register.path, code=cause.code, detail=cause.message, value=entry.value if entry else b""),
        Journal(path=register.path, decision=Decision.HELD, stamp=stamp, detail=f"unreadable: {cause.message}"),
    )
    return Outcome(replace(register, hold=hold), acts)


def _baseline(settings: Settings, register: Register, entry: Entry, digest: Digest | None) -> Outcome:
    """A value found at first contact is no change: it is older than anything that was ever stamped.

    It is published only if nothing else is known of the path, or what is known lacks fields that its author's brokers
    may never have known: that one completes it by them. A differing one is kept as a conflict here.
    """
    time = baseline_time(settings.generation)
    event = event_of(settings, register, entry.value, time, {settings.by: time}, EventType.CREATED)
    version = Version(stamp=event.stamp, by=event.by, seen=event.seen, digest=digest, value=entry.value)
    register = replace(register.sit(version, entry.revision), own=max(register.own, time))
    outcome = take_own(settings, register, event, version, Decision.BASELINE)
    known = outcome.register.known
    if known is not None and (known.stamp, known.digest) == (version.stamp, version.digest):
        return outcome
    if known is not None and known.value is not None and has_more(settings, register, known.value):
        return outcome
    return replace(outcome, acts=tuple(act for act in outcome.acts if not isinstance(act, Publish)))


def _local_change(
    settings: Settings,
    register: Register,
    entry: Entry | None,
    digest: Digest | None,
    moment: Moment,
    *,
    completes: bool = False,
) -> Outcome:
    """Somebody here changed the path: it wins over what the store was known to hold, over nothing else by right.

    ``completes``: nobody did, it is what another region has that completes it.
    """
    stored_time = register.stored.stamp.updated_at_ms if register.stored else Millis(0)
    floor = max(stored_time, register.own) + 1
    time = Millis(floor if completes else max(_modified_at(settings, entry, moment), floor))
    value = entry.value if entry is not None and digest is not None else None
    written = EventType.MODIFIED if register.stored_alive else EventType.CREATED
    kind = EventType.DELETED if value is None else written
    seen = sound(register.stored_seen, settings.by, time, *((register.stored,) if register.stored else ()))
    event = event_of(settings, register, value, time, seen, kind)
    version = Version(stamp=event.stamp, by=event.by, seen=seen, digest=digest, value=value)
    acts: tuple[Act, ...] = ()
    if register.hold is not None and register.hold.local:
        register, acts = replace(register, hold=None), (DropHeld(path=register.path),)
    unseen = _unseen_here(settings, register, version)
    ended = overtaken(register, register.without_wish())
    flips = flips_of(settings, register, digest, moment.now)
    register = replace(
        register,
        stored=Stored.of(version, entry.revision if entry else None),
        left=register.stored_digest,
        flips=flips,
        own=time,
        parked=None,
        allowed=None,
        wish=None,
        shown=None,
    )
    outcome = take_own(settings, register, event, version, Decision.PUBLISHED)
    if not (acts or unseen or ended):
        return outcome
    return replace(outcome, acts=(*acts, *outcome.acts, *unseen, *ended))


def _unseen_here(settings: Settings, register: Register, change: Version) -> tuple[Act, ...]:
    """Keep what was restored here and the store has never held: who wrote in its place has not seen it.

    One counter counts both, so their vectors do not tell; this region alone knows it.
    """
    known = register.known
    if known is None or known.by != settings.by:
        return ()
    if register.stored_seen.get(known.by, -1) >= known.stamp.updated_at_ms:
        return ()
    return told_apart(register.path, known, change, wins=True)


def take_own(
    settings: Settings, register: Register, event: MetadataChangeEvent, version: Version, decision: Decision
) -> Outcome:
    """Publish a version that this region itself has stamped, and fold it."""
    folded, acts = fold_version(settings, register, version, own=True)
    return Outcome(folded, (Publish(event=event), journal(register.path, version, decision, against=event.base), *acts))


def _drift(
    settings: Settings, register: Register, entry: Entry | None, digest: Digest | None, moment: Moment
) -> Outcome:
    """A path that may not leave this region was edited here: the group's value is due again, the edit is kept.

    What the store held before this region knew of the path is no edit of the group's value but a first contact. Where
    the group's value is no longer kept here, the write waits until a peer has told it.
    """
    known = register.known
    if known is None:
        return Outcome(register)
    register = register.dated(_modified_at(settings, entry, moment))
    edited = Stamp(register.own, settings.region)
    record = RecordConflict(
        path=register.path,
        loser=edited,
        loser_seen=register.stored_seen,
        loser_digest=digest,
        value=entry.value if entry else None,
        winner=known.stamp,
        reason="drift",
    )
    before = register.stored.stamp if register.stored else Stamp(baseline_time(settings.generation), settings.region)
    stored = Stored(
        stamp=before if before.is_baseline else Stamp(Millis(0), settings.region),
        by=settings.by,
        seen=register.stored_seen,
        digest=digest,
        revision=entry.revision if entry else None,
    )
    note = Journal(path=register.path, decision=Decision.DRIFT, stamp=edited, digest=digest, against=known.stamp)
    flips = flips_of(settings, register, digest, moment.now)
    return Outcome(replace(register, stored=stored, left=register.stored_digest, flips=flips), (record, note))


def stays_here(register: Register) -> Outcome:
    """End a decision that this region's value wins: the path may not leave this region.

    A change that an operator has rejected is examined by the guards again.
    """
    if register.known is None or register.wish is None:
        return Outcome(register.without_wish(), (), Need.READ)
    note = Journal(path=register.path, decision=Decision.IGNORED, stamp=register.known.stamp, detail=STAYS_HERE)
    return Outcome(register.without_wish(), (note,), Need.READ)


def retracted(register: Register, event: MetadataChangeEvent) -> Outcome:
    """Take back a change of this region that waits in the outbox, and may not leave the region any more.

    Nothing is known of the path until a peer tells what the group has, and the store is read: a first contact. Where
    the group has another value, that is held, and the store's value is kept when an operator lets it be overwritten.

    Args:
        register: The path's register.
        event: The row of the outbox.
    """
    known = register.known
    if known is None or known.stamp != event.stamp:
        return Outcome(register)  # another version has taken its place, and the conflict with that one is recorded
    note = Journal(
        path=register.path, decision=Decision.DRIFT, stamp=event.stamp, digest=known.digest, detail=STAYS_HERE
    )
    forgotten = replace(register.without_wish(), known=None, stored=None, kept=None, parked=None, allowed=None)
    return Outcome(forgotten, (note,))


def _modified_at(settings: Settings, entry: Entry | None, moment: Moment) -> Millis:
    if entry is None or entry.modified_at_ms is None:
        return moment.seen_at
    return min(entry.modified_at_ms, Millis(moment.now + settings.limits.max_clock_skew_ms))


def event_of(
    settings: Settings, register: Register, value: bytes | None, time: Millis, seen: Seen, kind: EventType
) -> MetadataChangeEvent:
    """An event of this region about the register's path; its sequence number is given by the outbox."""
    resource = resource_at(register.path)
    value = settings.projections.shown(resource.kind, value) if value is not None else None
    return MetadataChangeEvent(
        type=kind,
        resource=resource.kind,
        resource_name=resource.name,
        path=register.path,
        value=value,
        stamp=Stamp(time, settings.region),
        by=settings.by,
        seen=seen,
        base=register.stored.stamp if register.stored and register.stored.stamp.updated_at_ms else None,
    )


def settled(register: Register) -> Register:
    """Nothing is due any more: what waited for a write waits no longer."""
    register = register.without_wish()
    hold = register.hold if register.hold is not None and register.hold.local else None
    if hold is register.hold and register.parked is None and register.allowed is None:
        return register
    return replace(register, hold=hold, parked=None, allowed=None)


def flips_of(settings: Settings, register: Register, digest: Digest | None, now: Millis) -> tuple[Millis, ...]:
    """When the path has returned to what it had just left; now too, if it does by taking this digest."""
    if digest is None or digest != register.left:
        return register.flips
    return (*(at for at in register.flips if at > now - settings.limits.flip_window_ms), now)[-_MAX_FLIPS_KEPT:]


def _readable(register: Register) -> Register:
    if register.hold is not None and register.hold.reason is HoldReason.UNREADABLE:
        return replace(register, hold=None)
    return register


def _at_revision(register: Register, entry: Entry | None) -> Register:
    revision = entry.revision if entry is not None else None
    if register.stored is None or register.stored.revision == revision:
        return register
    return replace(register, stored=replace(register.stored, revision=revision))
