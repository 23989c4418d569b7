"""A standalone Spark cluster on loopback: a master and two workers of one core each."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pyspark

from deploy.lab.ports import free_ports
from syncer.waiting import wait_until
from tests.suites import REPOSITORY
from tests.support.living import living

SPARK_HOME: Final = Path(pyspark.__file__).parent
WORKERS: Final = 2
_END_S: Final = 20.0


def environment() -> dict[str, str]:
    """What Spark's own programs see: nothing of Spark's or of ours from outside."""
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


@contextlib.contextmanager
def standalone(directory: Path, *, memory: str = "1g") -> Iterator[str]:
    """The URL of a master, until the end of the block.

    Args:
        directory: For logs, and for what the workers write.
        memory: What each worker may give to executors.
    """
    port, pages = free_ports(2)
    url = f"spark://127.0.0.1:{port}"
    ours = ("--host", "127.0.0.1", "--webui-port")
    deploy = "org.apache.spark.deploy"
    with contextlib.ExitStack() as stack:

        def start(name: str, *words: str) -> None:
            stack.enter_context(_started(directory / f"{name}.log", f"{deploy}.{words[0]}", *words[1:]))

        def until(what: str, workers: int) -> None:
            wait_until(lambda: _alive(pages) >= workers, f"{what} up")

        start("master", "master.Master", "--port", str(port), *ours, str(pages))
        until("the master", 0)
        for number in range(1, WORKERS + 1):
            size = ("--cores", "1", "--memory", memory, "--work-dir", str(directory / f"worker-{number}"))
            start(f"worker-{number}", "worker.Worker", *ours, "0", *size, url)
        until(f"{WORKERS} workers", WORKERS)
        yield url


def _alive(pages: int) -> int:
    """How many workers the master has; -1 while it does not answer."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{pages}/json/", timeout=30) as answer:
            return int(json.load(answer)["aliveworkers"])
    except (urllib.error.URLError, OSError, ValueError):
        return -1


@contextlib.contextmanager
def _started(log: Path, *arguments: str) -> Iterator[None]:
    command = [str(SPARK_HOME / "bin" / "spark-class"), *arguments]
    with (
        log.open("wb") as out,
        subprocess.Popen(command, stdout=out, stderr=out, env=environment(), cwd=log.parent) as it,
    ):
        try:
            with living(it, log, f"the process of {log.stem}"):
                yield
        finally:
            it.terminate()
            try:
                it.wait(_END_S)
            except subprocess.TimeoutExpired:
                it.kill()
