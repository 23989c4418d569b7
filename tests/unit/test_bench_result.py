"""A bench's verdict: which bars hold, how their lines read, what is kept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.bench.result import Bar, Result, percentiles_ms


@pytest.mark.parametrize(
    ("ratio", "at_least", "holds"), [(2.0, True, True), (1.99, True, False), (2.0, False, True), (2.01, False, False)]
)
def test_a_bar_holds_on_its_right_side(ratio: float, at_least: bool, holds: bool) -> None:
    assert Bar(name="speed", ratio=ratio, bar=2.0, at_least=at_least).holds is holds


def test_one_missed_bar_fails_the_run_and_all_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = Result(name="sync", rows=[("a", "1")], figures={"raw": [1, 2]})
    result.bars = [Bar(name="events/s", ratio=2.5, bar=2.0), Bar(name="p99", ratio=1.25, bar=1.0, at_least=False)]
    assert result.show(("what", "value"), tmp_path) is False
    assert capsys.readouterr().out.splitlines()[-2:] == [
        "events/s, at least: ratio 2.50 (bar 2)",
        "p99, at most: ratio 1.25 (bar 1)   MISSED",
    ]
    kept = json.loads((tmp_path / "sync.json").read_text())
    assert (kept["figures"], [bar["holds"] for bar in kept["bars"]]) == ({"raw": [1, 2]}, [True, False])
    result.bars.pop()
    assert result.show(("what", "value"), tmp_path) is True


def test_percentiles_are_in_milliseconds() -> None:
    p50, p99 = percentiles_ms([n / 1000 for n in range(101)])
    assert (round(p50, 6), round(p99, 6)) == (50, 99)
