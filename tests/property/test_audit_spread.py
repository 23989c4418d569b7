"""An audit in bulk tells of spread as the pure rules do: of any ledgers, over any racks, whoever is up."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from spark_snapshot.audit.rows import UNSPREAD
from spark_snapshot.audit.spreading import SpreadCounts, SpreadRule, unspread
from syncer.ledgers.auditing.spreading import PlacementRules
from syncer.ledgers.metadata import LedgerMetadata
from syncer.ledgers.placement.adherence import (
    RackPolicy,
    adheres_as_configured,
    adheres_as_counted,
    spans_regions,
)
from syncer.ledgers.placement.racks import RackMap
from tests.property.ledgers import ledgers, uneven_ledgers
from tests.property.test_audit_judgement import BOOKIES, batch_of

RACKS = st.dictionaries(st.sampled_from(BOOKIES), st.sampled_from(["/r1", "/r2", "/eu/r1", "/us/r1"]))
RULES = st.builds(PlacementRules, policy=st.builds(RackPolicy, st.integers(0, 4), st.booleans()), regions=st.booleans())
UP = st.none() | st.frozensets(st.sampled_from(BOOKIES))


def not_spread(ledger: LedgerMetadata, racks: RackMap, rules: PlacementRules) -> int:
    """Segments of a ledger that are not spread as configured."""
    write = ledger.quorums.write
    if rules.regions:
        return sum(not spans_regions(each, write, racks) for _, each in ledger.segments)
    return sum(not adheres_as_configured(each, write, racks, rules.policy) for _, each in ledger.segments)


def at_fault(ledger: LedgerMetadata, racks: RackMap, rules: PlacementRules, up: frozenset[str]) -> bool:
    """Whether BookKeeper's auditor would count a ledger."""
    write = ledger.quorums.write
    holds = (adheres_as_counted(each, write, racks, up, rules.policy) for _, each in ledger.segments)
    return ledger.is_closed and not rules.regions and not all(holds)


@settings(max_examples=200, deadline=None)
@given(st.lists(uneven_ledgers() | ledgers(), max_size=12), RACKS, RULES, UP)
def test_every_ledger_is_told_as_the_pure_rules_have_it(
    some: list[LedgerMetadata], racks: dict[str, str], rules: PlacementRules, up: frozenset[str] | None
) -> None:
    counts, known = SpreadCounts(), RackMap(racks)
    found = unspread(batch_of(some), SpreadRule(racks=racks, rules=rules, writable=up), counts)
    assert found.schema == UNSPREAD
    wanted = [(each.ledger_id, not_spread(each, known, rules)) for each in some]
    assert [(row["ledger_id"], row["segments"]) for row in found.to_pylist()] == [pair for pair in wanted if pair[1]]
    assert (counts.ledgers, counts.closed) == (len(some), sum(each.is_closed for each in some))
    assert counts.not_spread == found.num_rows
    if up is None or not some:
        assert counts.counted is None
    else:
        assert counts.counted == sum(at_fault(each, known, rules, up) for each in some)
