"""Entries of a store: each path means what Pulsar means by it, and every other one nothing."""

from __future__ import annotations

import pytest

from syncer.balancer.decoding.entries import take_entry
from syncer.balancer.decoding.parts import PictureParts
from syncer.balancer.picture import LoadFindingKind, Ownership, Tenure
from tests.support.load_documents import FIRST, NOW_MS, SECOND, small_cluster, taken, unit


def test_a_small_cluster_is_read_without_a_flaw() -> None:
    parts = taken(small_cluster())
    assert parts.notes.findings == []
    assert set(parts.brokers.registrations) == {"b1:8080", "b2:8080"}
    assert set(parts.bundles.owners) == {FIRST, SECOND}
    assert set(parts.bundles.averages) == {FIRST}
    assert parts.brokers.leader is not None
    assert parts.brokers.leader.origin.where == "/loadbalance/leader"
    assert parts.constraints.policies is not None
    assert parts.constraints.domains is not None
    assert parts.constraints.domains.value == {"b1:8080": "rack"}


def test_the_extensible_manager_has_a_leader_of_its_own() -> None:
    leaders = {"/loadbalance/leader": {"brokerId": "b1:8080"}, "/loadbalance/extension/leader": {"brokerId": "b2:8080"}}
    leader = taken(leaders).brokers.leader
    assert leader is not None
    assert leader.value == "b2:8080"


def test_the_channel_may_be_in_the_store() -> None:
    parts = taken({f"/service_unit_state/{FIRST}": unit("Owned")})
    assert parts.bundles.owners[FIRST].value == Ownership(Tenure.OWNED, "b1:8080")


@pytest.mark.parametrize(
    "path",
    [
        "/loadbalance/brokers",
        "/loadbalance/brokersx/b1:8080",
        "/loadbalance/bundle-data/shop",
        "/loadbalance/resource-quota/x",
        "/loadbalance/extension",
        "/namespace/shop/orders",
        "/namespace/shop/orders/lock",
        "/admin/local-policies/shop",
        "/admin/policies/shop",
        "/admin/tenants/shop",
        "/ledgers/1",
    ],
)
def test_inner_nodes_and_the_paths_of_others_are_passed_over(path: str) -> None:
    parts = PictureParts()
    take_entry(path, b"", NOW_MS, parts)
    assert parts == PictureParts()


@pytest.mark.parametrize(
    "path",
    ["/loadbalance/brokers/b1:8080", "/loadbalance/leader", f"/namespace/{FIRST}", f"/loadbalance/bundle-data/{FIRST}"],
)
@pytest.mark.parametrize("value", [b"", b"{", b"[]"])
def test_a_torn_document_is_a_finding_that_names_its_path(path: str, value: bytes) -> None:
    parts = PictureParts()
    take_entry(path, value, NOW_MS, parts)
    assert [(each.kind, each.where) for each in parts.notes.findings] == [(LoadFindingKind.TORN, path)]
    assert parts == PictureParts(notes=parts.notes)


def test_a_cluster_without_policies_and_domains_is_known_to_have_none() -> None:
    found = taken({}).constraints
    assert found.policies is not None
    assert found.domains is not None
    assert (found.policies.value, found.domains.value) == ((), {})


def test_torn_policies_and_domains_are_unknown() -> None:
    parts = taken(
        {
            "/admin/clusters/east/namespaceIsolationPolicies": b"{",
            "/admin/clusters/east/failureDomain/rack": b"",
        }
    )
    assert (parts.constraints.policies, parts.constraints.domains) == (None, None)
    assert len(parts.notes.findings) == 2
