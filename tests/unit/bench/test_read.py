"""The bench ``read``: no bar is a speed, each is a ratio to the peer that reads the same server in the same rounds."""

from __future__ import annotations

import pytest

from tests.bench import read

RATES = {
    read.FILES: [160_000.0, 80_000.0, 161_000.0],
    read.LIVE: [100_000.0, 50_000.0, 90_000.0],
    read.KAZOO: [10_000.0, 5_000.0, 10_000.0],
    read.SPARK: [41_000.0, 20_500.0, 39_000.0],
    read.SNAPSHOT: [30_000.0, 15_000.0, 30_000.0],
    read.ETCD: [99_000.0, 49_500.0, 75_000.0],
    read.ETCD3: [33_000.0, 16_500.0, 30_000.0],
}


def test_each_bar_is_a_ratio_to_its_peer_of_the_same_rounds() -> None:
    bars = {bar.name: bar for bar in read.bars(RATES)}
    assert {name: (bar.peer, round(bar.ratio, 2), bar.bar) for name, bar in bars.items()} == {
        "zookeeper, live, rows/s": ("kazoo's get_async", 10.0, 10),
        "zookeeper, files, rows/s": ("kazoo's get_async", 16.0, 15),
        "zookeeper through Spark into Parquet, one core, rows/s": ("kazoo's get_async", 4.1, 4),
        "etcd, live, rows/s": ("etcd3's get_prefix", 3.0, 2.5),
    }
    assert all(bar.holds for bar in bars.values())


@pytest.mark.parametrize("speed", [0.1, 0.5, 2.0])
def test_a_machine_of_another_speed_changes_no_bar(speed: float) -> None:
    other = {name: [speed * rate for rate in each] for name, each in RATES.items()}
    assert [bar.ratio for bar in read.bars(other)] == pytest.approx([bar.ratio for bar in read.bars(RATES)])


@pytest.mark.parametrize("reading", [read.LIVE, read.FILES, read.SPARK, read.ETCD])
def test_a_reader_that_is_half_as_fast_as_its_bar_misses_it(reading: str) -> None:
    slow = {**RATES, reading: [rate / 2 for rate in RATES[reading]]}
    assert [bar.name for bar in read.bars(slow) if not bar.holds] == [f"{reading}, rows/s"]


def test_the_table_has_medians_all_rounds_and_what_a_row_costs() -> None:
    rows = read.table({read.LIVE: [100_000.0, 50_000.0, 90_000.0]}, {read.LIVE: [200_000.0, 100_000.0, 125_000.0]})
    assert rows == [("zookeeper, live", "90,000", "100,000, 50,000, 90,000", "125,000", "8.0")]
