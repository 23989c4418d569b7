"""An audit's figures are those of its document, and what was not read of a store is known to be so."""

from __future__ import annotations

import pytest

from syncer.documents.ledgers.audit import LedgerAuditDocument, ledger_audit_document
from syncer.documents.ledgers.read import SHOWN
from syncer.documents.ledgers.understood import audit_understood, audited_of
from syncer.errors import ValueInvalid
from syncer.ledgers.auditing.audited import Unread
from syncer.ledgers.auditing.findings import findings
from syncer.ledgers.auditing.standing import standing
from syncer.wanted.ledgers import LedgerPart
from tests.support.stored_ledgers import StoredLedgers

TOPIC = "persistent://acme/orders/t"


def document(stored: StoredLedgers) -> LedgerAuditDocument:
    picture = stored.picture()
    found = standing(picture, picture.lost())
    return ledger_audit_document(picture, found, findings(picture, found))


def stored() -> StoredLedgers:
    return StoredLedgers().bookies("ab").topic(TOPIC, 1).ledger(1, (2, 2, 2), (0, "ab")).ledger(2, (2, 2, 2), (0, "ax"))


def test_figures_are_those_of_the_document() -> None:
    told = document(stored())
    found = audited_of(audit_understood(told.model_dump_json().encode()))
    assert (found.cluster, found.taken_ms, found.whole, found.by_topic) == ("lab", told.read.taken_ms, True, False)
    assert (found.total.ledgers, found.total.entries, found.total.entries_lacking) == (2, 200, 100)
    assert found.total.bytes == told.total.bytes == 2000
    assert {name: each.ledgers for name, each in found.groups.items()} == {"acme/orders": 1, "": 1}
    assert {bookie: each.state for bookie, each in found.bookies.items()} == {
        "a": "writable",
        "b": "writable",
        "x": "away",
    }
    assert found.kept.keys() == {each.kept_for.value for each in told.kept}
    assert {code: each.names for code, each in found.findings.items()} == {
        each.code.value: tuple(each.names) for each in told.findings
    }


def test_what_was_not_read_is_known_by_its_path_or_known_to_be_more() -> None:
    refused = stored()
    refused.refused.append("/ledgers/00/0000/L0009")
    partly = audited_of(document(refused))
    assert partly.unread[LedgerPart.LEDGERS] == Unread(paths=frozenset({"/ledgers/00/0000/L0009"}))
    assert not partly.whole
    assert audited_of(document(stored())).read_as_far_as(partly, LedgerPart)
    assert not partly.read_as_far_as(audited_of(document(stored())), LedgerPart)
    refused.refused += [f"/ledgers/00/0001/L{number:04}" for number in range(SHOWN)]
    many = audited_of(document(refused)).unread[LedgerPart.LEDGERS]
    assert (len(many.paths), many.more) == (SHOWN, True)


def test_a_part_that_no_document_tells_of_was_not_read() -> None:
    told = document(stored())
    parts = [each for each in told.read.parts if each.part is not LedgerPart.RECOVERY]
    found = audited_of(told.model_copy(update={"read": told.read.model_copy(update={"parts": parts})}))
    assert found.unread[LedgerPart.RECOVERY] == Unread(more=True)


def test_what_is_no_audit_is_refused_with_the_first_field_that_is_wrong() -> None:
    with pytest.raises(ValueInvalid, match=r"fields are wrong, the first is 'read': Field required") as found:
        audit_understood(b"{}")
    assert "newer version" in found.value.hint
