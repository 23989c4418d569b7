"""Bootstrap of a lost database from its peers: when it begins, whom it hears, and when it is over.

    fence names another database, or our own one is an old copy
      ─▶ begin anew: new id, new generation ─▶ raise the fence ─▶ hearing: ask every member, page by page
      ─▶ all have told (or a person has said who is absent) ─▶ scanning ─▶ all reads answered ─▶ done

What others say of this database is hearsay too: that they have events of it which it never gave out, or that its very
generation was another one's. It may be the truth, and then nobody else can tell it. So it is obeyed, but only once in
the life of a daemon, after the database was kept as a copy; what stood in its outbox is carried over and published once
the group was heard. Nothing that was written is lost by a lie, and the next one is only shown (`database-doubted`).
Where `peers.expected` names who counts, these are waited for without end, or until an operator excuses them; where it
does not, anybody may say that he is there, so whoever has not told all that he knows is waited for only for so long.
That time is one in which this daemon has heard the bus, as its own heartbeats show that come back to it: what somebody
has said and what still waits there to be heard is no silence.

While it hears, nothing of the store is read, stamped or written, and nothing is published. Every question carries all
that its answer needs, so that both may be lost or come twice; what was learned stays, whatever happens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from syncer.bus.wire.messages import Control, Heartbeat, StatePage, StateRequest
from syncer.conflict.rebuilding import Answer, Hearing
from syncer.errors import StateError
from syncer.model import MetadataChangeEvent, Millis, Region, Version
from syncer.replication.context import Context
from syncer.replication.fence import Fence
from syncer.replication.recovery import generations, missing_values
from syncer.replication.recovery.progress import Member, Phase, Rebuild, RecoveryState
from syncer.replication.recovery.state_transfer import answers, questions
from syncer.replication.unit_of_work import UnitOfWork
from syncer.state.contract.transaction import Transaction

FORMER_KEPT: Final = 16
CARRIED_AT_ONCE: Final = 500
DOUBTED: Final = "database-doubted"
REBUILDING: Final = "rebuilding"
"""What a heartbeat says as long as its region hears its peers."""
STARTING: Final = "starting"
"""What a heartbeat says as long as its daemon waits to hear what its peers have of its database."""


def of(context: Context) -> Rebuild | None:
    """What the database says of its rebuild."""
    return Rebuild.decode(context.identity.rebuild) if context.identity.rebuild else None


def phase_of(context: Context) -> Phase:
    """How far this database has got; one that takes nobody's place is done."""
    found = of(context)
    return Phase.DONE if found is None else found.phase


# -- when it begins


def begin_quiet(context: Context) -> None:
    """Publish nothing before the peers have said what they have of this database: an old copy would use numbers again.

    A database on a server is no file that somebody brings back: its daemons take over from one another at once.
    """
    regions = {*context.expected, *context.peers.regions} - {context.identity.region}
    if context.quiet_ms and not context.observing:
        context.recovery.unheard.update(region for region in regions if not context.peers.is_gone(region))


def keep_quiet(context: Context, now: Millis) -> None:
    """A peer that does not speak is not waited for for longer than ``quiet_ms``."""
    recovery = context.recovery
    if recovery.quiet_since_ms is None:
        recovery.quiet_since_ms = now
    elif not 0 <= now - recovery.quiet_since_ms < context.quiet_ms:  # a clock that is set back must not make it longer
        recovery.unheard.clear()


def note_own(context: Context, tx: Transaction, sequence: int, who: str) -> None:
    """Somebody has an event of this very database; one with a number that was never given out tells of an old copy."""
    recovery = context.recovery
    given = recovery.published if recovery.unheard else tx.identity().last_sequence
    if sequence > given:
        _doubt(context, f"an old copy: {who} has event {sequence} of it, this copy has published {given}")


def _doubt(context: Context, reason: str) -> None:
    """Others say that this database is not what it was: it begins anew, once, for it may be a lie; then it is shown."""
    if context.begun_on_hearsay:
        context.conditions[DOUBTED] = (
            f"this database is said to be {reason}. It has begun anew already since the daemon's start, on the word of "
            "others alone, and does not do so again: either it is a lie, or stop the daemon, move the database away, "
            "and start it again"
        )
    elif context.recovery.lost is None:
        context.recovery.lost = reason


def begin_on_hearsay(context: Context) -> None:
    """Begin anew because others say so: what stands here is kept, as a copy beside it, and what was to be published.

    Raises:
        Fenced: Another daemon is active on this database.
    """
    reason, context.recovery.lost = context.recovery.lost or "", None
    context.begun_on_hearsay = True
    try:
        context.state.keep_copy()
    except StateError as exc:
        context.conditions[DOUBTED] = f"this database is said to be {reason}; it does not begin anew: {exc.message}"
        return
    begin(context, reason, context.fence.fence if context.fence is not None else None, carry=True)


def begin(context: Context, reason: str, fence: Fence | None, *, carry: bool = False) -> None:
    """Begin anew as another database.

    Args:
        context: The daemon's context.
        reason: Why.
        fence: As it stands in the store.
        carry: What stands in the outbox is to be published once the group was heard.

    Raises:
        Fenced: Another daemon is active on this database.
    """
    identity, before = context.identity, of(context)
    names = (*(before.former if before else ()), identity.database_id, *((fence.database_id,) if fence else ()))
    generation = max(identity.generation, fence.generation if fence else 0, context.recovery.outdone) + 1
    store_id = fence.store_id if fence is not None else identity.store_id or ""
    kept = Rebuild(
        phase=Phase.HEARING,
        reason=reason,
        former=tuple(dict.fromkeys(names))[-FORMER_KEPT:],
        ambiguous=context.recovery.ambiguous,
    )
    context.identity = context.state.renew(generation, store_id, kept.encode(), carry=carry)
    context.begin_anew(RecoveryState(tried=context.recovery.tried))
    with context.state.transaction() as tx:
        context.sums.load(tx)
        if context.joining and not (fence is not None and fence.joining):
            context.identity = tx.set_identity(paused=None)  # the region takes part already
    context.paused = context.identity.paused
    context.tally["rebuilds", "begun"] += 1


# -- what is heard


def is_former(context: Context, sender: str) -> bool:
    """Whether a database spoke for this region before this one."""
    kept = of(context)
    return kept is not None and sender in kept.former


def is_ours(context: Context, database: str) -> bool:
    """Whether a database speaks, or spoke, for this region."""
    return database == context.identity.database_id or is_former(context, database)


def hear(context: Context, tx: Transaction, beat: Heartbeat) -> None:
    """A peer is there; and what it has of this very database tells whether this is an old copy."""
    _compare_generations(context, beat)
    reached = beat.reached.get(context.identity.database_id)
    if reached is not None:
        note_own(context, tx, reached, beat.region)
        if context.recovery.echoed and context.recovery.lost is None:
            context.recovery.unheard.discard(beat.region)
    context.recovery.greeted |= beat.mode == STARTING
    if phase_of(context) is Phase.HEARING:
        member = context.recovery.members.setdefault(beat.region, Member())
        if member.answer is Answer.REBUILDING and beat.mode != REBUILDING:
            context.recovery.members[beat.region] = Member()  # it is whole again: now it can tell everything


def _compare_generations(context: Context, beat: Heartbeat) -> None:
    """Note which generation is too low: under one that was used before, a change would look as if it were known.

    A region that is new to its store has published nothing yet, and begins anew; so does one whose very generation was
    another database's, for it has stamped such changes already. Another one goes on under a later one.
    """
    identity, recovery = context.identity, context.recovery
    generation, database_id = beat.generations.get(identity.region, (0, ""))
    if database_id == identity.database_id or generation < identity.generation:
        return
    if not generations.claim(context, generation, beat.region):
        return
    recovery.outdone = max(recovery.outdone, generation)
    too_early = recovery.fresh and bool(recovery.unheard)
    if (too_early or generation == identity.generation) and phase_of(context) is Phase.DONE and recovery.lost is None:
        _doubt(context, f"{beat.region} has heard generation {generation} from another database ({database_id})")
        recovery.ambiguous = generation == identity.generation


def holds_still(context: Context) -> bool:
    """Whether nothing may be written: a region that is new to its store has yet to hear whether it was there before."""
    recovery = context.recovery
    return recovery.lost is not None or (recovery.fresh and bool(recovery.unheard))


def outgrow(context: Context) -> None:
    """Take another generation, if another database had this one or a later one."""
    if (
        context.recovery.outdone < context.identity.generation
        or phase_of(context) is Phase.HEARING
        or context.observing
    ):
        return
    with context.state.transaction() as tx:
        identity = tx.set_identity(generation=context.recovery.outdone + 1)
    context.renamed(identity)
    context.rollback_counter.advanced = True  # the fence is to name it, too


def greet(context: Context, now: Millis) -> None:
    """This daemon asks its peers what they have of its database."""
    if context.recovery.greeting_ms is None:
        context.recovery.greeting_ms = now


def hear_own(context: Context, beat: Heartbeat) -> None:
    """Our greeting has come back: what waited on the bus before it is past, and with it what peers had said before."""
    begun = context.recovery.greeting_ms
    context.recovery.echoed |= beat.mode == STARTING and begun is not None and beat.sent_at_ms >= begun
    if beat.sent_at_ms in context.evidence.said:
        context.recovery.heard_ms = beat.sent_at_ms


# -- what is asked and told


def hearing(context: Context, kept: Rebuild, now: Millis) -> Hearing:
    """What is known of the group now."""
    recovery, own = context.recovery, context.identity.region
    if recovery.begun_at_ms is None:
        recovery.begun_at_ms = now
    expected = set(context.peers.members(context.expected)) - {own}
    for region in sorted(expected):
        recovery.members.setdefault(region, Member())
    members = {
        region: member.answer
        for region, member in recovery.members.items()
        if not context.expected or region in context.expected
    }
    heard_for_ms = recovery.heard_ms - recovery.begun_at_ms
    if not context.expected and heard_for_ms >= context.hear_ms and Answer.TOLD in members.values():
        members = {region: answer for region, answer in members.items() if answer is not Answer.SILENT}
        members = {region: answer for region, answer in members.items() if answer is not Answer.TELLING}
    complete = bool(context.expected) or heard_for_ms >= context.speak_ms
    return Hearing(answers=members, without=kept.without, alone=kept.alone, complete=complete)


def work(context: Context, now: Millis) -> list[StateRequest | StatePage | Control]:
    """Do what is due; what is to be published now, and may be lost."""
    messages: list[StateRequest | StatePage | Control] = []
    kept = of(context)
    if kept is not None and kept.phase is Phase.HEARING:
        heard = hearing(context, kept, now)
        if heard.over:
            while _take_back(context, kept, now):
                pass
            _go_on(context, replace(kept, phase=Phase.SCANNING))
        else:
            messages += questions(context, kept, now)
    messages += answers(context, now, phase_of(context))
    if phase_of(context) is not Phase.HEARING:
        messages += missing_values.work(context, now)
    return messages


def _take_back(context: Context, kept: Rebuild, now: Millis) -> bool:
    """Publish what the database before had yet to publish, where the group does not know it; whether there was any.

    Whoever had folded such a change knows it still, or what came after it, or has forgotten a delete that came after
    it. So where the group knows something of the path that has not seen the change, it is new to the group, or was
    greater at a time when it had lost already: it is folded here and told like any other. Where the group knows nothing
    of the path, what stands in the store becomes a baseline by the scan that follows, and what does not was deleted.
    So does every baseline. What was counted under a generation that another database had too is counted anew.
    """
    with context.state.transaction() as tx:
        carried = tx.carried(CARRIED_AT_ONCE)
        if not carried:
            return False
        unit, events = UnitOfWork(context, tx, now), list[MetadataChangeEvent]()
        unit.load(tuple({event.path for event in carried.values()}))
        for former in carried.values():
            anew = kept.ambiguous and former.stamp.region == context.identity.region
            event = _counted_anew(context, former) if anew else former
            known = unit[event.path].known
            if known is None or event.stamp.is_baseline or not context.scope.contains(event.path):
                continue
            if _includes(known, event):
                continue
            unit.take(context.replica.fold(unit[event.path], event, now, released=True))
            events.append(event)
        unit.store()
        tx.enqueue(events)
        tx.drop_carried(carried)
    unit.settle()
    context.tally["rebuilds", "carried"] += len(events)
    return True


def _counted_anew(context: Context, event: MetadataChangeEvent) -> MetadataChangeEvent:
    """A change under this database's counter: what it has seen of the former counter may be of another database."""
    by = context.replica.settings.by
    seen = {counter: time for counter, time in event.seen.items() if counter != event.by}
    return replace(event, by=by, seen={**seen, by: event.stamp.updated_at_ms})


def _includes(known: Version, event: MetadataChangeEvent) -> bool:
    """Whether what is known is the change itself, or has seen it."""
    return known.stamp == event.stamp or known.seen.get(event.by, 0) >= event.stamp.updated_at_ms


def _go_on(context: Context, kept: Rebuild) -> None:
    """Nothing was stamped so far: if the group knows this generation or a later one, another one is taken."""
    generation = max(context.identity.generation, context.recovery.outdone + 1)
    with context.state.transaction() as tx:
        identity = tx.set_identity(rebuild=kept.encode(), generation=generation)
    context.renamed(identity)  # and not before it is stored


# -- how it ends


def finish(context: Context, tx: Transaction) -> None:
    """The first scan is over: this database is like any other from now on."""
    kept = of(context)
    if kept is not None and kept.phase is not Phase.DONE:
        tx.set_identity(rebuild=replace(kept, phase=Phase.DONE).encode())


def excuse(context: Context, unit: UnitOfWork, tx: Transaction, without: Sequence[Region], *, alone: bool) -> str:
    """A person says who is absent; what is waited for still."""
    kept = of(context)
    if kept is None or kept.phase is not Phase.HEARING:
        return "nothing is being rebuilt: nobody is waited for"
    kept = replace(kept, without=tuple(sorted({*kept.without, *without})), alone=kept.alone or alone)
    identity = tx.set_identity(rebuild=kept.encode())
    unit.afterwards(lambda: setattr(context, "identity", identity))
    if kept.alone:
        return "nobody is waited for: what only this region holds becomes a baseline"
    return f"not waited for: {', '.join(kept.without)}"


def _trouble(member: Member) -> str:
    """What is wrong with what a member tells."""
    if member.trouble or not member.refused:
        return member.trouble
    return f"{member.refused} entries that cannot be understood: see 'syncer quarantine list'"


def report(context: Context, now: Millis) -> dict[str, object] | None:
    """How far the rebuild has got, as JSON; ``None`` when there is none."""
    kept = of(context)
    if kept is None or kept.phase is Phase.DONE:
        return None
    heard = hearing(context, kept, now)
    told = sum(answer is Answer.TOLD for answer in heard.answers.values())
    registers = sum(member.told for member in context.recovery.members.values())
    trouble = {str(region): said for region, member in context.recovery.members.items() if (said := _trouble(member))}
    return {
        "phase": kept.phase.value,
        "reason": kept.reason,
        "heard": told,
        "members": len(heard.answers),
        "waits_for": heard.waits_for if kept.phase is Phase.HEARING else [],
        "without": list(kept.without),
        "registers": registers,
        "trouble": trouble,
        "message": f"rebuilding: heard {told} of {len(heard.answers)} peers, {registers:,} registers",
    }
