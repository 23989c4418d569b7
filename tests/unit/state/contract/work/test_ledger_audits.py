"""Audits of ledgers are kept alike by every state: by cluster, the latest first, within bounds."""

from __future__ import annotations

import random
from contextlib import closing
from pathlib import Path
from typing import NoReturn

import pytest

from syncer.errors import Fenced, LedgerAuditTooLarge
from syncer.model import Millis
from syncer.state.contract.state import State
from syncer.state.contract.transaction import Transaction
from syncer.state.contract.work import ledger_audits
from syncer.state.contract.work.ledger_audits import (
    PACKED_MOST_BYTES,
    LedgerAuditRow,
    PackedAudit,
    pack_audit,
    unpack_audit,
)
from syncer.state.memory import MemoryDatabase, MemoryState
from syncer.state.sql.database import SqlState
from tests.unit.state import test_contract
from tests.unit.state.test_contract import EAST, Subject

subject = test_contract.subject
JSON = b'{"read": {"cluster": "\xc3\xbc"}}'


def kept(state: State, cluster: str = "blue", at: int = 10, document: bytes = JSON, *, whole: bool = True) -> int:
    with state.transaction() as tx:
        return tx.keep_ledger_audit(cluster, Millis(at), pack_audit(document), whole=whole)


def test_an_audit_is_kept_with_its_document_and_listed_without(subject: Subject) -> None:
    first, second = kept(subject.state), kept(subject.state, at=20, document=JSON * 9, whole=False)
    with subject.state.transaction() as tx:
        rows = tx.ledger_audits("blue", 9)
        assert rows == [
            LedgerAuditRow(
                id=second, cluster="blue", taken_ms=Millis(20), whole=False, packed_bytes=len(pack_audit(JSON * 9))
            ),
            LedgerAuditRow(
                id=first, cluster="blue", taken_ms=Millis(10), whole=True, packed_bytes=len(pack_audit(JSON))
            ),
        ]
        assert tx.ledger_audits("blue", 1) == rows[:1]
        assert tx.ledger_audits("blue", 9, before=second) == rows[1:]
        assert tx.ledger_audits("blue", 9, before=first) == []
        for number, row, document in ((first, rows[1], JSON), (second, rows[0], JSON * 9), (None, rows[0], JSON * 9)):
            found = tx.ledger_audit("blue", number)
            assert found is not None
            assert (found.row, unpack_audit(found.document)) == (row, document)


def test_each_cluster_has_its_own(subject: Subject) -> None:
    blue, green = kept(subject.state), kept(subject.state, "green")
    assert green > blue, "numbers are of all clusters"
    with subject.state.transaction() as tx:
        assert [each.id for each in tx.ledger_audits("green", 9)] == [green]
        assert (tx.ledger_audit("green", blue), tx.ledger_audit("red"), tx.ledger_audits("red", 9)) == (None, None, [])
        assert tx.prune_ledger_audits("green", 0) == 1
        assert [each.id for each in tx.ledger_audits("blue", 9)] == [blue]


@pytest.mark.parametrize("keep", [0, 1, 3, 4, 9])
def test_pruning_leaves_the_latest_and_gives_no_number_again(subject: Subject, keep: int) -> None:
    numbers = [kept(subject.state) for _ in range(4)]
    with subject.state.transaction() as tx:
        assert tx.prune_ledger_audits("blue", keep) == max(0, 4 - keep)
        assert [each.id for each in tx.ledger_audits("blue", 9)] == numbers[::-1][:keep]
        assert tx.prune_ledger_audits("blue", keep) == 0
    assert kept(subject.state) > numbers[-1]


def test_one_that_is_too_large_is_refused_and_nothing_of_it_is_kept(
    subject: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    noise = random.Random(5).randbytes(PACKED_MOST_BYTES + 1)
    with pytest.raises(LedgerAuditTooLarge, match=r"compressed, of 16777216 that are kept$"):
        pack_audit(noise)
    with (
        pytest.raises(LedgerAuditTooLarge) as told,
        subject.state.transaction() as tx,
    ):
        tx.keep_ledger_audit("blue", Millis(1), PackedAudit(noise), whole=True)
    assert told.value.code == "ledger-audit-too-large"
    monkeypatch.setattr(ledger_audits, "AUDIT_MOST_BYTES", 9)
    with pytest.raises(LedgerAuditTooLarge, match="has 10 bytes, of 9 that are kept"):
        pack_audit(b"1234567890")
    with subject.state.transaction() as tx:
        assert tx.ledger_audits("blue", 9) == []


def test_a_damaged_one_is_not_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    packed = pack_audit(JSON)
    for damaged in (b"", b"nothing", packed[:-5], packed[:9]):
        with pytest.raises(ValueError, match=r"^an audit cannot be unpacked: "):
            unpack_audit(PackedAudit(damaged))
    monkeypatch.setattr(ledger_audits, "AUDIT_MOST_BYTES", len(JSON) - 1)
    with pytest.raises(ValueError, match="larger than any that is kept"):
        unpack_audit(packed)


def test_a_transaction_that_fails_keeps_and_drops_nothing(subject: Subject) -> None:
    number = kept(subject.state)

    def fail(tx: Transaction) -> NoReturn:
        tx.keep_ledger_audit("blue", Millis(30), pack_audit(JSON), whole=True)
        tx.prune_ledger_audits("blue", 0)
        raise ArithmeticError

    with pytest.raises(ArithmeticError), subject.state.transaction() as tx:
        fail(tx)
    with subject.state.transaction() as tx:
        assert [each.id for each in tx.ledger_audits("blue", 9)] == [number]


def test_a_database_that_begins_anew_keeps_its_audits(subject: Subject) -> None:
    number = kept(subject.state)
    subject.state.renew(10**11, "other-store", "{}")
    with subject.state.transaction() as tx:
        assert [each.id for each in tx.ledger_audits("blue", 9)] == [number]


def test_only_the_active_daemon_keeps_audits(tmp_path: Path) -> None:
    url, memory = f"sqlite:///{tmp_path / 'shared.db'}", MemoryDatabase(EAST, "f" * 32)
    with closing(SqlState.open(url, EAST)) as one, closing(SqlState.open(url, EAST)) as other:
        pairs: list[tuple[State, State]] = [(one, other), (MemoryState(memory), MemoryState(memory))]
        for former, latter in pairs:
            former.activate()
            number = kept(former)
            latter.activate()
            with pytest.raises(Fenced):
                kept(former)
            with pytest.raises(Fenced), former.transaction() as tx:
                tx.prune_ledger_audits("blue", 0)
            with latter.transaction() as tx:
                assert [each.id for each in tx.ledger_audits("blue", 9)] == [number]
