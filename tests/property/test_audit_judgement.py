"""An audit in bulk judges as the pure judge does: every column, of any ledgers, whatever is lost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_snapshot.audit.flattening import flattened, ledgers_of
from spark_snapshot.audit.judging import LostBookies, judgements
from spark_snapshot.audit.rows import JUDGEMENTS, LEDGERS
from syncer.ledgers.judging.ledger import judge
from syncer.ledgers.metadata import LedgerMetadata, LedgerOrigin
from tests.property.ledgers import ledgers, uneven_ledgers

BOOKIES = [f"bk-{number:02}:3181" for number in range(12)] + [f"bk-{number}:3181" for number in range(7)]
LOST = st.builds(LostBookies, st.frozensets(st.sampled_from(BOOKIES)), st.booleans())
MOST = 2**63 - 1


def batch_of(some: Sequence[LedgerMetadata]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(flattened(some), schema=LEDGERS)


def judged_one_by_one(ledger: LedgerMetadata, lost: LostBookies) -> dict[str, Any]:
    """The referee."""
    gone = frozenset(bookie for bookie in ledger.bookies() if (bookie in lost.bookies) != lost.others)
    found = judge(ledger, gone)
    return {
        "ledger_id": ledger.ledger_id,
        "topic": None,
        "class": found.replica_class.value,
        "entries": min(found.entries, MOST),
        "by_replicas_left": [min(each, MOST) for each in found.by_replicas_left],
        "lost_entries": min(found.lost_entries, MOST),
        "below_ack_quorum": min(found.below_ack_quorum, MOST),
        "below_write_quorum": min(found.below_write_quorum, MOST),
        "least_replicas": found.least_replicas,
        "length_bytes": ledger.length_bytes,
        "lost_bytes": found.bytes_of(found.lost_entries),
        "recoverable": found.recoverable,
        "single_copy": found.is_single_copy,
        "named": sorted(found.named),
    }


@settings(max_examples=150, deadline=None)
@given(st.lists(uneven_ledgers() | ledgers(), max_size=12), LOST)
def test_every_column_is_the_pure_judges(some: list[LedgerMetadata], lost: LostBookies) -> None:
    found = judgements(batch_of(some), lost)
    assert found.schema == JUDGEMENTS
    assert found.to_pylist() == [judged_one_by_one(ledger, lost) for ledger in some]


@settings(deadline=None)
@given(st.lists(uneven_ledgers(), min_size=2, max_size=8), st.data(), LOST)
def test_a_slice_is_judged_as_what_it_holds(some: list[LedgerMetadata], data: st.DataObject, lost: LostBookies) -> None:
    start = data.draw(st.integers(0, len(some) - 1))
    count = data.draw(st.integers(1, len(some) - start))
    found = judgements(batch_of(some).slice(start, count), lost)
    assert found.to_pylist() == [judged_one_by_one(ledger, lost) for ledger in some[start : start + count]]


@given(st.lists(uneven_ledgers() | ledgers(), max_size=5))
def test_ledgers_are_columns_and_come_back(some: list[LedgerMetadata]) -> None:
    back = list(ledgers_of(batch_of(some)))
    assert [each._replace(origin=kept(each.origin)) for each in some] == back


def kept(origin: LedgerOrigin) -> LedgerOrigin:
    """What the table keeps of it."""
    return LedgerOrigin(
        format_version=origin.format_version, created_ms=origin.created_ms, creation_token=origin.creation_token
    )
