"""Who belongs to the group: regions that are forgotten, regions that leave, and first contact that a person lets pass.

A region that was forgotten, or has left, holds up no tombstone any more; so the group may have forgotten deletes that
its database never heard of. Therefore what that database sends is refused for ever: the region comes back as a new
member, with a new database under a region id of its own, whose values are met as at first contact.
"""

from __future__ import annotations

from typing import Final

from syncer.bus.messages import Control, Heartbeat
from syncer.conflict.register import HoldReason, Register
from syncer.errors import NotFound, PreconditionFailed
from syncer.model import MetadataChangeEvent, Millis, Region
from syncer.replication import rebuild
from syncer.replication.context import Context
from syncer.replication.unit import Unit
from syncer.state.contract import COME_BACK, Operation, Transaction

SPOKE_LATELY_MS: Final = 5 * 60_000
PAGE: Final = 500
LEFT_REASON: Final = "this region has left the group"


def still_under_way(context: Context, event: MetadataChangeEvent, register: Register) -> bool:
    """Whether a change was published before its region has left, and can do no harm although it comes afterwards.

    Nobody waits for it any more, so deletes that it contradicts may be forgotten; none of them is younger than the
    floor.
    """
    last = context.peers.last_of_left(event.sender)
    if last is None or not 0 < event.sequence <= last:
        return False
    return register.known is not None or event.stamp.updated_at_ms > context.tombstones.floor


def refused(context: Context, sender: str) -> tuple[str, str] | None:
    """Why what a database sends is not taken: code and detail."""
    region = context.peers.refuses(sender) if sender else None
    if region is None:
        return None
    return "forgotten-database", f"database {sender} of {region} has left the group, or was forgotten. {COME_BACK}"


def gone(context: Context, region: Region) -> tuple[str, str] | None:
    """Why what a region says is not taken, under whatever database: code and detail."""
    if not context.peers.is_gone(region):
        return None
    return "forgotten-region", f"{region} has left the group, or was forgotten, and its id is used again. {COME_BACK}"


def forget(context: Context, unit: Unit, tx: Transaction, operation: Operation) -> tuple[str, ...]:
    """Forget a region; what all others are to forget: its id and its databases.

    Raises:
        NotFound: Nobody of this id was ever heard.
        PreconditionFailed: It is this region, or it spoke lately.
    """
    region = Region(operation.arguments.get("region", ""))
    if region == context.identity.region:
        raise PreconditionFailed(
            "a region does not forget itself", hint="'syncer regions leave' takes it out of the group."
        )
    heard = context.peers.heard_at(region)
    if heard is None:
        raise NotFound(f"no region {region!r} was ever heard", hint="See 'syncer regions list'.")
    if operation.arguments.get("force") != "true" and unit.now - heard < SPOKE_LATELY_MS:
        raise PreconditionFailed(
            f"{region} was heard {max(0, unit.now - heard) // 1000} s ago: it is there",
            hint="Stop its daemon first, or let it leave by 'syncer regions leave'; --force forgets it all the same.",
        )
    return (region, *_forget(context, tx, region))


def forget_as_told(context: Context, tx: Transaction, control: Control, now: Millis) -> None:
    """Another region has forgotten one: its id and its databases are the control's paths."""
    if not control.paths:
        return
    _refuse(context, tx, Region(control.paths[0]), control.paths[1:], control.region, now)


def hear(context: Context, tx: Transaction, beat: Heartbeat, now: Millis) -> None:
    """Refuse what a member refuses: it may have been forgotten before this region was there to be told."""
    told: dict[Region, list[str]] = {}
    for region, database in beat.refused:
        told.setdefault(Region(region), []).append(database)
    for region, databases in told.items():
        _refuse(context, tx, region, tuple(databases), beat.region, now)


def _refuse(
    context: Context, tx: Transaction, region: Region, senders: tuple[str, ...], teller: Region, now: Millis
) -> None:
    """Another region refuses these databases of a region, so they are refused here too."""
    if region == context.identity.region:
        ours = any(sender == context.identity.database_id or rebuild.is_former(context, sender) for sender in senders)
        if ours and context.left_at is None:  # or this one has taken its place, and nobody takes anything of it either
            reason = f"{teller} has forgotten this region's database. {COME_BACK}"
            _stand_still(context, tx, now, reason)
            context.conditions["forgotten-here"] = reason
        return
    if not context.peers.lacks(region, senders):
        return
    row = next((row for row in tx.peers() if row.region == region), None)
    if (refusing := context.peers.refuse(region, senders, row, now)) is None:
        return
    tx.save_peer(refusing)
    if context.peers.is_gone(region):
        _part(context, region)


def _forget(context: Context, tx: Transaction, region: Region) -> tuple[str, ...]:
    row = next(row for row in tx.peers() if row.region == region)
    tx.save_peer(context.peers.forget(region, row))
    _part(context, region)
    return context.peers.refused_of(region)


def _part(context: Context, region: Region) -> None:
    """Keep nothing in memory of a region that is gone."""
    context.comparisons.part(region)
    context.retelling.gaps.pop(region, None)


def leave(context: Context, tx: Transaction, now: Millis, *, force: bool = False) -> None:
    """Take this region out of the group; its heartbeats say so from now on.

    Args:
        context: The daemon's context.
        tx: The transaction.
        now: Our clock.
        force: Even if a member has not consumed all that this region has published.

    Raises:
        PreconditionFailed: It has left already, or not everything is read, published, or consumed by all.
    """
    if context.left_at is not None:
        raise PreconditionFailed("this region has left the group already", hint=COME_BACK)
    if not force and not (context.scanned and context.ledger.idle and not len(context.dirty)):
        raise PreconditionFailed(
            "not all of this region's store is read and decided: it may hold changes that the group would lose",
            hint="Try again in a moment; 'syncer status' shows whether the store is read. --force leaves all the same.",
        )
    if tx.outbox(1):
        raise PreconditionFailed(
            "changes of this region are not published yet; the group would lose them",
            hint="Wait until 'syncer status' shows an empty outbox, and try again.",
        )
    behind = _behind(context, tx)
    if behind and not force:
        raise PreconditionFailed(
            f"not every member has said that it has all changes of this region: {'; '.join(behind)}",
            hint="Wait for the next heartbeats and try again, or let the others forget who is off by 'syncer regions "
            "forget'; --force leaves all the same.",
        )
    _stand_still(context, tx, now, LEFT_REASON)


def _behind(context: Context, tx: Transaction) -> list[str]:
    """Members that have not said that they have consumed all that this region has given out."""
    identity = tx.identity()
    found = []
    for region, report in context.peers.members(context.expected).items():
        had = report.consumed.get(identity.database_id, 0) if report is not None else 0
        if had < identity.last_sequence:
            found.append(f"{region} has {had} of {identity.last_sequence}")
    return found


def _stand_still(context: Context, tx: Transaction, now: Millis, reason: str) -> None:
    """Neither write nor publish any more, and say so in heartbeats."""
    tx.set_left(now)
    context.left_at, context.paused = now, reason
    tx.set_identity(paused=reason)


def check_takes_part(context: Context) -> None:
    """Refuse what only a region may do that takes part.

    Raises:
        PreconditionFailed: This region has left the group, or has not joined it yet.
    """
    check_belongs(context)
    if context.joining:
        raise PreconditionFailed(
            "this region has not joined yet", hint="See the plan by 'syncer regions join', then --confirm it."
        )


def check_belongs(context: Context) -> None:
    """Refuse what only a member may do.

    Raises:
        PreconditionFailed: This region has left the group.
    """
    if context.left_at is not None:
        raise PreconditionFailed(
            f"{LEFT_REASON}, or was forgotten, and the group may have forgotten deletes since",
            hint=COME_BACK,
        )


def join(context: Context, unit: Unit, tx: Transaction) -> int:
    """Let this region take part, or let everything pass that first contact holds; how many changes that were.

    Where it begins to take part, nothing passes: values that differ are held then, for a second look.

    Raises:
        PreconditionFailed: This region has left the group, or has not read its whole store yet.
    """
    check_belongs(context)
    passed, after = 0, None
    if context.joining:
        if not context.genesis:
            raise PreconditionFailed("the store is not read to its end yet, so the plan is not known")
        context.paused = None
        tx.set_identity(paused=None)
        return passed
    while page := tx.due(PAGE, after):
        held = [each for each in page if each.hold is not None and each.hold.reason is HoldReason.FIRST_CONTACT]
        unit.load([register.path for register in held])
        for register in held:
            unit.take(context.replica.confirm(register))
        passed += len(held)
        after = page[-1].path
    return passed
