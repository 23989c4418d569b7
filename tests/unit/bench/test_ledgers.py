"""The bench ``ledgers``: what grows faster than its number misses a bar, and so does too much memory."""

from __future__ import annotations

import pytest

from tests.bench.ledger_decoding import DecodingCosts
from tests.bench.ledger_picture import PictureCost
from tests.bench.ledger_reading import LedgerReadingRates
from tests.bench.ledgers import bars, part_bars


@pytest.mark.parametrize(
    ("whole", "peak_bytes", "missed"),
    [
        (55.0, 4 << 30, []),
        (61.0, 4 << 30, ["a ledger of all"]),
        (50.0, 9 << 30, ["memory"]),
    ],
)
def test_growth_and_memory_have_bars(whole: float, peak_bytes: int, missed: list[str]) -> None:
    found = bars({"a tenth": [48.0, 52.0], "all": [whole]}, peak_bytes)
    assert [bar.name for bar in found if not bar.holds] == missed


@pytest.mark.parametrize(
    ("columns_us", "times", "many_us", "peak_bytes", "missed"),
    [
        (16.0, 10.0, 12.0, 500 << 20, []),
        (16.1, 9.9, 12.1, (500 << 20) + 1_000, [
            "decoded for each second of CPU", "read", "a ledger of 100000, without Spark", "memory without Spark",
        ]),
    ],
)  # fmt: skip
def test_java_kazoo_growth_and_memory_without_spark_have_bars(
    columns_us: float, times: float, many_us: float, peak_bytes: int, missed: list[str]
) -> None:
    decoding = DecodingCosts(plain_us=1.0, columns_us=columns_us, java_us=8.0, decoded=1, by_java=1)
    reading = LedgerReadingRates(ours=[times, 3 * times, times], kazoo=[1.0, 1.0, 1.0])
    few, many = PictureCost(cpu_us=10.0, peak_bytes=1), PictureCost(cpu_us=many_us, peak_bytes=peak_bytes)
    found = part_bars(decoding, reading, few, many)
    assert [each.name for each in found if not each.holds] == missed
