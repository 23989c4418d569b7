"""What goes wrong at one of two clusters says at which, as what it was, and what to do."""

from __future__ import annotations

import pytest

from syncer.admin.calls import AdminRefused
from syncer.errors import AdminDenied, AdminError, AdminRedirectRefused, AdminUnreachable
from syncer.migration.reading.pair import MigrationSide, NotMoved, all_namespaces, not_moved, told_of
from syncer.migration.scope import MigrationScope
from tests.migration.calls import SimulatedCalls
from tests.migration.clusters.pair import ClusterPairPlay
from tests.migration.rest import AdminApi
from tests.unit.migration.pictures import urls
from tests.unit.migration.reading.scripted import ScriptedCalls, refused


@pytest.mark.parametrize(
    ("error", "becomes"),
    [
        (AdminRefused("GET x answered 401: expired", status=401, reason="expired", hint="Renew it."), AdminDenied),
        (AdminRefused("GET x answered 403: no", status=403, reason="no", hint="Renew it."), AdminDenied),
        (AdminRefused("GET x answered 500: oops", status=500, reason="oops", hint="Renew it."), AdminError),
        (AdminUnreachable("GET x: connection refused", hint="Renew it."), AdminUnreachable),
        (AdminRedirectRefused("b redirects to c", hint="Renew it."), AdminRedirectRefused),
    ],
)
def test_an_error_names_the_cluster(error: AdminError, becomes: type[AdminError]) -> None:
    with pytest.raises(AdminError) as caught, told_of("green"):
        raise error
    assert type(caught.value) is becomes
    assert caught.value.message == f"cluster.green: {error.message}"
    assert caught.value.hint == "Renew it."
    assert caught.value.__cause__ is error


@pytest.mark.anyio
async def test_all_namespaces_are_listed_by_name() -> None:
    play = ClusterPairPlay(0)
    for name in ("zeta/c", "acme/b", "acme/a"):
        play.add_namespace(name)
    side = MigrationSide(table="old", calls=SimulatedCalls(AdminApi(play.blue)), urls=urls("blue"))
    assert await all_namespaces(side) == ("acme/a", "acme/b", "zeta/c")


OLD: dict[str, object] = {
    "/admin/v2/tenants": ["acme", "zeta"],
    "/admin/v2/namespaces/acme": ["acme/blue/old", "acme/orders", "acme/us-east/older"],
    "/admin/v2/namespaces/zeta": ["zeta/blue/c", "zeta/other"],
    "/admin/v2/persistent/zeta/other": ["persistent://zeta/other/t"],
    "/admin/persistent/acme/blue/old": ["persistent://acme/blue/old/a", "persistent://acme/blue/old/b"],
    "/admin/persistent/acme/us-east/older": [],
    "/admin/persistent/zeta/blue/c": ["persistent://zeta/blue/c/a"],
}
"""A cluster with namespaces of the first form, as a broker of Pulsar 4.0 lists it."""


def old_side(answers: dict[str, object] | None = None) -> MigrationSide:
    return MigrationSide(table="old", calls=ScriptedCalls(OLD if answers is None else answers), urls=urls("blue"))


@pytest.mark.anyio
async def test_namespaces_of_the_first_form_are_not_among_those_that_are_moved() -> None:
    assert await all_namespaces(old_side()) == ("acme/orders", "zeta/other")


@pytest.mark.anyio
async def test_of_the_tenants_in_scope_namespaces_of_the_first_form_are_named() -> None:
    scope = MigrationScope(canary=("acme/orders",), waves=(("gone/other",),))
    assert await not_moved(old_side(), scope) == NotMoved(first_form=("acme/blue/old", "acme/us-east/older"))


@pytest.mark.anyio
async def test_the_mark_of_a_cluster_would_take_along_topics_of_either_form() -> None:
    scope = MigrationScope(canary=("acme/orders",), whole_cluster=True)
    assert await not_moved(old_side(), scope) == NotMoved(
        left_out={"zeta/other": 1, "acme/blue/old": 2, "zeta/blue/c": 1},
        first_form=("acme/blue/old", "acme/us-east/older", "zeta/blue/c"),
    )


@pytest.mark.anyio
async def test_a_tenant_that_may_not_be_listed_is_an_error() -> None:
    with pytest.raises(AdminDenied, match=r"cluster\.old"):
        await not_moved(old_side({"/admin/v2/namespaces/acme": refused(403)}), MigrationScope(canary=("acme/orders",)))
