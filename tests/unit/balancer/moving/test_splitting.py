"""Splits of a run: each is looked at first, asked for once, and seen by the namespace's boundaries."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import pytest

from syncer.admin.stillness import STILL
from syncer.balancer.moving import course, splitting
from syncer.balancer.moving.acts import Split, Unload
from syncer.balancer.moving.bounds import QuietHours, RunBounds
from syncer.balancer.moving.move_plan import MovePlan
from syncer.balancer.moving.run import MoveRun, MoveStanding, RunPhase, RunStop
from syncer.balancer.moving.sight import BundleSight, ClusterSight
from syncer.balancer.moving.split import PlannedSplit, SplitStanding
from syncer.model import Millis
from tests.unit.balancer.moving.test_move_plan import MOVE, PLAN

NOW: Final = Millis(1_764_000_000_000)
MIDDLE: Final = 0x40000000
WHOLE: Final = (0, 0x80000000, 0xFFFFFFFF)
CUT: Final = (0, MIDDLE, 0x80000000, 0xFFFFFFFF)
SPLIT: Final = PlannedSplit(bundle=MOVE.bundle, source="a:80", position=MIDDLE, throughput=2e7)
LOWER, UPPER = SPLIT.halves
HALF: Final = replace(MOVE, bundle=LOWER, throughput=1e7)
SPLITTING: Final = replace(PLAN, moves=(HALF,), splits=(SPLIT,))
HERE: Final = BundleSight(exists=True, owner="a:80", throughput=2e7)
ASK: Final = (Split(0, MOVE.bundle, MIDDLE),)


def seen(
    bundle: BundleSight | None = None, boundaries: tuple[int, ...] = WHOLE, at: int = NOW, most: int = 128
) -> ClusterSight:
    whole = boundaries == WHOLE
    return ClusterSight(
        at_ms=Millis(at),
        dynamic=STILL,
        brokers=frozenset({"a:80", "b:80"}),
        bundles={
            MOVE.bundle: bundle or (HERE if whole else BundleSight(exists=False)),
            LOWER: BundleSight(exists=not whole, owner=None if whole else "a:80"),
            UPPER: BundleSight(exists=not whole, owner=None if whole else "a:80"),
        },
        boundaries={"acme/orders": boundaries},
        most_bundles=most,
    )


def moving(plan: MovePlan = SPLITTING) -> MoveRun:
    return replace(course.begun(plan), phase=RunPhase.MOVING, former=dict.fromkeys(STILL))


def asked() -> MoveRun:
    return course.step(SPLITTING, moving(), seen()).run


def test_a_split_is_announced_and_the_move_of_its_half_waits_until_the_halves_are_known_everywhere() -> None:
    assert course.splits_looked_at(SPLITTING, moving(), NOW) == (0,)
    assert course.looked_at(SPLITTING, moving(), NOW) == ()
    first = course.step(SPLITTING, moving(), seen())
    assert first.acts == ASK
    assert (first.run.splits[0].standing, first.run.splits[0].asked_ms) == (SplitStanding.ASKED, NOW)
    early = course.step(SPLITTING, first.run, seen(at=NOW + 500))
    assert (early.run, early.acts) == (first.run, ()), "it is asked for once"
    done = course.step(SPLITTING, early.run, seen(boundaries=CUT, at=NOW + 1_000))
    assert (done.run.splits[0].standing, done.acts) == (SplitStanding.DONE, ())
    settles = NOW + 1_000 + splitting.HALVES_SETTLE_MS
    assert course.looked_at(SPLITTING, done.run, Millis(settles - 1)) == ()
    assert course.looked_at(SPLITTING, done.run, Millis(settles)) == (0,)
    last = course.step(SPLITTING, done.run, seen(boundaries=CUT, at=settles))
    assert last.acts == (Unload(0, LOWER, "b:80"),)


@pytest.mark.parametrize(
    ("sight", "standing"),
    [
        (seen(boundaries=CUT), SplitStanding.ALREADY),
        (seen(boundaries=(0, 0x20000000, MIDDLE, 0x60000000, 0x80000000)), SplitStanding.ALREADY),
        (seen(boundaries=(0, 0x20000000, 0x80000000, 0xFFFFFFFF)), SplitStanding.OTHERWISE),
        (seen(BundleSight(exists=False), boundaries=()), SplitStanding.OTHERWISE),
        (seen(BundleSight(exists=True)), SplitStanding.FREE),
        (seen(replace(HERE, owner="b:80")), SplitStanding.FOREIGN),
        (seen(replace(HERE, throughput=0.0)), SplitStanding.CHANGED),
        (seen(most=2), SplitStanding.FULL),
        (seen(most=3), SplitStanding.ASKED),
        (seen(replace(HERE, throughput=None)), SplitStanding.ASKED),
    ],
)
def test_each_split_is_checked_again_before_it_is_asked_for(sight: ClusterSight, standing: SplitStanding) -> None:
    turn = course.step(SPLITTING, moving(), sight)
    assert turn.run.splits[0].standing is standing
    assert turn.acts == (ASK if standing is SplitStanding.ASKED else ())
    over = standing not in {SplitStanding.ASKED, SplitStanding.ALREADY}
    assert turn.run.moves[0].standing is (MoveStanding.NOT_MADE if over else MoveStanding.WAITING)


def test_a_split_that_nothing_came_of_is_not_asked_for_again() -> None:
    late = course.step(SPLITTING, asked(), seen(at=NOW + splitting.SPLIT_SETTLES_MS))
    assert late.acts == ()
    assert late.run.splits[0].standing is SplitStanding.MISSED
    assert late.run.moves[0].standing is MoveStanding.NOT_MADE
    assert late.run.phase is RunPhase.RESTORING


def test_a_bundle_that_is_cut_elsewhere_meanwhile_is_not_waited_for() -> None:
    turn = course.step(SPLITTING, asked(), seen(boundaries=(0, 0x20000000, 0x80000000, 0xFFFFFFFF), at=NOW + 1))
    assert turn.run.splits[0].standing is SplitStanding.OTHERWISE


def test_what_the_cluster_refuses_ends_the_split_with_its_words() -> None:
    run = splitting.refused(asked(), 0, "not supported", NOW)
    assert (run.splits[0].standing, run.splits[0].words) == (SplitStanding.REFUSED, "not supported")
    assert course.step(SPLITTING, run, seen()).run.moves[0].standing is MoveStanding.NOT_MADE


def test_a_namespace_is_cut_and_moved_within_one_bound() -> None:
    other = replace(MOVE, bundle="acme/orders/0x80000000_0xffffffff", source="c:80", target="b:80")
    plan = replace(SPLITTING, moves=(HALF, other))
    sight = seen()
    both = replace(sight, bundles={**sight.bundles, other.bundle: BundleSight(exists=True, owner="c:80")})
    assert course.step(plan, moving(plan), both).acts == ASK
    wide = replace(plan, bounds=RunBounds(per_namespace=2))
    assert course.step(wide, moving(wide), both).acts == (*ASK, Unload(1, other.bundle, "b:80"))


def test_splits_of_one_turn_keep_to_what_the_namespace_may_have() -> None:
    other = replace(SPLIT, bundle="acme/orders/0x80000000_0xffffffff", source="c:80", position=0xC0000000)
    plan = replace(SPLITTING, splits=(SPLIT, other), bounds=RunBounds(per_namespace=2))
    sight = seen(most=3)
    both = replace(sight, bundles={**sight.bundles, other.bundle: replace(HERE, owner="c:80")})
    assert [each.standing for each in course.step(plan, moving(plan), both).run.splits] == ["asked", "namespace-full"]


def test_a_half_may_be_split_again_and_a_chain_that_breaks_makes_nothing_more() -> None:
    again = replace(SPLIT, bundle=LOWER, position=0x20000000)
    plan = replace(SPLITTING, moves=(replace(HALF, bundle=again.halves[1]),), splits=(SPLIT, again))
    assert course.splits_looked_at(plan, moving(plan), NOW) == (0,)
    made = course.step(plan, moving(plan), seen(boundaries=CUT)).run
    settled = Millis(NOW + splitting.HALVES_SETTLE_MS)
    assert course.splits_looked_at(plan, made, settled) == (1,)
    assert course.step(plan, made, seen(boundaries=CUT, at=settled)).acts == (Split(1, LOWER, 0x20000000),)
    broken = course.step(plan, splitting.refused(moving(plan), 0, "no", NOW), seen()).run
    assert (broken.splits[1].standing, broken.moves[0].standing) == (SplitStanding.NOT_MADE, MoveStanding.NOT_MADE)


def test_in_the_quiet_hours_of_nobody_nothing_is_split() -> None:
    plan = replace(SPLITTING, bounds=RunBounds(quiet=QuietHours(first=0, end=1)))
    assert course.splits_looked_at(plan, moving(plan), NOW) == ()


@pytest.mark.parametrize(("boundaries", "standing"), [(CUT, SplitStanding.DONE), (WHOLE, SplitStanding.LEFT)])
def test_a_stop_sees_once_what_came_of_a_split(boundaries: tuple[int, ...], standing: SplitStanding) -> None:
    run = course.stopped(asked(), RunStop(code="asked", words="enough"))
    unseen = course.step(SPLITTING, run, replace(seen(), boundaries={})).run
    assert unseen.splits[0].standing is SplitStanding.ASKED, "it was not looked at"
    turn = course.step(SPLITTING, run, seen(boundaries=boundaries))
    assert (turn.run.splits[0].standing, turn.run.phase) == (standing, RunPhase.RESTORING)


def test_a_stop_before_anything_was_split_leaves_it_not_begun() -> None:
    run = course.stopped(course.begun(SPLITTING), RunStop(code="asked", words="enough"))
    assert course.step(SPLITTING, run, seen()).run.splits[0].standing is SplitStanding.NOT_BEGUN


def test_before_a_run_it_is_foreseen_what_keeps_a_split_back_and_what_waits_for_one() -> None:
    assert course.foreseen(SPLITTING, seen()) == (None, None)
    assert course.foreseen(SPLITTING, seen(most=2)) == (None, SplitStanding.FULL)
