"""The cost of a loss by copysets alone: entries as the pure judge counts them, ledgers within bounds that hold."""

from __future__ import annotations

from itertools import combinations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_snapshot.audit.copysets import CopysetTable
from spark_snapshot.audit.flattening import flattened
from spark_snapshot.audit.rows import LEDGERS
from spark_snapshot.audit.worst import CopysetCosts
from syncer.errors import PreconditionFailed
from syncer.ledgers.judging.ledger import judge
from syncer.ledgers.metadata import LedgerMetadata
from tests.property.ledgers import ledgers

BOOKIES = [f"bk-{number}:3181" for number in range(7)]
SOME = st.lists(ledgers(), max_size=8)


def costs_of(some: list[LedgerMetadata]) -> CopysetCosts:
    table = CopysetTable()
    table.add(pa.RecordBatch.from_arrays(flattened(some), schema=LEDGERS))
    return CopysetCosts(table.rows(), BOOKIES)


@settings(max_examples=60, deadline=None)
@given(SOME, st.integers(1, 4))
def test_the_worst_sets_are_those_that_harm_and_cost_what_the_judge_says(some: list[LedgerMetadata], size: int) -> None:
    costs = costs_of(some)
    found = {frozenset(each.bookies): each for each in costs.worst(size, 1_000)}
    for lost in map(frozenset, combinations(BOOKIES, size)):
        judged = [judge(ledger, lost) for ledger in some]
        losing, blocked = (
            sum(each.lost_entries > 0 for each in judged),
            sum(each.recoverable is False for each in judged),
        )
        assert (lost in found) == bool(losing or blocked)
        if lost in found:
            cost = found[lost]
            assert cost.entries == sum(each.lost_entries for each in judged)
            assert cost.ledgers.at_least <= losing <= cost.ledgers.at_most
            assert cost.blocked.at_least <= blocked <= cost.blocked.at_most
    odds = costs.odds(size, lambda _: 0)
    assert (odds.exact, odds.harmful) == (True, len(found))


def test_the_first_are_the_worst_and_too_many_sets_are_refused() -> None:
    costs = costs_of([])
    assert costs.worst(2, 5) == []
    with pytest.raises(PreconditionFailed):
        costs.worst(8, 5)
