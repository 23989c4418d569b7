"""Opening of new ledgers: whether the bookies that are left suffice, or brokers get ``BKNotEnoughBookies``.

A topic rolls its ledger and loads by opening new ones, so that one which cannot is not written to any more.

Source: RackawareEnsemblePlacementPolicyImpl, BookKeeper 4.17.2. Racks count only where brokers enforce them; else they
are what the policy tries first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import StrEnum

from syncer.ledgers.metadata import Quorums
from syncer.ledgers.placement.adherence import RackPolicy
from syncer.ledgers.placement.racks import DEFAULT_RACK, RackMap


class NoOpening(StrEnum):
    """Why no ledger can be opened."""

    QUORUMS_INVALID = "quorums-invalid"
    TOO_FEW_BOOKIES = "too-few-bookies"
    TOO_FEW_RACKS = "too-few-racks"
    RACKS_UNEVEN = "racks-uneven"


@dataclass(frozen=True, slots=True)
class OpeningVerdict:
    """Whether a ledger can be opened; ``spare`` bookies may be lost, as far as their number goes."""

    reason: NoOpening | None
    spare: int

    @property
    def possible(self) -> bool:
        """A ledger can be opened."""
        return self.reason is None


def may_open(quorums: Quorums, writable: AbstractSet[str], racks: RackMap, policy: RackPolicy) -> OpeningVerdict:
    """Tell whether brokers can open a ledger.

    Args:
        quorums: The brokers' or the namespace's.
        writable: Bookies that take entries.
        racks: Of the bookies.
        policy: The brokers'.
    """
    if not quorums.ensemble >= quorums.write >= quorums.ack >= 1:
        return OpeningVerdict(NoOpening.QUORUMS_INVALID, 0)
    usable = Counter(racks.rack(bookie) for bookie in writable)
    if policy.enforced:
        del usable[DEFAULT_RACK]
    spare = usable.total() - quorums.ensemble
    if spare < 0:
        return OpeningVerdict(NoOpening.TOO_FEW_BOOKIES, 0)
    wanted = min(quorums.write, policy.min_racks)
    if policy.enforced and len(usable) < wanted:
        return OpeningVerdict(NoOpening.TOO_FEW_RACKS, spare)
    if policy.enforced and wanted > 1 and not _mix(usable, quorums):
        return OpeningVerdict(NoOpening.RACKS_UNEVEN, spare)
    return OpeningVerdict(None, spare)


def _mix(usable: Counter[str], quorums: Quorums) -> bool:
    """Whether an ensemble can be laid so that no write quorum is in one rack.

    Between two bookies of other racks at most Qw - 1 of one rack may stand, round the end too: so of each rack at most
    E (Qw - 1) / Qw are taken. Where more than two racks are wanted, that is needed, and may not suffice.
    """
    most = quorums.ensemble * (quorums.write - 1) // quorums.write
    return sum(min(bookies, most) for bookies in usable.values()) >= quorums.ensemble
