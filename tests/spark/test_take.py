"""Taking a snapshot in two steps: what was read is there whole, once, and can be gone on with."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from spark_snapshot.format import tables
from spark_snapshot.format.drafts import LOCK, READ
from spark_snapshot.format.layout import DATA, snapshots_in, verify
from spark_snapshot.format.manifest import MANIFEST
from spark_snapshot.format.places import place
from spark_snapshot.format.selection import Selection
from spark_snapshot.format.side import SnapshotSide
from spark_snapshot.jobs.take import Order, take
from spark_snapshot.runtime.phases import Cancel, Job
from spark_snapshot.runtime.progress import Progress
from syncer.cli.main import app
from syncer.config.loading import load
from syncer.conflict.fields.kept import KeptFields
from syncer.conflict.register import Register
from syncer.errors import JobCancelled, NotFound, PreconditionFailed, SnapshotDamaged, StoreError
from syncer.model import MetaPath, Region, Revision
from syncer.plan.diffing import fingerprint
from syncer.state.sql.database import SqlState
from syncer.stores.sqlite import OutsideWriter
from syncer.waiting import wait_until
from tests.spark.jvm import QUICK_JAVA
from tests.spark.test_end_to_end import region
from tests.suites import REPOSITORY
from tests.support.planning import resources, value
from tests.unit.state.test_contract import living, version

TENANT, SPACE = MetaPath("/admin/policies/acme"), MetaPath("/admin/policies/acme/orders")
PAGE_BYTES = 4096
"""Of SQLite, unless somebody wishes otherwise."""


class Stopped:
    """A region whose snapshot was asked to stop when all had been read."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        with contextlib.closing(region(folder, "east")) as writer:
            self.held = dict(writer.items())
        self.config = load(folder / "east.toml")
        self.order = Order(config=self.config, folder=place(folder / "snapshots"), buckets=2)
        self.told: list[Progress] = []
        cancel = Cancel()

        def report(progress: Progress) -> None:
            self.told.append(progress)
            if (progress.phase, progress.ended) == ("store", True):
                cancel.ask()

        with pytest.raises(JobCancelled) as stopped:
            take(Job(spark, report, cancel), self.order)
        self.hint = stopped.value.hint
        self.home = folder / "snapshots" / "east"
        (self.draft,) = self.home.glob("*.partial")


@pytest.fixture
def stopped(spark: SparkSession, tmp_path: Path) -> Stopped:
    return Stopped(spark, tmp_path)


def resuming(order: Order) -> Order:
    return Order(config=order.config, folder=order.folder, buckets=3, resume=True)


def test_what_was_read_is_gone_on_with_and_the_store_is_not_asked_again(
    spark: SparkSession, tmp_path: Path, stopped: Stopped
) -> None:
    assert (stopped.told[-1].phase, stopped.told[-1].rows) == ("store", len(stopped.held))
    assert "snapshot take --resume" in stopped.hint
    assert (stopped.draft / READ).exists()
    with contextlib.closing(OutsideWriter(tmp_path / "east.db")) as writer:
        writer.put("/admin/policies/acme/later", value())

    snapshot = take(Job(spark), resuming(stopped.order))
    verify(snapshot)
    assert f".{snapshot.id}.partial" == stopped.draft.name, "of the moment at which it was read"
    assert {row["path"]: bytes(row["value"]) for row in tables.rows(spark, snapshot).collect()} == stopped.held
    assert {each.name for each in stopped.home.iterdir()} == {snapshot.id, LOCK}
    assert {each.name for each in (stopped.home / snapshot.id).iterdir()} == {DATA, MANIFEST}
    with pytest.raises(NotFound, match="nothing of region east was read whole"):
        take(Job(spark), resuming(stopped.order))


def test_a_new_one_begins_anew(spark: SparkSession, tmp_path: Path, stopped: Stopped) -> None:
    with contextlib.closing(OutsideWriter(tmp_path / "east.db")) as writer:
        writer.put("/admin/policies/acme/later", value())
    snapshot = take(Job(spark), stopped.order)
    assert snapshot.manifest.alive == len(stopped.held) + 1
    assert {each.name for each in stopped.home.iterdir()} == {snapshot.id, LOCK}


def test_what_was_read_is_refused_when_it_is_not_as_it_was(spark: SparkSession, stopped: Stopped) -> None:
    held = sorted((stopped.draft / "store").iterdir())
    held[0].write_bytes(held[0].read_bytes()[:-1])
    with pytest.raises(SnapshotDamaged, match="not as it was read"):
        take(Job(spark), resuming(stopped.order))
    assert snapshots_in(stopped.order.folder).unfinished == (), "what nobody can use is not kept"


def test_nobody_goes_on_by_other_rules_or_beside_another_writer(
    spark: SparkSession, tmp_path: Path, stopped: Stopped
) -> None:
    file = tmp_path / "east.toml"
    file.write_text(file.read_text(encoding="utf-8").replace("[store]", 'tie_order = "native"\n[store]', 1))
    with pytest.raises(PreconditionFailed, match="another scope, order of ties"):
        take(Job(spark), Order(config=load(file), folder=stopped.order.folder, resume=True))
    lock = os.open(stopped.draft / LOCK, os.O_RDWR)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(NotFound):
            take(Job(spark), resuming(stopped.order))
    finally:
        os.close(lock)
    assert take(Job(spark), resuming(stopped.order)).manifest.alive == len(stopped.held)


def test_a_store_that_breaks_in_the_middle_leaves_nothing(spark: SparkSession, tmp_path: Path) -> None:
    with contextlib.closing(region(tmp_path, "east")) as writer:
        for number in range(400):
            writer.put(f"/admin/policies/acme/space-{number:03}", value())
    file = tmp_path / "east.db"
    raw = file.read_bytes()
    page = raw.index(b"/admin/policies/acme/space-300") // PAGE_BYTES * PAGE_BYTES
    file.write_bytes(raw[:page] + b"\xff" * PAGE_BYTES + raw[page + PAGE_BYTES :])
    snapshots = tmp_path / "snapshots"
    with pytest.raises(StoreError):
        take(Job(spark), Order(config=load(tmp_path / "east.toml"), folder=place(snapshots)))
    assert {each.name for each in (snapshots / "east").iterdir()} == {LOCK}


def test_what_a_killed_program_had_read_is_gone_on_with(spark: SparkSession, tmp_path: Path) -> None:
    """Nothing of it, Java included, could say good-bye."""
    with contextlib.closing(region(tmp_path, "east")) as writer:
        held = dict(writer.items())
    snapshots = tmp_path / "snapshots"
    program = [sys.executable, "-c", "from syncer.cli.main import main; main()"]
    words = ["snapshot", "take", "--folder", str(snapshots), "--buckets", "2", "--progress", "none"]
    with subprocess.Popen(
        [*program, "--config", str(tmp_path / "east.toml"), *words],
        stdin=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY), "JAVA_TOOL_OPTIONS": QUICK_JAVA},
        start_new_session=True,
    ) as process:
        try:
            wait_until(lambda: any(snapshots.glob(f"east/.*/{READ}")), "it has read")
        finally:
            os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    assert snapshots_in(place(snapshots)).snapshots == (), "killed while it was being written"

    with contextlib.closing(OutsideWriter(tmp_path / "east.db")) as writer:
        writer.put("/admin/policies/acme/later", value())
    snapshot = take(Job(spark), Order(config=load(tmp_path / "east.toml"), folder=place(snapshots), resume=True))
    verify(snapshot)
    assert {row["path"]: bytes(row["value"]) for row in tables.rows(spark, snapshot).collect()} == held
    assert {each.name for each in (snapshots / "east").iterdir()} == {snapshot.id, LOCK}


def test_to_go_on_reads_nothing(tmp_path: Path) -> None:
    words = ["snapshot", "take", "--resume", "--offline", str(tmp_path), "--folder", str(tmp_path)]
    refused = CliRunner().invoke(app, words)
    assert (refused.exit_code, "--resume reads nothing" in refused.stderr) == (2, True)


def test_what_brokers_dropped_and_the_daemon_keeps_is_in_the_snapshot(spark: SparkSession, tmp_path: Path) -> None:
    newer = {"is_allow_auto_update_schema_with_replicator": True}
    with contextlib.closing(region(tmp_path, "east")) as writer:
        raw = writer.items()[SPACE]
        assert set(writer.items()) > {SPACE, TENANT}
    whole = json.dumps({**json.loads(raw), **newer}).encode()
    with contextlib.closing(SqlState.open(f"sqlite:///{tmp_path}/east-state.db", Region("east"))) as state:
        state.activate()
        with state.transaction() as work:
            dropped = Register(path=SPACE, kept=KeptFields({"there": 1}, newer))
            work.save([dropped.sit(version(digest=fingerprint(SPACE, whole)), Revision("1")), living(TENANT)])
    order = Order(config=load(tmp_path / "east.toml"), folder=place(tmp_path / "snapshots"), buckets=2)
    snapshot = take(Job(spark), order)
    rows = {row["path"]: row for row in tables.rows(spark, snapshot).collect()}
    assert json.loads(rows[SPACE]["value"]) == json.loads(whole)
    assert bytes(rows[SPACE]["digest"]) == fingerprint(SPACE, whole)
    assert (rows[SPACE]["origin"], rows[TENANT]["origin"]) == ("register", "unseen")
    assert None not in (rows[SPACE]["revision"], rows[SPACE]["modified_ms"]), "the rest is the store's"
    assert len(rows) == len(resources("acme", topics=20)), "each path once"
    assert snapshot.manifest.about.registers
    assert not SnapshotSide(snapshot, Selection()).trouble
