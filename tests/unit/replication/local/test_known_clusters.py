"""Names of clusters that guards go by: what waits for one is looked at again once it can be told."""

from __future__ import annotations

from syncer.model import Region
from syncer.replication.local.known_clusters import KnownClusters

EAST, WEST = Region("east"), Region("west")


def test_what_waits_is_looked_at_again_when_a_cluster_is_declared() -> None:
    known = KnownClusters(frozenset({"a"}))
    known.know(["a"])
    assert not known.grew
    known.know(["b"])
    assert (known.grew, known.names) == (True, frozenset({"b"}))


def test_what_waits_is_looked_at_again_when_a_name_is_in_dispute_no_more() -> None:
    known = KnownClusters()
    known.doubt({WEST: frozenset({"a", "b"}), EAST: frozenset({"a"})})
    known.doubt({WEST: frozenset({"a", "b", "c"}), EAST: frozenset({"a"})})
    assert not known.grew
    known.doubt({WEST: frozenset({"a", "b"}), EAST: frozenset({"a"})})
    assert known.grew
    known.grew = False
    known.doubt({WEST: frozenset({"a", "b"})})
    assert (known.grew, known.doubted) == (True, {WEST: {"a", "b"}})
