"""What Java says goes into a file that an error names, and never to a terminal. No Java is started here."""

from __future__ import annotations

import logging
import os
from pathlib import Path

import pytest
from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import PySparkException

from spark_snapshot.runtime.faults import did_not_start, translated
from spark_snapshot.runtime.java import KEPT, words_kept
from syncer.errors import JobCancelled, JobError, SnapshotDamaged, SnapshotRefused, SyncerError


def breaking(folder: Path, error: BaseException, said: str) -> None:
    with words_kept(folder) as words:
        words.write_text(said, encoding="utf-8")
        logging.getLogger("py4j").error("a trace")
        logging.getLogger("pyspark.sql").error("another")
        raise error


def failed(folder: Path, error: BaseException, said: str = "") -> SyncerError:
    with pytest.raises(SyncerError) as caught:
        breaking(folder, error, said)
    return caught.value


def test_nothing_is_left_where_all_went_well_or_nothing_was_sparks(tmp_path: Path) -> None:
    with words_kept(tmp_path) as words:
        assert words.stat().st_mode & 0o077 == 0, "it may hold what a store holds"
    for error in (JobCancelled("stopped"), SnapshotRefused("odd")):
        assert "Java" not in failed(tmp_path, error).hint
    with pytest.raises(KeyboardInterrupt), words_kept(tmp_path):
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


def test_an_error_of_a_job_names_the_file(tmp_path: Path) -> None:
    error = failed(tmp_path, JobError("reading: it broke"), "java.lang.Trace\n\tat x.y")
    (file,) = tmp_path.iterdir()
    assert error.hint.endswith(f"All that Java and Spark have said is in {file}")
    assert "java.lang.Trace" in file.read_text(encoding="utf-8")
    damaged = SnapshotDamaged("a file is cut off")
    damaged.__cause__ = PySparkException("Parquet: \n\tat z")
    assert "pulsar-syncer-java-" in failed(tmp_path, damaged).hint


def test_a_file_in_which_nothing_stands_is_not_named(tmp_path: Path) -> None:
    """Under spark-submit Java is another program's, and says all on its terminal."""
    with pytest.raises(JobError) as caught, words_kept(tmp_path):
        raise JobError("reading: it broke")
    assert "is in" not in caught.value.hint
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "error",
    [
        Py4JNetworkError("Answer from Java side is empty"),
        ConnectionRefusedError(111, "x"),
        Py4JError("calling o54.count"),
    ],
)
def test_a_java_that_is_gone_is_said_to_be(tmp_path: Path, error: Exception) -> None:
    with pytest.raises(JobError, match="comparing: Java has ended in the middle of it"), translated("comparing"):
        raise error
    assert "working with Spark: Java has ended" in failed(tmp_path, error).message


def test_what_java_raises_is_told_by_its_cause_in_one_line(tmp_path: Path) -> None:
    trace = (
        "An error occurred while calling o1.x.\n: org.apache.spark.SparkException: Job aborted\n\tat a.b(C.scala:1)\n"
        "Caused by: java.io.IOException: the magic number is wrong\n\tat d.e(F.java:2)\n"
    )
    found = failed(tmp_path, PySparkException(trace))
    assert "\n" not in found.message
    assert "\tat" not in found.message
    assert found.message.startswith("working with Spark: Spark says: ")


@pytest.mark.parametrize(
    ("text", "words", "hint"),
    [
        ("[JAVA_GATEWAY_EXITED] Java gateway process exited", "Java ended before it was up", "--memory"),
        (
            "calling x.\n: org.apache.spark.SparkIllegalArgumentException: System memory 67108864 must be\n\tat y",
            "on local[2]: SparkIllegalArgumentException: System memory 67108864 must be",
            "Give it more with --memory",
        ),
        ("calling x.\n: java.lang.Odd: no master\n\tat y", "Odd: no master", "--master"),
    ],
)
def test_a_session_that_does_not_come_up_says_why(text: str, words: str, hint: str) -> None:
    error = did_not_start(text, "local[2]")
    assert (words in error.message, hint in error.hint, "\n" in error.message) == (True, True, False)


def test_what_pyspark_logs_goes_there_too(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    by_root = logging.LogRecord("root", logging.ERROR, "/x/py4j/java_gateway.py", 1, "while sending", None, None)
    failed(tmp_path, JobError("broken"))
    assert not logging.getLogger().filter(by_root), "said when the session is over"
    (file,) = tmp_path.iterdir()
    assert file.read_text(encoding="utf-8").splitlines() == ["a trace", "another", "while sending"]
    file.unlink()
    logging.getLogger("py4j").error("nobody asks any more")
    assert (list(tmp_path.iterdir()), capfd.readouterr().err) == ([], "")


def test_only_the_newest_files_are_kept(tmp_path: Path) -> None:
    for number in range(KEPT + 5):
        failed(tmp_path, JobError(str(number)))
        newest = max(tmp_path.iterdir(), key=lambda each: each.stat().st_mtime_ns)
        os.utime(newest, ns=(number, number))
    assert len(list(tmp_path.iterdir())) <= KEPT + 1


def test_a_place_without_room_for_the_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(JobError, match="no temporary file can be made") as caught, words_kept(tmp_path / "none"):
        pytest.fail("a session without the file")
    assert "--scratch" in caught.value.hint
