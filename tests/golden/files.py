"""Files that commands leave: a plan, a backup, a snapshot, a repair plan; made by the commands themselves."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Final

from tests.shell.region import Site
from tests.suites import REPOSITORY
from tests.support.planning import resources

PLAN: Final = "plan.json"
BACKUP: Final = "backup"
SNAPSHOTS: Final = "snapshots"
REPAIR: Final = "repair.jsonl"
FOUND_DIFFERENT: Final = 3


def region(folder: Path, name: str, *, partitions: int, more: str = "", named: Path | None = None) -> Path:
    """A region without a daemon; its configuration's file. ``named``: what the configuration calls the folder."""
    called = folder if named is None else named
    with closing(Site(folder / name, folder / "bus.db", name).writer) as writer:
        for path, stored in resources("acme", topics=2, partitions=partitions).items():
            writer.put(path, stored.replace(b'"global"', b'"east", "west"'))
        if more:
            writer.put(f"/admin/policies/{more}", b'{"adminRoles":["\xc3\xa9"],"allowedClusters":["east"]}')
    file = folder / f"{name}.toml"
    file.write_text(
        f'region = "{name}"\nclusters = ["{name}"]\n[store]\nkind = "sqlite"\npath = "{called / name}/store.db"\n'
        f'[bus]\nkind = "embedded"\npath = "{called}/bus.db"\n[state]\npath = "{called / name}/state.db"\n',
        encoding="utf-8",
    )
    return file


def command(config: Path, *words: str, status: int = 0) -> None:
    """Run a command of the product, in a process of its own."""
    program = [sys.executable, "-c", "from syncer.cli.main import main; main()", "--config", str(config), *words]
    done = subprocess.run(program, env={**os.environ, "PYTHONPATH": str(REPOSITORY)}, check=False, cwd=config.parent)
    assert done.returncode == status, words


def write(release: Path) -> None:
    """Keep one of each in a release's folder. Regions are named by where they are below the working directory."""
    release = release.resolve()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        east = region(folder, "east", partitions=4, more="only-east", named=Path())
        west = region(folder, "west", partitions=6, more="only-west", named=Path())
        with_west = ("diff", "--with", str(west), "--delete", "--save", str(release / PLAN))
        command(east, *with_west, status=FOUND_DIFFERENT)
        command(east, "backup", "create", str(release / BACKUP))
        for config in (east, west):
            command(config, "snapshot", "take", "--folder", str(folder / SNAPSHOTS), "--buckets", "1")
        compared = ("snapshot", "diff", "east", "west", "--folder", str(folder / SNAPSHOTS))
        command(east, *compared, "--plan", str(release / REPAIR), status=FOUND_DIFFERENT)
        shutil.copytree(folder / SNAPSHOTS, release / SNAPSHOTS, ignore=shutil.ignore_patterns(".*"))
