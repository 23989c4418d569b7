"""The bench ``ledgers``: what grows faster than its number misses a bar, and so does too much memory."""

from __future__ import annotations

import pytest

from tests.bench.ledgers import bars


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
