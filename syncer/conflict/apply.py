"""Applying: conditional writes (compare and set) that bring the store to what is known, one at a time.

Nothing is overwritten unless the store was just read to hold the stored value, at the revision that the write expects,
and no local change of the path is still on its way to the bus.
"""

from __future__ import annotations

from syncer.conflict.acts import Act, Decision, FillConflict, Need, Outcome, RecordConflict
from syncer.conflict.causality.vectors import joined
from syncer.conflict.completing import completes, kept_of
from syncer.conflict.exclusion import excluding
from syncer.conflict.fields.kept import KeptFields
from syncer.conflict.fields.own import excluding as excluded
from syncer.conflict.fields.own import localized, part_of
from syncer.conflict.folding import journal
from syncer.conflict.guards import Facts, Proposal, examine
from syncer.conflict.observing import flips_of, settled
from syncer.conflict.projection import Document, canonical, parse, stored
from syncer.conflict.register import Hold, Intent, Parked, ParkReason, Register, Wish
from syncer.conflict.settings import Settings
from syncer.conflict.withholding import shares_more
from syncer.errors import InvariantBroken
from syncer.model import Millis, Stamp, Version
from syncer.paths import kind_at, scaffold
from syncer.replacing import replace
from syncer.stores.contract import Delete, Entry, Put, Write, Written


def waits(settings: Settings, register: Register, facts: Facts) -> Outcome | None:
    """Say why a due write cannot even be tried now, parking it if it waits for others; ``None``: read, then apply."""
    known = register.known
    if known is None or not register.due:
        return Outcome(register)
    if register.intent is not None or facts.outbox_open or not facts.applies or register.held:
        return Outcome(register)
    if register.settles:
        return None
    if register.value_missing:
        return _park(settings, register, known, ParkReason.VALUE_MISSING, facts)
    if known.alive and not facts.parent_alive:
        return _park(settings, register, known, ParkReason.PARENT_MISSING, facts)
    if not known.alive and facts.child_alive:
        return _park(settings, register, known, ParkReason.CHILDREN_ALIVE, facts)
    return None


def _park(settings: Settings, register: Register, known: Version, reason: ParkReason, facts: Facts) -> Outcome:
    parked = register.parked
    if parked is None or parked.reason is not reason:
        parked = Parked(reason=reason, since_ms=facts.now)
        note = journal(register.path, known, Decision.PARKED, detail=reason)
        return Outcome(replace(register, parked=parked), (note,))
    if _revives(settings, parked, facts.now, publishes=facts.publishes):
        return Outcome(replace(register, wish=Wish.REVIVE, shown=None), (), Need.READ)
    return Outcome(register)


def _revives(settings: Settings, parked: Parked, now: Millis, *, publishes: bool) -> bool:
    """Return whether a parent that was deleted above living children is published again, after a grace.

    A region that may not publish the parent leaves the delete parked.
    """
    if not publishes:
        return False
    return parked.reason is ParkReason.CHILDREN_ALIVE and now - parked.since_ms >= settings.limits.park_grace_ms


def apply_due(settings: Settings, register: Register, entry: Entry | None, facts: Facts, batch: str) -> Outcome:
    """Decide the write of a due register; see :meth:`syncer.conflict.replica.Replica.apply_due`."""
    waiting = waits(settings, register, facts)
    if waiting is not None:
        return waiting
    known = register.known
    if known is None:
        raise InvariantBroken(f"{register.path}: nothing is known, and a write is due")
    if register.settles:
        met = joined(known, register.stored_seen)  # the store's value is both authors'
        return Outcome(settled(register.sit(met, entry.revision if entry else None)))
    if shares_more(register, entry, settings.projections):
        return Outcome(register, (), Need.READ)
    path, kind = register.path, kind_at(register.path)
    held = entry.value if entry is not None and entry.value else None
    present = parse(held) if held is not None else None
    projection = settings.projections.by_kind[kind]
    whole = projection.laid(known.value, present) if known.value is not None else None
    own = excluding.here(settings, register) if whole is not None else ()
    proposed = whole if whole is None or not own else localized(whole, present, own)
    fields = kept_of(settings, kind, whole)
    if own and known.value is not None:
        fields = excluded(fields, own, part_of(parse(known.value), own))
        if entry is not None and present is not None and proposed is not None and _same(proposed, present):
            return _own_alone(settings, register, known, entry, fields)
    proposal = Proposal(
        register=register,
        known=known,
        kind=kind,
        present=present,
        proposed=proposed,
        facts=facts,
        settings=settings,
    )
    refusal = examine(proposal)
    if refusal is not None and refusal.reason is None:
        return Outcome(register, (), refusal.need)
    kept = _keeping_loser(settings, register, completes(register, held) if held is not None else None)
    if refusal is not None and refusal.reason is not None:
        hold = Hold(reason=refusal.reason, stamp=known.stamp, since_ms=facts.now, detail=refusal.detail)
        note = journal(path, known, Decision.HELD, detail=f"{refusal.reason}: {refusal.detail}")
        return Outcome(replace(register, hold=hold, parked=None), (*kept, note))
    target = proposed
    if target is None and present is not None:
        target = projection.left_alone(present) or None
    write = _write(register, stored(target) if target is not None else None, entry)
    intent = Intent(
        batch=batch,
        version=replace(known, value=None),
        expected=entry.revision if entry else None,
        kept=fields,
    )
    return Outcome(replace(register, intent=intent), kept, Need.NOTHING, write)


def _same(proposed: Document, present: Document) -> bool:
    return canonical(proposed) == canonical(present)


def _own_alone(
    settings: Settings, register: Register, known: Version, entry: Entry, fields: KeptFields | None
) -> Outcome:
    """Only fields that are the store's own differ: it holds what it should, and the group's values are kept."""
    lost = _keeping_loser(settings, register, completes(register, entry.value))
    met = replace(settled(register.sit(known, entry.revision)), kept=fields)
    return Outcome(met, lost, Need.READ if excluding.outdated(settings, met) else Need.NOTHING)


def _write(register: Register, target: bytes | None, entry: Entry | None) -> Write:
    expected = entry.revision if entry is not None else None
    if target is not None:
        return Put(path=register.path, value=target, expected=expected, scaffold=scaffold(register.path))
    if expected is None:
        raise InvariantBroken(f"{register.path}: a delete is due of what was just read to be absent")
    return Delete(path=register.path, expected=expected)


def _keeping_loser(settings: Settings, register: Register, held: bytes | None) -> tuple[Act, ...]:
    """The stored value, local fields included but for secrets, for a conflict that the stored value has lost.

    Also when what is known by now includes it: the conflict with an earlier winner was recorded without the value.
    """
    stored = register.stored
    if stored is None or stored.digest is None or held is None:
        return ()
    value = settings.projections.shown(kind_at(register.path), held)
    return (FillConflict(path=register.path, digest=stored.digest, value=value),)


def written(settings: Settings, register: Register, answer: Written | None, now: Millis) -> Outcome:
    """The open intent landed; see :meth:`syncer.conflict.replica.Replica.written`."""
    intent = register.intent
    if intent is None:
        raise InvariantBroken(f"{register.path}: a write landed that was never intended")
    acts: tuple[Act, ...] = ()
    if answer is not None and answer.replaced_unread:
        register = register.dated(now)
        detail = "the overwritten value was not the one that was read; it cannot be told what it was"
        record = RecordConflict(
            path=register.path,
            loser=Stamp(register.own, settings.region),
            loser_seen=register.stored_seen,
            loser_digest=None,
            value=None,
            winner=intent.version.stamp,
            reason="value-unknown",
        )
        acts = (record, journal(register.path, intent.version, Decision.ALARM, detail=detail))
    back = intent.version.digest == register.stored_digest  # of a value that stands there: nothing has returned to it
    flips = None if back else flips_of(settings, register, intent.version.digest, now)
    landed = register.sit(intent.version, answer.revision if answer else None, flips=flips)
    landed = replace(landed, intent=None, parked=None, kept=intent.kept)
    if not landed.due:
        again = answer is None or excluding.outdated(settings, landed)
        return Outcome(settled(landed), acts, Need.READ if again else Need.NOTHING)
    return Outcome(landed, acts, Need.READ)


def refused(
    settings: Settings, register: Register, cause: ParkReason | None, now: Millis, detail: str, *, publishes: bool
) -> Outcome:
    """The open intent did not land; see :meth:`syncer.conflict.replica.Replica.refused`."""
    free = replace(register, intent=None)
    if cause is None:
        return Outcome(free, (), Need.READ)
    parked = register.parked
    if parked is None or parked.reason is not cause:
        return Outcome(replace(free, parked=Parked(reason=cause, since_ms=now, detail=detail)))
    revives = _revives(settings, parked, now, publishes=publishes)
    return Outcome(replace(free, wish=Wish.REVIVE, shown=None) if revives else free)
