"""The tombstone collector: deletes are gathered, their epoch is carried through its two rounds, then they are dropped.

What must hold before one may go is decided by :mod:`syncer.conflict.tombstones`. An epoch lives in memory only: a
daemon that starts anew gathers anew. A region that is off, or behind, keeps all tombstones where they are, which the
status shows after a while; nothing else waits for it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Final

from syncer.conflict.tombstones import (
    Cause,
    Epoch,
    EpochPhase,
    Report,
    Wait,
    advance,
    close,
    gatherable_until,
    unapplied,
    unfolded,
    waiting,
)
from syncer.model import MetaPath, Millis, Region, TieOrder
from syncer.replication.gc.part import DeleteCollection
from syncer.replication.group.hearsay import disputes
from syncer.replication.recovery import rebuild
from syncer.state.contract.tombstones import Tombstone
from syncer.state.contract.transaction import Transaction

MEMBERS_AT_LEAST: Final = 2
"""Nothing is forgotten while no other region is known: who is not known cannot be asked."""


def own_report(tx: Transaction) -> Report:
    """What this region tells of its sequence numbers and its deletes, as of this transaction."""
    identity = tx.identity()
    senders = [peer.sender for peer in tx.peers()]
    consumed = tx.consumed(senders)
    unseated, oldest = tx.unapplied()
    return Report(
        sender=identity.database_id,
        last_sequence=identity.last_sequence,
        consumed={sender: done.through for sender, done in consumed.items()},
        reached={sender: done.reached if (done := consumed.get(sender)) else 0 for sender in senders},
        unseated=unseated,
        oldest_ms=oldest,
        unfolded=tx.unfolded(),
    )


def work(gc: DeleteCollection, now: Millis) -> None:
    """Do the next piece of work: gather, carry on, or drop."""
    state = gc.tombstones
    if gc.core.observing or gc.group.left_at is not None or gc.core.fence is None or not gc.core.first_scan_done:
        return
    if gc.core.replica.settings.ties is TieOrder.NATIVE:
        return  # regions without numbers take part: what they have under way cannot be told
    if state.epoch is None and 0 <= now - state.looked_at_ms < state.limits.pause_ms:
        return
    with gc.core.state.transaction() as tx:
        own = own_report(tx)
        paths = _step(gc, tx, own, now)
        if paths:
            tx.drop_tombstones(paths, gc.core.floor)
    gc.local.watch.ledger.changed(paths)
    gc.local.entry_cache.forget(paths)
    gc.telemetry.tally["tombstones", "dropped"] += len(paths)


def _step(gc: DeleteCollection, tx: Transaction, own: Report, now: Millis) -> list[MetaPath]:
    """Carry the epoch on; tombstones that go in this transaction."""
    state = gc.tombstones
    told, silent, unlike = _reports(gc, tx, own, now)
    if silent or len(told) < MEMBERS_AT_LEAST:
        state.over()
        state.looked_at_ms = now
        _note(gc, silent, now)
        return []
    if state.epoch is None:
        kept = _gather(gc, tx, told, unlike, now)
        if state.epoch is None:
            _note(gc, kept, now)
            return []
    elif state.scopes != gc.group.peers.fingerprints or not unlike.keys().isdisjoint(state.epoch.senders):
        state.epoch = None  # others carry its paths by now, or in another way
    else:
        state.epoch = advance(state.epoch, *_parted(told, state.epoch.senders))
    epoch = state.epoch
    if epoch is None:
        state.over()
        return []
    reports, _ = _parted(told, epoch.senders)
    waits = _unequal(gc, epoch) if epoch.phase is EpochPhase.OVER else waiting(epoch, reports)
    _note(gc, waits, now)
    if epoch.phase is EpochPhase.OVER and not waits:
        if unapplied(epoch, own) is None and unfolded(own) is None:
            return _drop(gc, tx)
        state.over()  # something old came meanwhile, and is not decided yet
    elif not 0 <= now - state.began_at_ms < state.limits.patience_ms:
        state.over()
    return []


def _reports(
    gc: DeleteCollection, tx: Transaction, own: Report, now: Millis
) -> tuple[dict[Region, Report], dict[Region, Wait], dict[Region, Wait]]:
    """The latest report of every member; why those have none that can be used who have not; and who bears on others.

    Nothing goes while there is one of the second kind. One of the third kind has a report, and keeps the deletes of all
    paths that it carries.
    """
    peers, region = gc.group.peers, gc.core.identity.region
    reports, silent, unlike = {region: own}, dict[Region, Wait](), dict[Region, Wait]()
    for member, report in peers.members(gc.group.expected).items():
        if peers.heard_at(member) is None:
            silent[member] = Wait(cause=Cause.UNHEARD, text="was never heard")
        elif report is None:
            silent[member] = Wait(cause=Cause.OUTDATED, text="runs a version that does not tell what it has seated")
        elif gc.group.scope_of(member) is None:
            text = "carries other paths than this region, and which they are is not known"
            silent[member] = Wait(cause=Cause.UNLIKE, text=text)
        else:
            reports[member] = report
            if not peers.alike(member):
                unlike[member] = Wait(cause=Cause.UNLIKE, text="compares values in another way than this region")
    silent.update(disputes(peers, gc.group.expected, region, partial(rebuild.is_ours, gc.recovery)))
    if not gc.group.expected:
        nameless = sorted(sender for sender in tx.senders() if not peers.knows(sender) and sender != own.sender)
        since = gc.tombstones.nameless = {
            sender: min(gc.tombstones.nameless.get(sender, now), now) for sender in nameless
        }  # a clock that is set back begins anew
        for sender in nameless:
            if now - since[sender] < gc.tombstones.limits.nameless_ms:
                text = f"has consumed changes of database {sender}, which never told its region"
                silent[region] = Wait(cause=Cause.NAMELESS, text=text)
    return reports, silent, unlike


def _parted(
    told: Mapping[Region, Report], carriers: Collection[Region]
) -> tuple[dict[Region, Report], dict[Region, Report]]:
    """The reports of those who carry the paths of an epoch, and those of all others."""
    inside = {region: report for region, report in told.items() if region in carriers}
    return inside, {region: report for region, report in told.items() if region not in carriers}


def _gather(
    gc: DeleteCollection,
    tx: Transaction,
    told: Mapping[Region, Report],
    unlike: Mapping[Region, Wait],
    now: Millis,
) -> dict[Region, Wait]:
    """Begin an epoch over the next tombstones that are old enough, if there are any; else, who keeps them.

    An epoch is about paths that the same members carry. Where these are not the same for all paths, they take turns.
    """
    state = gc.tombstones
    state.looked_at_ms = state.began_at_ms = now
    state.equals = {region: comparison.equals for region, comparison in gc.antientropy.exchanges.peers.items()}
    state.scopes = dict(gc.group.peers.fingerprints)
    old_enough = Millis(now - state.limits.grace_ms)
    alike = not gc.group.peers.otherwise
    until = gatherable_until(old_enough, told.values()) if alike and not unlike else old_enough
    found = tx.dead(state.limits.gathered, until, state.after)
    turns = _by_carriers(gc, found, told)
    carriers = sorted(turns)[state.turn] if state.turn < len(turns) else ()
    state.turn += 1
    if state.turn >= len(turns):
        full = len(found) == state.limits.gathered
        state.after = (found[-1].stamp.updated_at_ms, found[-1].path) if full else None
        state.turn = 0
    reports, beside = _parted(told, carriers)
    waits = {region: wait for region, wait in unlike.items() if region in carriers}
    within = gatherable_until(old_enough, reports.values())
    chosen = [each for each in turns.get(carriers, ()) if each.stamp.updated_at_ms <= within and not waits]
    state.gathered = {tombstone.path: tombstone.stamp for tombstone in chosen}
    state.epoch = close(reports, max(each.stamp.updated_at_ms for each in chosen), beside) if chosen else None
    return waits or ({} if chosen else _keeping(gc, tx, reports if carriers else told, now))


def _by_carriers(
    gc: DeleteCollection, found: Sequence[Tombstone], told: Mapping[Region, Report]
) -> dict[tuple[Region, ...], list[Tombstone]]:
    """Tombstones by the members that carry their paths, this one among them."""
    if not gc.group.peers.otherwise:
        return {tuple(sorted(told)): list(found)} if found else {}
    own, turns = gc.core.identity.region, dict[tuple[Region, ...], list[Tombstone]]()
    for each in found:
        carriers = sorted(region for region in told if region == own or gc.group.carries(region, each.path))
        turns.setdefault(tuple(carriers), []).append(each)
    return turns


def _unequal(gc: DeleteCollection, epoch: Epoch) -> dict[Region, Wait]:
    """Members whose tree was not found equal since the epoch was closed, and what is said of them.

    The numbers alone should do. But what is dropped is gone for good, and if a number ever counts that should not, the
    trees differ: whoever lacks a delete that somebody else has folded holds something living there.
    """
    before, peers = gc.tombstones.equals, gc.antientropy.exchanges.peers
    wait = Wait(cause=Cause.UNEQUAL, text="was not found equal to this region since")
    return {
        region: wait
        for region in epoch.senders
        if region != gc.core.identity.region and (region not in peers or peers[region].equals <= before.get(region, 0))
    }


def _keeping(
    gc: DeleteCollection, tx: Transaction, reports: Mapping[Region, Report], now: Millis
) -> dict[Region, Wait]:
    """Where nothing could be gathered: the members whose own deletes keep back what is old enough, and how."""
    old_enough = Millis(now - gc.tombstones.limits.grace_ms)
    if not tx.dead(1, old_enough):
        return {}
    epoch = close(reports, old_enough)
    return {region: wait for region, report in reports.items() if (wait := unapplied(epoch, report)) is not None}


def _drop(gc: DeleteCollection, tx: Transaction) -> list[MetaPath]:
    """Take the next gathered tombstones, and leave out those that are not what they were."""
    state = gc.tombstones
    paths = list(state.gathered)[: state.limits.per_step]
    registers, open_paths = tx.registers(paths), tx.open_paths(paths)
    going = []
    for path in paths:
        stamp, register = state.gathered.pop(path), registers.get(path)
        if register is None or path in open_paths or path in gc.recovery.values.requested:
            continue
        if register.forgettable and register.known is not None and register.known.stamp == stamp:
            going.append(path)
            gc.core.floor = max(gc.core.floor, register.own, stamp.updated_at_ms)
    if not state.gathered:
        state.over()
    return going


def _note(gc: DeleteCollection, waits: Mapping[Region, Wait], now: Millis) -> None:
    """Remember since when each region holds up the dropping."""
    state = gc.tombstones
    before = state.holding
    state.holding = {region: (before[region][0] if region in before else now, wait) for region, wait in waits.items()}
