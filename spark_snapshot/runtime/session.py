"""The one place that makes a Spark session: any master, UTC, loopback where it is local, bounded, quiet.

Under ``spark-submit`` the session is the given one: master, memory and network are those of the command line.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from spark_snapshot.runtime import java
from spark_snapshot.runtime.faults import did_not_start
from syncer.errors import JavaMissing, JobError, PreconditionFailed, SparkMissing

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LEAST_JAVA: Final = 17
DEFAULT_MASTER: Final = "local[*]"
DEFAULT_MEMORY: Final = "2g"
ROWS_PER_PARTITION: Final = 250_000
"""Rows that one task of a shuffle takes: some hundred MB of digests and stamps at most."""

_GATEWAY: Final = "PYSPARK_GATEWAY_PORT"
"""Set by ``spark-submit``: the process has its JVM already."""

_JAVA_DEADLINE_S: Final = 30.0
_JAVA_VERSION: Final = re.compile(r'version "(?:1\.)?(\d+)')
_LOOPBACK_MASTER: Final = re.compile(r"^local(\[|$|-cluster)|^spark://(127\.0\.0\.1|localhost|\[::1\])[:,]")
_MEMORY: Final = re.compile(r"^[1-9]\d*[kmgt]b?$", re.IGNORECASE)

_LOG: Final = """\
rootLogger.level = {level}
rootLogger.appenderRef.stderr.ref = stderr
logger.gateway.name = org.apache.spark.api.python.PythonGatewayServer
logger.gateway.level = {level}
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = spark %p %c{{1}}: %m%n%ex
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSettings:
    """How a session is made.

    Args:
        name: Shown in Spark's own pages.
        master: Where the work is done; ``None``: what ``SPARK_MASTER`` says, else all cores of this machine.
        memory: Heap of the driver, which on a local master does all the work (``2g``).
        ui: Serve Spark's own pages while the job runs; on loopback for a local master.
        scratch: Directory for what does not fit into memory; the system's own when not given.
        options: More settings of Spark; they go before ours.
    """

    name: str = "pulsar-syncer"
    master: str | None = None
    memory: str = DEFAULT_MEMORY
    ui: bool = False
    scratch: Path | None = None
    options: Mapping[str, str] = field(default_factory=dict)


@contextlib.contextmanager
def opened(settings: SessionSettings) -> Iterator[SparkSession]:
    """Make a session, and stop it at the end. One that runs in this process already is used, and left running.

    Raises:
        SparkMissing: PySpark is not installed.
        JavaMissing: There is no Java 17.
        JobError: The session does not come up.
        PreconditionFailed: A setting is none.
    """
    _check(settings)
    try:
        from py4j.protocol import Py4JError  # noqa: PLC0415 - found missing here, with a hint
        from pyspark.errors import PySparkException  # noqa: PLC0415
        from pyspark.sql import SparkSession  # noqa: PLC0415
    except ImportError as exc:
        raise SparkMissing(f"{exc.name or 'pyspark'} is not installed here") from exc
    running = SparkSession.getActiveSession()
    if running is not None:
        yield running
        return
    submitted = _GATEWAY in os.environ
    if not submitted:
        java_version()
    with (
        _scratch(settings) as folder,
        _environment(settings, submitted=submitted),
        java.words_kept(settings.scratch) as words,
    ):
        options = {"spark.app.name": settings.name, **configuration(settings, folder, submitted=submitted)}
        try:
            session = java.started(options, words)
        except (PySparkException, Py4JError, OSError) as exc:
            raise did_not_start(str(exc), master_of(settings)) from exc
        try:
            yield session
        finally:
            java.stop(session)


def configuration(settings: SessionSettings, folder: Path, *, submitted: bool) -> dict[str, str]:
    """The settings of Spark.

    Args:
        settings: What is wished.
        folder: A temporary directory of the session's own.
        submitted: Whether ``spark-submit`` has made the JVM: then master, memory and network are not ours to say.
    """
    chosen = {
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.warehouse.dir": (folder / "warehouse").as_uri(),
        "spark.sql.shuffle.partitions": str(_cores()),
        "spark.ui.showConsoleProgress": "false",
        "spark.executor.heartbeatInterval": "2s",  # what is shown of a running task is so old
    }
    master = None if submitted else master_of(settings)
    if master is not None:
        log = folder / "log4j2.properties"
        chosen |= {
            "spark.master": master,
            "spark.driver.memory": settings.memory,
            "spark.ui.enabled": str(settings.ui).lower(),
            "spark.local.dir": str(folder / "local"),
            "spark.driver.extraJavaOptions": f"-Duser.timezone=UTC -Dlog4j2.configurationFile={log.as_uri()}",
        }
        if is_loopback(master):
            chosen |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    return {**chosen, **settings.options}


def fit(session: SparkSession, rows: int) -> None:
    """Set the number of tasks of a shuffle by the rows that go through it."""
    tasks = max(session.sparkContext.defaultParallelism, -(-rows // ROWS_PER_PARTITION))
    session.conf.set("spark.sql.shuffle.partitions", str(tasks))


def master_of(settings: SessionSettings) -> str:
    """Where the work is done."""
    return settings.master or os.environ.get("SPARK_MASTER") or DEFAULT_MASTER


def is_loopback(master: str) -> bool:
    """Whether a master and all that work for it are on this machine, so that nobody else need reach the driver."""
    return _LOOPBACK_MASTER.match(master) is not None


def java_version() -> int:
    """The major version of the Java that Spark would start.

    Raises:
        JavaMissing: There is none, it does not answer, or it is too old.
    """
    home = os.environ.get("JAVA_HOME")
    program = str(Path(home, "bin", "java")) if home else shutil.which("java")
    if program is None:
        raise JavaMissing("there is no 'java' on PATH, and JAVA_HOME is not set")
    try:
        answer = subprocess.run(  # noqa: S603 - the operator's own Java
            [program, "-version"],
            capture_output=True,
            text=True,
            timeout=_JAVA_DEADLINE_S,
            check=False,
            process_group=0,  # an interrupt at the terminal is for us alone
        )
    except OSError as exc:
        raise JavaMissing(f"{program} cannot be started: {exc.strerror}") from exc
    except subprocess.TimeoutExpired as exc:
        raise JavaMissing(f"{program} did not say its version within {_JAVA_DEADLINE_S:g} s") from exc
    found = _JAVA_VERSION.search(answer.stderr) or _JAVA_VERSION.search(answer.stdout)
    if found is None:
        raise JavaMissing(f"{program} did not say which version it is")
    version = int(found[1])
    if version < LEAST_JAVA:
        raise JavaMissing(f"{program} is Java {version}; Spark needs {LEAST_JAVA} or newer")
    return version


def _check(settings: SessionSettings) -> None:
    if not _MEMORY.match(settings.memory):
        raise PreconditionFailed(f"{settings.memory!r} is no amount of memory", hint="Write it like 2g or 800m.")
    if master_of(settings).startswith("sc://") or "SPARK_REMOTE" in os.environ:
        raise PreconditionFailed(
            "Spark Connect is not supported: sources and bucketed reads need a session of their own",
            hint="Give the master itself (local[*], spark://…), or use spark-submit; unset SPARK_REMOTE.",
        )
    if settings.scratch is not None and not settings.scratch.is_dir():
        raise PreconditionFailed(f"{settings.scratch} is no directory", hint="Make it, or leave --scratch out.")


@contextlib.contextmanager
def _scratch(settings: SessionSettings) -> Iterator[Path]:
    try:
        folder = Path(tempfile.mkdtemp(prefix="pulsar-syncer-spark-", dir=settings.scratch))
    except OSError as exc:
        raise JobError(f"no temporary directory can be made: {exc.strerror}", hint="Name one with --scratch.") from exc
    try:
        (folder / "local").mkdir()
        level = os.environ.get("SPARK_LOG_LEVEL", "error").lower()
        (folder / "log4j2.properties").write_text(_LOG.format(level=level), encoding="utf-8")
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)  # a JVM that goes down may still be at its own files


@contextlib.contextmanager
def _environment(settings: SessionSettings, *, submitted: bool) -> Iterator[None]:
    """What Spark takes from the environment only: the interpreter of the workers, and the address of its pages."""
    if submitted:
        yield
        return
    wished = {"PYSPARK_PYTHON": sys.executable}
    if is_loopback(master_of(settings)):
        wished["SPARK_LOCAL_IP"] = "127.0.0.1"
    added = {name: value for name, value in wished.items() if name not in os.environ}
    os.environ.update(added)
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
