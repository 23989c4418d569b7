"""The bench ``api``: each bar is a ratio of turns of the same round, and what fails or is lost misses one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.bench import api
from tests.bench.api import ApiFigures, Served
from tests.bench.api_holds import HOLDS

REST = Served(p99_ms=10.0, answered=1_000, failed=0, scrapes=0, events_per_s=0.0, ended=0, cpu_s=1.0)
BESIDE = replace(REST, p99_ms=40.0, scrapes=4, events_per_s=1.0)
BARE = replace(BESIDE, p99_ms=20.0)


def figures() -> ApiFigures:
    return ApiFigures(
        rest=REST,
        alone=[1_000.0, 500.0, 1_000.0],
        beside=[980.0, 490.0, 700.0],
        served=[BESIDE, replace(BESIDE, p99_ms=45.0), replace(BESIDE, p99_ms=400.0)],
        bare=[BARE, BARE, replace(BARE, p99_ms=50.0)],
        alone_mb=[100, 110, 105],
        beside_mb=[130, 150, 140],
        holds_s=2.0,
        holds=HOLDS,
    )


def test_all_bars_hold_of_good_figures_and_a_bad_round_alone_decides_nothing() -> None:
    bars = api.bars(figures())
    assert [round(bar.ratio, 2) for bar in bars] == [0.98, 40.0, 4.5, 2.25, 2.0, 0.0, 0.0]
    assert all(bar.holds for bar in bars)
    assert len(api.rows(figures())) == 8


@pytest.mark.parametrize(
    ("changes", "missed"),
    [
        ({"beside": [940.0, 470.0, 940.0]}, 0),
        ({"beside_mb": [130, 171, 140]}, 1),
        ({"rest": replace(REST, p99_ms=8.0)}, 2),
        ({"bare": [BARE, replace(BARE, p99_ms=8.0), replace(BARE, p99_ms=8.0)]}, 3),
        ({"holds_s": 10.1}, 4),
        ({"holds": HOLDS - 1}, 5),
        ({"served": [BESIDE, BESIDE, replace(BESIDE, failed=1)]}, 6),
        ({"served": [BESIDE, BESIDE, replace(BESIDE, ended=1)]}, 6),
        ({"bare": [BARE, BARE, replace(BARE, failed=1)]}, 6),
        ({"lost": 1}, 6),
    ],
)
def test_what_is_worse_misses_its_bar(changes: dict[str, object], missed: int) -> None:
    found = figures()
    for name, value in changes.items():
        setattr(found, name, value)
    assert [number for number, bar in enumerate(api.bars(found)) if not bar.holds] == [missed]


def test_the_clients_answer_is_read() -> None:
    assert Served.of(["40.00", "1000", "0", "4", "1.000", "0", "1.00"]) == BESIDE
