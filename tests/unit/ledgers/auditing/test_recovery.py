"""Auto-recovery: how far each marked ledger is, and what keeps all of it from working."""

from __future__ import annotations

import pytest

from syncer.ledgers.auditing.findings import recovery_is_known
from syncer.ledgers.auditing.recovery import MarkState, RecoveryFault, recovery_standing
from syncer.ledgers.losses.decommission import BlockedBy
from syncer.ledgers.nodes import AuditorPlace
from tests.support.stored_ledgers import StoredLedgers

T = "persistent://acme/orders/t"


def test_each_mark_is_as_far_as_it_is() -> None:
    stored = StoredLedgers().bookies("abc").topic(T, 1)
    stored.ledger(1, (2, 2, 2), (0, "ax")).mark(1, "x")
    stored.ledger(2, (2, 2, 2), (0, "ax")).mark(2, "x", locked_by="host-a")
    stored.ledger(3, (2, 2, 2), (0, "ab")).mark(3, "b")
    stored.ledger(4, (2, 2, 2), (0, "ab")).mark(4, "")
    stored.ledger(5, (1, 1, 1), (0, "x")).mark(5, "x")
    stored.mark(6, "x")
    stored.ledger(7, (2, 2, 2), (0, "bx"))
    found = recovery_standing(stored.picture(), known=True)
    assert {each.mark.ledger_id: (each.state, each.blocked) for each in found.marked} == {
        1: (MarkState.WAITING, None),
        2: (MarkState.BEING_COPIED, None),
        3: (MarkState.BOOKIES_BACK, None),
        4: (MarkState.FOR_PLACEMENT, None),
        5: (MarkState.BLOCKED, BlockedBy.NOTHING_TO_COPY_FROM),
        6: (MarkState.LEDGER_GONE, None),
    }
    assert found.marked[0].topic == T
    assert found.workers == ("host-a",)
    assert [(each.ledger_id, each.bookies) for each in found.unmarked] == [(7, ("x",))]
    assert found.fault is RecoveryFault.NO_AUDITOR


@pytest.mark.parametrize(
    ("nodes", "fault"),
    [
        ({"leader": b'"a"'}, None),
        ({"auditorelection/V_0000000002": b'bookieId: "b"', "auditorelection/V_0000000001": b'bookieId: "a"'}, None),
        ({"leader": b'"a"', "auditorelection/V_0000000001": b'bookieId: "b"'}, RecoveryFault.TWO_AUDITORS),
        ({"leader": b'"a"', "disable": b""}, RecoveryFault.DISABLED),
        ({}, RecoveryFault.NO_AUDITOR),
    ],
)
def test_what_keeps_it_from_working_is_told(nodes: dict[str, bytes], fault: RecoveryFault | None) -> None:
    stored = StoredLedgers().bookies("a")
    for name, value in nodes.items():
        stored.put(f"/ledgers/underreplication/{name}", value)
    picture = stored.picture()
    found = recovery_standing(picture, known=recovery_is_known(picture))
    assert found.fault is fault
    if AuditorPlace.NATIVE in found.auditors and len(found.auditors) == 1:
        assert found.auditors[AuditorPlace.NATIVE] == "a"


def test_of_what_was_not_read_nothing_is_missed() -> None:
    stored = StoredLedgers().bookies("a")
    stored.refused.append("/ledgers/underreplication")
    picture = stored.picture()
    assert recovery_standing(picture, known=recovery_is_known(picture)).fault is RecoveryFault.UNKNOWN
