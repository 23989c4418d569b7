"""How much each pair of regions of different scopes shares, and what a worker is sent to tell it."""

from __future__ import annotations

import pickle
from collections import Counter

from spark_snapshot.diff.sharing import (
    COUNTED,
    NOT_SHARED,
    CarryingRegions,
    SharedPaths,
    Tally,
    added,
    carrying,
    shared_paths,
)
from syncer.conflict.classes.pairs import RegionScopes, class_of, label_of
from syncer.conflict.scope import DEFAULT_RULES, Rule, Scope
from syncer.conflict.settings import Direction
from syncer.model import MetaPath, Region

EAST, NORTH, WEST = (Region(name) for name in ("east", "north", "west"))
ACME, OTHER = MetaPath("/admin/policies/acme"), MetaPath("/admin/policies/other")
HALF = Scope([Rule("/admin/policies/other", Direction.IGNORE), *DEFAULT_RULES])
SCOPES = RegionScopes({WEST: Scope(), NORTH: HALF, EAST: Scope()})


def carriers() -> CarryingRegions:
    found = carrying(SCOPES)
    assert found is not None
    return found


def test_regions_of_one_scope_need_nothing_told() -> None:
    assert carrying(RegionScopes({EAST: Scope(), WEST: Scope()})) is None


def test_a_worker_tells_the_same_by_what_it_is_sent() -> None:
    here = carriers()
    assert here.sharing(ACME).keys() == {EAST, NORTH, WEST}
    there = pickle.loads(pickle.dumps(here))
    assert there == here
    assert [region for region, _ in there.rules] == [EAST, NORTH, WEST]
    assert there.sharing(OTHER) == {EAST: Direction.BOTH, WEST: Direction.BOTH}


def test_each_pair_counts_what_lives_in_one_of_the_two() -> None:
    here, first, second = carriers(), Counter[str](), Counter[str]()
    here.tallied(first, here.sharing(OTHER), [True, False, True], 3)  # equal in both that carry it
    here.tallied(second, here.sharing(ACME), [False, True, False])  # only in the north
    here.tallied(second, {}, [True, False, False], 2)  # carried by the east alone
    tally: Tally = added([first, second])
    assert (tally[COUNTED], tally[NOT_SHARED]) == (6, 2)
    assert shared_paths(SCOPES, tally, 10) == (
        SharedPaths(regions=(EAST, NORTH), label=class_of(Scope(), HALF).label, shared=5, unshared=5),
        SharedPaths(regions=(EAST, WEST), label=label_of(Scope()), shared=7, unshared=2),
        SharedPaths(regions=(NORTH, WEST), label=class_of(Scope(), HALF).label, shared=5, unshared=3),
    )
