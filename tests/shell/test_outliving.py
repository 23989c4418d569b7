"""A namespace that a region has for itself: its tenant is deleted elsewhere, and outlives that here."""

from __future__ import annotations

from typing import Any, Final

from syncer.conflict.register import ParkReason
from syncer.model import MetaPath
from syncer.waiting import until
from tests.shell.conftest import MakeSite
from tests.shell.region import NAMESPACE, TENANT, Site, active, path_of, tenant

PRIVATE: Final = NAMESPACE
ALL: Final[list[dict[str, str]]] = [{"pattern": "/admin/policies/**", "direction": "both"}]
OWN: Final[dict[str, Any]] = {"rules": [{"pattern": PRIVATE, "direction": "ignore"}, *ALL]}


def parked(site: Site) -> dict[MetaPath, ParkReason]:
    return {row.path: row.parked.reason for row in site.ask(lambda views: views.parked(9))}


async def both_hold_the_tenant(east: Site, west: Site) -> None:
    await active(east, west)
    east.writer.put(TENANT, tenant("x"))
    await until(lambda: west.get(TENANT) is not None, "the tenant is in both")
    west.writer.put(PRIVATE, b'{"replication_clusters":["west"]}')
    east.writer.delete(TENANT)


async def test_a_tenant_stays_above_a_namespace_that_is_out_of_scope(make_site: MakeSite) -> None:
    east, west = make_site("east", scope={"rules": ALL}), make_site("west", scope=OWN)
    async with east.running(), west.running():
        await both_hold_the_tenant(east, west)
        await until(lambda: parked(west) == {TENANT: ParkReason.CHILDREN_ALIVE}, "its delete waits, and is shown")
        (row,) = west.ask(lambda views: views.parked(9))
        assert PRIVATE in row.parked.detail, "the operator is told of what nobody follows"
        east.writer.put(path_of("other"), tenant("x"))
        await until(lambda: west.get(path_of("other")) is not None, "others go on")
        assert (west.get(TENANT), west.get(PRIVATE) is not None) == (tenant("x"), True)
        west.writer.delete(PRIVATE)
        await until(lambda: west.get(TENANT) is None, "it follows its last namespace")
        await until(lambda: parked(west) == {}, "nothing waits")
        assert east.get(TENANT) is None


async def test_a_tenant_that_is_kept_alive_too_long_is_back_for_all(make_site: MakeSite) -> None:
    east = make_site("east", scope={"rules": ALL})
    west = make_site("west", scope=OWN, limits={"park_grace": "1s"})
    async with east.running(), west.running():
        await both_hold_the_tenant(east, west)
        await until(lambda: east.get(TENANT) == tenant("x"), "the tenant is asserted again")
        assert west.get(TENANT) == tenant("x")
        assert east.get(PRIVATE) is None
