"""What a migration moves: each namespace once, in order."""

from __future__ import annotations

import pytest

from syncer.errors import PlanInvalid
from syncer.migration.scope import MigrationScope, Overrides


def test_namespaces_are_moved_in_the_order_of_the_plan() -> None:
    scope = MigrationScope(canary=("acme/try",), waves=(("acme/b", "acme/a"), ("zeta/c",)))
    assert scope.namespaces == ("acme/try", "acme/b", "acme/a", "zeta/c")


@pytest.mark.parametrize(
    ("canary", "waves", "words"),
    [
        ((), (("acme/a",),), "begins with a canary"),
        (("acme/a",), ((),), "wave 1 has no namespace"),
        (("acme",), (), "the canary names 'acme', which is no 'tenant/namespace'"),
        (("acme/a",), (("acme/",),), "wave 1 names 'acme/'"),
        (("a/b/c",), (), "'a/b/c'"),
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
