"""The same jobs on a cluster: a standalone master and two workers, by the program and by spark-submit."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pyspark
import pytest
from pyspark.sql import SparkSession

from deploy.lab.ports import free_ports
from spark_snapshot import __main__ as program
from syncer.cli.snapshot_documents import SnapshotDiffDocument, SnapshotDocument
from tests.run import REPOSITORY
from tests.spark.test_end_to_end import good, region, run

SPARK_HOME: Final = Path(pyspark.__file__).parent
DEADLINE_S: Final = 240.0


def environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_", "SYNCER_"))}
    return {
        **kept,
        "SPARK_HOME": str(SPARK_HOME),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_NO_DAEMONIZE": "1",
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": str(REPOSITORY),
        "SPARK_MASTER_OPTS": "-Dspark.master.rest.enabled=false",
    }


def wait_for(what: str, condition: Callable[[], bool], *processes: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline, f"{what}: not within {DEADLINE_S:g} s"
        assert all(each.poll() is None for each in processes), f"{what}: a process of the cluster has ended"
        time.sleep(0.1)


@contextlib.contextmanager
def started(log: Path, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process of Spark's, ended with the test."""
    command = [str(SPARK_HOME / "bin" / "spark-class"), *arguments]
    with (
        log.open("wb") as out,
        subprocess.Popen(command, stdout=out, stderr=out, env=environment(), cwd=log.parent) as it,
    ):
        try:
            yield it
        finally:
            it.terminate()
            try:
                it.wait(20)
            except subprocess.TimeoutExpired:
                it.kill()


@pytest.fixture
def master(tmp_path: Path) -> Iterator[str]:
    """A standalone master and two workers of one core each, on loopback."""
    port, pages = free_ports(2)
    url = f"spark://127.0.0.1:{port}"

    def workers() -> int:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{pages}/json/", timeout=5) as answer:
                return int(json.load(answer)["aliveworkers"])
        except (urllib.error.URLError, OSError, ValueError):
            return -1

    deploy = "org.apache.spark.deploy"
    ours = ("--host", "127.0.0.1", "--webui-port")
    with contextlib.ExitStack() as stack:
        running = [
            stack.enter_context(
                started(tmp_path / "master.log", f"{deploy}.master.Master", "--port", str(port), *ours, str(pages))
            )
        ]
        wait_for("the master", lambda: workers() >= 0, *running)
        for number in (1, 2):
            here = tmp_path / f"worker-{number}"
            size = ("--cores", "1", "--memory", "1g", "--work-dir", str(here))
            work = started(tmp_path / f"worker-{number}.log", f"{deploy}.worker.Worker", *ours, "0", *size, url)
            running.append(stack.enter_context(work))
        wait_for("two workers", lambda: workers() == 2, *running)
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
