"""What paths mean, who their parents and children are, and which paths no store may be asked to hold."""

from __future__ import annotations

import pytest

from syncer.errors import ValueRefused
from syncer.model import MetaPath, Millis, Region, ResourceKind, Stamp
from syncer.paths import (
    MAX_PATH_BYTES,
    Resource,
    checked,
    child_prefixes,
    classify,
    fence_path,
    first_form_namespace,
    is_under,
    misfit,
    named,
    namespace_path,
    scaffold,
    shown,
    tenant_of,
    tenant_path,
    topic_name,
)
from tests.property.strategies import PATH_OF_KIND

NAMESPACE = MetaPath("/admin/policies/acme/orders")
TOPIC_POLICIES = "/admin/topic-policies/global"


@pytest.mark.parametrize(
    ("path", "kind", "name", "parent"),
    [
        ("/admin/policies/acme", "tenant", "acme", None),
        ("/admin/policies/acme/orders", "namespace", "acme/orders", "/admin/policies/acme"),
        (
            "/admin/partitioned-topics/acme/orders/persistent/paid%2Fnow",
            "partitioned-topic",
            "persistent://acme/orders/paid/now",
            NAMESPACE,
        ),
        (
            "/admin/partitioned-topics/acme/orders/non-persistent/%E2%82%AC",
            "partitioned-topic",
            "non-persistent://acme/orders/€",
            NAMESPACE,
        ),
        ("/admin/clusters/blue", "cluster", "blue", None),
        ("/admin/clusters/blue/namespaceIsolationPolicies", "isolation-policy", "blue", "/admin/clusters/blue"),
        ("/admin/resourcegroups/gold", "resource-group", "gold", None),
        (f"{TOPIC_POLICIES}/persistent/acme/orders/paid", "topic-policy", "persistent://acme/orders/paid", NAMESPACE),
        (f"{TOPIC_POLICIES}/acme/orders/persistent/paid", "topic-policy", "persistent://acme/orders/paid", NAMESPACE),
    ],
)
def test_a_resource_by_its_path(path: str, kind: str, name: str, parent: str | None) -> None:
    assert classify(MetaPath(path)) == Resource(ResourceKind(kind), name, None if parent is None else MetaPath(parent))


@pytest.mark.parametrize(
    "path",
    [
        "/admin",
        "/admin/policies",
        "/admin/policies/",
        "/admin/policies//orders",
        "/admin/policies/acme/",
        "/admin/policies/acme/use/orders",
        "/admin/partitioned-topics/acme/orders",
        "/admin/partitioned-topics/acme/orders/persistent",
        "/admin/partitioned-topics/acme/orders/persistent/",
        "/admin/partitioned-topics/acme/orders/durable/paid",
        "/admin/partitioned-topics//orders/persistent/paid",
        "/admin/partitioned-topics/acme//persistent/paid",
        "/admin/partitioned-topics/acme/use/orders/persistent/paid",
        "/admin/clusters/",
        "/admin/clusters/blue/policies",
        "/admin/clusters/blue/failureDomain/one",
        "/admin/clusters//namespaceIsolationPolicies",
        "/admin/resourcegroups/",
        "/admin/local-policies/acme/orders",
        "/admin/topic-policies/local/persistent/acme/orders/paid",
        f"{TOPIC_POLICIES}/acme/orders/persistent/",
        f"{TOPIC_POLICIES}/persistent//orders/paid",
        f"{TOPIC_POLICIES}/acme/orders/durable/paid",
        "/ledgers/LAYOUT",
        "/managed-ledgers/acme/orders/persistent/paid",
        "/namespace/acme/orders/0x0_0x1",
        "/pulsar-syncer/here/fence",
        "admin/policies/acme",
    ],
)
def test_what_is_no_resource(path: str) -> None:
    assert classify(MetaPath(path)) is None


@pytest.mark.parametrize("path", PATH_OF_KIND.values(), ids=PATH_OF_KIND)
def test_a_parents_prefixes_cover_its_children(path: MetaPath) -> None:
    resource = classify(path)
    assert resource is not None
    if resource.parent is not None:
        assert classify(resource.parent) is not None
        assert any(path.startswith(prefix) for prefix in child_prefixes(resource.parent))


def test_a_leaf_has_no_children_and_neighbours_are_not_children() -> None:
    assert child_prefixes(PATH_OF_KIND[ResourceKind.PARTITIONED_TOPIC]) == ()
    assert child_prefixes(PATH_OF_KIND[ResourceKind.RESOURCE_GROUP]) == ()
    assert not any("/admin/policies/acme-2/x".startswith(prefix) for prefix in child_prefixes(tenant_path("acme")))
    neighbour = "/admin/partitioned-topics/acme/orders-2/persistent/paid"
    assert not any(neighbour.startswith(prefix) for prefix in child_prefixes(namespace_path("acme", "orders")))


def test_the_scaffold_is_what_holds_no_resource() -> None:
    assert scaffold(tenant_path("acme")) == ("/admin", "/admin/policies")
    assert scaffold(NAMESPACE) == ("/admin", "/admin/policies")  # its tenant is no scaffold
    assert scaffold(PATH_OF_KIND[ResourceKind.PARTITIONED_TOPIC]) == (
        "/admin",
        "/admin/partitioned-topics",
        "/admin/partitioned-topics/acme",
        "/admin/partitioned-topics/acme/orders",
        "/admin/partitioned-topics/acme/orders/persistent",
    )
    assert scaffold(MetaPath("/top")) == ()


@pytest.mark.parametrize(
    ("path", "tenant"),
    [
        ("/admin/policies/acme", "acme"),
        ("/admin/policies/acme/orders", "acme"),
        ("/admin/partitioned-topics/acme/orders/persistent/paid", "acme"),
        (f"{TOPIC_POLICIES}/persistent/acme/orders/paid", "acme"),
        (f"{TOPIC_POLICIES}/acme/orders/persistent/paid", "acme"),
        ("/admin/clusters/blue", ""),
        ("/admin", ""),
    ],
)
def test_the_tenant_of_a_path(path: str, tenant: str) -> None:
    assert tenant_of(MetaPath(path)) == tenant


@pytest.mark.parametrize(
    "path",
    [
        "/a",
        "/admin/policies/a b",
        "/x/%2F",
        "/x/é€😀",
        "/x/...",
        "/" + "x" * (MAX_PATH_BYTES - 1),
        "/" + "é" * ((MAX_PATH_BYTES - 1) // 2),
        "/admin/resourcegroups/gold\u202e\u00a0",
        "/admin/resourcegroups/line\nfeed\u2028",
    ],
)
def test_legal_paths_pass_unchanged(path: str) -> None:
    assert checked(path) == path


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("", "start with"),
        ("/", "start with"),
        ("a/b", "start with"),
        ("/a//b", "a part of it is empty"),
        ("/a/", "a part of it is empty"),
        ("/a/./b", "a part of it is '.'"),
        ("/a/..", "a part of it is '..'"),
        ("/a\x00", "a zero byte"),
        ("/a\ud800", "surrogate"),
        ("/" + "x" * MAX_PATH_BYTES, "32769 bytes"),
        ("/" + "é" * (MAX_PATH_BYTES // 2), "32769 bytes"),
    ],
)
def test_illegal_paths_are_refused_with_the_reason(path: str, why: str) -> None:
    with pytest.raises(ValueRefused, match=why):
        checked(path)


def test_what_cannot_be_replicated_is_no_resource_and_said_why() -> None:
    long, odd = f"/admin/resourcegroups/{'x' * MAX_PATH_BYTES}", "/admin/resourcegroups/a\0b"
    assert classify(MetaPath(long)) is None
    assert classify(MetaPath(odd)) is None
    assert "bytes" in (misfit(long) or "")
    assert "zero byte" in (misfit(odd) or "")
    assert misfit("/admin/resourcegroups/sound") is None
    assert misfit("/elsewhere/a\0b") is None, "no resource by its place"
    assert len(shown(long)) < 300
    assert shown("/a\n") == r"'/a\n'"


def test_below_is_by_whole_segments() -> None:
    assert is_under("/a/b", "/a/b")
    assert is_under("/a/b/c", "/a/b")
    assert is_under("/a/b/c", "/a/b/")
    assert is_under("/a", "/")
    assert not is_under("/a/bc", "/a/b")
    assert not is_under("/a", "/a/b")


def test_the_fence_is_outside_every_resource() -> None:
    path = fence_path(Region("here"))
    assert path == "/pulsar-syncer/here/fence"
    assert classify(path) is None


def test_a_stamp_reads_as_time_at_region() -> None:
    assert str(Stamp(Millis(7), Region("here"))) == "7@here"


@pytest.mark.parametrize(
    ("name", "paths"),
    [
        ("acme", ["/admin/policies/acme", "/admin/clusters/acme", "/admin/resourcegroups/acme"]),
        ("acme/orders", ["/admin/policies/acme/orders"]),
        (
            "persistent://acme/orders/a b/c",
            [
                "/admin/partitioned-topics/acme/orders/persistent/a+b%2Fc",
                "/admin/topic-policies/global/persistent/acme/orders/a+b%2Fc",
                "/admin/topic-policies/global/acme/orders/persistent/a+b%2Fc",
            ],
        ),
        ("", []),
        ("/", []),
        ("acme/", []),
        ("acme//x", []),
        ("..", []),
        ("persistent://acme", []),
        ("persistent://acme/orders", []),
        ("topic://acme/orders/x", []),
    ],
)
def test_a_name_of_pulsars_tools_means_paths(name: str, paths: list[str]) -> None:
    assert list(named(name)) == paths


def test_a_topic_is_named_as_its_tools_name_it() -> None:
    assert named("acme/orders/x") == named("persistent://acme/orders/x")
    assert named("non-persistent://acme/orders/x")[0] == "/admin/partitioned-topics/acme/orders/non-persistent/x"
    for name in ("acme", "acme/orders", "persistent://acme/orders/x~y*z"):
        resource = classify(named(name)[0])
        assert resource is not None
        assert resource.name == name
    assert topic_name("a~b*c/é") == "a%7Eb*c%2F%C3%A9"


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/admin/policies/prop/use/ns", "prop/use/ns"),
        ("/admin/policies/prop/use", None),
        ("/admin/policies/prop/use/ns/more", None),
        ("/admin/policies/prop//ns", None),
        ("/admin/policies/prop/use/", None),
        ("/admin/partitioned-topics/prop/use/ns", None),
    ],
)
def test_a_namespace_of_the_first_form_is_told_by_its_path(path: str, name: str | None) -> None:
    assert first_form_namespace(path) == name
    assert name is None or classify(MetaPath(path)) is None
