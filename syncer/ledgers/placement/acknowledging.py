"""Acknowledgements: when an entry is confirmed, when adding one fails, and which answers suffice to recover a ledger.

Source: RoundRobinDistributionSchedule (WriteQuorumAckSet, RRQuorumCoverageSet), BookKeeper 4.17.2.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from syncer.ledgers.metadata import Quorums
from syncer.ledgers.placement.write_sets import lost_of_write_sets


def covers(quorums: Quorums, unknown: AbstractSet[int]) -> bool:
    """Tell whether the answers of an ensemble suffice to know how far a ledger was written.

    In each write set fewer bookies than the ack quorum may be unknown: else an entry that was confirmed might be on
    these alone, so that nobody can recover the ledger.

    Args:
        quorums: Of the ledger.
        unknown: Indexes of bookies that gave no answer, or an error other than that the entry is not there.
    """
    counts = lost_of_write_sets(frozenset(unknown), quorums.ensemble, max(quorums.write, 0))
    return all(count < quorums.ack for count in counts)


@dataclass(slots=True)
class EntryAcknowledgements:
    """What the bookies of an entry's write set have answered so far."""

    quorums: Quorums
    acknowledged: set[int] = field(default_factory=set)
    failed: set[int] = field(default_factory=set)

    def complete(self, index: int) -> bool:
        """Take an acknowledgement; tell whether the entry is confirmed.

        Args:
            index: Of the bookie.
        """
        self.failed.discard(index)
        self.acknowledged.add(index)
        return self.is_confirmed

    def fail(self, index: int) -> bool:
        """Take a failure; tell whether the ack quorum is out of reach.

        Args:
            index: Of the bookie.
        """
        self.acknowledged.discard(index)
        self.failed.add(index)
        return len(self.failed) > self.quorums.write - self.quorums.ack

    def remove(self, index: int) -> bool:
        """Forget a bookie that is replaced; tell whether the entry is confirmed without it.

        Args:
            index: Of the bookie.
        """
        self.acknowledged.discard(index)
        self.failed.discard(index)
        return self.is_confirmed

    @property
    def is_confirmed(self) -> bool:
        """As many bookies as the ack quorum have the entry."""
        return len(self.acknowledged) >= self.quorums.ack
