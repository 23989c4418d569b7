"""What goes wrong at one of two clusters says at which, as what it was, and what to do."""

from __future__ import annotations

import pytest

from syncer.admin.calls import AdminRefused
from syncer.errors import AdminDenied, AdminError, AdminRedirectRefused, AdminUnreachable
from syncer.migration.reading.pair import MigrationSide, all_namespaces, told_of
from tests.migration.calls import SimulatedCalls
from tests.migration.clusters.pair import ClusterPairPlay
from tests.migration.rest import AdminApi
from tests.unit.migration.pictures import urls


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
