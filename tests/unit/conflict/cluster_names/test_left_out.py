"""Which brokers delete a topic, by each pair of its own policies and those of its namespace."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from syncer.conflict.cluster_names.left_out import allowed, deleted_by, may_newly_delete, served_by, topic_list

HERE = frozenset({"west"})
EAST, WEST, BOTH = ["east"], ["west"], ["east", "west"]


def topic(clusters: Any) -> dict[str, Any]:
    return {"isGlobal": True, "replicationClusters": clusters}


@pytest.mark.parametrize(
    ("policies", "namespace", "deleted"),
    [
        (topic(EAST), {"replication_clusters": BOTH}, True),
        (topic(EAST), {"replication_clusters": BOTH, "allowed_clusters": BOTH}, False),
        (topic(EAST), {"replication_clusters": EAST, "allowed_clusters": WEST}, False),
        (topic(BOTH), {"replication_clusters": EAST}, False),
        (topic([]), {"replication_clusters": EAST}, False),
        (topic(None), {"replication_clusters": EAST}, True),
        (None, {"replication_clusters": EAST}, True),
        (None, {"replication_clusters": EAST, "allowed_clusters": WEST}, False),
        (None, {"replication_clusters": []}, False),
        (None, None, False),
        (topic(EAST), None, True),
        (topic("west"), {"replication_clusters": BOTH}, True),
        (topic([7]), {"replication_clusters": BOTH}, True),
    ],
)
def test_a_topic_is_deleted_where_neither_list_names_the_cluster(policies: Any, namespace: Any, deleted: bool) -> None:
    assert bool(deleted_by(policies, namespace, HERE)) is deleted
    assert not deleted_by(policies, namespace, frozenset())


def test_a_change_that_could_newly_delete_by_no_namespace_is_harmless_by_any() -> None:
    """Every namespace is tried: what is not named as possible never happens."""
    lists: tuple[list[str] | None, ...] = (None, [], EAST, WEST, BOTH)
    namespaces = [{"replication_clusters": one, "allowed_clusters": other} for one, other in product(lists, lists)]
    for before, after in product(lists, lists):
        possible = may_newly_delete(topic(before), topic(after), HERE)
        newly = [
            deleted_by(topic(after), namespace, HERE) - deleted_by(topic(before), namespace, HERE)
            for namespace in namespaces
        ]
        assert possible == frozenset().union(*newly)


@pytest.mark.parametrize(
    ("namespace", "served"),
    [
        (None, set()),
        ({"replication_clusters": BOTH}, {"east", "west"}),
        ({"replication_clusters": BOTH, "allowed_clusters": []}, {"east", "west"}),
        ({"replication_clusters": BOTH, "allowed_clusters": EAST}, {"east"}),
        ({"replication_clusters": EAST, "allowed_clusters": BOTH}, {"east", "west"}),
        ({"allowed_clusters": EAST}, {"east"}),
    ],
)
def test_a_namespace_is_served_where_it_is_allowed_or_without_such_a_list_where_it_is_replicated(
    namespace: Any, served: set[str]
) -> None:
    assert served_by(namespace) == served


def test_lists_that_cannot_be_read_name_no_cluster() -> None:
    assert topic_list(None) is topic_list({}) is None
    assert allowed({"allowed_clusters": "west"}) & HERE == frozenset()
