"""Laws of a run of moves: wherever it is killed, settings end as they were, bounds hold, and owners are looked at.

Nor is any split asked for twice, or a move of its half before it is made.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from hypothesis import example, given
from hypothesis import strategies as st

from syncer.admin.stillness import STILL
from syncer.balancer.moving import acts, course
from syncer.balancer.moving.bounds import HOUR_MS, QuietHours, RunBounds
from syncer.balancer.moving.move_plan import MovePlan, MovePrediction, PlannedMove
from syncer.balancer.moving.run import OPEN, MoveProgress, MoveRun, MoveStanding, RunPhase, RunStop, progress_from
from syncer.balancer.moving.run import move_run_from as run_from
from syncer.balancer.moving.sight import ClusterSight
from syncer.balancer.moving.split import MADE, OPEN_SPLITS, PlannedSplit, SplitStanding
from syncer.balancer.ranges import namespace_of_bundle, range_of_bundle
from syncer.model import Millis
from tests.support.moving_cluster import MovingCluster

BROKERS: Final = ("a:80", "b:80", "c:80")
BUNDLES: Final = tuple(
    f"t/{namespace}/{span}"
    for namespace in ("n", "m")
    for span in ("0x00000000_0x40000000", "0x40000000_0x80000000", "0x80000000_0xffffffff")
)
TURNS: Final = 900
STOP: Final = RunStop(code="asked", words="enough", who="ann")


@st.composite
def plans(draw: st.DrawFn) -> MovePlan:
    bundles = draw(st.lists(st.sampled_from(BUNDLES), min_size=1, unique=True))
    moves, splits = [], []
    for bundle in bundles:
        source, target = draw(st.permutations(BROKERS))[:2]
        part = bundle
        for upper in draw(st.lists(st.booleans(), max_size=2)):  # of a half a half may go, which takes two splits
            low, high = range_of_bundle(part)
            position = low + (high - low) * draw(st.integers(1, 7)) // 8
            splits.append(PlannedSplit(bundle=part, source=source, position=position, throughput=None))
            part = splits[-1].halves[upper]
        moves.append(PlannedMove(bundle=part, source=source, target=target, throughput=None))
    hours = st.builds(QuietHours, first=st.integers(0, 700), end=st.integers(701, 1439))
    bounds = RunBounds(
        per_broker=draw(st.integers(1, 3)),
        per_namespace=draw(st.integers(1, 3)),
        per_hour=draw(st.integers(1, 6)),
        quiet=draw(st.none() | hours),
    )
    return MovePlan(table="x", cluster="x", taken_ms=Millis(1), moves=tuple(moves), bounds=bounds, splits=tuple(splits))


settings = st.dictionaries(st.sampled_from(sorted(STILL)), st.sampled_from(["true", "false"])).filter(
    lambda dynamic: dynamic != STILL  # then somebody else holds the cluster
)
fates = st.lists(st.sampled_from(["target", "lost", "back", *BROKERS]), max_size=12)
troubles = st.dictionaries(st.integers(0, 60), st.sampled_from(["save", "act", "stop", "foreign", "split"]), max_size=8)


def kept(run: MoveRun) -> MoveRun:
    """What a process that was killed finds again."""
    return run_from(run.document(), tuple(progress_from(each.document()) for each in run.moves))


@dataclass
class Played:
    """A run in a cluster in thought, and the laws that hold at each of its turns."""

    plan: MovePlan
    cluster: MovingCluster
    run: MoveRun
    asked_ms: list[int] = field(default_factory=list)
    stale: ClusterSight | None = None

    def look(self) -> ClusterSight:
        """See what the next turn needs."""
        numbers = course.looked_at(self.plan, self.run, Millis(self.cluster.now_ms))
        splits = course.splits_looked_at(self.plan, self.run, Millis(self.cluster.now_ms))
        return self.cluster.sight(
            [*(self.plan.moves[each].bundle for each in numbers), *(self.plan.splits[each].bundle for each in splits)]
        )

    def turn(self, trouble: str | None) -> None:
        """Take one turn; trouble kills it before it is kept, or before its last act."""
        if trouble == "stop":
            self.run = course.stopped(self.run, STOP)
        sight, self.stale = self.stale or self.look(), None
        found = course.step(self.plan, self.run, sight)
        if trouble == "save":
            return
        self.run = kept(found.run)
        self.check_bounds()
        for act in found.acts[: -1 if trouble == "act" else None]:
            if isinstance(act, acts.SetSetting) and self.run.phase is RunPhase.PAUSING:
                assert sight.claim == self.run.claim, "nothing is set before the cluster was claimed"
            if isinstance(act, acts.Split):
                assert sight.bundles[act.bundle].owner is not None, "the bundle was seen whole just now"
                assert self.run.stop is None
                assert {key: sight.dynamic.get(key) for key in STILL} == STILL
                assert sight.claim == self.run.claim
            if isinstance(act, acts.Unload):
                assert sight.bundles[act.bundle].owner not in {None, act.target}, "the owner was looked at just now"
                assert self.run.stop is None
                assert {key: sight.dynamic.get(key) for key in STILL} == STILL
                assert sight.claim == self.run.claim
                self.asked_ms.append(self.cluster.now_ms)
            if self.cluster.perform(act) and isinstance(act, acts.Unload) and trouble is None:
                self.run = course.answered(self.run, act.number, Millis(self.cluster.now_ms))
        if self.run.phase in {RunPhase.WAITING, RunPhase.ENDED}:
            assert self.run.former is None

    def check_bounds(self) -> None:
        bounds = self.plan.bounds
        pairs = zip(self.plan.moves, self.run.moves, strict=True)
        makers = self.plan.makers
        for move, each in zip(self.plan.moves, self.run.moves, strict=True):
            maker = makers.get(move.bundle)
            assert maker is None or not each.asked_ms or self.run.splits[maker].standing in MADE
        open_ones = [(move, each) for move, each in pairs if each.standing is MoveStanding.ASKED]
        brokers = Counter(name for move, each in open_ones for name in {each.asked_of, move.target})
        namespaces = Counter(namespace_of_bundle(move.bundle) for move, _ in open_ones)
        namespaces += Counter(
            namespace_of_bundle(split.bundle)
            for split, each in zip(self.plan.splits, self.run.splits, strict=True)
            if each.standing is SplitStanding.ASKED
        )
        assert max(namespaces.values(), default=0) <= bounds.per_namespace
        assert len({range_of_bundle(move.bundle) for move, _ in open_ones}) == len(open_ones)
        asked = sorted(at for each in self.run.moves for at in each.asked_ms)
        assert all(each.asked_ms for _, each in open_ones)
        for at in asked:
            assert sum(at <= each < at + HOUR_MS for each in asked) <= bounds.per_hour
            assert bounds.quiet is None or bounds.quiet.opens_ms(Millis(at)) == at
        assert max(brokers.values(), default=0) <= bounds.per_broker


def begin(plan: MovePlan, dynamic: dict[str, str], fates: list[str]) -> Played:
    makers = plan.makers
    owners: dict[str, str | None] = {each.bundle: each.source for each in plan.steps if each.bundle not in makers}
    cluster = MovingCluster(owners, set(BROKERS), dict(dynamic), list(fates))
    return Played(plan, cluster, course.begun(plan, "mine"))


@given(plan=plans(), dynamic=settings, fates=fates, troubles=troubles)
def test_a_run_ends_with_the_settings_as_they_were_wherever_it_is_killed(
    plan: MovePlan, dynamic: dict[str, str], fates: list[str], troubles: dict[int, str]
) -> None:
    played = begin(plan, dynamic, fates)
    for number in range(TURNS):
        trouble = troubles.get(number)
        bundle = sorted(played.cluster.owners)[number % len(played.cluster.owners)] if played.cluster.owners else ""
        if trouble == "foreign" and bundle in played.cluster.owners:
            played.cluster.owners[bundle] = BROKERS[number % 3]
        if trouble == "split":
            played.cluster.owners.pop(bundle, None)
        played.turn(trouble if trouble in {"save", "act", "stop"} else None)
        if played.run.phase is RunPhase.ENDED:
            break
        played.cluster.now_ms = max(played.cluster.now_ms + 3_000, played.run.until_ms)
    assert played.run.phase is RunPhase.ENDED
    assert played.cluster.dynamic == dynamic
    assert played.cluster.claim == "", "the cluster is claimed no more"
    assert not any(each.standing in OPEN for each in played.run.moves)
    assert not any(each.standing in OPEN_SPLITS for each in played.run.splits)
    asked = Counter(act.number for act in played.cluster.splits)
    assert max(asked.values(), default=0) <= 1, "a split is asked for once"
    for move, each in zip(plan.moves, played.run.moves, strict=True):
        if each.standing is MoveStanding.DONE and not troubles:
            assert played.cluster.owners[move.bundle] == move.target
            assert each.observed_s is not None


@given(plan=plans(), dynamic=settings)
def test_without_trouble_every_bundle_is_moved_by_one_unload(plan: MovePlan, dynamic: dict[str, str]) -> None:
    played = begin(plan, dynamic, [])
    for _ in range(TURNS):
        played.turn(None)
        played.cluster.now_ms = max(played.cluster.now_ms + 500, played.run.until_ms)
        if played.run.phase is RunPhase.ENDED:
            break
    assert {each.standing for each in played.run.moves} == {MoveStanding.DONE}
    assert len(played.cluster.unloads) == len(plan.moves)
    assert {move.bundle: played.cluster.owners[move.bundle] for move in plan.moves} == {
        move.bundle: move.target for move in plan.moves
    }
    assert [act.number for act in sorted(played.cluster.splits, key=lambda act: act.number)] == [
        *range(len(plan.splits))
    ]
    assert {each.standing for each in played.run.splits} <= {SplitStanding.DONE}


ONE: Final = MovePlan(
    table="x",
    cluster="x",
    taken_ms=Millis(1),
    moves=(
        PlannedMove(
            bundle="t/n/0x00000000_0x40000000",
            source="a:80",
            target="b:80",
            throughput=None,
            prediction=MovePrediction(ready_s=None, client_seconds=None, spread=None),
        ),
    ),
    bounds=RunBounds(per_hour=1),
)


@example(plan=ONE, dynamic={}, schedule=["look a", "b", "b", "look b"])
@example(plan=ONE, dynamic={}, schedule=["look a", "b", "b", "a"])
@given(plan=plans(), dynamic=settings, schedule=st.lists(st.sampled_from(["a", "b", "look a", "look b"]), max_size=60))
def test_of_two_daemons_one_moves_at_most_and_the_settings_are_as_they_were(
    plan: MovePlan, dynamic: dict[str, str], schedule: list[str]
) -> None:
    first = begin(plan, dynamic, [])
    runs = {"a": first, "b": Played(plan, first.cluster, course.begun(plan, "theirs"))}
    for number in range(2 * TURNS):
        word, who = schedule[number].rpartition(" ")[::2] if number < len(schedule) else ("", "ab"[number % 2])
        if word == "look":
            runs[who].stale = runs[who].look()
        else:
            runs[who].turn(None)
        if all(each.run.phase is RunPhase.ENDED for each in runs.values()):
            break
        first.cluster.now_ms += 500
        waits = [each.run.until_ms for each in runs.values() if each.run.phase is not RunPhase.ENDED]
        first.cluster.now_ms = max(first.cluster.now_ms, min(waits))
    assert {each.run.phase for each in runs.values()} == {RunPhase.ENDED}
    assert first.cluster.dynamic == dynamic
    assert first.cluster.claim == ""
    assert any(each.run.stop is not None for each in runs.values()) or first.cluster.unloads


@given(plan=plans(), key=st.sampled_from(sorted(STILL)), at=st.integers(0, 12))
def test_a_setting_that_somebody_else_has_set_meanwhile_stays_theirs(plan: MovePlan, key: str, at: int) -> None:
    played = begin(plan, {}, [])
    theirs = False
    for number in range(TURNS):
        if number == at and played.run.phase is RunPhase.MOVING:
            played.cluster.dynamic[key], theirs = "true", True
        played.turn(None)
        played.cluster.now_ms = max(played.cluster.now_ms + 500, played.run.until_ms)
        if played.run.phase is RunPhase.ENDED:
            break
    assert played.cluster.dynamic == ({key: "true"} if theirs else {})
    assert played.run.stop is None or (theirs and played.run.stop.code == "settings-changed")
    assert played.run.moves != tuple(MoveProgress() for _ in plan.moves)
