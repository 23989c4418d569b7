"""A bench's verdict: which bars hold, how the tables read, what is kept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.bench.result import Bar, Result, percentiles_ms, ratio_in_turns


@pytest.mark.parametrize(
    ("ratio", "at_least", "holds"), [(2.0, True, True), (1.99, True, False), (2.0, False, True), (2.01, False, False)]
)
def test_a_bar_holds_on_its_right_side(ratio: float, at_least: bool, holds: bool) -> None:
    assert Bar(name="speed", peer="kazoo", ratio=ratio, bar=2.0, at_least=at_least).holds is holds


@pytest.mark.parametrize(
    ("ratio", "verdict"),
    [
        (0.5, "holds; aim 0.5 reached"),
        (0.51, "holds; aim 0.5 not reached"),
        (1.01, "MISSED; aim 0.5 not reached"),
    ],
)
def test_an_aim_is_said_beside_the_verdict_and_fails_nothing(ratio: float, verdict: str) -> None:
    assert Bar(name="CPU", peer="servers", ratio=ratio, bar=1.0, at_least=False, aim=0.5).verdict == verdict


def test_one_missed_bar_fails_the_run_and_all_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = Result(name="sync", rows=[("a", "1")], figures={"raw": [1, 2]})
    result.bars = [
        Bar(name="events/s", peer="native", ratio=2.5, bar=2.0),
        Bar(name="p99", peer="native", ratio=1.25, bar=1.0, at_least=False),
    ]
    assert result.show(("what", "value"), tmp_path) is False
    assert capsys.readouterr().out.splitlines() == [
        "what  value",
        "a     1",
        "",
        "ratio of  to the peer of the same run  ratio  bar         verdict",
        "events/s  native                       2.50   at least 2  holds",
        "p99       native                       1.25   at most 1   MISSED",
    ]
    kept = json.loads((tmp_path / "sync.json").read_text())
    assert (kept["figures"], [bar["holds"] for bar in kept["bars"]]) == ({"raw": [1, 2]}, [True, False])
    assert kept["bars"][0]["peer"] == "native"
    result.bars.pop()
    assert result.show(("what", "value"), tmp_path) is True


def test_a_slow_round_slows_both_sides_and_counts_for_nothing() -> None:
    assert ratio_in_turns([100, 10, 90], [10, 1, 10]) == 10
    with pytest.raises(ValueError, match="shorter"):
        ratio_in_turns([1, 2], [1])


def test_percentiles_are_in_milliseconds() -> None:
    p50, p99 = percentiles_ms([n / 1000 for n in range(101)])
    assert (round(p50, 6), round(p99, 6)) == (50, 99)
