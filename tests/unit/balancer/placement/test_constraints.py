"""What brokers have of an anti-affinity group is counted by the group's name, capitals or not."""

from __future__ import annotations

from syncer.balancer.placement.constraints import Constraints

GROUPS = {"a/b": "Db", "a/c": "dB", "a/d": "web", "a/e": " "}


def test_namespaces_of_the_same_group_count() -> None:
    known = Constraints(traits={}, groups=GROUPS)
    served = [("b1", "a/b"), ("b1", "a/c"), ("b2", "a/c"), ("b2", "a/d"), ("b3", "a/x")]
    assert known.group_counts("a/b", served) == {"b1": 2, "b2": 1}


def test_a_namespace_without_a_group_has_no_counts() -> None:
    known = Constraints(traits={}, groups=GROUPS)
    assert known.group_counts("a/x", [("b1", "a/b")]) is None
    assert known.group_counts("a/e", [("b1", "a/e")]) is None
