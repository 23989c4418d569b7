"""A history of load as Parquet: each broker and bundle of each sample, what is unknown being null."""

from __future__ import annotations

from datetime import UTC, datetime
from io import BytesIO

import pyarrow.parquet as pq

from spark_snapshot.format.load_history import SCHEMA, write_load_history
from tests.support.load_samples import sample

BUNDLE = "t/n/0x00000000_0x10000000"


def test_samples_are_written_as_rows() -> None:
    file = BytesIO()
    samples = [sample(1000, {BUNDLE: "a:8080"}), sample(2000, {BUNDLE: None})]
    assert write_load_history(file, samples) == 2
    found = pq.read_table(BytesIO(file.getvalue()))
    assert found.schema.equals(SCHEMA)
    rows = found.to_pylist()
    assert [(each["what"], each["name"]) for each in rows[:3]] == [
        ("broker", "a:8080"),
        ("broker", "b:8080"),
        ("bundle", BUNDLE),
    ]
    broker, bundle, unowned = rows[0], rows[2], rows[5]
    assert broker["taken"] == datetime.fromtimestamp(1, UTC)
    assert (broker["cpu_usage"], broker["cpu_limit"], broker["memory_usage"]) == (50.0, 100.0, None)
    stats = samples[0].bundles[BUNDLE].stats
    assert stats is not None
    assert (bundle["owner"], bundle["tenure"], bundle["rate_in"]) == ("a:8080", "owned", stats.traffic.rate_in)
    assert (unowned["owner"], unowned["tenure"], unowned["topics"]) == (None, None, 3)


def test_an_empty_history_is_a_file_without_rows() -> None:
    file = BytesIO()
    assert write_load_history(file, []) == 0
    assert pq.read_table(BytesIO(file.getvalue())).num_rows == 0
