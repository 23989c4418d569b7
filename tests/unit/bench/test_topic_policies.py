"""The bench ``topic-policies``: its bar is a ratio to bare readers of the same rounds."""

from __future__ import annotations

from tests.bench import topic_policies

ROUNDS = {
    what: [{"wall_s": wall_s, "cpu_s": 1.0, "grown_bytes": 2e6, "connections": 2.0} for wall_s in walls]
    for what, walls in ((topic_policies.OURS, (9.0, 4.0, 20.0)), (topic_policies.BARE, (3.0, 2.0, 10.0)))
}


def test_a_round_counts_by_its_own_readers_alone() -> None:
    bar = topic_policies.bar(ROUNDS)
    assert (bar.ratio, bar.holds) == (2.0, True)


def test_a_start_that_takes_more_than_three_times_as_long_misses_the_bar() -> None:
    slow = {**ROUNDS, topic_policies.OURS: [{**each, "wall_s": 31.0} for each in ROUNDS[topic_policies.OURS]]}
    assert not topic_policies.bar(slow).holds


def test_the_table_says_of_each_side_what_it_took() -> None:
    assert topic_policies.table(ROUNDS)[0] == ("ours", "9.00", "9.00, 4.00, 20.00", "1.00", "2", "2")
