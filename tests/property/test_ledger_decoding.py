"""Ledgers, topics and cursors come back from their values as they were, in each version and by each codec."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from syncer.ledgers.decoding.ledger import ledger_metadata
from syncer.ledgers.decoding.managed import managed_cursor, managed_ledger
from syncer.ledgers.decoding.messages import MESSAGES
from syncer.ledgers.managed import LedgerOfTopic, ManagedCursor, ManagedLedger
from syncer.ledgers.metadata import LedgerMetadata, LedgerOrigin, Quorums
from tests.property.ledgers import binary_value, ledgers, lines_value, packed, text_value


@settings(max_examples=300)
@given(ledgers())
def test_a_ledger_of_version_3_comes_back(ledger: LedgerMetadata) -> None:
    found = ledger_metadata("/x", 1, binary_value(ledger), None)
    assert found == ledger
    assert "not to be seen" not in repr(found)


@given(ledgers())
def test_a_ledger_of_version_2_comes_back(ledger: LedgerMetadata) -> None:
    wanted = ledger._replace(origin=ledger.origin._replace(format_version=2))
    assert ledger_metadata("/x", 1, text_value(ledger), None) == wanted


@given(ledgers())
def test_a_ledger_of_version_1_comes_back_without_what_it_has_no_place_for(ledger: LedgerMetadata) -> None:
    ensemble, write, _ = ledger.quorums
    wanted = ledger._replace(quorums=Quorums(ensemble, write, write), origin=LedgerOrigin(format_version=1))
    assert ledger_metadata("/x", 1, lines_value(ledger), 5) == wanted


@given(ledgers(), st.integers(0, 2**40))
def test_the_stores_time_stands_in_for_one_that_the_value_lacks(ledger: LedgerMetadata, created_ms: int) -> None:
    found = ledger_metadata("/x", 1, binary_value(ledger), created_ms)
    assert isinstance(found, LedgerMetadata)
    assert found.origin.created_ms == (ledger.origin.created_ms if ledger.origin.created_in_value else created_ms)


@given(ledgers(), st.binary(max_size=4))
def test_what_follows_the_message_is_passed_over(ledger: LedgerMetadata, tail: bytes) -> None:
    assert ledger_metadata("/x", 1, binary_value(ledger) + tail, None) == ledger


@pytest.mark.parametrize("codec", [None, 1, 2, 3, 4])
@given(ids=st.lists(st.integers(0, 2**60), max_size=6))
def test_a_topic_comes_back_by_each_codec(codec: int | None, ids: list[int]) -> None:
    message = MESSAGES["ManagedLedgerInfo"]()
    for ledger_id in ids:
        message.ledgerInfo.add(ledgerId=ledger_id)
    wanted = ManagedLedger(ledgers=tuple(map(LedgerOfTopic, ids)))
    assert managed_ledger("/x", packed(message.SerializeToString(), codec)) == wanted


@pytest.mark.parametrize("codec", [None, 1, 2, 3, 4])
@given(ledger_id=st.integers(-1, 2**60))
def test_a_cursor_comes_back_by_each_codec(codec: int | None, ledger_id: int) -> None:
    message = MESSAGES["ManagedCursorInfo"](cursorsLedgerId=ledger_id)
    wanted = ManagedCursor(ledger_id=None if ledger_id < 0 else ledger_id)
    assert managed_cursor("/x", packed(message.SerializeToString(), codec)) == wanted
