"""Documents of constraints: one that cannot be read makes all of its kind unknown."""

from __future__ import annotations

from typing import Any

import pytest

from syncer.balancer.decoding.constraints import (
    take_boundaries,
    take_domains,
    take_isolation,
    take_local_policies,
    take_policies,
    take_runtime_configuration,
)
from syncer.balancer.decoding.fields import DocumentFields
from syncer.balancer.decoding.parts import ConstraintParts, PictureParts
from syncer.balancer.picture import LoadFindingKind
from syncer.balancer.placement.isolation import IsolationPolicy
from tests.support.load_documents import STORE, boundaries, isolation

HALVES = (0, 0x80000000, 0xFFFFFFFF)


def local(document: dict[str, Any]) -> PictureParts:
    parts = PictureParts()
    take_local_policies("shop/orders", DocumentFields("there", document, parts.notes), STORE, parts)
    return parts


def test_local_policies_hold_boundaries_and_a_group() -> None:
    found = local(boundaries(namespaceAntiAffinityGroup="pair")).constraints
    assert found.boundaries["shop/orders"].value == HALVES
    assert found.groups["shop/orders"].value == "pair"
    assert local(boundaries()).constraints.groups["shop/orders"].value == ""


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"bundles": {"boundaries": None}},
        boundaries("0x00000000", "nonsense", "0xffffffff"),
        boundaries("0x00000000", "0x80000000"),
        boundaries("0x00000000", "0x80000000", "0x40000000", "0xffffffff"),
    ],
)
def test_boundaries_that_do_not_cut_the_ring_are_unknown(document: dict[str, Any]) -> None:
    parts = local(document)
    assert parts.constraints.boundaries == {}
    assert len(parts.notes.findings) == 1


def test_a_namespace_without_local_policies_has_its_first_boundaries() -> None:
    parts = PictureParts()
    documents: dict[str, dict[str, object]] = {"a/b": boundaries(), "a/c": {"bundles": None}}
    for name, document in documents.items():
        take_policies(name, DocumentFields("there", document, parts.notes), STORE, parts)
    assert {name: each.value for name, each in parts.constraints.first_boundaries.items()} == {"a/b": HALVES}
    assert parts.notes.findings == []


def test_the_admin_api_answers_boundaries_alone() -> None:
    parts = PictureParts()
    take_boundaries("shop/orders", boundaries()["bundles"], STORE, parts)
    take_boundaries("shop/torn", {"boundaries": 3}, STORE, parts)
    assert {name: each.value for name, each in parts.constraints.boundaries.items()} == {"shop/orders": HALVES}
    assert len(parts.notes.findings) == 1


def isolated(document: dict[str, Any]) -> PictureParts:
    parts = PictureParts()
    take_isolation(DocumentFields("there", document, parts.notes), STORE, parts)
    return parts


def test_isolation_policies_keep_their_order() -> None:
    found = isolated({"b": isolation(), "a": isolation(secondary=None, primary=["b3"])}).constraints.policies
    assert found is not None
    assert found.value == (
        IsolationPolicy(namespaces=("shop/.*",), primary=("b1",), secondary=("b2",), min_primaries=1),
        IsolationPolicy(namespaces=("shop/.*",), primary=("b3",), min_primaries=1),
    )


def test_no_isolation_policy_is_an_answer() -> None:
    found = isolated({}).constraints.policies
    assert found is not None
    assert found.value == ()


@pytest.mark.parametrize(
    "changed",
    [
        {"primary": ["("]},
        {"namespaces": None},
        {"auto_failover_policy": None},
        {"auto_failover_policy": {"policy_type": "other", "parameters": {"min_limit": "1"}}},
        {"auto_failover_policy": {"policy_type": "min_available", "parameters": {"min_limit": "x"}}},
        {"auto_failover_policy": {"policy_type": "min_available"}},
        {"secondary": 3},
    ],
)
def test_a_policy_with_a_flaw_makes_all_of_them_unknown(changed: dict[str, Any]) -> None:
    parts = isolated({"good": isolation(), "bad": isolation(**changed)})
    assert parts.constraints.policies is None
    assert len(parts.notes.findings) == 1
    assert isolated({"bad": 3}).constraints.policies is None


def test_failure_domains_are_told_of_each_broker() -> None:
    parts = PictureParts()
    documents: dict[str, dict[str, object]] = {"rack": {"brokers": ["b1:8080", "b2:8080"]}, "room": {"brokers": []}}
    found = {name: DocumentFields(name, each, parts.notes) for name, each in documents.items()}
    take_domains(found, STORE, parts)
    assert parts.constraints.domains is not None
    assert parts.constraints.domains.value == {"b1:8080": "rack", "b2:8080": "rack"}


@pytest.mark.parametrize("torn", [None, {"brokers": 3}])
def test_a_torn_failure_domain_makes_all_of_them_unknown(torn: dict[str, Any] | None) -> None:
    parts = PictureParts()
    domain = None if torn is None else DocumentFields("there", torn, parts.notes)
    take_domains({"torn": domain}, STORE, parts)
    assert parts.constraints.domains is None


def configured(answer: dict[str, object]) -> PictureParts:
    parts = PictureParts()
    take_runtime_configuration(answer, STORE, parts)
    return parts


def test_settings_are_read_from_the_runtime_configuration() -> None:
    found = configured(
        {
            "loadBalancerBrokerThresholdShedderPercentage": "12",
            "loadBalancerSheddingExcludedNamespaces": "[a/b, a/c]",
            "loadBalancerLoadSheddingStrategy": None,
            "clusterName": "east",
        }
    ).constraints.settings
    assert found is not None
    assert found.value.threshold.threshold_percent == 12
    assert found.value.shedding.excluded_namespaces == {"a/b", "a/c"}
    empty = configured({"loadBalancerSheddingExcludedNamespaces": "[]"}).constraints.settings
    assert empty is not None
    assert empty.value.shedding.excluded_namespaces == frozenset()


def test_a_setting_that_pulsar_could_not_take_makes_the_settings_unknown() -> None:
    parts = configured({"maxUnloadPercentage": "much"})
    assert parts.constraints == ConstraintParts()
    assert [each.kind for each in parts.notes.findings] == [LoadFindingKind.TORN]
    assert "maxUnloadPercentage" in parts.notes.findings[0].what
