"""Recovery of an unclosed ledger: whether a broker that loads its topic can close it.

Enough of its last ensemble must answer. That is not all: entries of which no later one tells that they are confirmed,
the last one among them, are written again, and each lost bookie of their write sets must be replaced by one that is not
in the ensemble. Where there is none, recovery fails with ``BKNotEnoughBookies`` though all was read.

Source: LedgerRecoveryOp, PendingAddOp, ReadOnlyLedgerHandle.handleBookieFailure, BookKeeper 4.17.2.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from enum import StrEnum

from syncer.ledgers.judging.ledger import is_recoverable
from syncer.ledgers.judging.replicas import lost_indexes
from syncer.ledgers.metadata import LedgerMetadata


class RecoveryOutlook(StrEnum):
    """How likely a ledger can be recovered.

    ``SHORT_OF_BOOKIES`` depends on entries of which the metadata does not tell: it fails if one that is written again
    lies on a lost bookie.
    """

    SURE = "sure"
    SHORT_OF_BOOKIES = "short-of-bookies"
    TOO_FEW_ANSWERS = "too-few-answers"


def recovery_outlook(
    ledger: LedgerMetadata, lost: AbstractSet[str], writable: AbstractSet[str]
) -> RecoveryOutlook | None:
    """Tell whether an unclosed ledger can be recovered; None of a closed one, which need not be.

    Args:
        ledger: The ledger.
        lost: Bookies that are lost.
        writable: Bookies that take entries; lost ones count for none.
    """
    if ledger.is_closed:
        return None
    if not is_recoverable(ledger, lost):
        return RecoveryOutlook.TOO_FEW_ANSWERS
    last = ledger.segments[-1]
    free = writable - lost - set(last.bookies)
    return RecoveryOutlook.SURE if len(free) >= len(lost_indexes(last, lost)) else RecoveryOutlook.SHORT_OF_BOOKIES
