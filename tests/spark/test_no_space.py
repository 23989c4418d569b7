"""A disk that is full while a snapshot is taken: said so, nothing is left of it, and the next one is taken."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

from syncer.waiting import WAIT_S
from tests.spark.jvm import QUICK_JAVA
from tests.spark.test_end_to_end import region
from tests.suites import REPOSITORY

_PROGRAM: Final = """
import json, sys
from pathlib import Path
from tests.faults.disk import SmallDisk, own_mounts

mounted = own_mounts()
from typer.testing import CliRunner
from spark_snapshot.format.layout import snapshots_in, verify
from spark_snapshot.format.places import place
from spark_snapshot.runtime.session import SessionSettings, opened
from syncer.cli.main import app

disk = SmallDisk(Path(sys.argv[1]), size_mb=16, mounted=mounted)

def take():
    words = ["snapshot", "take", "--folder", sys.argv[1], "--buckets", "2", "--progress", "none"]
    result = CliRunner().invoke(app, ["--config", "east.toml", *words])
    found = snapshots_in(place(sys.argv[1]))
    for each in found.snapshots:
        verify(each)
    left = sorted(each.name for each in Path(sys.argv[1], "east").iterdir() if each.is_dir())
    told.append([int(result.exit_code), result.stderr, [each.id for each in found.snapshots], left, len(found.broken)])

told = []
with opened(SessionSettings(master="local[2]", memory="512m", scratch=Path(sys.argv[2]))) as session:
    jvm = session.sparkContext._gateway.proc.pid
    take()
    disk.fill(jvm)
    take()
    disk.empty(jvm)
    take()
disk.close()
print(json.dumps([mounted, told]))
"""


def test_a_full_disk_leaves_no_snapshot_and_the_next_one_is_taken(tmp_path: Path) -> None:
    """In a process of its own, whose mounts end with it; where it may have none, no file may grow any more instead."""
    with contextlib.closing(region(tmp_path, "east")):
        pass
    (tmp_path / "scratch").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, str(tmp_path / "snapshots"), str(tmp_path / "scratch")],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY), "JAVA_TOOL_OPTIONS": QUICK_JAVA},
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    mounted, (first, full, again) = json.loads(done.stdout.splitlines()[-1])
    said = "no space is left on the disk" if mounted else "no file may become so large"
    assert (first[0], again[0]) == (0, 0), (first, again)
    assert (full[0], said in full[1]) == (1, True), full[1]
    assert "hint: " in full[1]
    assert not [line for line in done.stderr.splitlines() if "\tat " in line or "WARN" in line], (
        "Java has a file for it"
    )
    assert full[2:] == first[2:], "only the one from before is there, as it was"
    assert first[3] == first[2]
    assert len(first[2]) == 1
    assert again[3] == again[2]
    assert (again[2][0], len(again[2]), again[4]) == (first[2][0], 2, 0)
