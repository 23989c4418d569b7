"""Membership changes: regions that are forgotten, by an operator or by members, and that are admitted again.

What others say of a region is hearsay: when it is obeyed is decided by :mod:`syncer.replication.group.hearsay`.

A region that was forgotten, or has left, holds up no tombstone any more; so the group may have forgotten deletes that
its database never heard of. Therefore what that database sends is refused for ever: the region comes back as a new
member, with a new database under a region id of its own, whose values are met as at first contact.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from syncer.bus.wire.fields import is_id
from syncer.bus.wire.messages import Control
from syncer.conflict.causality.consumed import Consumed
from syncer.conflict.register import Register
from syncer.errors import NotFound, PreconditionFailed
from syncer.model import MetadataChangeEvent, Millis, Region
from syncer.replication.group.hearsay import Held, judge
from syncer.replication.membership import leave
from syncer.replication.membership.part import MembershipChanges
from syncer.replication.recovery import rebuild
from syncer.replication.unit_of_work import UnitOfWork
from syncer.state.contract.membership import COME_BACK
from syncer.state.contract.operations import Operation
from syncer.state.contract.peers import PeerRow
from syncer.state.contract.transaction import Transaction

SPOKE_LATELY_MS: Final = 5 * 60_000
FORGOTTEN: Final = "has forgotten this region's database"
HELD_ASIDE: Final = "region-held"
"""Code of what is kept aside until an operator has decided whether its region belongs to the group."""
KEPT_FRACTION: Final = 60
"""How often, in the time of a silence, it is kept that this region was heard."""


def still_under_way(membership: MembershipChanges, event: MetadataChangeEvent, register: Register) -> bool:
    """Whether a change was published before its region has left, and can do no harm although it comes afterwards.

    Nobody waits for it any more, so deletes that it contradicts may be forgotten; none of them is younger than the
    floor, or was made before the path came into the scope.
    """
    last = membership.group.peers.last_of_left(event.sender)
    if last is None or not 0 < event.sequence <= last:
        return False
    return register.known is not None or event.stamp.updated_at_ms > membership.core.forgotten_until(event.path)


def refused(membership: MembershipChanges, sender: str) -> tuple[str, str] | None:
    """Why what a database sends is not taken: code and detail."""
    region = membership.group.peers.refuses(sender) if sender else None
    if region is None:
        return None
    return "forgotten-database", f"database {sender} of {region} has left the group, or was forgotten. {COME_BACK}"


def disputed(membership: MembershipChanges, sender: str) -> tuple[str, str] | None:
    """Why what a database sends is kept aside until an operator decides: code and detail."""
    region = membership.group.hearsay.disputed(sender) if sender else None
    if region is None:
        return None
    return HELD_ASIDE, f"members refuse database {sender} of {region}, and it never spoke here before they said so"


def gone(membership: MembershipChanges, region: Region) -> tuple[str, str] | None:
    """Why what a region says is not taken, under whatever database: code and detail."""
    if not membership.group.peers.is_gone(region):
        return None
    return "forgotten-region", f"{region} has left the group, or was forgotten, and its id is used again. {COME_BACK}"


def forget(membership: MembershipChanges, unit: UnitOfWork, tx: Transaction, operation: Operation) -> tuple[str, ...]:
    """Forget a region; what all others are to forget: its id and its databases.

    Raises:
        NotFound: Nobody of this id was ever heard.
        PreconditionFailed: It is this region, or it spoke lately.
    """
    region = Region(operation.arguments.get("region", ""))
    if region == membership.core.identity.region:
        raise PreconditionFailed(
            "a region does not forget itself", hint="'syncer regions leave' takes it out of the group."
        )
    heard, held = membership.group.peers.heard_at(region), membership.group.hearsay.held.get(region)
    newcomer = membership.group.newcomers.of(region)
    named = {*(held.databases if held is not None else ()), *([newcomer.sender] if newcomer is not None else ())}
    if heard is None and not named:
        named = _nameless(membership, tx, region)
    if heard is None and not named:
        raise NotFound(f"no region {region!r} was ever heard", hint="See 'syncer regions list'.")
    if heard is not None and operation.arguments.get("force") != "true" and unit.now - heard < SPOKE_LATELY_MS:
        raise PreconditionFailed(
            f"{region} was heard {max(0, unit.now - heard) // 1000} s ago: it is there",
            hint="Stop its daemon first, or let it leave by 'syncer regions leave'; --force forgets it all the same.",
        )
    tx.save_peer(membership.group.peers.forget(region, sorted(named), _row(tx, region), unit.now))
    membership.group.newcomers.let_go(region)
    _part(membership, region)
    review(membership, tx, unit.now)
    return (region, *membership.group.peers.refused_of(region))


def admit(membership: MembershipChanges, unit: UnitOfWork, tx: Transaction, operation: Operation) -> str:
    """Take a region for one of the group, whoever says that it was forgotten; what that changes.

    Raises:
        NotFound: Nobody of this id was ever heard, or heard of.
        PreconditionFailed: Nothing is in its way, or this region has left by its own operator.
    """
    region = Region(operation.arguments.get("region", ""))
    if region == membership.core.identity.region:
        return _admit_here(membership, unit, tx)
    peers, held = membership.group.peers, membership.group.hearsay.held.get(region)
    newcomer = membership.group.newcomers.of(region)
    if newcomer is None and held is None and not peers.refused_of(region) and not peers.has_left(region):
        if peers.heard_at(region) is None:
            raise NotFound(f"no region {region!r} was ever heard", hint="See 'syncer regions list'.")
        raise PreconditionFailed(f"{region} takes part already: nobody is known to refuse it")
    refused = peers.refused_of(region)
    tx.save_peer(peers.admit(region, held.databases if held is not None else (), _row(tx, region), unit.now))
    membership.group.newcomers.let_go(region)
    # What came while it was refused was counted and not folded: whatever it was is asked for again.
    tx.save_consumed({sender: Consumed() for sender in tx.consumed(refused)})
    review(membership, tx, unit.now)
    return f"{region} belongs to the group again, whoever refuses it"


def _nameless(membership: MembershipChanges, tx: Transaction, name: str) -> set[str]:
    """The database of this name, if it has sent changes and never told its region."""
    known = is_id(name) and not membership.group.peers.knows(name) and name != membership.core.identity.database_id
    return {name} & tx.senders() if known else set()


def _admit_here(membership: MembershipChanges, unit: UnitOfWork, tx: Transaction) -> str:
    if membership.group.left_at is None:
        raise PreconditionFailed("this region takes part: nothing is in its way")
    if membership.group.paused == leave.LEFT_REASON:
        raise PreconditionFailed("this region has left the group by its own operator's word", hint=COME_BACK)
    leave.move_again(membership, tx)
    membership.group.evidence.vouched(unit.now)
    membership.core.identity = tx.set_identity(heard_until=unit.now)
    return "this region takes part again; the others are to admit it too, where they refuse it"


def forget_as_told(membership: MembershipChanges, tx: Transaction, control: Control, now: Millis) -> None:
    """Another region has forgotten one: its id and its databases are the control's paths."""
    if control.paths and control.region in membership.group.peers.members(membership.group.expected):
        region = Region(control.paths[0])
        membership.group.peers.note_claims(
            control.region, frozenset((region, database) for database in control.paths[1:])
        )
        review(membership, tx, now)


def look_again(membership: MembershipChanges, now: Millis) -> None:
    """Time has passed: what was held may be due."""
    membership.group.evidence.begin(now)
    heard = membership.group.evidence.until_ms
    persist = heard - membership.core.identity.heard_until >= membership.group.evidence.silence_ms // KEPT_FRACTION
    if not (persist or membership.group.hearsay.held or membership.group.peers.leaving()):
        return
    with membership.core.state.transaction() as tx:
        if persist:
            membership.core.identity = tx.set_identity(heard_until=heard)
        review(membership, tx, now)


def review(membership: MembershipChanges, tx: Transaction, now: Millis) -> None:
    """Obey what is said of others where that is due, hold the rest, and look at what is said of this region."""
    peers, hearsay, own = membership.group.peers, membership.group.hearsay, membership.core.identity.region
    for region, database, since in peers.leaving():
        if membership.group.evidence.silent(since, now):
            _refuse(membership, tx, region, (database,), now)
    verdict = judge(
        peers,
        membership.group.evidence,
        membership.group.expected,
        own,
        partial(rebuild.is_ours, membership.recovery),
        now,
        joining=membership.group.joining,
    )
    for region, databases in verdict.due.items():
        if not _refuse(membership, tx, region, databases, now):
            tellers = peers.claims(membership.group.expected)
            verdict.held[region] = {database: tellers[region, database] for database in databases}
    hearsay.void = verdict.void
    hearsay.held = {
        region: Held(
            databases=databases,
            unmet=not any(map(peers.region_of, databases)),
            kept=frozenset(database for database in databases if peers.keeps(region, database)),
        )
        for region, databases in verdict.held.items()
    }
    _look_at_ours(membership, tx, verdict.ours, now)


def _look_at_ours(
    membership: MembershipChanges, tx: Transaction, said: Mapping[str, frozenset[Region]], now: Millis
) -> None:
    """Members say that this region was forgotten: it stands still if it was away, and all that it hears say so."""
    tellers = frozenset[Region]().union(*said.values())
    evidence, peers = membership.group.evidence, membership.group.peers
    members = peers.members(membership.group.expected)
    there = {region for region in members if (peers.heard_at(region) or 0) > evidence.heard_last_ms(now)}
    if membership.group.left_at is not None:
        membership.group.hearsay.ours = frozenset()
        if FORGOTTEN in (membership.group.paused or "") and there - tellers:
            leave.move_again(
                membership, tx
            )  # whoever said so first is not alone here: another member waits for this region
        return
    membership.group.hearsay.ours = tellers
    if not tellers:
        return
    if evidence.new(now) and set(said) == {membership.core.identity.database_id}:
        return  # it is new: nobody can have waited for it in vain
    if not evidence.away(now) or there - tellers:
        return
    reason = f"{min(tellers)} {FORGOTTEN}. {COME_BACK}"
    leave.stand_still(membership, tx, now, reason)
    membership.telemetry.conditions["forgotten-here"] = (
        f"{reason} If it was not meant, 'syncer regions admit {membership.core.identity.region}'"
    )
    membership.group.hearsay.ours = frozenset()


def _refuse(
    membership: MembershipChanges, tx: Transaction, region: Region, databases: Sequence[str], now: Millis
) -> bool:
    """Refuse these databases of a region; whether there was room."""
    row = membership.group.peers.refuse(region, databases, _row(tx, region), now)
    if row is None:
        return False
    tx.save_peer(row)
    if membership.group.peers.is_gone(region):
        _part(membership, region)
    return True


def _row(tx: Transaction, region: Region) -> PeerRow | None:
    return next(iter(tx.peers((region,))), None)


def _part(membership: MembershipChanges, region: Region) -> None:
    """Keep nothing in memory of a region that is gone."""
    membership.antientropy.exchanges.part(region)
    membership.gc.gaps.gaps.pop(region, None)
