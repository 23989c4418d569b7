"""Bundles that came back, and equal ranges that moved at once."""

from __future__ import annotations

from syncer.balancer.history.changes import OwnerChange
from syncer.balancer.history.returning import returning, together

HERE = "t/n0/0x00000000_0x10000000"
DOUBLE = "t/n1/0x00000000_0x10000000"


def change(bundle: str, source: str, target: str, by_ms: int) -> OwnerChange:
    return OwnerChange(bundle, source, target, by_ms - 60, by_ms)


def test_a_bundle_that_is_back_within_the_time_is_found_with_all_its_changes() -> None:
    to_and_fro = (change(HERE, "a", "b", 100), change(HERE, "b", "c", 200), change(HERE, "c", "a", 300))
    assert returning(to_and_fro[::-1], 200) == {HERE: to_and_fro}
    assert returning(to_and_fro, 199) == {}
    assert returning(to_and_fro[:2], 200) == {}


def test_returns_of_one_bundle_are_not_those_of_another() -> None:
    assert returning([change(HERE, "a", "b", 100), change(DOUBLE, "b", "a", 200)], 1000) == {}


def test_equal_ranges_of_two_namespaces_that_moved_at_once_are_found() -> None:
    both = (change(HERE, "a", "b", 100), change(DOUBLE, "b", "a", 130))
    assert together(both) == {"0x00000000_0x10000000": both}
    assert together([both[0], change(DOUBLE, "b", "a", 160)]) == {}
    assert together([both[0], change(HERE, "b", "a", 130)]) == {}
    assert together([both[0], change("t/n1/0x10000000_0x20000000", "b", "a", 130)]) == {}
