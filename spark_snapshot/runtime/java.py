"""The Java of a session, started with a file for all that it says, which an error names. None of it is on a terminal.

Java, Spark and the workers write stack traces wherever they are pleased to. What an operator needs of them is one
sentence; who looks further finds every word in the file.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from spark_snapshot.runtime.faults import is_of_spark, translated
from syncer.errors import JobCancelled, JobError, SyncerError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KEPT: Final = 10
"""Files of failed jobs that are kept in a directory: a job that fails on schedule must not fill it."""
_PREFIX: Final = "pulsar-syncer-java-"
_SUFFIX: Final = ".log"
_PACKAGES: Final = ("py4j", "pyspark")
"""Of the Python side: they log the traces that Java sends."""


@contextlib.contextmanager
def words_kept(folder: Path | None) -> Iterator[Path]:
    """A file for what Java says; gone at the end, unless it has said something and an error has to do with Spark.

    Then the error's hint names it.

    Args:
        folder: Where it is made; the system's directory of temporary files when not given.

    Raises:
        JobError: It cannot be made; or what Spark raised in the block outside of any phase.
    """
    file = _new_file(Path(tempfile.gettempdir()) if folder is None else folder)
    _words().file = file
    try:
        with translated("working with Spark"):
            yield file
    except SyncerError as exc:
        theirs = isinstance(exc, JobError) or is_of_spark(exc.__cause__)
        if isinstance(exc, JobCancelled) or not theirs or not _something_in(file):
            file.unlink(missing_ok=True)
            raise
        exc.hint = f"{exc.hint} All that Java and Spark have said is in {file}"
        raise
    except BaseException:
        file.unlink(missing_ok=True)
        raise
    file.unlink(missing_ok=True)


def started(options: Mapping[str, str], words: Path) -> SparkSession:
    """Start Java, and a session in it; a Java that runs in this process already goes on.

    Args:
        options: Settings of Spark.
        words: The file for what Java says.

    Raises:
        pyspark.errors.PySparkException: It does not start.
        py4j.protocol.Py4JError: It refuses the settings.
    """
    from pyspark import SparkConf, SparkContext  # noqa: PLC0415 - whoever calls has found it installed
    from pyspark.java_gateway import launch_gateway  # noqa: PLC0415
    from pyspark.sql import SparkSession  # noqa: PLC0415

    conf = SparkConf().setAll(list(options.items()))
    if SparkContext._gateway is None:
        with words.open("ab") as said:
            gateway = launch_gateway(conf, {"stdout": said, "stderr": said})  # type: ignore[no-untyped-call]  # theirs
        context = SparkContext(conf=conf, gateway=gateway)
        setattr(context._accumulatorServer, "handle_error", _counters_ended)  # noqa: B010 - theirs would print a trace
    return SparkSession.builder.config(conf=conf).getOrCreate()


def _counters_ended(_request: object, _address: object) -> None:
    """The connection by which Java tells of its counters has ended with it."""
    logging.getLogger("pyspark").warning("Java tells of no counters any more")


def stop(session: SparkSession) -> None:
    """Stop a session. A Java that is gone already cannot be told, and need not be."""
    from py4j.protocol import Py4JError  # noqa: PLC0415 - comes with PySpark

    with warnings.catch_warnings(), contextlib.suppress(Py4JError, OSError):
        warnings.simplefilter("ignore", RuntimeWarning)
        session.stop()


def _something_in(file: Path) -> bool:
    """Whether Java has said something there; the one of ``spark-submit`` speaks on its terminal."""
    return file.exists() and file.stat().st_size > 0


def _new_file(folder: Path) -> Path:
    try:
        handle, name = tempfile.mkstemp(prefix=_PREFIX, suffix=_SUFFIX, dir=folder)
    except OSError as exc:
        raise JobError(
            f"no temporary file can be made: {exc.strerror}", hint="Name a directory with --scratch."
        ) from exc
    os.close(handle)
    _forget_old(folder)
    return Path(name)


def _forget_old(folder: Path) -> None:
    """Remove files of earlier failures but for the newest ones; others' are left."""
    with contextlib.suppress(OSError):
        found = [each for each in folder.glob(f"{_PREFIX}*{_SUFFIX}") if each.stat().st_uid == os.geteuid()]
        found.sort(key=lambda each: each.stat().st_mtime_ns, reverse=True)
        for each in found[KEPT:]:
            each.unlink(missing_ok=True)


class _Words(logging.Handler):
    """Takes what PySpark and Py4J log on this side, some of it by the root logger and when a session is long over."""

    def __init__(self) -> None:
        super().__init__()
        self.file: Path | None = None
        for name in _PACKAGES:
            logger = logging.getLogger(name)
            logger.addHandler(self)
            logger.propagate = False
        logging.getLogger().addFilter(self._is_ours)

    def emit(self, record: logging.LogRecord) -> None:
        """Append it to the file, while there is one."""
        with contextlib.suppress(OSError):  # a full disk
            if self.file is not None and self.file.exists():
                with self.file.open("a", encoding="utf-8", errors="backslashreplace") as said:
                    said.write(f"{self.format(record)}\n")

    def _is_ours(self, record: logging.LogRecord) -> bool:
        """Take a record from the root logger that one of the packages has made."""
        theirs = any(f"{os.sep}{name}{os.sep}" in record.pathname for name in _PACKAGES)
        if theirs:
            self.emit(record)
        return not theirs


@functools.cache
def _words() -> _Words:
    return _Words()
