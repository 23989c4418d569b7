"""Findings: each by its code, the worst first, and never "all is well" of what was not read."""

from __future__ import annotations

import pytest

from syncer.ledgers.auditing.findings import SHOWN, LedgerFindingCode, LedgerFindingSeverity, findings
from syncer.ledgers.auditing.standing import standing
from syncer.ledgers.nodes import BookieState
from tests.support.stored_ledgers import StoredLedgers

Code = LedgerFindingCode
T = "persistent://acme/orders/t"


def well() -> StoredLedgers:
    stored = StoredLedgers().bookies("abc").topic(T, 1).ledger(1, (3, 2, 2), (0, "abc"))
    return stored.put("/ledgers/underreplication/leader", b'"a"')


def codes(stored: StoredLedgers) -> list[LedgerFindingCode]:
    picture = stored.picture()
    return [each.code for each in findings(picture, standing(picture, picture.lost()))]


def refused(path: str) -> StoredLedgers:
    stored = well()
    stored.refused.append(path)
    return stored


def test_a_cluster_that_is_well_has_none() -> None:
    assert codes(well()) == []


@pytest.mark.parametrize(
    ("stored", "expected"),
    [
        (
            well().ledger(2, (2, 2, 2), (0, "xy")),
            [Code.ENTRIES_LOST, Code.BOOKIES_LOST, Code.NOT_MARKED],
        ),
        (
            well().topic(T, 2).ledger(2, (2, 2, 2), (0, "xy"), last=None).mark(2, "xy"),
            [Code.TOPICS_NOT_LOADABLE, Code.LEDGERS_NOT_RECOVERABLE, Code.RECOVERY_BLOCKED, Code.BOOKIES_LOST],
        ),
        (
            well().ledger(2, (4, 2, 2), (0, "abcd"), last=None),
            [Code.NO_NEW_LEDGERS, Code.BOOKIES_LOST, Code.NOT_MARKED],
        ),
        (
            well().topic(T, 2).ledger(2, (3, 2, 2), (0, "abx"), last=None).put("/ledgers/available/readonly/c", b""),
            [Code.BOOKIES_LOST, Code.NOT_MARKED],
        ),
        (
            StoredLedgers().bookies("ab").topic(T, 2).ledger(2, (3, 2, 2), (0, "abx"), last=None),
            [Code.TOPICS_SHORT_OF_BOOKIES, Code.NO_NEW_LEDGERS, Code.BOOKIES_LOST, Code.NO_AUDITOR, Code.NOT_MARKED],
        ),
        (well().ledger(2, (3, 3, 3), (0, "abx")), [Code.BELOW_ACK_QUORUM, Code.BOOKIES_LOST, Code.NOT_MARKED]),
        (well().ledger(2, (3, 3, 2), (0, "abx")), [Code.UNDER_REPLICATED, Code.BOOKIES_LOST, Code.NOT_MARKED]),
        (
            well().ledger(2, (2, 1, 1), (0, "ax"), last=0),
            [Code.SINGLE_COPIES_AWAY, Code.BOOKIES_LOST, Code.NOT_MARKED],
        ),
        (well().put("/ledgers/underreplication/disable", b""), [Code.RECOVERY_DISABLED]),
        (StoredLedgers().bookies("abc"), [Code.NO_AUDITOR]),
        (
            well().put("/ledgers/underreplication/auditorelection/V_0000000001", b'bookieId: "b"'),
            [Code.TWO_AUDITORS],
        ),
        (well().mark(1, "a"), [Code.MARKS_LEFT_OVER]),
        (well().put("/bookies", b"no json"), [Code.RACKS_UNREADABLE]),
        (refused("/ledgers/00/0001"), [Code.NOT_READ]),
        (well().put("/ledgers/00/0000/L0009", b"junk"), [Code.NOT_UNDERSTOOD]),
        (well().put("/managed-ledgers/plain", b"x"), [Code.NOT_UNDERSTOOD]),
    ],
)
def test_what_is_wrong_is_found(stored: StoredLedgers, expected: list[LedgerFindingCode]) -> None:
    assert codes(stored) == expected


def test_findings_name_the_first_and_count_all() -> None:
    stored = well()
    for ledger_id in range(10, 30):
        stored.ledger(ledger_id, (2, 2, 2), (0, "xy"))
    picture = stored.picture()
    first = findings(picture, standing(picture, picture.lost()))[0]
    assert (first.code, first.severity) == (Code.ENTRIES_LOST, LedgerFindingSeverity.CRITICAL)
    assert (first.count, len(first.names), first.names[0]) == (20, SHOWN, "10")
    assert "2000 entries" in first.what


def test_where_nobody_tells_who_is_up_none_is_taken_for_lost() -> None:
    stored = StoredLedgers().topic(T, 1).ledger(1, (3, 2, 2), (0, "abc"), last=None).mark(1, "a")
    picture = stored.picture()
    picture.assume_bookies_up()
    found = findings(picture, standing(picture, picture.lost()))
    assert [each.code for each in found] == [Code.BOOKIES_UNKNOWN]
    assert picture.state_of("a") is BookieState.UNKNOWN
