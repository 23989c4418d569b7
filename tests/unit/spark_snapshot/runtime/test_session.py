"""How a Spark session is made: which Java, which master, which settings. No session is started here."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from spark_snapshot.runtime import session
from spark_snapshot.runtime.session import SessionSettings, configuration, is_loopback, java_version, master_of, opened
from syncer.errors import JavaMissing, PreconditionFailed, SparkMissing


def a_java(folder: Path, says: str) -> Path:
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\n{says}\n", encoding="utf-8")
    program.chmod(0o755)
    return folder


@pytest.mark.parametrize(
    ("says", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('openjdk version "21" 2023-09-19', 21),
        ('java version "25-ea" 2025-09-16', 25),
    ],
)
def test_the_java_of_java_home_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: str, version: int
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(a_java(tmp_path / "jdk", f"echo '{says}' >&2")))
    assert java_version() == version


@pytest.mark.parametrize(
    ("says", "words"),
    [
        ("echo 'java version \"1.8.0_401\"' >&2", "is Java 8; Spark needs 17 or newer"),
        ("echo 'openjdk version \"11.0.2\" 2019-01-15' >&2", "is Java 11"),
        ("echo nothing", "did not say which version"),
    ],
)
def test_a_java_that_is_too_old_or_says_nothing_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: str, words: str
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(a_java(tmp_path / "jdk", says)))
    with pytest.raises(JavaMissing, match=words) as caught:
        java_version()
    assert "Install Java 17" in caught.value.hint


def test_no_java_at_all_is_told_before_anything_is_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(JavaMissing, match="no 'java' on PATH"), opened(SessionSettings()):
        pytest.fail("a session without Java")


def test_a_java_home_that_leads_nowhere_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(JavaMissing, match="cannot be started"):
        java_version()


def test_without_pyspark_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name.partition(".")[0] == "pyspark":
            raise ModuleNotFoundError("No module named 'pyspark'", name="pyspark")
        return real(name, *rest)

    for name in [each for each in sys.modules if each.partition(".")[0] == "pyspark"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(SparkMissing, match="pyspark is not installed") as caught, opened(SessionSettings()):
        pytest.fail("a session without Spark")
    assert "pulsar-syncer[spark]" in caught.value.hint


def test_a_local_session_is_quiet_and_on_loopback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARK_MASTER", raising=False)
    chosen = configuration(SessionSettings(), tmp_path, submitted=False)
    assert chosen["spark.master"] == "local[*]"
    assert chosen["spark.driver.host"] == chosen["spark.driver.bindAddress"] == "127.0.0.1"
    assert chosen["spark.ui.enabled"] == "false"
    assert chosen["spark.sql.session.timeZone"] == "UTC"
    assert chosen["spark.driver.memory"] == "2g"
    assert chosen["spark.sql.warehouse.dir"].startswith("file:///")


def test_what_is_submitted_keeps_its_master_memory_and_network(tmp_path: Path) -> None:
    chosen = configuration(SessionSettings(master="local[1]"), tmp_path, submitted=True)
    assert not {"spark.master", "spark.driver.memory", "spark.driver.host", "spark.ui.enabled"} & chosen.keys()
    assert chosen["spark.sql.session.timeZone"] == "UTC"


def test_given_options_go_before_ours(tmp_path: Path) -> None:
    chosen = configuration(SessionSettings(options={"spark.ui.enabled": "true"}), tmp_path, submitted=False)
    assert chosen["spark.ui.enabled"] == "true"


def test_the_master_is_that_of_the_option_then_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_MASTER", "local[3]")
    assert master_of(SessionSettings()) == "local[3]"
    assert master_of(SessionSettings(master="local[1]")) == "local[1]"


@pytest.mark.parametrize(
    ("master", "here"),
    [
        ("local", True),
        ("local[*]", True),
        ("local-cluster[2,1,1024]", True),
        ("spark://127.0.0.1:7077", True),
        ("spark://localhost:7077", True),
        ("spark://10.0.0.1:7077", False),
        ("spark://localhost.example.org:7077", False),
        ("yarn", False),
        ("k8s://https://127.0.0.1:6443", False),
    ],
)
def test_only_a_master_of_this_machine_keeps_the_driver_on_loopback(master: str, here: bool) -> None:
    assert is_loopback(master) is here


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (SessionSettings(memory="lots"), "no amount of memory"),
        (SessionSettings(memory="2g; rm"), "no amount of memory"),
        (SessionSettings(master="sc://localhost"), "Spark Connect is not supported"),
        (SessionSettings(scratch=Path("/nowhere/at/all")), "is no directory"),
    ],
)
def test_settings_that_are_none_are_refused(settings: SessionSettings, words: str) -> None:
    with pytest.raises(PreconditionFailed, match=words), opened(settings):
        pytest.fail("a session of wrong settings")


def test_the_tasks_of_a_shuffle_follow_the_rows() -> None:
    told: dict[str, str] = {}

    class Conf:
        def set(self, name: str, value: str) -> None:
            told[name] = value

    class Context:
        defaultParallelism = 2  # noqa: N815 - Spark's own name

    class Session:
        conf = Conf()
        sparkContext = Context()  # noqa: N815

    expected: Sequence[tuple[int, str]] = ((0, "2"), (250_000, "2"), (5_000_000, "20"))
    for rows, tasks in expected:
        session.fit(Session(), rows)  # type: ignore[arg-type]  # what it uses of a session
        assert told["spark.sql.shuffle.partitions"] == tasks
