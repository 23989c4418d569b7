"""A daemon whose store Pulsar migrates: it starts, waits, says why, and goes on; and a flag that nobody understands."""

from __future__ import annotations

import pytest

from syncer.model import MetaPath
from syncer.replication.local.store_migration import FLAG, IN_MIGRATION, UNCLEAR
from syncer.waiting import until
from tests.shell.region import NAMESPACE, TENANT, Site, active, path_of, tenant

FENCE = MetaPath("/pulsar-syncer/east/fence")


def flag(phase: str) -> bytes:
    return b'{"phase":"%s","targetUrl":"oxia://new:6648/pulsar"}' % phase.encode()


async def test_a_daemon_that_starts_during_a_migration_raises_no_fence_before_its_end(east: Site, west: Site) -> None:
    east.writer.put(FLAG, flag("COPYING"))
    async with east.running() as daemon, west.running():
        await until(lambda: east.database.exists() and "COPYING" in str(east_says(east)), "it says what it waits for")
        assert east.get(FENCE) is None
        assert daemon.pumps is not None
        east.writer.put(FLAG, flag("FAILED"))
        await until(lambda: east.get(FENCE), "it becomes the writer")
        await active(east, west)
        west.writer.put(TENANT, tenant("ops"))
        await until(lambda: east.get(TENANT), "it writes")
        assert IN_MIGRATION not in east.conditions()


def east_says(site: Site) -> str:
    try:
        return site.conditions().get(IN_MIGRATION, "")
    except Exception:  # noqa: BLE001 - its database is being made
        return ""


@pytest.mark.parametrize("value", [b"{", flag("PREPARATION")])
async def test_changes_flow_out_and_wait_outside_while_nothing_may_be_written(
    east: Site, west: Site, value: bytes
) -> None:
    async with east.running(), west.running():
        await active(east, west)
        west.writer.put(TENANT, tenant("ops"))
        await until(lambda: east.get(TENANT), "it works")
        east.writer.put(FLAG, value)
        code = UNCLEAR if value == b"{" else IN_MIGRATION
        await until(lambda: code in east.conditions(), "it says why")
        fence = east.get(FENCE)
        west.writer.put(NAMESPACE, b'{"replication_clusters":["east","west"]}')
        east.writer.put(path_of("mine"), tenant("me"))
        await until(lambda: west.get(path_of("mine")), "changes are told")
        await until(lambda: "1 write waits" in east.conditions()[code], "what waits is counted")
        assert east.get(NAMESPACE) is None
        assert east.get(FENCE) == fence
        east.writer.delete(FLAG)
        await until(lambda: east.get(NAMESPACE), "it is written at last")
        await until(lambda: code not in east.conditions(), "all is well")
