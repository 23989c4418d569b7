"""A daemon that is to take snapshots on schedule starts the real job: a snapshot is there, and status tells it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from typer.testing import CliRunner

from spark_snapshot.format.layout import snapshots_in, verify
from spark_snapshot.format.places import place
from syncer.cli.main import app
from syncer.documents.status import SnapshotsDocument, StatusDocument
from syncer.stores.sqlite import OutsideWriter
from syncer.waiting import WAIT_S, wait_until
from tests.spark.jvm import QUICK_JAVA
from tests.suites import REPOSITORY
from tests.support.living import living
from tests.support.planning import resources

"""Spark starts in a process of its own, at low priority."""
HOUR_MS = 3_600_000


@contextlib.contextmanager
def daemon(config: Path, work: Path) -> Iterator[None]:
    """``syncer run`` until the end of the block; then what is left of its job ends, too."""
    program = [sys.executable, "-c", "from syncer.cli.main import main; main()"]
    with config.with_suffix(".log").open("wb") as log:
        process = subprocess.Popen(
            [*program, "--config", str(config), "run"],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env={**os.environ, "PYTHONPATH": str(REPOSITORY), "JAVA_TOOL_OPTIONS": QUICK_JAVA},
        )
        try:
            with living(process, config.with_suffix(".log"), "the daemon"):
                yield
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(WAIT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(WAIT_S)
            for left in work.glob("*/process"):
                if not left.with_name("exit").exists():
                    told = wait_until(left.read_text, "it has told which one it is")
                    with contextlib.suppress(ProcessLookupError):
                        os.killpg(int(told.split()[0]), signal.SIGKILL)


def status(config: Path) -> SnapshotsDocument | None:
    """What ``syncer status`` says of snapshots; nothing before the daemon has made its database."""
    result = CliRunner().invoke(app, ["--config", str(config), "status", "-o", "json"])
    return StatusDocument.model_validate_json(result.stdout).snapshots if result.stdout else None


def test_a_daemon_takes_a_snapshot_on_schedule(tmp_path: Path) -> None:
    config, folder = tmp_path / "east.toml", tmp_path / "snap shots"
    work = folder / ".job"
    config.write_text(
        'region = "east"\nclusters = ["east"]\nsnapshot_interval = "1h"\nheartbeat_interval = "1s"\n'
        f'[store]\nkind = "sqlite"\npath = "{tmp_path}/east.db"\n[bus]\nkind = "embedded"\npath = "{tmp_path}/bus.db"\n'
        f'[state]\npath = "{tmp_path}/east-state.db"\n[api]\nenabled = false\n'
        f'[snapshots]\nfolder = "{folder}"\nkeep = 1\nbuckets = 3\nmemory = "512m"\n',
        encoding="utf-8",
    )
    held = resources("acme", topics=20)
    with contextlib.closing(OutsideWriter(tmp_path / "east.db")) as store:
        for path, value in held.items():
            store.put(path, value)

    told: list[SnapshotsDocument] = []
    begun: set[Path] = set()

    def ended() -> bool:
        there = list(work.glob("*/job.json"))  # cheap: to ask for the status all the time would slow down the job
        begun.update(there)
        return bool(begun) and not there

    def is_told() -> bool:
        told[:] = filter(None, [status(config)])
        return bool(told) and told[0].last_ended_at_ms is not None

    with daemon(config, work):
        wait_until(ended, "the job has ended", within_s=2 * WAIT_S, shown=lambda: status(config))
        wait_until(is_told, "the status tells it", shown=lambda: told)
        shown = CliRunner().invoke(app, ["--config", str(config), "status"]).stdout
    (last,) = told
    assert (last.last_succeeded, last.trouble, last.running) == (True, "", False)
    assert last.last_began_at_ms is not None
    assert last.next_at_ms == last.last_began_at_ms + HOUR_MS
    assert "; next " in next(line for line in shown.splitlines() if "snapshots" in line)

    found = snapshots_in(place(folder))
    assert not found.broken
    assert not found.unfinished
    (taken,) = found.snapshots
    verify(taken)
    assert taken.manifest.buckets == 3
    assert (taken.region, taken.manifest.about.registers) == ("east", True)
    assert last.last_began_at_ms <= taken.manifest.about.taken_at_ms
    assert sum(count.alive for count in taken.manifest.kinds.values()) == len(held)
