"""The small disk of the real faults: a database on it cannot grow while it is full, and goes on once there is room."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from syncer.waiting import WAIT_S

_PROGRAM = """
import os, sqlite3, sys
from pathlib import Path
from tests.faults.disk import SmallDisk, own_mounts

mounted = sys.argv[2] == "mounts" and own_mounts()
disk = SmallDisk(Path(sys.argv[1]), size_mb=8, mounted=mounted)
base = sqlite3.connect(disk.directory / "state.db", isolation_level=None)
base.execute("pragma journal_mode=wal")
base.execute("create table t (x)")

def insert(times):
    for _ in range(times):
        base.execute("insert into t values (randomblob(8192))")

insert(10)
disk.fill(os.getpid())
try:
    insert(100)
except sqlite3.OperationalError:
    before = base.execute("select count(*) from t").fetchone()[0]
else:
    sys.exit("it grew on a full disk")
disk.empty(os.getpid())
insert(100)
assert base.execute("select count(*) from t").fetchone()[0] == before + 100
assert base.execute("pragma integrity_check").fetchone()[0] == "ok"
base.close()
print(disk.kind)
disk.close()
assert disk.kind.startswith("limit") or not list(disk.directory.iterdir())
"""


@pytest.mark.parametrize("how", ["mounts", "limit"])
def test_a_database_cannot_grow_on_a_full_disk(tmp_path: Path, how: str) -> None:
    """In a process of its own, whose mounts and limits end with it."""
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, str(tmp_path / "disk"), how],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() in {"tmpfs without room", "limit on the size of the daemon's files"}
    assert how == "mounts" or done.stdout.startswith("limit")
    assert not (tmp_path / "disk" / "state.db").exists() or not done.stdout.startswith("tmpfs")
