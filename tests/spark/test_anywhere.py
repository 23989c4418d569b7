"""The same jobs on a cluster: a standalone master and two workers, by the program and by spark-submit."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from pyspark.sql import SparkSession

from spark_snapshot import __main__ as program
from syncer.documents.snapshots import SnapshotDiffDocument, SnapshotDocument
from tests.spark.cluster import SPARK_HOME, environment, standalone
from tests.spark.test_end_to_end import good, region, run

DEADLINE_S: Final = 240.0


@pytest.fixture
def master(tmp_path: Path) -> Iterator[str]:
    """A standalone master and two workers, on loopback."""
    with standalone(tmp_path) as url:
        yield url


def job(folder: Path, *arguments: str, code: int = 0) -> dict[str, Any]:
    """Run a job, and give the last line that it says."""
    done = subprocess.run(
        arguments, capture_output=True, text=True, env=environment(), cwd=folder, timeout=DEADLINE_S, check=False
    )
    assert done.returncode == code, (done.stdout[-2000:], done.stderr[-4000:])
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert any("phase" in line for line in lines), "progress is told"
    last: dict[str, Any] = lines[-1]
    return last


@pytest.mark.timeout(900)
@pytest.mark.slow
def test_the_same_jobs_run_on_a_master_with_two_workers(
    spark: SparkSession, master: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with contextlib.closing(region(tmp_path, "east")), contextlib.closing(region(tmp_path, "west")) as west:
        west.delete("/admin/partitioned-topics/acme/orders/persistent/topic-00007")
    snapshots, small = str(tmp_path / "snapshots"), "spark.executor.memory=512m"
    there = ("--folder", snapshots, "--buckets", "2")

    good(run("take", *there))  # in this process; the cluster's snapshot is compared with it

    submit = (str(SPARK_HOME / "bin" / "spark-submit"), "--master", master, "--conf", small)
    network = ("--conf", "spark.driver.host=127.0.0.1", "--conf", "spark.driver.bindAddress=127.0.0.1")
    file = str(Path(program.__file__).resolve())
    second = job(tmp_path, *submit, *network, file, "take", "--config", "west.toml", *there)
    assert SnapshotDocument.model_validate(second).alive["partitioned-topic"] == 19

    module = (sys.executable, "-m", "spark_snapshot")
    on_master = ("--master", master, "--conf", small)
    found = job(tmp_path, *module, "diff", "east", "west", "--folder", snapshots, *on_master, code=3)
    compared = SnapshotDiffDocument.model_validate(found)
    assert (compared.different, compared.same) == (1, 22)
    assert compared.items[0].path == "/admin/partitioned-topics/acme/orders/persistent/topic-00007"
    assert list(tmp_path.glob("worker-*/app-*/*/stdout")), "the work was done by the workers"
