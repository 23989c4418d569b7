"""One Spark session for all tests of a run, made as the product makes it: two cores, UTC, no pages, on loopback."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from spark_snapshot.session import SessionSettings, opened


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
