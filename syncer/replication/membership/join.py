"""Membership changes: a region joins the group, and lets pass what first contact holds; what only members may do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from syncer.conflict.register import HoldReason
from syncer.conflict.shown import look_at, until_in
from syncer.errors import PreconditionFailed
from syncer.replication.membership import leave
from syncer.replication.membership.part import MembershipChanges
from syncer.replication.unit_of_work import UnitOfWork
from syncer.state.contract.membership import COME_BACK
from syncer.state.contract.transaction import Transaction

PAGE: Final = 500


def check_takes_part(membership: MembershipChanges) -> None:
    """Refuse what only a region may do that takes part.

    Raises:
        PreconditionFailed: This region has left the group, or has not joined it yet.
    """
    check_belongs(membership)
    if membership.group.joining:
        raise PreconditionFailed(
            "this region has not joined yet", hint="See the plan by 'syncer regions join', then --confirm it."
        )


def check_belongs(membership: MembershipChanges) -> None:
    """Refuse what only a member may do.

    Raises:
        PreconditionFailed: This region has left the group.
    """
    if membership.group.left_at is not None:
        raise PreconditionFailed(
            f"{leave.LEFT_REASON}, or was forgotten, and the group may have forgotten deletes since",
            hint=COME_BACK,
        )


def join(membership: MembershipChanges, unit: UnitOfWork, tx: Transaction, told: Mapping[str, str]) -> int:
    """Let this region take part, or let everything pass that first contact holds; how many changes that were.

    Where it begins to take part, nothing passes: values that differ are held then, for a second look. Of these pass
    what was shown at it, which is what was held until then and stands as it was found.

    Args:
        membership: What changes of the membership touch.
        unit: The work.
        tx: The transaction.
        told: Arguments of the operation.

    Raises:
        PreconditionFailed: This region has left the group, has not read its whole store yet, or nobody says what was
            shown.
    """
    check_belongs(membership)
    passed, after = 0, None
    if membership.group.joining:
        if not membership.core.first_scan_done:
            raise PreconditionFailed("the store is not read to its end yet, so the plan is not known")
        membership.group.paused = None
        tx.set_identity(paused=None)
        return passed
    until = until_in(told)
    while page := tx.due(PAGE, after):
        for register in page:
            hold, stored = register.hold, register.stored
            if hold is None or hold.reason is not HoldReason.FIRST_CONTACT or hold.since_ms > until:
                continue
            if stored is not None and stored.stamp.is_baseline:
                unit.load((register.path,))
                unit.take(membership.core.replica.confirm(register, look_at(register, hold)))
                passed += 1
        after = page[-1].path
    return passed
