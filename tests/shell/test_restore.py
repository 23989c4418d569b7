"""Backup and restore beside running daemons: what a person brings back in one region reaches the others, once."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from subprocess import CompletedProcess

import anyio

from syncer.model import MetaPath
from syncer.waiting import WAIT_S, until
from tests.shell.on_bus import backlog, distinct_changes_on
from tests.shell.region import NAMESPACE, TENANT, Site, active, equal, tenant

TOPICS = tuple(MetaPath(f"/admin/partitioned-topics/acme/orders/persistent/t{number}") for number in range(5))
POLICIES = json.dumps({"replication_clusters": ["east", "west"], "bundles": {"numBundles": 4}}).encode()


async def syncer(site: Site, *words: str) -> CompletedProcess[bytes]:
    """Run the command line as an operator of the region does."""
    site.write_file()
    command = [sys.executable, "-c", "from syncer.cli.main import main; main()", *words, "-c", str(site.file)]
    with anyio.fail_after(WAIT_S):
        return await anyio.run_process(command, check=False)


async def test_what_is_restored_in_one_region_comes_back_everywhere(
    east: Site, west: Site, bus_file: Path, tmp_path: Path
) -> None:
    async with east.running(), west.running():
        await active(east, west)
        for path, value in (
            (TENANT, tenant("ops")),
            (NAMESPACE, POLICIES),
            *((each, b'{"partitions":4}') for each in TOPICS),
        ):
            east.writer.put(path, value)
        await until(lambda: len(west.picture()) == 7, "everything arrives")
        backup = str(tmp_path / "backup")
        made = await syncer(east, "backup", "create", backup)
        assert made.returncode == 0, made.stderr

        for path in TOPICS:
            west.writer.delete(path)
        await until(lambda: not any(map(east.get, TOPICS)), "the mistake reaches east")
        await until(lambda: not backlog(bus_file, "east") and not backlog(bus_file, "west"), "all is told")
        before = len(distinct_changes_on(bus_file))

        restored = await syncer(east, "backup", "restore", backup, "--yes", "-o", "json")
        assert restored.returncode == 0, restored.stderr
        assert json.loads(restored.stdout)["counts"]["applied"] == len(TOPICS)
        await until(lambda: all(map(west.get, TOPICS)), "the topics are back in west")
        await equal(east, west)
        assert (await syncer(west, "backup", "diff", backup)).returncode == 0
    assert len(distinct_changes_on(bus_file)) == before + len(TOPICS), "each came back by one event"
