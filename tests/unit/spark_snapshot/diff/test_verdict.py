"""The verdict on one path, by literal tables: class, winner, reason, who has to change."""

from __future__ import annotations

import pytest

from spark_snapshot.diff.verdict import PathVerdict, RegionRow, judge
from spark_snapshot.format.words import PathClass, StampOrigin, WinReason
from syncer.conflict.settings import Direction
from syncer.model import Millis, Region, Stamp, TieOrder

A, B, C = (Region(name) for name in "abc")
SMALL, LARGE, RAW = b"\x01" * 16, b"\xf0" * 16, b"raw:" + b"\x01" * 16


def row(
    digest: bytes | None, at: int, by: str, *, origin: StampOrigin = StampOrigin.REGISTER, hold: str | None = None
) -> RegionRow:
    return RegionRow(digest=digest, stamp=Stamp(Millis(at), Region(by)), origin=origin, hold=hold)


def judged(*states: RegionRow | None, ties: TieOrder = TieOrder.SMALLER_REGION) -> PathVerdict:
    verdict = judge(dict(zip((A, B, C), states, strict=False)), ties)
    assert verdict is not None
    return verdict


CASES = {
    "equal, one stamp": ((row(SMALL, 5, "a"), row(SMALL, 5, "a")), PathClass.SAME, A, WinReason.ONLY, ""),
    "equal, other stamps": ((row(SMALL, 5, "a"), row(SMALL, 9, "b")), PathClass.SAME, B, WinReason.ONLY, ""),
    "dead and dead": ((row(None, 5, "a"), row(None, 6, "b")), PathClass.SAME, B, WinReason.ONLY, ""),
    "dead and absent": ((row(None, 5, "a"), None), PathClass.SAME, A, WinReason.ONLY, ""),
    "newer there": ((row(SMALL, 5, "a"), row(LARGE, 6, "b")), PathClass.DIFFERS, B, WinReason.NEWER, "a"),
    "newer here": ((row(SMALL, 7, "a"), row(LARGE, 6, "b")), PathClass.DIFFERS, A, WinReason.NEWER, "b"),
    "a tie": ((row(SMALL, 6, "a"), row(LARGE, 6, "b")), PathClass.DIFFERS, A, WinReason.REGION_ORDER, "b"),
    "one stamp, two values": (
        (row(SMALL, 6, "a"), row(LARGE, 6, "a")),
        PathClass.DIFFERS,
        B,
        WinReason.SAME_STAMP,
        "a",
    ),
    "one stamp, value and delete": (
        (row(None, 6, "a"), row(SMALL, 6, "a")),
        PathClass.DIFFERS,
        B,
        WinReason.SAME_STAMP,
        "a",
    ),
    "unreadable and readable": ((row(SMALL, 5, "a"), row(RAW, 6, "b")), PathClass.DIFFERS, B, WinReason.NEWER, "a"),
    "only there": ((None, row(LARGE, 6, "b")), PathClass.ONLY_IN, B, WinReason.ONLY, "a"),
    "only in two of three": ((row(SMALL, 5, "a"), None, row(SMALL, 6, "a")), PathClass.ONLY_IN, C, WinReason.ONLY, "b"),
    "deleted later": ((row(SMALL, 5, "a"), row(None, 6, "b")), PathClass.DELETED, B, WinReason.NEWER, "a"),
    "deleted later, unknown in c": (
        (row(SMALL, 5, "a"), row(None, 6, "b"), None),
        PathClass.DELETED,
        B,
        WinReason.NEWER,
        "a",
    ),
    "delete wins a tie": ((row(None, 6, "a"), row(SMALL, 6, "b")), PathClass.DELETED, A, WinReason.REGION_ORDER, "b"),
    "deleted before": ((row(SMALL, 7, "a"), row(None, 6, "b")), PathClass.DIFFERS, A, WinReason.NEWER, "b"),
    "three values": (
        (row(SMALL, 5, "a"), row(LARGE, 7, "b"), row(RAW, 6, "c")),
        PathClass.DIFFERS,
        B,
        WinReason.NEWER,
        "ac",
    ),
    "two agree against one": (
        (row(SMALL, 7, "a"), row(SMALL, 4, "b"), row(LARGE, 6, "c")),
        PathClass.DIFFERS,
        A,
        WinReason.NEWER,
        "c",
    ),
    "a tie below the winner's": (
        (row(LARGE, 7, "b"), row(LARGE, 7, "b"), row(SMALL, 5, "a")),
        PathClass.DIFFERS,
        A,
        WinReason.NEWER,
        "c",
    ),
}


@pytest.mark.parametrize(("states", "finding", "winner", "reason", "losers"), CASES.values(), ids=CASES.keys())
def test_the_table(
    states: tuple[RegionRow | None, ...], finding: PathClass, winner: Region, reason: WinReason, losers: str
) -> None:
    verdict = judged(*states)
    assert (verdict.finding, verdict.winner, verdict.reason) == (finding, winner, reason)
    assert verdict.losers == tuple(losers)
    assert verdict.underlying is None
    assert verdict.version is states["abc".index(winner)]


def test_the_order_of_ties_is_the_groups() -> None:
    states = (row(SMALL, 6, "a"), row(LARGE, 6, "b"))
    assert judged(*states, ties=TieOrder.SMALLER_REGION).winner == A
    assert judged(*states, ties=TieOrder.NATIVE).winner == B


def test_authors_compare_by_utf_16() -> None:
    states = (row(SMALL, 6, "\uffee"), row(LARGE, 6, "\U00010000"))
    assert judged(*states).winner == B, "a surrogate pair begins below U+FFEE"


def test_a_hold_at_a_loser_holds_the_path() -> None:
    verdict = judged(row(SMALL, 5, "a", hold="first-contact"), row(LARGE, 6, "b"))
    assert (verdict.finding, verdict.underlying) == (PathClass.HELD, PathClass.DIFFERS)
    assert verdict.holds == {A: "first-contact"}


def test_a_hold_at_the_winner_holds_nothing() -> None:
    verdict = judged(row(SMALL, 5, "a"), row(LARGE, 6, "b", hold="flipping"))
    assert (verdict.finding, verdict.underlying) == (PathClass.DIFFERS, None)
    assert verdict.holds == {B: "flipping"}


def test_a_hold_of_what_is_the_same_is_no_finding() -> None:
    assert judged(row(SMALL, 5, "a", hold="flipping"), row(SMALL, 5, "a")).finding is PathClass.SAME


def test_a_row_that_is_there_for_its_hold_is_no_tombstone() -> None:
    bare = row(None, 0, "", hold="unknown-cluster")
    verdict = judged(bare, row(LARGE, 6, "b"))
    assert (verdict.finding, verdict.underlying, verdict.losers) == (PathClass.HELD, PathClass.ONLY_IN, (A,))
    assert judge({A: bare, B: None}, TieOrder.SMALLER_REGION) is None


def test_nothing_is_said_of_what_nobody_has() -> None:
    assert judge({A: None, B: None}, TieOrder.SMALLER_REGION) is None


def test_among_equal_versions_the_stamped_one_wins() -> None:
    unstamped, stamped = row(SMALL, 6, "a", origin=StampOrigin.STORE), row(SMALL, 6, "a")
    verdict = judged(unstamped, stamped, row(LARGE, 5, "c"))
    assert (verdict.winner, verdict.version.origin) == (B, StampOrigin.REGISTER)


BOTH, APPLY, PUBLISH = Direction.BOTH, Direction.APPLY, Direction.PUBLISH
UNSEEN = StampOrigin.UNSEEN


def shared(ways: dict[Region, Direction], *states: RegionRow | None) -> PathVerdict | None:
    return judge(dict(zip((A, B, C), states, strict=False)), TieOrder.SMALLER_REGION, ways)


def test_only_regions_that_share_a_path_are_judged() -> None:
    ways = {A: BOTH, B: BOTH}
    same = shared(ways, row(SMALL, 5, "a"), row(SMALL, 5, "a"), None)
    assert same is not None
    assert same.finding is PathClass.SAME, "who does not carry it lacks nothing"
    found = shared(ways, row(SMALL, 5, "a"), None, row(LARGE, 9, "c", hold="flipping"))
    assert found is not None
    assert (found.finding, found.winner, found.losers, found.holds) == (PathClass.ONLY_IN, A, (B,), {})
    assert shared({}, row(SMALL, 5, "a"), None, None) is None


def test_what_may_not_leave_its_region_wins_over_nothing_that_the_group_knows() -> None:
    ways = {A: APPLY, B: PUBLISH, C: BOTH}
    drift = row(LARGE, 9, "a", origin=UNSEEN)
    found = shared(ways, drift, row(SMALL, 5, "b"), row(SMALL, 5, "b"))
    assert found is not None
    assert (found.finding, found.winner, found.losers) == (PathClass.DIFFERS, B, (A,))
    assert found.reason is WinReason.NOT_PUBLISHED
    found = shared(ways, drift, row(SMALL, 5, "b"), row(RAW, 4, "c"))
    assert found is not None
    assert (found.winner, found.reason, found.losers) == (B, WinReason.NEWER, (A, C))
    dead = shared(ways, drift, row(None, 5, "b"), None)
    assert dead is not None
    assert (dead.finding, dead.winner, dead.losers) == (PathClass.DELETED, B, (A,))
    alone = shared({A: APPLY, B: APPLY}, drift, row(SMALL, 5, "b", origin=StampOrigin.STORE))
    assert alone is not None
    assert (alone.winner, alone.losers, alone.reason) == (A, (B,), WinReason.NEWER), "nothing of it can spread"


def test_who_only_publishes_has_nothing_to_change() -> None:
    ways = {A: PUBLISH, B: PUBLISH, C: BOTH}
    found = shared(ways, row(SMALL, 5, "a", hold="flipping"), row(LARGE, 6, "b"), row(LARGE, 6, "b"))
    assert found is not None
    assert (found.finding, found.winner, found.losers) == (PathClass.DIFFERS, B, ())
    assert found.holds == {A: "flipping"}
    found = shared(ways, row(SMALL, 5, "a"), row(LARGE, 6, "b"), None)
    assert found is not None
    assert found.losers == (C,)
