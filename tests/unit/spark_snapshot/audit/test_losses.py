"""Losses of a finished audit: its files are read in parts that miss nothing, and counts of parts add up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from spark_snapshot.audit.flattening import flattened
from spark_snapshot.audit.judging import LostBookies, judgements
from spark_snapshot.audit.ledger_files import LedgerFiles
from spark_snapshot.audit.losses import LossCounts
from spark_snapshot.audit.rows import LEDGERS
from syncer.errors import SnapshotDamaged
from syncer.ledgers.metadata import LedgerMetadata, LedgerOrigin, LedgerState, Quorums, Segment

LOST = LostBookies(frozenset({"a:1"}))


def ledger(number: int) -> LedgerMetadata:
    state = LedgerState.OPEN if number % 3 == 0 else LedgerState.CLOSED
    closed = state is LedgerState.CLOSED
    segments = (Segment(0, ("a:1",)), Segment(10, ("b:1",)))
    return LedgerMetadata(
        number,
        state,
        Quorums(1, 1, 1),
        segments,
        19 if closed else None,
        1_000 if closed else None,
        LedgerOrigin(format_version=3),
    )


def batch(numbers: range) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(flattened([ledger(number) for number in numbers]), schema=LEDGERS)


@pytest.mark.parametrize("parts", [1, 2, 3, 7, 20])
def test_parts_of_a_file_are_all_of_it(parts: int, tmp_path: Path) -> None:
    pq.write_table(pa.Table.from_batches([batch(range(70))]), tmp_path / "ledgers", row_group_size=10)
    found: list[Any] = [
        number
        for part in range(parts)
        for rows in LedgerFiles((str(tmp_path / "ledgers"),), parts).rows(part, ("ledger_id",))
        for number in rows.column("ledger_id").to_pylist()
    ]
    assert sorted(found) == list(range(70))


def test_a_file_that_is_none_is_damaged(tmp_path: Path) -> None:
    (tmp_path / "ledgers").write_bytes(b"PAR1")
    with pytest.raises(SnapshotDamaged):
        list(LedgerFiles((str(tmp_path / "ledgers"),), 1).rows(0, ("ledger_id",)))


def test_counts_of_parts_add_up_and_travel_as_text() -> None:
    whole, parts = LossCounts(), LossCounts()
    whole.take(judgements(batch(range(9)), LOST))
    for numbers in (range(4), range(4, 9)):
        one = LossCounts()
        one.take(judgements(batch(numbers), LOST))
        parts.add(LossCounts.of(one.text()))
    assert parts == whole
    assert (whole.ledgers, whole.entries, whole.lost_entries) == (9, 6 * 20 + 3 * 10, 90)
    assert (whole.bytes, whole.lost_bytes, whole.unknown_bytes) == (6_000, 3_000, 3)
    assert (whole.not_recoverable, whole.single_copy) == (0, 9)
    assert (dict(whole.classes), dict(whole.named)) == ({"no-replica": 9}, {"a:1": 9})
