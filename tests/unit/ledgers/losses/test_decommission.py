"""Bookies that are stopped: what moves, and each of the reasons that keeps a ledger on one for ever."""

from __future__ import annotations

import pytest

from syncer.ledgers.judging.fragments import damaged_fragments
from syncer.ledgers.losses.decommission import BlockedBy, ClusterBookies, decommission, decommission_in_turn
from syncer.ledgers.placement.adherence import RackPolicy
from syncer.ledgers.placement.racks import RackMap
from tests.unit.ledgers.judging.test_ledger import ledger

FIVE = frozenset("abcde")
CLUSTER = ClusterBookies(readable=FIVE, writable=FIVE)


def test_all_is_copied_from_the_first_to_the_last_entry_of_the_bookie() -> None:
    plan = decommission([ledger((3, 2, 2), (0, "abc"), (50, "abd"))], ["c"], CLUSTER)
    assert (plan.ledgers, plan.entries, plan.bytes, plan.unknown_bytes) == (1, 49, 490, 0)
    assert plan.ends
    assert plan.seconds(49.0) == 10.0


@pytest.mark.parametrize("sizes", [(5, 2, 2), (4, 3, 2), (5, 5, 3), (3, 1, 1)])
@pytest.mark.parametrize("leaving", ["a", "d", "ac", "be"])
@pytest.mark.parametrize("last", [6, 7, 8, 30])
def test_as_much_is_copied_as_the_fragments_that_the_checker_finds_hold(
    sizes: tuple[int, int, int], leaving: str, last: int
) -> None:
    wide = ledger(sizes, (0, "abcde"[: sizes[0]]), (7, "bcdea"[: sizes[0]]), last=last)
    fragments = damaged_fragments(wide, set(leaving), last, last)
    stretches = [(each.first_stored, each.last_stored, len(each.bookies)) for each in fragments]
    expected = sum(
        (end - start + 1) * count for start, end, count in stretches if start is not None and end is not None
    )
    assert decommission([wide], list(leaving), CLUSTER).entries == expected


def test_a_ledger_that_does_not_name_the_bookie_stays() -> None:
    assert decommission([ledger((2, 2, 2), (0, "ab"))], ["c"], CLUSTER).ledgers == 0


@pytest.mark.parametrize(
    ("sizes", "segments", "last", "cluster", "reason"),
    [
        ((3, 1, 1), "abc", 99, CLUSTER, BlockedBy.NOTHING_TO_COPY_FROM),
        ((3, 2, 2), "abc", 99, ClusterBookies(readable=FIVE - {"b"}, writable=FIVE), BlockedBy.NOTHING_TO_COPY_FROM),
        ((3, 2, 1), "abc", None, CLUSTER, BlockedBy.NOT_RECOVERABLE),
        ((3, 2, 2), "abc", 99, ClusterBookies(readable=FIVE, writable=frozenset("abc")), BlockedBy.NO_FREE_BOOKIE),
        (
            (3, 2, 2),
            "abc",
            99,
            ClusterBookies(
                readable=FIVE,
                writable=FIVE,
                racks=RackMap(dict.fromkeys("bcde", "/1") | {"a": "/2"}),
                policy=RackPolicy(enforced=True),
            ),
            BlockedBy.NO_FREE_RACK,
        ),
    ],
)
def test_what_blocks_is_told_with_its_reason(
    sizes: tuple[int, int, int], segments: str, last: int | None, cluster: ClusterBookies, reason: BlockedBy
) -> None:
    plan = decommission([ledger(sizes, (0, segments), last=last)], ["a"], cluster)
    assert plan.blocked == {reason: 1}
    assert plan.examples == [(7, reason)]
    assert not plan.ends


def test_an_open_ledger_moves_by_what_is_certain_and_its_bytes_are_unknown() -> None:
    plan = decommission([ledger((3, 2, 2), (0, "abc"), (30, "abd"), last=None)], ["a"], CLUSTER)
    assert (plan.entries, plan.bytes, plan.unknown_bytes) == (30, 0, 1)


def test_two_at_once_may_be_one_too_many_where_one_after_the_other_is_not() -> None:
    cluster = [ledger((2, 2, 2), (0, "ab"))]
    assert decommission(cluster, ["a", "b"], CLUSTER).blocked == {BlockedBy.NOTHING_TO_COPY_FROM: 1}
    assert all(plan.ends for plan in decommission_in_turn(cluster, ["a", "b"], CLUSTER))


def test_in_turn_what_blocks_comes_last_and_what_moves_least_first() -> None:
    cluster = [ledger((3, 2, 2), (0, "abc")), ledger((2, 2, 2), (0, "ab")), ledger((1, 1, 1), (0, "c"))]
    plans = decommission_in_turn(cluster, ["c", "b", "d", "b"], CLUSTER)
    assert [plan.bookies for plan in plans] == [("d",), ("b",), ("c",)]
    assert [plan.ends for plan in plans] == [True, True, False]


def test_bookies_that_were_emptied_before_take_nothing() -> None:
    three = frozenset("abc")
    cluster = ClusterBookies(readable=three, writable=three)
    plans = decommission_in_turn([ledger((2, 2, 2), (0, "ab"))], ["a", "b"], cluster)
    assert [plan.ends for plan in plans] == [True, False]


def test_an_absurd_ensemble_is_counted_in_one_step_for_each_of_its_bookies() -> None:
    wide = ledger((200_000, 200_000, 2), (0, "ab" * 100_000), last=200_000 - 1, length=10**6)
    assert decommission([wide], ["a"], CLUSTER).entries == 100_000 * 200_000
