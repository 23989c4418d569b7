"""An unclosed ledger is recovered if enough bookies answer, and others are free to replace those that do not."""

from __future__ import annotations

import pytest

from syncer.ledgers.judging.recovery import RecoveryOutlook, recovery_outlook
from syncer.ledgers.metadata import LedgerMetadata, LedgerOrigin, LedgerState, Quorums, Segment


def unclosed(quorums: tuple[int, int, int], *ensembles: str) -> LedgerMetadata:
    """A ledger whose bookies have names of one letter, with ten entries in each ensemble but the last."""
    segments = tuple(Segment(10 * number, tuple(bookies)) for number, bookies in enumerate(ensembles))
    return LedgerMetadata(7, LedgerState.OPEN, Quorums(*quorums), segments, None, None, LedgerOrigin(3))


@pytest.mark.parametrize(
    ("quorums", "lost", "writable", "outlook"),
    [
        ((2, 2, 2), "", "ab", RecoveryOutlook.SURE),
        ((2, 2, 2), "b", "a", RecoveryOutlook.SHORT_OF_BOOKIES),
        ((2, 2, 2), "b", "ab", RecoveryOutlook.SHORT_OF_BOOKIES),
        ((2, 2, 2), "b", "ac", RecoveryOutlook.SURE),
        ((2, 2, 2), "ab", "cdef", RecoveryOutlook.TOO_FEW_ANSWERS),
        ((2, 2, 1), "b", "acdef", RecoveryOutlook.TOO_FEW_ANSWERS),
        ((3, 3, 3), "bc", "ad", RecoveryOutlook.SHORT_OF_BOOKIES),
        ((3, 3, 3), "bc", "ade", RecoveryOutlook.SURE),
        ((3, 3, 3), "bc", "adc", RecoveryOutlook.SHORT_OF_BOOKIES),
        ((3, 2, 2), "z", "", RecoveryOutlook.SURE),
    ],
)
def test_what_is_lost_must_be_replaced(
    quorums: tuple[int, int, int], lost: str, writable: str, outlook: RecoveryOutlook
) -> None:
    ledger = unclosed(quorums, "xyz"[: quorums[0]], "abc"[: quorums[0]])
    assert recovery_outlook(ledger, set(lost), set(writable)) is outlook


def test_only_the_last_ensemble_counts() -> None:
    assert recovery_outlook(unclosed((2, 2, 2), "ab", "cd"), {"a", "b"}, {"c", "d"}) is RecoveryOutlook.SURE


def test_a_closed_ledger_need_not_be_recovered() -> None:
    closed = unclosed((2, 2, 2), "ab")._replace(state=LedgerState.CLOSED, last_entry=3, length_bytes=4)
    assert recovery_outlook(closed, {"a", "b"}, set()) is None
