"""One Spark session for all tests of a run, made as the product makes it: two cores, UTC, no pages, on loopback."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_snapshot.runtime.session import SessionSettings, opened
from tests.support.environment import without_settings
from tests.support.logs import logging_restored


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session on two cores. What runs Spark in this process meanwhile uses it, and leaves it running."""
    settings = SessionSettings(
        name="tests",
        master="local[2]",
        memory="1g",
        scratch=tmp_path_factory.mktemp("spark"),
        options={"spark.sql.shuffle.partitions": "2"},
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # the pipe to the JVM stays open as long as the process lives
        with opened(settings) as session:
            yield session


@pytest.fixture(autouse=True)
def _nothing_from_outside(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Commands that run in this process take nothing from its environment, and leave its log as it was."""
    without_settings(monkeypatch, "SPARK_MASTER")
    monkeypatch.chdir(tmp_path)
    with logging_restored():
        yield
