"""Judgement of one ledger, given the bookies that are lost: its entries, and whether it can be recovered.

Two harms are apart: entries of which no replica is left, and an unclosed ledger that nobody can recover, so that its
topic cannot be loaded, though no confirmed entry may be lost.

Source: AuditorReplicasCheckTask, BookKeeper 4.17.2.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from enum import StrEnum
from typing import NamedTuple

from syncer.ledgers.judging.replicas import extents, lost_indexes, lost_runs, replicas_left
from syncer.ledgers.metadata import LedgerMetadata
from syncer.ledgers.placement.acknowledging import covers


class ReplicaClass(StrEnum):
    """The worst that an entry of a ledger has."""

    EMPTY = "empty"
    NO_REPLICA = "no-replica"
    BELOW_ACK_QUORUM = "below-ack-quorum"
    BELOW_WRITE_QUORUM = "below-write-quorum"
    WHOLE = "whole"


class LedgerJudgement(NamedTuple):
    """A ledger as the loss of bookies leaves it.

    ``by_replicas_left`` counts the entries that are certain, from none left to all; ``recoverable`` is None of a closed
    ledger, which need not be recovered; ``named`` are the lost bookies that any segment names, for which the auditor
    marks the ledger, entry or not; ``length_bytes`` is known of a closed ledger only.
    """

    ledger_id: int
    by_replicas_left: tuple[int, ...]
    ack: int
    recoverable: bool | None
    named: frozenset[str]
    length_bytes: int | None

    @property
    def entries(self) -> int:
        """Entries that are certain."""
        return sum(self.by_replicas_left)

    @property
    def lost_entries(self) -> int:
        """Entries of which no replica is left."""
        return self.by_replicas_left[0]

    @property
    def below_ack_quorum(self) -> int:
        """Entries that have fewer replicas than were acknowledged, lost ones included."""
        return sum(self.by_replicas_left[: max(self.ack, 0)])

    @property
    def below_write_quorum(self) -> int:
        """Entries that lack a replica, lost ones included."""
        return sum(self.by_replicas_left[:-1])

    @property
    def least_replicas(self) -> int:
        """The fewest replicas that an entry has; the write quorum where there is none."""
        counts = self.by_replicas_left
        return next((left for left, entries in enumerate(counts) if entries), len(counts) - 1)

    @property
    def is_single_copy(self) -> bool:
        """Each entry was written once: auto-recovery has nothing to copy from, and tries again for ever."""
        return len(self.by_replicas_left) <= 2

    @property
    def replica_class(self) -> ReplicaClass:
        """The worst of its entries."""
        if not self.entries:
            return ReplicaClass.EMPTY
        if self.lost_entries:
            return ReplicaClass.NO_REPLICA
        if self.below_ack_quorum:
            return ReplicaClass.BELOW_ACK_QUORUM
        return ReplicaClass.BELOW_WRITE_QUORUM if self.below_write_quorum else ReplicaClass.WHOLE

    @property
    def is_harmed(self) -> bool:
        """Entries are lost, or nobody can recover it."""
        return self.by_replicas_left[0] > 0 or self.recoverable is False

    def bytes_of(self, entries: int) -> int | None:
        """Estimate the bytes of some of its entries by their share; None where its length is unknown.

        Args:
            entries: How many.
        """
        if self.length_bytes is None:
            return None
        return self.length_bytes * entries // self.entries if self.entries else 0


def judge(ledger: LedgerMetadata, lost: AbstractSet[str], confirmed: int | None = None) -> LedgerJudgement:
    """Judge a ledger.

    Args:
        ledger: The ledger.
        lost: Bookies that are lost.
        confirmed: The last entry of an unclosed one that is known to be confirmed.
    """
    write = max(ledger.quorums.write, 0)
    total = [0] * (write + 1)
    for extent in extents(ledger, confirmed):
        for left, entries in enumerate(replicas_left(extent, write, lost)):
            total[left] += entries
    return LedgerJudgement(
        ledger.ledger_id,
        tuple(total),
        ledger.quorums.ack,
        None if ledger.is_closed else is_recoverable(ledger, lost),
        ledger.bookies() & lost,
        ledger.length_bytes,
    )


def is_recoverable(ledger: LedgerMetadata, lost: AbstractSet[str]) -> bool:
    """Tell whether an unclosed ledger can be recovered: enough of its last ensemble answers.

    Args:
        ledger: The ledger.
        lost: Bookies that are lost.
    """
    return covers(ledger.quorums, lost_indexes(ledger.segments[-1], lost))


def lost_ranges(
    ledger: LedgerMetadata, lost: AbstractSet[str], confirmed: int | None = None
) -> Iterator[tuple[int, int]]:
    """Yield the ranges of entries of which no replica is left, ascending, each as long as can be.

    Args:
        ledger: The ledger.
        lost: Bookies that are lost.
        confirmed: The last entry of an unclosed one that is known to be confirmed.
    """
    open_run: tuple[int, int] | None = None
    for extent in extents(ledger, confirmed):
        for run in lost_runs(extent, max(ledger.quorums.write, 0), lost):
            if open_run is not None and run[0] == open_run[1] + 1:
                open_run = (open_run[0], run[1])
                continue
            if open_run is not None:
                yield open_run
            open_run = run
    if open_run is not None:
        yield open_run
