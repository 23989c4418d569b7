"""Gap detection and fill: for messages that never came every delete is published again; then the gap counts as closed.

Forgetting a delete waits until every member has consumed all numbers up to some (:mod:`syncer.conflict.tombstones`). A
lost message leaves a gap that nothing fills: comparing brings what a path *is*, under another number, and never a
delete of a path that is unknown. So whoever misses messages of a peer for long asks it to tell its deletes again:

    who lacks   ─▶ the peer    retell         "messages of yours never came"
    the peer    ─▶ all         changes        every delete that it knows, under numbers n+1, n+2, … z; n: its last
                                              number when it began
    the peer    ─▶ all         heartbeats     "retold: n, z"
    who lacks                                 has consumed n+1 … z and finds both trees equal: now 1 … z count as had

Why it may count them. Let G be the greatest stamp that a path was ever given, and a delete, since nothing else can be
forgotten wrongly: a greatest stamp that lives is kept by its author for ever, and comparing brings it to everybody.
What forgetting needs of "R has consumed number k of S", for the message k that carried G, is that R has folded G.

* S knew G when it gave out k, and knows nothing greater afterwards, as there is nothing. So if k ≤ n, the register was
  that of a delete during the whole telling, and G was told under one of n+1 … z; or S had forgotten it by then, which
  it did after R had told that it has seated G. If n < k ≤ z, R has consumed k itself. Either way R has folded G.
* Of a message k that carried anything smaller, forgetting needs only that it can do no harm once G is forgotten: it
  counts as had, so it is a duplicate from then on, however late it comes. What re-tells it under a number of its own
  was sent by somebody who had not seated G, hence before the report in which he had, hence under a number that all
  wait for, as ever.

The equal trees are not for the deletes but for the living: messages that are not lost but late are duplicates from
then on too, so what they carry has to be known already. Neither clocks nor the patience bear on any of this: asked too
early, the deletes are told in vain. What is told may be lost like anything else; then it is asked for again, more and
more rarely. Numbers beyond all that ever came are not believed; so who has no delete to tell tells something living.

A message that came and was refused is one that never came, unless its number was counted: then it says that something
lives, and is no G (see :mod:`syncer.conflict.tombstones`).
"""

from __future__ import annotations

from typing import Final

from syncer.bus.wire.messages import Control, ControlAction, Heartbeat
from syncer.conflict.causality.consumed import Consumed
from syncer.model import MetadataChangeEvent, MetaPath, Millis
from syncer.replication import publishing
from syncer.replication.antientropy import protocol
from syncer.replication.gc.part import DeleteCollection
from syncer.replication.gc.state import SequenceGap
from syncer.replication.local.observe import state_event
from syncer.state.contract.transaction import Transaction

SPARE: Final = 100
"""Living paths that are looked at for one that can be told in place of deletes."""
END: Final = Millis(2**62)
"""Later than any stamp."""


def on_heartbeat(gc: DeleteCollection, tx: Transaction, beat: Heartbeat, now: Millis) -> None:
    """Find out from a peer's heartbeat whether messages of it are missing, and whether its deletes make up for them."""
    gaps = gc.gaps.gaps
    had = tx.consumed([beat.sender]).get(beat.sender, Consumed())
    if had.through >= beat.last_sequence or gc.group.peers.has_left(beat.region):
        gaps.pop(beat.region, None)
        return
    if beat.retold is not None and _makes_up(gc, had, beat, now):
        tx.save_consumed({beat.sender: had.closed(beat.retold[1])})
        gc.telemetry.tally["gaps", "closed"] += 1
        gaps.pop(beat.region, None)
        return
    gap = gaps.get(beat.region)
    known = gap is not None and (gap.sender, gap.through) == (beat.sender, had.through)
    if not known and had.reached == had.through and beat.watermark < beat.sent_at_ms:
        gaps.pop(beat.region, None)
        return  # what has not come may stand in its outbox still
    if gap is None or not known:
        gaps[beat.region] = SequenceGap(sender=beat.sender, through=had.through, since_ms=now, asked_at_ms=now)
    elif not 0 <= now - gap.asked_at_ms < _patience(gc, gap) and gc.group.paused is None and _equal(gc, beat, now):
        gap.asked_at_ms = now
        gap.asked += 1
        _ask(gc, beat, had.through, now)


def _makes_up(gc: DeleteCollection, had: Consumed, beat: Heartbeat, now: Millis) -> bool:
    """Whether the deletes that the peer has told again were all folded, and both trees are equal by this heartbeat."""
    begun, told = beat.retold or (0, 0)
    if not 0 <= begun <= told <= beat.last_sequence or told <= had.through or not had.holds(begun, told):
        return False
    if begun > had.reached:
        return False  # nothing beyond those numbers has ever come, so nothing shows that they were given out
    return _equal(gc, beat, now)


def _equal(gc: DeleteCollection, beat: Heartbeat, now: Millis) -> bool:
    """Whether both trees are equal by this very heartbeat."""
    comparison = gc.antientropy.exchanges.of(beat.region)
    return comparison.heard_at_ms == now and comparison.state == "equal"


def _patience(gc: DeleteCollection, gap: SequenceGap) -> int:
    """How long a gap is left alone: each time that it was asked for in vain, twice as long, up to some hours."""
    limits = gc.tombstones.limits
    return min(limits.gap_patience_ms << min(gap.asked, 30), max(limits.gap_patience_ms, limits.gap_longest_ms))


def _ask(gc: DeleteCollection, beat: Heartbeat, through: int, now: Millis) -> None:
    gc.telemetry.tally["gaps", "asked"] += 1
    gc.antientropy.exchanges.send(
        Control(
            region=gc.core.identity.region,
            sender=gc.core.identity.database_id,
            action=ControlAction.RETELL,
            number=through + 1,
            reason=f"changes after number {through} of {beat.last_sequence} never came",
            sent_at_ms=now,
            target=beat.region,
        )
    )


def work(gc: DeleteCollection, now: Millis) -> None:
    """Tell the next deletes again, if somebody has asked for them and the outbox is not full of others."""
    state, limits = gc.gaps, gc.tombstones.limits
    if gc.core.observing or gc.group.paused is not None or gc.core.fence is None or not gc.core.first_scan_done:
        return
    if state.begun is None and (not state.wanted or now < state.next_at_ms <= now + limits.gap_patience_ms):
        return
    with gc.core.state.transaction() as tx:
        if len(tx.outbox(limits.per_step)) == limits.per_step:
            return
        begun = tx.identity().last_sequence if state.begun is None else state.begun
        unsettled, settled = state.unsettled, state.settled
        paths = tx.dying(limits.per_step, unsettled) if settled is None else []
        if paths:
            unsettled = paths[-1]
        else:
            found = tx.dead(limits.per_step, END, settled)
            paths = [each.path for each in found]
            settled = (found[-1].stamp.updated_at_ms, found[-1].path) if found else settled
        events = _events(gc, tx, paths)
        publishing.retell(gc.core.scope, tx, events)
        told = tx.identity().last_sequence
        spare = [path for path, _ in tx.living(SPARE) if gc.core.scope.contains(path)] if told == begun else []
    gc.telemetry.tally["gaps", "retold"] += len(events)
    state.begun, state.unsettled, state.settled = begun, unsettled, settled
    if not paths:
        state.offer = (begun, told)
        protocol.send_known(
            gc.antientropy, spare[:1]
        )  # there are no deletes: another number has to show that it has begun
        if not begun < state.wanted <= told:
            state.wanted = 0  # what was asked for meanwhile is told already
        state.begun = state.unsettled = state.settled = None
        state.next_at_ms = Millis(now + limits.gap_patience_ms // 2)


def _events(gc: DeleteCollection, tx: Transaction, paths: list[MetaPath]) -> list[MetadataChangeEvent]:
    """Deletes as they are known; not those that are held back here, which nobody has heard of yet."""
    registers = tx.registers(paths)
    found = [
        state_event(register, None)
        for path, register in registers.items()
        if gc.core.scope.contains(path) and not (register.hold is not None and register.hold.local)
    ]
    return [event for event in found if event is not None]
