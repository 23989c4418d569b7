"""Copysets that are counted by column are those of the pure rules, whatever the ledgers; no entry is missing."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_snapshot.audit.copysets import CopysetTable
from spark_snapshot.audit.flattening import flattened
from spark_snapshot.audit.rows import LEDGERS
from syncer.ledgers.judging.ledger import judge
from syncer.ledgers.losses.copysets import Copysets
from syncer.ledgers.metadata import LedgerMetadata
from tests.property.ledgers import ledgers, uneven_ledgers

BOOKIES = [f"bk-{number:02}:3181" for number in range(12)] + [f"bk-{number}:3181" for number in range(7)]
MOST = 2**63 - 1
SOME = st.lists(uneven_ledgers() | ledgers(), max_size=10)


def table_of(*batches: list[LedgerMetadata]) -> pa.Table:
    table = CopysetTable()
    for some in batches:
        table.add(pa.RecordBatch.from_arrays(flattened(some), schema=LEDGERS))
    return table.rows()


@settings(max_examples=150, deadline=None)
@given(SOME, SOME)
def test_sets_and_their_ledgers_are_those_of_the_pure_rules(
    some: list[LedgerMetadata], more: list[LedgerMetadata]
) -> None:
    pure = Copysets()
    for ledger in some + more:
        pure.add(ledger)
    rows = table_of(some, more).to_pylist()
    assert len({(row["kind"], tuple(row["bookies"])) for row in rows}) == len(rows)
    for kind, wanted in (("losing", pure.losing), ("blocking", pure.blocking)):
        found = {tuple(row["bookies"]): row["ledgers"] for row in rows if row["kind"] == kind and row["ledgers"]}
        assert found == {tuple(sorted(pure.bits.named(bits))): count for bits, count in wanted.items()}


@settings(max_examples=100, deadline=None)
@given(SOME, st.frozensets(st.sampled_from(BOOKIES)))
def test_entries_lost_are_those_of_the_sets_that_are_lost(some: list[LedgerMetadata], lost: frozenset[str]) -> None:
    held = [ledger for ledger in some if ledger.quorums.write > 0]
    rows = table_of(held).to_pylist()
    gone = [row for row in rows if row["kind"] == "losing" and lost.issuperset(row["bookies"])]
    judged = [judge(ledger, lost & ledger.bookies()) for ledger in held]
    wanted = sum(each.lost_entries for each in judged)
    assert wanted > MOST or min(sum(row["entries"] for row in gone), MOST) == wanted
    size = sum(each.bytes_of(each.lost_entries) or 0 for each in judged)
    assert size > MOST or 0 <= size - sum(row["bytes"] for row in gone) <= len(gone) * len(held)
