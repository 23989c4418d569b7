"""Bootstrap of a lost database from its peers: when it begins, whom it hears, and when it is over.

    fence names another database, or our own one is an old copy
      ─▶ begin anew: new id, new generation ─▶ raise the fence ─▶ hearing: ask every member, page by page
      ─▶ all have told (or a person has said who is absent) ─▶ scanning ─▶ all reads answered ─▶ done

What others say of this database is hearsay too: that they have events of it which it never gave out, or that its very
generation was another one's. One member's word begins no rebuild; it has to be proved, or two have to say so
(:mod:`syncer.replication.recovery.doubt`). That is obeyed once in the life of a daemon, after the database was kept as
a copy; what stood in its outbox is carried over and published once the group was heard. Nothing that was written is
lost by a forged proof, and the next one is only shown (`database-doubted`).
Where `peers.expected` names who counts, these are waited for without end, or until an operator excuses them; where it
does not, anybody may say that he is there, so whoever has not told all that he knows is waited for only for so long,
and who was first heard when he said that this database is an old copy is not waited for at all.
That time is one in which this daemon has heard the bus, as its own heartbeats show that come back to it: what somebody
has said and what still waits there to be heard is no silence.

While it hears, nothing of the store is read, stamped or written, and nothing is published. Every question carries all
that its answer needs, so that both may be lost or come twice; what was learned stays, whatever happens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from syncer.bus.contract import Outgoing
from syncer.bus.trust.region_keys import Speaker
from syncer.bus.wire.messages import Control, Heartbeat, StatePage, StateRequest
from syncer.conflict.rebuilding import Answer, Hearing
from syncer.errors import StateError
from syncer.model import MetadataChangeEvent, Millis, Region, Version, home_of
from syncer.replication import publishing
from syncer.replication.fence import Fence
from syncer.replication.recovery import doubt, generations, missing_values, originals
from syncer.replication.recovery.part import Recovery
from syncer.replication.recovery.progress import Accusation, Member, Phase, Rebuild
from syncer.replication.recovery.state_transfer import answers, questions
from syncer.replication.unit_of_work import UnitOfWork
from syncer.state.contract.transaction import Transaction

FORMER_KEPT: Final = 16
CARRIED_AT_ONCE: Final = 500
REBUILDING: Final = "rebuilding"
"""What a heartbeat says as long as its region hears its peers."""
STARTING: Final = "starting"
"""What a heartbeat says as long as its daemon waits to hear what its peers have of its database."""


def of(recovery: Recovery) -> Rebuild | None:
    """What the database says of its rebuild."""
    return Rebuild.decode(recovery.core.identity.rebuild) if recovery.core.identity.rebuild else None


def phase_of(recovery: Recovery) -> Phase:
    """How far this database has got; one that takes nobody's place is done."""
    found = of(recovery)
    return Phase.DONE if found is None else found.phase


# -- when it begins


def begin_quiet(recovery: Recovery) -> None:
    """Publish nothing before the peers have said what they have of this database: an old copy would use numbers again.

    A database on a server is no file that somebody brings back: its daemons take over from one another at once.
    """
    regions = {*recovery.group.expected, *recovery.group.peers.regions} - {recovery.core.identity.region}
    if recovery.quiet_ms and not recovery.core.observing:
        recovery.progress.unheard.update(region for region in regions if not recovery.group.peers.is_gone(region))


def keep_quiet(recovery: Recovery, now: Millis) -> None:
    """A peer that does not speak is not waited for for longer than ``quiet_ms``."""
    progress = recovery.progress
    if progress.quiet_since_ms is None:
        progress.quiet_since_ms = now
    elif not 0 <= now - progress.quiet_since_ms < recovery.quiet_ms:  # a clock that is set back must not make it longer
        progress.unheard.clear()


def note_own(recovery: Recovery, tx: Transaction, sequence: int, speaker: Speaker | None) -> None:
    """The bus has an event of this very database: one that it never published is own evidence of an old copy."""
    published = doubt.published(recovery, tx)
    if sequence <= published:
        return
    reason = f"an old copy: the bus has event {sequence} of it, this copy has published {published}"
    if doubt.is_own(recovery, speaker):
        _doubt(recovery, reason)
    else:
        recovery.telemetry.conditions[doubt.DOUBTED] = (
            f"this database is said to be {reason}, by a message that this region's key has not signed: it does not "
            "begin anew"
        )


def note_other(recovery: Recovery, event: MetadataChangeEvent, speaker: Speaker | None) -> bool:
    """Whether a change of another database of this region proves that this one has counted under its generation."""
    accusation = None if recovery.core.observing else doubt.proved(recovery, event, speaker)
    if accusation is None:
        return False
    _doubt(recovery, accusation.reason, ambiguous=True)
    return recovery.progress.lost is not None


def _accuse(recovery: Recovery, accusation: Accusation) -> None:
    """A member says that this database is not what it was: that is shown, and begins a rebuild if two say so."""
    if recovery.begun_on_hearsay or doubt.convinces(recovery, accusation):
        _doubt(recovery, accusation.reason, ambiguous=accusation.by is not None)
    else:
        recovery.telemetry.conditions[doubt.DOUBTED] = doubt.words(recovery, accusation)


def _doubt(recovery: Recovery, reason: str, *, ambiguous: bool = False) -> None:
    """This database is not what it was: it begins anew, once, for it may be a lie; then it is shown."""
    if recovery.begun_on_hearsay:
        recovery.telemetry.conditions[doubt.DOUBTED] = (
            f"this database is said to be {reason}. It has begun anew already since the daemon's start, by what came "
            "from others, and does not do so again: either it is a lie, or stop the daemon, move the database away, "
            "and start it again"
        )
    elif recovery.progress.lost is None:
        recovery.progress.lost, recovery.progress.ambiguous = reason, ambiguous


@dataclass(frozen=True, slots=True)
class BeginAnew:
    """What recovery asks of the driver: that this database begins anew as another one.

    Args:
        reason: Why.
        fence: As it stands in the store.
        carry: What stands in the outbox is to be published once the group was heard.
    """

    reason: str
    fence: Fence | None
    carry: bool = False


def on_hearsay(recovery: Recovery) -> BeginAnew | None:
    """Ask to begin anew because others say so; what stands here is kept as a copy beside it, or nothing begins."""
    reason, recovery.progress.lost = recovery.progress.lost or "", None
    recovery.begun_on_hearsay = True
    try:
        recovery.core.state.keep_copy()
    except StateError as exc:
        recovery.telemetry.conditions[doubt.DOUBTED] = (
            f"this database is said to be {reason}; it does not begin anew: {exc.message}"
        )
        return None
    held = recovery.core.fence
    return BeginAnew(reason, held.fence if held is not None else None, carry=True)


def renew(recovery: Recovery, asked: BeginAnew) -> None:
    """Make this database another one, and forget what was in memory of its recovery.

    Raises:
        Fenced: Another daemon is active on this database.
    """
    fence = asked.fence
    identity, before = recovery.core.identity, of(recovery)
    names = (*(before.former if before else ()), identity.database_id, *((fence.database_id,) if fence else ()))
    generation = max(identity.generation, fence.generation if fence else 0, recovery.progress.outdone) + 1
    store_id = fence.store_id if fence is not None else identity.store_id or ""
    kept = Rebuild(
        phase=Phase.HEARING,
        reason=asked.reason,
        former=tuple(dict.fromkeys(names))[-FORMER_KEPT:],
        ambiguous=recovery.progress.ambiguous,
        strangers=tuple(sorted(recovery.doubts.strangers)),
    )
    recovery.core.identity = recovery.core.state.renew(generation, store_id, kept.encode(), carry=asked.carry)
    recovery.begin_anew()


def renewed(recovery: Recovery, tx: Transaction, asked: BeginAnew) -> None:
    """The database is another one: it takes part where the region did so before."""
    if recovery.group.joining and not (asked.fence is not None and asked.fence.joining):
        recovery.core.identity = tx.set_identity(paused=None)


def begun(recovery: Recovery) -> None:
    """Nothing is left in memory of the former database."""
    recovery.group.paused = recovery.core.identity.paused
    recovery.telemetry.tally["rebuilds", "begun"] += 1


# -- what is heard


def is_former(recovery: Recovery, sender: str) -> bool:
    """Whether a database spoke for this region before this one."""
    kept = of(recovery)
    return kept is not None and sender in kept.former


def is_ours(recovery: Recovery, database: str) -> bool:
    """Whether a database speaks, or spoke, for this region."""
    return database == recovery.core.identity.database_id or is_former(recovery, database)


def on_heartbeat(
    recovery: Recovery, tx: Transaction, beat: Heartbeat, now: Millis, speaker: Speaker | None = None
) -> None:
    """A peer is there; and what it has of this very database tells whether this is an old copy."""
    signed = speaker is not None and speaker.region == beat.region
    _compare_generations(recovery, beat, now, signed=signed)
    reached = beat.reached.get(recovery.core.identity.database_id)
    if reached is not None:
        published = doubt.published(recovery, tx)
        if reached > published:
            reason = f"an old copy: {beat.region} has event {reached} of it, this copy has published {published}"
            said = Accusation(
                teller=beat.region,
                reason=reason,
                database=recovery.core.identity.database_id,
                at_ms=now,
                above=published,
                signed=signed,
            )
            _accuse(recovery, said)
        if recovery.progress.echoed and recovery.progress.lost is None:
            recovery.progress.unheard.discard(beat.region)
    recovery.progress.greeted |= beat.mode == STARTING
    if phase_of(recovery) is Phase.HEARING:
        member = recovery.progress.members.setdefault(beat.region, Member())
        if member.answer is Answer.REBUILDING and beat.mode != REBUILDING:
            recovery.progress.members[beat.region] = Member()  # it is whole again: now it can tell everything


def _compare_generations(recovery: Recovery, beat: Heartbeat, now: Millis, *, signed: bool) -> None:
    """Note which generation is too low: under one that was used before, a change would look as if it were known.

    A region that is new to its store has published nothing yet, has nothing to lose, and begins anew. Another one goes
    on under a later generation. It is in doubt if its very generation was another database's, for it has stamped
    changes under it already; but not if that database speaks for another region: it never counted under this one's.
    """
    identity, progress = recovery.core.identity, recovery.progress
    generation, database_id = beat.generations.get(identity.region, (0, ""))
    if database_id == identity.database_id or generation < identity.generation:
        return
    if not generations.claim(recovery, generation, beat.region):
        return
    progress.outdone = max(progress.outdone, generation)
    too_early = progress.fresh and bool(progress.unheard)
    if phase_of(recovery) is not Phase.DONE or progress.lost is not None:
        return
    reason = f"{beat.region} has heard generation {generation} from another database ({database_id})"
    if too_early:
        _doubt(recovery, reason, ambiguous=generation == identity.generation)
    elif generation == identity.generation and not _is_anothers(recovery, database_id):
        by = recovery.core.replica.settings.by
        said = Accusation(teller=beat.region, reason=reason, database=database_id, at_ms=now, by=by, signed=signed)
        _accuse(recovery, said)


def _is_anothers(recovery: Recovery, database: str) -> bool:
    """Whether a database speaks for another region than this one, as its name shows or as it was heard."""
    home = home_of(database)
    return (
        recovery.group.peers.region_of(database) is not None if home is None else home != recovery.core.identity.region
    )


def holds_still(recovery: Recovery) -> bool:
    """Whether nothing may be written: a region that is new to its store has yet to hear whether it was there before."""
    progress = recovery.progress
    return progress.lost is not None or (progress.fresh and bool(progress.unheard))


def outgrow(recovery: Recovery, now: Millis) -> bool:
    """Take another generation, if another database had this one or a later one; whether the fence is to name it."""
    ahead = recovery.progress.outdone - recovery.core.identity.generation
    if ahead < 0 or phase_of(recovery) is Phase.HEARING or recovery.core.observing:
        return False
    if ahead == 0 and doubt.is_checking(recovery, now):
        return False
    with recovery.core.state.transaction() as tx:
        identity = tx.set_identity(generation=recovery.progress.outdone + 1)
    recovery.core.renamed(identity)
    return True


def greet(recovery: Recovery, now: Millis) -> None:
    """This daemon asks its peers what they have of its database."""
    if recovery.progress.greeting_ms is None:
        recovery.progress.greeting_ms = now


def hear_own(recovery: Recovery, beat: Heartbeat) -> None:
    """Our greeting has come back: what waited on the bus before it is past, and with it what peers had said before."""
    begun = recovery.progress.greeting_ms
    recovery.progress.echoed |= beat.mode == STARTING and begun is not None and beat.sent_at_ms >= begun
    if beat.sent_at_ms in recovery.group.evidence.said:
        recovery.progress.heard_ms = beat.sent_at_ms


# -- what is asked and told


def hearing(recovery: Recovery, kept: Rebuild, now: Millis) -> Hearing:
    """What is known of the group now."""
    progress, own = recovery.progress, recovery.core.identity.region
    if progress.begun_at_ms is None:
        progress.begun_at_ms = now
    expected = set(recovery.group.peers.members(recovery.group.expected)) - {own}
    for region in sorted(expected):
        progress.members.setdefault(region, Member())
    members = {
        region: member.answer
        for region, member in progress.members.items()
        if not recovery.group.expected or region in recovery.group.expected
    }
    for region in members.keys() & set(kept.strangers):
        if not recovery.group.expected and members[region] is not Answer.TOLD:
            del members[region]  # known by its accusation alone
    heard_for_ms = progress.heard_ms - progress.begun_at_ms
    if not recovery.group.expected and heard_for_ms >= recovery.hear_ms and Answer.TOLD in members.values():
        members = {region: answer for region, answer in members.items() if answer is not Answer.SILENT}
        members = {region: answer for region, answer in members.items() if answer is not Answer.TELLING}
    complete = bool(recovery.group.expected) or heard_for_ms >= recovery.speak_ms
    return Hearing(answers=members, without=kept.without, alone=kept.alone, complete=complete)


def work(recovery: Recovery, now: Millis) -> list[StateRequest | StatePage | Control | Outgoing]:
    """Do what is due; what is to be published now, and may be lost."""
    messages: list[StateRequest | StatePage | Control | Outgoing] = [
        *doubt.questions(recovery, now),
        *originals.answers(recovery),
    ]
    kept = of(recovery)
    if kept is not None and kept.phase is Phase.HEARING:
        heard = hearing(recovery, kept, now)
        if heard.over:
            while _take_back(recovery, kept, now):
                pass
            _go_on(recovery, replace(kept, phase=Phase.SCANNING))
        else:
            messages += questions(recovery, kept, now)
    messages += answers(recovery, now, phase_of(recovery))
    if phase_of(recovery) is not Phase.HEARING:
        messages += missing_values.work(recovery, now)
    return messages


def _take_back(recovery: Recovery, kept: Rebuild, now: Millis) -> bool:
    """Publish what the database before had yet to publish, where the group does not know it; whether there was any.

    Whoever had folded such a change knows it still, or what came after it, or has forgotten a delete that came after
    it. So where the group knows something of the path that has not seen the change, it is new to the group, or was
    greater at a time when it had lost already: it is folded here and told like any other. Where the group knows nothing
    of the path, what stands in the store becomes a baseline by the scan that follows, and what does not was deleted.
    So does every baseline. All of this region's own is counted anew: by its former counter it would claim to have seen
    what a database has published after this copy of it was made, or what another one has counted alike. Then at most
    a loser is kept that need not be.
    """
    with recovery.core.state.transaction() as tx:
        carried = tx.carried(CARRIED_AT_ONCE)
        if not carried:
            return False
        unit, events = recovery.units.begin(tx, now), list[MetadataChangeEvent]()
        unit.load(tuple({event.path for event in carried.values()}))
        for former in carried.values():
            own = former.stamp.region == recovery.core.identity.region
            event = _counted_anew(recovery, former) if own else former
            known = unit[event.path].known
            if known is None or event.stamp.is_baseline or not recovery.core.scope.direction(event.path).publishes:
                continue
            if _includes(known, event if kept.ambiguous else former):
                continue
            register = unit[event.path]
            if own:  # this database gives the time out
                register = register.dated(event.stamp.updated_at_ms)
            unit.take(recovery.core.replica.fold(register, event, now, released=True))
            events.append(event)
        unit.store()
        publishing.enqueue(recovery.core.scope, tx, events)
        tx.drop_carried(carried)
    unit.settle()
    recovery.telemetry.tally["rebuilds", "carried"] += len(events)
    return True


def _counted_anew(recovery: Recovery, event: MetadataChangeEvent) -> MetadataChangeEvent:
    """A change under this database's counter: what it has seen of the former counter may be of another database."""
    by = recovery.core.replica.settings.by
    seen = {counter: time for counter, time in event.seen.items() if counter != event.by}
    return replace(event, by=by, seen={**seen, by: event.stamp.updated_at_ms})


def _includes(known: Version, event: MetadataChangeEvent) -> bool:
    """Whether what is known is the change itself, or has seen it."""
    return known.stamp == event.stamp or known.seen.get(event.by, 0) >= event.stamp.updated_at_ms


def _go_on(recovery: Recovery, kept: Rebuild) -> None:
    """Nothing was stamped so far: if the group knows this generation or a later one, another one is taken."""
    generation = max(recovery.core.identity.generation, recovery.progress.outdone + 1)
    with recovery.core.state.transaction() as tx:
        identity = tx.set_identity(rebuild=kept.encode(), generation=generation)
    recovery.core.renamed(identity)  # and not before it is stored


# -- how it ends


def finish(recovery: Recovery, tx: Transaction) -> None:
    """The first scan is over: this database is like any other from now on."""
    kept = of(recovery)
    if kept is not None and kept.phase is not Phase.DONE:
        tx.set_identity(rebuild=replace(kept, phase=Phase.DONE).encode())


def excuse(recovery: Recovery, unit: UnitOfWork, tx: Transaction, without: Sequence[Region], *, alone: bool) -> str:
    """A person says who is absent; what is waited for still."""
    kept = of(recovery)
    if kept is None or kept.phase is not Phase.HEARING:
        return "nothing is being rebuilt: nobody is waited for"
    kept = replace(kept, without=tuple(sorted({*kept.without, *without})), alone=kept.alone or alone)
    identity = tx.set_identity(rebuild=kept.encode())
    unit.afterwards(lambda: setattr(recovery.core, "identity", identity))
    if kept.alone:
        return "nobody is waited for: what only this region holds becomes a baseline"
    return f"not waited for: {', '.join(kept.without)}"


def _trouble(member: Member) -> str:
    """What is wrong with what a member tells."""
    if member.trouble or not member.refused:
        return member.trouble
    return f"{member.refused} entries that cannot be understood: see 'syncer quarantine list'"


def report(recovery: Recovery, now: Millis) -> dict[str, object] | None:
    """How far the rebuild has got, as JSON; ``None`` when there is none."""
    kept = of(recovery)
    if kept is None or kept.phase is Phase.DONE:
        return None
    heard = hearing(recovery, kept, now)
    told = sum(answer is Answer.TOLD for answer in heard.answers.values())
    registers = sum(member.told for member in recovery.progress.members.values())
    trouble = {str(region): said for region, member in recovery.progress.members.items() if (said := _trouble(member))}
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
