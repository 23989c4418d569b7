"""The bench ``migration``: which bars its figures hold."""

from __future__ import annotations

from collections.abc import Sequence

from tests.bench.migration import CarriedMigration, bars, rows
from tests.bench.migration_side import OTHERS, QUIET, USED


def carried(topics: int, product_s: float, requests: Sequence[tuple[str, str, int]]) -> CarriedMigration:
    """A migration that has cost so much."""
    return CarriedMigration(
        topics=topics,
        namespaces=topics // 100,
        product_s=product_s,
        simulator_s=1.0,
        peak_bytes=150 << 20,
        before_bytes=70 << 20,
        virtual_s=100.0,
        most_at_once=1,
        requests=requests,
    )


def test_requests_are_those_of_moving_and_draining_with_a_share_of_what_is_nobodys() -> None:
    told = [("move", QUIET, 9_900), ("drain", QUIET, 990), ("move", USED, 200), ("move", OTHERS, 1_000)]
    found = carried(1_000, 2.0, [*told, ("guard", QUIET, 7_920), ("soak", USED, 77)])
    assert found.requests_per_topic(QUIET) == 12.0
    assert found.requests_per_topic(USED) == 21.0
    assert found.requests_per_topic(QUIET, ("guard",)) == 8.0
    assert found.topic_ms == 2.0


def test_each_figure_is_held_against_its_bar() -> None:
    requests = [("move", QUIET, 99_000), ("move", USED, 3_100), ("drain", OTHERS, 10_000)]
    few, many = carried(1_000, 2.0, [("move", QUIET, 9_900)]), carried(10_000, 23.0, requests)
    found = {bar.name: (round(bar.ratio, 2), bar.holds) for bar in bars(few, many, 8)}
    assert found == {
        "requests for a quiet topic": (0.92, True),
        "requests for a topic with clients": (2.0, False),
        "requests under way at once": (1.0, True),
        "CPU for each of 10000 topics": (1.15, True),
        "memory with 10000 topics and the simulator": (0.5, True),
    }
    assert len(rows(few, many)) == 10
