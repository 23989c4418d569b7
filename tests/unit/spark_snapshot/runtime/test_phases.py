"""Cancelling, progress as lines, and what becomes of what Spark says. No session is started here."""

from __future__ import annotations

import io
import json
import os
import signal
from dataclasses import replace

import pytest

from spark_snapshot.runtime.faults import from_text, translated
from spark_snapshot.runtime.phases import Cancel, listening
from spark_snapshot.runtime.progress import Progress
from spark_snapshot.runtime.showing import Form, line, reporting
from syncer.errors import (
    AccessDenied,
    ConfigError,
    DiskFull,
    JobCancelled,
    JobError,
    SnapshotDamaged,
    StoreError,
    StoreFilesDamaged,
    StoreUnavailable,
    SyncerError,
)

HALF = Progress(phase="read", rows=500, rate=123.456, done=2, total=4, eta_s=4.05)

FROM_A_WORKER = """\
An exception was thrown from the Python worker. Please see the stack trace below.
Traceback (most recent call last):
  File "x.py", line 1, in read
    raise AccessDenied("the user may not list /admin")
kazoo.exceptions.NoAuthError

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "y.py", line 7, in read
syncer.errors.AccessDenied: the user may not list /admin

\tat org.apache.spark.api.python.BasePythonRunner$ReaderIterator.handlePythonException(PythonRunner.scala:561)
"""


def test_an_error_of_the_product_comes_back_from_a_worker() -> None:
    found = from_text(FROM_A_WORKER, "reading region east")
    assert type(found) is AccessDenied
    assert found.message == "the user may not list /admin"


@pytest.mark.parametrize(
    ("name", "cls"),
    [
        ("spark_snapshot.sources.zookeeper.transaction_log.LogDamaged", StoreFilesDamaged),
        ("spark_snapshot.sources.zookeeper.snapshot_file.ZooKeeperFileDamaged", StoreFilesDamaged),
        ("syncer.stores.etcd.connection.RevisionCompacted", StoreError),
        ("syncer.config.loading.ConfigInvalid", ConfigError),
        ("syncer.errors.SnapshotDamaged", SnapshotDamaged),
        ("syncer.nowhere.SnapshotDamaged", JobError),
        ("syncer.errors.Unknown", JobError),
        ("other.errors.AccessDenied", JobError),
    ],
)
def test_a_readers_own_error_comes_back_as_the_one_that_it_is_a_kind_of(name: str, cls: type[SyncerError]) -> None:
    found = from_text(FROM_A_WORKER.replace("syncer.errors.AccessDenied", name), "reading region east")
    assert type(found) is cls
    assert "the user may not list /admin" in found.message


@pytest.mark.parametrize(
    ("text", "cls", "words", "hint"),
    [
        ("x\njava.io.IOException: No space left on device\n\tat y", DiskFull, "no space is left", "--scratch"),
        (
            "OSError: [Errno 28] Error writing bytes to file. Detail: No space left on device",
            DiskFull,
            "no space is left",
            "room",
        ),
        ("java.io.IOException: File too large\n\tat y", DiskFull, "no file may become so large", "ulimit"),
        ("java.lang.OutOfMemoryError: Java heap space", JobError, "run out of memory", "--memory"),
        (
            "\n  Job aborted due to stage failure\nmore",
            JobError,
            "Spark says: Job aborted due to stage failure",
            "SPARK_LOG_LEVEL",
        ),
        ("", JobError, "Spark says: nothing", "SPARK_LOG_LEVEL"),
        (
            "[X] Job aborted\nTraceback (most recent call last):\n  y\nsome.module.Odd: what it says\n\n\tat z",
            JobError,
            "a worker failed: Odd: what it says",
            "SPARK_LOG_LEVEL",
        ),
    ],
)
def test_what_else_spark_says_is_a_failed_job_with_a_hint(
    text: str, cls: type[JobError], words: str, hint: str
) -> None:
    found = from_text(text, "reading")
    assert type(found) is cls
    assert words in found.message
    assert hint in found.hint


def test_a_worker_that_lacks_the_package_is_named_with_the_python_that_it_should_run() -> None:
    text = (
        "[PYTHON_EXCEPTION] An exception was thrown from the Python worker:\nTraceback (most recent call last):\n"
        '  File "pyspark/serializers.py", line 483, in loads\n    return cloudpickle.loads(obj, encoding=encoding)\n'
        "ModuleNotFoundError: No module named 'pyarrow'\n SQLSTATE: 38000\n\tat org.apache.spark.x(Y.scala:1)\n"
    )
    found = from_text(text, "reading the store of east")
    assert found.message == "reading the store of east: a worker failed: ModuleNotFoundError: No module named 'pyarrow'"
    assert "PYSPARK_PYTHON" in found.hint
    assert "spark.pyspark.python" in found.hint


def test_an_error_of_another_program_is_not_taken_for_ours() -> None:
    assert type(from_text("java.lang.IllegalArgumentException: no", "reading")) is JobError
    assert type(from_text("builtins.ExitCode: no", "reading")) is JobError


def test_an_error_of_the_product_passes_as_it_is() -> None:
    with pytest.raises(StoreUnavailable), translated("reading"):
        raise StoreUnavailable("gone")


def test_a_broken_pipe_to_the_jvm_is_a_failed_job() -> None:
    with pytest.raises(JobError, match="reading"), translated("reading"):
        raise ConnectionResetError("by peer")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_asks_and_its_old_meaning_comes_back(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with listening() as cancel:
        assert not cancel.asked
        cancel.check()
        os.kill(os.getpid(), number)
        assert cancel.asked
        with pytest.raises(JobCancelled):
            cancel.check()
        assert signal.getsignal(number) is signal.SIG_DFL, "the second one ends the process"
    assert signal.getsignal(number) is before


def test_nobody_listens_who_was_not_told_to() -> None:
    assert not Cancel().takes_signals


def test_a_line_is_json_of_plain_numbers() -> None:
    assert json.loads(line(HALF)) == {
        "phase": "read",
        "rows": 500,
        "rate": 123.5,
        "eta_s": 4.0,
        "done": 2,
        "total": 4,
        "ended": False,
    }
    assert json.loads(line(replace(HALF, eta_s=None)))["eta_s"] is None


def test_lines_of_progress_are_data() -> None:
    lines, recovery = io.StringIO(), io.StringIO()
    with reporting(Form.JSON, lines=lines, recovery=recovery) as report:
        report(HALF)
        report(replace(HALF, ended=True))
    assert [json.loads(each)["ended"] for each in lines.getvalue().splitlines()] == [False, True]
    assert recovery.getvalue() == ""


def test_bars_go_beside_the_data() -> None:
    lines, recovery = io.StringIO(), io.StringIO()
    with reporting(Form.BARS, lines=lines, recovery=recovery) as report:
        report(HALF)
        report(replace(HALF, total=0))
        report(replace(HALF, phase="write", ended=True))
    assert lines.getvalue() == ""
    assert "read" in recovery.getvalue()
    assert "500 rows" in recovery.getvalue()


@pytest.mark.parametrize("form", [Form.NONE, Form.AUTO])
def test_nothing_is_shown_where_nothing_is_wished_or_nobody_watches(form: Form) -> None:
    lines, recovery = io.StringIO(), io.StringIO()
    with reporting(form, lines=lines, recovery=recovery) as report:
        report(HALF)
    assert lines.getvalue() == recovery.getvalue() == ""
