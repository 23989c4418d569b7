"""Which part of a snapshot is meant."""

from __future__ import annotations

import pytest

from spark_snapshot.format.selection import Selection
from syncer.errors import PreconditionFailed
from syncer.model import MetaPath

TENANT = MetaPath("/admin/policies/acme")
SPACE = MetaPath("/admin/policies/acme/orders")
TOPIC = MetaPath("/admin/partitioned-topics/acme/orders/persistent/t")
POLICY = MetaPath("/admin/topic-policies/global/persistent/acme/orders/t")
NEIGHBOUR = MetaPath("/admin/policies/acme/orders-2")
OTHER = MetaPath("/admin/policies/acme2")
GROUP = MetaPath("/admin/resourcegroups/g")
ALL = (TENANT, SPACE, TOPIC, POLICY, NEIGHBOUR, OTHER, GROUP)


def covered(selection: Selection) -> list[MetaPath]:
    return [path for path in ALL if selection.covers(path)]


def test_nothing_said_is_everything() -> None:
    assert covered(Selection()) == list(ALL)
    assert Selection().everything
    assert str(Selection()) == "everything"
    assert Selection().narrowed_to is None


def test_a_tenant_is_its_declaration_and_all_that_belongs_to_it() -> None:
    selection = Selection(tenants=frozenset({"acme"}))
    assert covered(selection) == [TENANT, SPACE, TOPIC, POLICY, NEIGHBOUR]
    assert selection.narrowed_to == frozenset({"acme"})


def test_a_namespace_is_its_policies_and_its_topics() -> None:
    selection = Selection(namespaces=frozenset({"acme/orders"}))
    assert covered(selection) == [SPACE, TOPIC, POLICY]
    assert selection.narrowed_to == frozenset({"acme"})


def test_a_path_is_itself_and_what_lies_below() -> None:
    assert covered(Selection(paths=frozenset({SPACE}))) == [SPACE]
    assert covered(Selection(paths=frozenset({TENANT}))) == [TENANT, SPACE, NEIGHBOUR]
    assert covered(Selection(paths=frozenset({MetaPath("/admin/policies")}))) == [TENANT, SPACE, NEIGHBOUR, OTHER]


def test_a_path_that_is_no_tenants_narrows_nothing() -> None:
    assert Selection(paths=frozenset({GROUP})).narrowed_to is None
    assert Selection(tenants=frozenset({"acme"}), paths=frozenset({GROUP})).narrowed_to is None
    assert Selection(paths=frozenset({SPACE})).narrowed_to == frozenset({"acme"})


def test_several_add_up() -> None:
    selection = Selection(tenants=frozenset({"acme2"}), namespaces=frozenset({"acme/orders"}))
    assert covered(selection) == [SPACE, TOPIC, POLICY, OTHER]
    assert str(selection) == "tenant acme2, namespace acme/orders"


@pytest.mark.parametrize("name", ["orders", "a/b/c", "/x", "x/", ""])
def test_what_is_no_namespace_is_refused(name: str) -> None:
    with pytest.raises(PreconditionFailed, match="is no namespace"):
        Selection(namespaces=frozenset({name}))


def test_a_relative_path_is_refused() -> None:
    with pytest.raises(PreconditionFailed, match="is no path"):
        Selection(paths=frozenset({MetaPath("admin")}))
