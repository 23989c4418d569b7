"""Ledgers are held against racks and regions as configured, and as the auditor counts; else nothing is said."""

from __future__ import annotations

import json

import pytest

from syncer.ledgers.auditing.explaining import explain_ledger
from syncer.ledgers.auditing.findings import LedgerFindingCode, findings
from syncer.ledgers.auditing.spreading import LedgersSpread, PlacementRules, ledgers_spread
from syncer.ledgers.auditing.standing import standing
from syncer.ledgers.placement.adherence import RackPolicy
from tests.support.stored_ledgers import StoredLedgers

RACKS = {"a": "/r1/s1", "b": "/r1/s1", "c": "/r1/s2", "d": "/r2/s3"}


def stored(racks: object = None, *, up: str = "abcd") -> StoredLedgers:
    found = StoredLedgers().bookies(up).ledger(1, (2, 2, 2), (0, "ab")).ledger(2, (2, 2, 2), (0, "ac"))
    found.ledger(3, (3, 2, 2), (0, "abd")).ledger(4, (2, 2, 2), (0, "ad"), (5, "ab"), last=None)
    document = {"default": {name: {"rack": rack} for name, rack in RACKS.items()}} if racks is None else racks
    return found.put("/bookies", json.dumps(document).encode())


def spread(stored: StoredLedgers, rules: PlacementRules | None = None) -> LedgersSpread:
    found = ledgers_spread(stored.picture(), rules or PlacementRules())
    assert found is not None
    return found


def test_a_ledger_is_spread_if_each_write_quorum_of_each_segment_is() -> None:
    found = spread(stored())
    assert (found.ledgers, found.closed, found.not_spread) == (4, 3, (1, 3, 4))
    assert found.counted == 2, "the auditor passes over the open one"


def test_the_auditor_takes_a_bookie_that_is_away_for_one_without_a_rack() -> None:
    found = spread(stored(up="abd"))
    assert (found.not_spread, found.counted) == ((1, 3, 4), 3)


def test_over_regions_the_auditor_finds_no_fault() -> None:
    found = spread(stored(), PlacementRules(regions=True))
    assert (found.not_spread, found.counted) == ((1, 2, 3, 4), 0)


def test_a_bookie_without_a_rack_is_one_of_the_default_rack_which_may_be_refused() -> None:
    some = stored({"default": {"a": {"rack": "/r1"}}})
    assert spread(some).not_spread == (3,)
    assert spread(some, PlacementRules(policy=RackPolicy(2, enforced=True))).not_spread == (1, 2, 3, 4)
    assert spread(some, PlacementRules(policy=RackPolicy(1))).not_spread == ()


@pytest.mark.parametrize("racks", [{}, {"default": {}}, {"default": {"a": {"rack": 7}, "b": {"rack": "/r"}}}, "x"])
def test_where_racks_are_not_configured_or_not_understood_nothing_is_said(racks: object) -> None:
    picture = stored(racks).picture()
    assert ledgers_spread(picture) is None
    assert explain_ledger(picture, picture.ledgers[1]).segments[0].spread is None


def test_where_racks_may_not_be_read_nothing_is_said() -> None:
    some = stored()
    some.refused.append("/bookies")
    assert ledgers_spread(some.picture()) is None


def test_a_finding_names_them_and_an_explained_segment_tells_racks() -> None:
    picture = stored().picture()
    found = findings(picture, standing(picture, picture.lost()), ledgers_spread(picture))
    (one,) = (each for each in found if each.code is LedgerFindingCode.NOT_SPREAD)
    assert (one.count, one.names) == (3, ("1", "3", "4"))
    assert "over racks" in one.what
    first, second = explain_ledger(picture, picture.ledgers[4]).segments
    assert ([each.rack for each in first.bookies], first.spread) == (["/r1/s1", "/r2/s3"], True)
    assert ([each.rack for each in second.bookies], second.spread) == (["/r1/s1", "/r1/s1"], False)
