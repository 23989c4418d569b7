"""The replica: every decision about one path, without IO.

Observations go in (a valid read, an event, a confirmed or refused write, an operator's decision), an :class:`Outcome`
comes out: the register afterwards and acts for the shell, all of which belong into one transaction.

Invariants: known only grows in stamp order; stored changes only by a valid read or a confirmed write; stamp and
``seen`` of a local change come from the *stored* value; a digest is compared with the stored and the known one, never
with history.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from syncer.conflict import apply, completing, folding, observing
from syncer.conflict.acts import Decision, DropHeld, Journal, Need, Outcome, Publish, ReleaseHeld
from syncer.conflict.causality.skew import admitted_at
from syncer.conflict.causality.vectors import join, sound
from syncer.conflict.exclusion import excluding
from syncer.conflict.fields.brokers import refusal
from syncer.conflict.folding import journal, knowing, overtaken, version_of
from syncer.conflict.guards import Topics, wants_answer
from syncer.conflict.observing import event_of, settled, stays_here
from syncer.conflict.projection import parse
from syncer.conflict.register import Hold, HoldReason, ParkReason, Register, Wish
from syncer.conflict.shown import check_look
from syncer.conflict.withholding import shares_more
from syncer.errors import PreconditionFailed
from syncer.model import EventType, MetadataChangeEvent, MetaPath, Millis, Seen, Version
from syncer.paths import kind_at
from syncer.replacing import replace

if TYPE_CHECKING:
    from syncer.conflict.acts import Moment
    from syncer.conflict.guards import Facts
    from syncer.conflict.settings import Settings
    from syncer.conflict.shown import Look
    from syncer.stores.contract import Entry, Written

_NOTHING_TOLD: Final = frozenset({Topics.NOT_ASKED, Topics.CANNOT_ASK})


class Replica:
    """The decisions of one region. Holds its settings and nothing else; total and deterministic."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    def observe(self, register: Register, entry: Entry | None, moment: Moment, *, publishes: bool = True) -> Outcome:
        """Take a valid read of the path.

        Exactly one of: nothing new; the store met the known value by itself; a baseline; a local change; unreadable.

        Args:
            register: What is known of the path.
            entry: What the store holds, ``None`` when the path is absent.
            moment: When it was seen.
            publishes: Whether local changes of this path leave the region.
        """
        return observing.observe(self.settings, register, entry, moment, publishes=publishes)

    def fold(self, register: Register, event: MetadataChangeEvent, now: Millis, *, released: bool = False) -> Outcome:
        """Take an event of the bus. Any order and any repetition of the same events ends in the same known version.

        Args:
            register: What is known of the event's path.
            event: The event.
            now: The daemon's clock.
            released: An operator has let an event from the future pass.

        Raises:
            ValueInvalid: The event's value is not what its path calls for.
            InvariantBroken: The event belongs to another path (a bug of the caller).
        """
        return folding.fold_event(self.settings, register, event, now, released=released)

    def admitted_at(self, register: Register, event: MetadataChangeEvent, now: Millis) -> Millis:
        """From when on an event may be folded, as far as is known now; see :mod:`syncer.conflict.causality.skew`."""
        return admitted_at(self.settings, register, version_of(self.settings, event), now)

    def waits(self, register: Register, facts: Facts) -> Outcome | None:
        """Say why a due write cannot be tried now, parking it if it waits for others; ``None``: read, then apply."""
        return apply.waits(self.settings, register, facts)

    def apply_due(self, register: Register, entry: Entry | None, facts: Facts, batch: str) -> Outcome:
        """Decide the write of a due register, right after a valid read of the path showed no local change.

        Args:
            register: What is known of the path.
            entry: The answer of that read; the write is conditional on its revision.
            facts: What the target is like.
            batch: Id of the transaction that the write will go out with.
        """
        if register.wish is not None and register.hold is None and not facts.outbox_open:
            if not facts.publishes:
                return stays_here(register)
            if register.wish is Wish.REASSERT and register.shown != register.shows:
                return self._forsake(register)
            return self._reassert(register, entry, facts.now)
        if register.kept is not None and not register.due and register.wish is None:
            return completing.write_back(self.settings, register, entry, facts, batch)
        return apply.apply_due(self.settings, register, entry, facts, batch)

    def keeps_more(self, register: Register, entry: Entry) -> bool:
        """Whether a value that stands where it stood has fields to keep that a former version of the program did not.

        Asked of a register without kept fields.
        """
        return completing.keeps_more(self.settings, register, entry)

    def goes_over(self, path: MetaPath) -> bool:
        """Whether the digest of what stands at a path is made anew by another projection once it is read."""
        return self.settings.projections.concerns(path)

    def shares_more(self, register: Register, entry: Entry) -> bool:
        """Whether a value that stands where it stood has a part that was withheld until now, and is carried."""
        return shares_more(register, entry, self.settings.projections)

    def excludes_others(self, register: Register) -> bool:
        """Whether other fields are excluded at a path than when it was last read."""
        return excluding.outdated(self.settings, register)

    def owes(self, register: Register) -> bool:
        """Whether the store is to be given back kept fields that it lacks, since its brokers know them by now."""
        return completing.owes(self.settings, register)

    def written(self, register: Register, answer: Written | None, now: Millis) -> Outcome:
        """The open intent landed: by the store's answer or, with ``None``, by its receipt (then it is read)."""
        return apply.written(self.settings, register, answer, now)

    def refused(
        self, register: Register, cause: ParkReason | None, now: Millis, detail: str = "", *, publishes: bool = True
    ) -> Outcome:
        """The open intent did not land.

        Args:
            register: The path's register.
            cause: The store wants a parent, or no children; ``None``: the path is read at once.
            now: The daemon's clock.
            detail: The store's own words.
            publishes: Whether changes of this path leave the region.
        """
        return apply.refused(self.settings, register, cause, now, detail, publishes=publishes)

    # -- an operator's decisions

    def hold_back(
        self, outcome: Outcome, now: Millis, detail: str, reason: HoldReason = HoldReason.MASS_DELETE
    ) -> Outcome:
        """Keep a local delete from being published until an operator decides; its path is frozen."""
        events = [act.event for act in outcome.acts if isinstance(act, Publish)]
        held = tuple(replace(act, held=True) if isinstance(act, Publish) else act for act in outcome.acts)
        held = tuple(act for act in held if not isinstance(act, Journal) or act.decision is not Decision.PUBLISHED)
        hold = Hold(reason=reason, stamp=events[0].stamp, since_ms=now, detail=detail, local=True)
        path = outcome.register.path
        note = journal(path, version_of(self.settings, events[0]), Decision.HELD, detail=f"{hold.reason}: {detail}")
        return replace(outcome, register=replace(outcome.register, hold=hold), acts=(*held, note))

    def hold_for(self, register: Register, reason: HoldReason, now: Millis, detail: str) -> Outcome:
        """Hold a local delete that is held already for another reason from now on."""
        hold = _hold_of(register)
        held = replace(register, hold=replace(hold, reason=reason, since_ms=now, detail=detail))
        note = Journal(path=register.path, decision=Decision.HELD, stamp=hold.stamp, detail=f"{reason}: {detail}")
        return Outcome(held, (note,))

    def release(self, register: Register) -> Outcome:
        """Publish a held local delete: what stood above it is deleted too, which no broker does by itself."""
        stamp, path = _hold_of(register).stamp, register.path
        note = Journal(path=path, decision=Decision.PUBLISHED, stamp=stamp, detail="its namespace is deleted too")
        return Outcome(replace(register, hold=None), (ReleaseHeld(path=path), note))

    def topics_told(self, register: Register, topics: Topics) -> Outcome:
        """Take an answer about the topics below a path whose change is held for want of it.

        Whatever it is, the guards decide anew by it, at the next read: without topics the change goes on, with some it
        is held for that. A hold of another reason, or one that an operator decided meanwhile, is none of its business.
        """
        if topics in _NOTHING_TOLD or not wants_answer(register):
            return Outcome(register)
        return Outcome(replace(register, hold=None), (), Need.READ)

    def confirm(self, register: Register, look: Look) -> Outcome:
        """Let a held change pass. A held local change is published with its old stamp (the shell moves its row).

        What the store has refused passes no guard by that: it is tried once more.

        Args:
            register: The path's register.
            look: What the operator was shown.

        Raises:
            PreconditionFailed: Nothing is held here, it is not as it was shown, or what is held cannot be let pass.
        """
        hold = _hold_of(register)
        check_look(register, look)
        if hold.reason is HoldReason.UNREADABLE:
            raise PreconditionFailed(
                f"{register.path} is held because its value cannot be read",
                hint="Correct or delete the value in the store; the daemon goes on by itself.",
            )
        allowed = None if hold.local else register.allowed if hold.reason is HoldReason.STORE_REFUSED else hold.stamp
        return Outcome(replace(register, hold=None, allowed=allowed), (), Need.READ)

    def reject(self, register: Register, look: Look) -> Outcome:
        """Let this region's value win everywhere instead of the held remote change, once it is read as it was shown.

        Whatever comes before that read, from another region or from the store, ends the decision.

        Args:
            register: The path's register.
            look: What the operator was shown.

        Raises:
            PreconditionFailed: Nothing is held here, it is not as it was shown, or it is a local change (:meth:`undo`
                takes it back).
        """
        hold = _hold_of(register)
        check_look(register, look)
        if hold.local:
            raise PreconditionFailed(f"what is held at {register.path} is a local change; it is undone, not rejected")
        return Outcome(replace(register, hold=None, wish=Wish.REASSERT, shown=look.shown), (), Need.READ)

    def undo(self, register: Register, look: Look) -> Outcome:
        """Forget a held local delete, which nobody else has heard of; the value comes back from a peer.

        The path is known again as it was before: nothing is known here until a peer tells, and the store is empty.

        Args:
            register: The path's register.
            look: What the operator was shown.

        Raises:
            PreconditionFailed: No local change is held here, or it is not as it was shown.
        """
        hold = _hold_of(register)
        check_look(register, look)
        if not hold.local or register.stored is None:
            raise PreconditionFailed(f"no local change is held at {register.path}")
        known = register.known if register.known is not None and register.known.stamp != hold.stamp else None
        undone = replace(register, hold=None, known=known)
        return Outcome(undone, (DropHeld(path=register.path),), Need.READ if undone.due else Need.NOTHING)

    def restore(self, register: Register, value: bytes | None, seen: Seen, now: Millis) -> Outcome:
        """Make the loser of a conflict (``None``: a delete) the newest version; the store follows as for a remote one.

        The caller has checked that the operator was shown what is known and stored: the version has seen all of it.

        Raises:
            ValueInvalid: The value is not what its path calls for.
            PreconditionFailed: Brokers here cannot read it.
        """
        if value is not None and (why := refusal(self.settings.brokers, kind_at(register.path), parse(value))):
            raise PreconditionFailed(
                f"{register.path}: brokers here could not read that value: {why}",
                hint="Write a value that they can read into the store instead.",
            )
        outcome, _ = self._assert(register, value, now, Decision.RESTORED, seen)
        return replace(outcome, need=Need.READ)

    def _forsake(self, register: Register) -> Outcome:
        """Another thing stands here than what an operator was shown, or nobody knows what that was: he looks again."""
        forsaken = register.without_wish()
        return Outcome(forsaken, overtaken(register, forsaken), Need.READ)

    def _reassert(self, register: Register, entry: Entry | None, now: Millis) -> Outcome:
        """Stamp what the store holds above what is known, so that it wins everywhere."""
        kind = kind_at(register.path)
        alone = entry is not None and self.settings.projections.by_kind[kind].own_alone(entry.value)
        value = None if alone else excluding.whole_of(self.settings, register, entry)
        outcome, version = self._assert(register, value, now, Decision.REASSERTED, {})
        found = settled(outcome.register.sit(version, entry.revision if entry is not None else None))
        return replace(outcome, register=found, need=Need.READ if self.excludes_others(found) else Need.NOTHING)

    def _assert(
        self, register: Register, value: bytes | None, now: Millis, decision: Decision, seen: Seen
    ) -> tuple[Outcome, Version]:
        settings, known, stored = self.settings, register.known, register.stored
        floor = max(
            known.stamp.updated_at_ms if known else 0, stored.stamp.updated_at_ms if stored else 0, register.own
        )
        time = Millis(max(now, floor + 1))
        had = known if known and not register.value_missing else None  # nobody here has seen a value that never came
        joined = join(join(register.stored_seen, had.seen if had else {}), seen)
        joined = sound(joined, settings.by, time, *(each for each in (had, stored) if each is not None))
        kind = EventType.DELETED if value is None else EventType.MODIFIED
        event = event_of(settings, register, value, time, joined, kind)
        version = version_of(settings, event)
        asserted = replace(knowing(register, version), own=time, parked=None)
        return Outcome(asserted, (Publish(event=event), journal(register.path, version, decision))), version


def _hold_of(register: Register) -> Hold:
    if register.hold is None:
        raise PreconditionFailed(f"nothing is held at {register.path}", hint="See 'syncer holds list'.")
    return register.hold
