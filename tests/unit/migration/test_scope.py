"""What a migration moves: each namespace once, in order."""

from __future__ import annotations

import pytest

from syncer.errors import PlanInvalid
from syncer.migration.scope import MigrationScope, Overrides, all_in_waves, of_clients


def test_namespaces_are_moved_in_the_order_of_the_plan() -> None:
    scope = MigrationScope(canary=("acme/try",), waves=(("acme/b", "acme/a"), ("zeta/c",)))
    assert scope.namespaces == ("acme/try", "acme/b", "acme/a", "zeta/c")
    assert MigrationScope(canary=("a_1=b-c/.d:8080",)).namespaces == ("a_1=b-c/.d:8080",)


@pytest.mark.parametrize(
    ("canary", "waves", "words"),
    [
        ((), (("acme/a",),), "begins with a canary"),
        (("acme/a",), ((),), "wave 1 has no namespace"),
        (("acme",), (), "the canary names 'acme', which is no 'tenant/namespace'"),
        (("acme/a",), (("acme/",),), "wave 1 names 'acme/'"),
        (("a/b/c",), (), "'a/b/c'"),
        (("a/b\n",), (), "no 'tenant/namespace'"),
        (("a/\udcff",), (), "no 'tenant/namespace'"),
        (("../b",), (), "no 'tenant/namespace'"),
        (("a/..",), (), "no 'tenant/namespace'"),
        (("a/b c",), (), "no 'tenant/namespace'"),
        (("acme/a",), (("acme/b",), ("acme/a",)), "acme/a is named twice, the second time in wave 2"),
        (("acme/a", "acme/a"), (), "the second time in the canary"),
    ],
)
def test_a_scope_that_cannot_be_meant_is_refused(
    canary: tuple[str, ...], waves: tuple[tuple[str, ...], ...], words: str
) -> None:
    with pytest.raises(PlanInvalid, match=words):
        MigrationScope(canary=canary, waves=waves)


def test_an_override_needs_a_reason() -> None:
    assert Overrides(reasons={"client-gate": "stopped"}).reasons == {"client-gate": "stopped"}
    with pytest.raises(PlanInvalid, match="'client-gate' is overridden without a reason"):
        Overrides(reasons={"client-gate": "  "})


def test_all_of_a_cluster_is_moved_from_small_to_large_without_what_brokers_keep_for_themselves() -> None:
    topics = {
        "acme/b": 7,
        "acme/a": 7,
        "acme/try": 0,
        "pulsar/system": 1,
        "pulsar/broker-1:8080": 1,
        "public/functions": 3,
        "pulsar/tools": 1,
        "zeta/big": 900,
    }
    scope = all_in_waves(topics, wave=2, whole_cluster=True)
    assert scope.canary == ("acme/try",)
    assert scope.waves == (("pulsar/tools", "acme/a"), ("acme/b", "zeta/big"))
    assert scope.whole_cluster
    assert all_in_waves({"acme/try": 4}, wave=5) == MigrationScope(canary=("acme/try",))
    assert not of_clients("pulsar/broker-1:8080")
    with pytest.raises(PlanInvalid, match="begins with a canary"):
        all_in_waves({"pulsar/system": 1}, wave=5)
