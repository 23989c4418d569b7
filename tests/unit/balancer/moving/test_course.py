"""The course of a run: each thing that may be seen of a bundle leads where it should."""

from __future__ import annotations

from dataclasses import replace

import pytest

from syncer.admin.stillness import STILL
from syncer.balancer.moving import course
from syncer.balancer.moving.acts import LookUp, SetSetting, Unload, UnsetSetting
from syncer.balancer.moving.bounds import QuietHours, RunBounds
from syncer.balancer.moving.move_plan import MovePlan
from syncer.balancer.moving.run import MoveRun, MoveStanding, RunPhase, RunStop
from syncer.balancer.moving.sight import BundleSight, ClusterSight
from syncer.model import Millis
from tests.unit.balancer.moving.test_move_plan import MOVE, PLAN

NOW = Millis(1_764_000_000_000)
HERE = BundleSight(exists=True, owner=MOVE.source, throughput=MOVE.throughput)
STOP = RunStop(code="asked", words="enough", who="ann")


def seen(bundle: BundleSight | None = None, dynamic: dict[str, str] | None = None, at: int = NOW) -> ClusterSight:
    return ClusterSight(
        at_ms=Millis(at),
        dynamic=STILL if dynamic is None else dynamic,
        brokers=frozenset({"a:80", "b:80"}),
        bundles={} if bundle is None else {MOVE.bundle: bundle},
    )


def moving(plan: MovePlan = PLAN) -> MoveRun:
    return replace(course.begun(plan), phase=RunPhase.MOVING, former=dict.fromkeys(STILL))


def asked() -> MoveRun:
    return course.step(PLAN, moving(), seen(HERE)).run


def test_settings_are_remembered_before_they_are_set_and_seen_before_anything_moves() -> None:
    former = {"loadBalancerSheddingEnabled": "true"}
    first = course.step(PLAN, course.begun(PLAN), seen(dynamic=former))
    assert (first.run.phase, first.acts) == (RunPhase.PAUSING, ())
    assert first.run.former == {**dict.fromkeys(STILL), **former}
    second = course.step(PLAN, first.run, seen(dynamic=former))
    assert set(second.acts) == {SetSetting(key, value) for key, value in STILL.items()}
    assert second.run == replace(first.run, pausings=1)
    assert course.step(PLAN, second.run, seen()).run.phase is RunPhase.MOVING


def test_what_was_set_is_put_back_and_what_was_not_is_deleted() -> None:
    key, *others = STILL
    run = replace(moving(), phase=RunPhase.RESTORING, former={**dict.fromkeys(STILL), key: "true"}, stop=STOP)
    turn = course.step(PLAN, run, seen())
    assert set(turn.acts) == {SetSetting(key, "true"), *map(UnsetSetting, others)}
    assert turn.run == run, "it is over only when that was seen"
    end = course.step(PLAN, turn.run, seen(dynamic={key: "true"})).run
    assert (end.phase, end.former) == (RunPhase.ENDED, None)
    assert end.moves[0].standing is MoveStanding.NOT_BEGUN
    assert course.step(PLAN, end, seen()) == course.RunTurn(end)


@pytest.mark.parametrize(
    ("sight", "standing"),
    [
        (BundleSight(exists=False), MoveStanding.GONE),
        (BundleSight(exists=True), MoveStanding.FREE),
        (replace(HERE, owner="b:80"), MoveStanding.ALREADY),
        (replace(HERE, owner="c:80"), MoveStanding.FOREIGN),
        (replace(HERE, throughput=0.0), MoveStanding.CHANGED),
        (HERE, MoveStanding.ASKED),
        (replace(HERE, throughput=None), MoveStanding.ASKED),
    ],
)
def test_each_move_is_checked_again_before_it_is_asked_for(sight: BundleSight, standing: MoveStanding) -> None:
    assert course.looked_at(PLAN, moving(), NOW) == (0,)
    turn = course.step(PLAN, moving(), seen(sight))
    assert turn.run.moves[0].standing is standing
    assert turn.acts == ((Unload(0, MOVE.bundle, "b:80"),) if standing is MoveStanding.ASKED else ())


def test_a_move_to_a_broker_that_is_gone_is_not_begun() -> None:
    plan = replace(PLAN, moves=(replace(MOVE, target="gone:80"),))
    turn = course.step(plan, moving(), seen(HERE))
    assert (turn.run.moves[0].standing, turn.acts) == (MoveStanding.NO_TARGET, ())


def test_a_bundle_that_was_not_looked_at_waits() -> None:
    assert course.step(PLAN, moving(), seen()).run.moves[0].standing is MoveStanding.WAITING
    assert course.step(PLAN, asked(), seen()).run == asked()


def test_an_unload_that_was_not_answered_is_not_asked_for_again_while_it_may_be_under_way() -> None:
    early = course.step(PLAN, asked(), seen(HERE, at=NOW + course.SETTLES_MS - 1))
    assert (early.run, early.acts) == (asked(), ())
    late = course.step(PLAN, asked(), seen(HERE, at=NOW + course.SETTLES_MS))
    assert late.acts == (Unload(0, MOVE.bundle, "b:80"),)
    assert late.run.moves[0].asked_ms == (NOW, NOW + course.SETTLES_MS)


def test_a_bundle_that_comes_elsewhere_is_asked_for_again_from_there_a_few_times() -> None:
    run, now, strayed = asked(), int(NOW), replace(HERE, owner="c:80")
    for _ in range(course.MOST_UNLOADS - 1):
        run = course.answered(run, 0, Millis(now))
        now += course.ANSWER_SETTLES_MS
        turn = course.step(PLAN, run, seen(strayed, at=now))
        assert len(turn.acts) == 1
        run = turn.run
        assert (run.moves[0].standing, run.moves[0].owner) == (MoveStanding.ASKED, "c:80")
    run = course.step(PLAN, course.answered(run, 0, Millis(now)), seen(strayed, at=now + 2_000)).run
    assert (run.moves[0].standing, run.moves[0].owner) == (MoveStanding.MISSED, "c:80")


def test_a_bundle_that_nobody_owns_is_looked_up_and_given_up_in_the_end() -> None:
    free = BundleSight(exists=True)
    turn = course.step(PLAN, asked(), seen(free, at=NOW + 100))
    assert turn.acts == (LookUp(MOVE.bundle),)
    back = course.step(PLAN, turn.run, seen(HERE, at=NOW + 200))
    assert back.acts == (Unload(0, MOVE.bundle, "b:80"),), "it was let go of, and came back"
    end = course.step(PLAN, turn.run, seen(free, at=NOW + course.FREE_MS)).run
    assert end.moves[0].standing is MoveStanding.MISSED


def test_the_outcome_stands_beside_the_prediction() -> None:
    there = seen(replace(HERE, owner="b:80"), at=NOW + 250)
    run = course.step(PLAN, course.answered(asked(), 0, Millis(NOW + 200)), there).run
    assert (run.moves[0].standing, run.moves[0].observed_s) == (MoveStanding.DONE, 0.25)
    assert course.step(PLAN, asked(), there).run.moves[0].observed_s is None, "nobody saw when"
    assert PLAN.moves[0].prediction.ready_s == 0.3
    assert asked().moves[0].observed_s is None


def test_what_was_missed_waits_for_room_in_the_hour_and_is_done_if_it_comes_late() -> None:
    plan = replace(PLAN, bounds=RunBounds(per_hour=1))
    run = course.step(plan, asked(), seen(HERE, at=NOW + course.SETTLES_MS)).run
    assert (run.moves[0].standing, run.phase) == (MoveStanding.AGAIN, RunPhase.RESTORING)
    late = course.step(PLAN, replace(run, phase=RunPhase.MOVING), seen(replace(HERE, owner="b:80"))).run
    assert late.moves[0].standing is MoveStanding.DONE
    moved = course.step(PLAN, replace(run, phase=RunPhase.MOVING), seen(replace(HERE, owner="c:80"))).run
    assert moved.moves[0].standing is MoveStanding.FOREIGN
    ended = course.step(PLAN, course.stopped(replace(run, former={}), STOP), seen()).run
    assert ended.moves[0].standing is MoveStanding.MISSED


def test_a_bundle_that_is_split_on_its_way_is_gone() -> None:
    assert course.step(PLAN, asked(), seen(BundleSight(exists=False))).run.moves[0].standing is MoveStanding.GONE


def test_a_stop_begins_nothing_more_and_does_not_wait() -> None:
    run = course.stopped(moving(), STOP)
    assert course.looked_at(PLAN, run, NOW) == ()
    assert course.step(PLAN, run, seen(HERE)).run.phase is RunPhase.RESTORING
    left = course.step(PLAN, course.stopped(asked(), STOP), seen(BundleSight(exists=True))).run
    assert (left.phase, left.moves[0].standing) == (RunPhase.RESTORING, MoveStanding.LEFT)
    assert course.step(PLAN, course.stopped(course.begun(PLAN), STOP), seen()).run.phase is RunPhase.ENDED
    assert course.stopped(run, RunStop(code="other", words="")).stop == STOP


def test_a_stop_between_two_settings_puts_back_what_was_set() -> None:
    key = next(iter(STILL))
    run = course.stopped(replace(moving(), phase=RunPhase.PAUSING), STOP)
    run = course.step(PLAN, run, seen(dynamic={key: STILL[key]})).run
    assert course.step(PLAN, run, seen(dynamic={key: STILL[key]})).acts == (UnsetSetting(key),)


def test_a_setting_of_somebody_else_stops_the_run() -> None:
    key = next(iter(STILL))
    for phase in (RunPhase.PAUSING, RunPhase.MOVING):
        run = course.step(PLAN, replace(moving(), phase=phase), seen(HERE, {**STILL, key: "other"})).run
        assert run.stop is not None
        assert (run.stop.code, run.phase) == ("settings-changed", RunPhase.RESTORING)


def test_settings_that_do_not_stay_set_end_the_run() -> None:
    run = course.step(PLAN, course.begun(PLAN), seen(dynamic={})).run
    for _ in range(course.MOST_PAUSINGS):
        turn = course.step(PLAN, run, seen(dynamic={}))
        assert turn.acts
        run = turn.run
    run = course.step(PLAN, run, seen(dynamic={})).run
    assert run.stop is not None
    assert (run.stop.code, run.phase) == ("settings-changed", RunPhase.RESTORING)


@pytest.mark.parametrize("phase", [RunPhase.PAUSING, RunPhase.MOVING])
@pytest.mark.parametrize("claim", ["", "theirs"])
def test_a_run_whose_claim_is_lost_begins_nothing_more(phase: RunPhase, claim: str) -> None:
    run = replace(moving(), phase=phase, claim="mine")
    turn = course.step(PLAN, run, replace(seen(HERE), claim=claim))
    assert turn.run.stop is not None
    assert (turn.run.stop.code, turn.run.phase, turn.acts) == ("balancing-owned", RunPhase.RESTORING, ())


def test_before_a_long_wait_the_settings_are_put_back() -> None:
    plan = replace(PLAN, bounds=RunBounds(quiet=QuietHours(first=0, end=1)))
    assert course.step(plan, moving(plan), seen(HERE)).run.phase is RunPhase.RESTORING
    waiting = course.step(plan, course.begun(plan), seen()).run
    assert waiting.phase is RunPhase.WAITING
    assert waiting.until_ms > NOW


def test_what_the_cluster_refuses_ends_the_move_with_its_words() -> None:
    run = course.refused(asked(), 0, "no such broker", NOW)
    assert (run.moves[0].standing, run.moves[0].words) == (MoveStanding.REFUSED, "no such broker")
    assert course.step(PLAN, run, seen()).run.phase is RunPhase.RESTORING
