"""The benches ``diff`` and ``anti-entropy``: each bar names what it is a ratio of, and to what."""

from __future__ import annotations

import pytest

from tests.bench import anti_entropy, diff

WORK = {"ours-2": 6.0, "ours-3": 9.0, "ours-2, a fifth": 2.0, "duckdb-value": 5.0, "extension-2": 30.0}


@pytest.mark.parametrize("speed", [1.0, 2.5])
def test_a_comparison_is_held_against_other_tools_and_against_itself(speed: float) -> None:
    bars = diff.bars({name: speed * seconds for name, seconds in WORK.items()}, 2 << 30)
    assert [(bar.name, bar.peer, round(bar.ratio, 2), bar.holds) for bar in bars] == [
        ("ours, two regions", "DuckDB on values", 1.2, True),
        ("spark-extension on values", "ours, two regions", 5.0, True),
        ("ours, three regions", "ours, two regions", 1.5, True),
        ("ours, two regions", "ours, a fifth of the rows", 3.0, True),
        ("memory of ours", "(4 GB)", 0.5, True),
    ]


def test_a_comparison_that_is_too_slow_misses() -> None:
    bars = diff.bars({**WORK, "ours-2": 16.0}, 5 << 30)
    assert [bar.holds for bar in bars] == [False, False, True, False, False]


def test_what_travels_is_a_share_of_sending_all() -> None:
    assert all(bar.holds for bar in anti_entropy.bars(0.002, 0.001, 0))
    assert [bar.holds for bar in anti_entropy.bars(0.003, 0.0021, 1)] == [False, False, False]
    assert [bar.ratio for bar in anti_entropy.bars(0.002, 0.001, 0)] == pytest.approx([0.2, 0.1, 0])
