"""Owners that are followed from look to look."""

from __future__ import annotations

from syncer.balancer.history.changes import LastHeld, OwnerChange, follow
from syncer.balancer.picture import Ownership, Tenure

BUNDLE = "t/n/0x00000000_0x10000000"


def test_the_interval_of_a_change_begins_when_the_former_owner_was_seen_last() -> None:
    known, changes = follow({}, {BUNDLE: Ownership(Tenure.OWNED, "a")}, 10)
    assert changes == []
    known, changes = follow(known, {BUNDLE: Ownership(Tenure.OWNED, "a")}, 20)
    known, changes = follow(known, {BUNDLE: Ownership(Tenure.MOVING, "a", "b")}, 30)
    assert changes == []
    known, changes = follow(known, {BUNDLE: None}, 40)
    known, changes = follow(known, {BUNDLE: Ownership(Tenure.OWNED, "b")}, 50)
    assert changes == [OwnerChange(BUNDLE, "a", "b", 20, 50)]
    assert known == {BUNDLE: LastHeld("b", 50)}


def test_a_bundle_that_is_gone_is_forgotten() -> None:
    known, _ = follow({BUNDLE: LastHeld("a", 10)}, {}, 20)
    assert known == {}
    assert follow(known, {BUNDLE: Ownership(Tenure.OWNED, "b")}, 30)[1] == []
