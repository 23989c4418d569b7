"""What is understood of the document of an audit that was kept."""

from __future__ import annotations

import pytest

from syncer.config.model import Config
from syncer.documents.ledgers.audit import ledger_audit_document
from syncer.errors import ValueInvalid
from syncer.inspection.inquiries.auditor import AuditorApart
from syncer.ledgers.auditing.findings import LedgerFindingCode, findings
from syncer.ledgers.auditing.standing import by_namespace, standing
from tests.support.stored_ledgers import NOW_MS, StoredLedgers


@pytest.fixture
def auditor() -> AuditorApart:
    return AuditorApart(
        Config.model_validate(
            {"region": "here", "store": {"kind": "sqlite", "path": "s.db"}, "bus": {"kind": "embedded", "path": "b.db"}}
        )
    )


def test_an_audit_is_counted_by_its_document(auditor: AuditorApart) -> None:
    stored = StoredLedgers().bookies("ab").ledger(1, (1, 1, 1), (0, "c")).ledger(2, (2, 2, 2), (0, "ab"))
    picture = stored.picture()
    found = standing(picture, picture.lost(), by_namespace)
    document = ledger_audit_document(picture, found, findings(picture, found)).model_dump_json().encode()
    taken = auditor.understood(document)
    assert (taken.taken_ms, taken.ledgers, taken.document) == (NOW_MS, 2, document)
    assert {each.code: each.count for each in taken.findings}[LedgerFindingCode.ENTRIES_LOST] == 1


@pytest.mark.parametrize("document", [b"", b"{}", b'{"read": 1}', b"\xff"])
def test_what_is_no_audit_is_refused(document: bytes, auditor: AuditorApart) -> None:
    with pytest.raises(ValueInvalid, match="it is no audit of ledgers"):
        auditor.understood(document)
