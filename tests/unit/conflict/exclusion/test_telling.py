"""Excluded fields as a region tells them."""

from __future__ import annotations

from syncer.conflict.exclusion.rules import Exclusion
from syncer.conflict.exclusion.telling import (
    EXCLUSIONS_CHARACTERS,
    EXCLUSIONS_TOLD,
    shared_by_nobody,
    told_exclusions,
)
from syncer.model import Region

ALL, ONE = "/admin/policies/acme/**", "/admin/policies/acme/orders"
EAST, WEST = Region("east"), Region("west")


def test_they_are_told_by_their_patterns() -> None:
    assert told_exclusions(()) == {}
    assert told_exclusions([Exclusion(ALL, ("a", "b")), Exclusion(ONE, ("c",))]) == {ALL: ("a", "b"), ONE: ("c",)}


def test_more_than_can_be_told_are_not() -> None:
    full = [Exclusion(str(number), ()) for number in range(EXCLUSIONS_TOLD)]
    assert len(told_exclusions(full)) == EXCLUSIONS_TOLD
    assert told_exclusions([*full, Exclusion(ALL, ())]) == {}
    long = "x" * (EXCLUSIONS_CHARACTERS - 1)
    assert told_exclusions([Exclusion("p", (long,))]) == {"p": (long,)}
    assert told_exclusions([Exclusion("pp", (long,))]) == {}


def test_what_every_region_excludes_by_the_same_pattern_is_shared_by_nobody() -> None:
    ours = {ONE: ("ttl",), ALL: ("limit", "ttl")}
    assert list(shared_by_nobody(ours, {EAST: {ALL: ("ttl",), ONE: ("ttl",)}, WEST: {ALL: ("ttl", "limit")}})) == [
        (ALL, "ttl")
    ]
    assert list(shared_by_nobody(ours, {EAST: {}})) == []
    assert list(shared_by_nobody(ours, {})) == [], "there is nobody else to share it with"
