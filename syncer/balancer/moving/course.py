"""The course of a run of moves: what is done next, by what is recorded and what was just seen of the cluster.

    what is to be looked at ─▶ look ─▶ step ─▶ keep the run ─▶ perform its acts ─▶ again

The run is kept before its acts are performed. So one that was killed at any moment goes on by looking: the cluster is
claimed, and settings are remembered, before they are set; a split and an unload are announced before they are asked
for; and nobody is asked to unload a bundle of which the owner was not just seen.

Units: times in milliseconds since the epoch.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

from syncer.admin.stillness import STILL
from syncer.balancer.moving import splitting
from syncer.balancer.moving.acts import (
    LookUp,
    MoveAct,
    ReleaseClaim,
    SetSetting,
    TakeClaim,
    Unload,
    UnsetSetting,
)
from syncer.balancer.moving.bounds import UnderWay
from syncer.balancer.moving.holding import claim_lost, held_by_others
from syncer.balancer.moving.move_plan import MovePlan, PlannedMove
from syncer.balancer.moving.run import OPEN, MoveProgress, MoveRun, MoveStanding, RunPhase, RunStop, RunStopCode
from syncer.balancer.moving.sight import BundleSight, ClusterSight
from syncer.balancer.moving.split import SplitProgress, SplitStanding
from syncer.errors import BalancingOwned
from syncer.model import Millis
from syncer.replacing import replace

SETTLES_MS: Final = 90_000
"""An unload that was not answered may still be under way for so long: ``namespaceBundleUnloadingTimeoutMs`` is 60 s."""
ANSWER_SETTLES_MS: Final = 2_000
"""After its answer the new owner is seen everywhere by then."""
FREE_MS: Final = 180_000
"""A bundle that nobody has owned for so long after its unload is given up."""
MOST_UNLOADS: Final = 3
"""Of one move. The modular manager forgets the target at the first look-up, whoever makes it (issue 24884)."""
MOST_PAUSINGS: Final = 20
"""Settings that are not seen as they were set after so many times are put back by somebody else."""
LONG_WAIT_MS: Final = 600_000
"""Before a longer wait the cluster gets its settings back."""


@dataclass(frozen=True, slots=True)
class RunTurn:
    """A run that is to be kept, and what is performed once it is."""

    run: MoveRun
    acts: tuple[MoveAct, ...] = ()


def begun(plan: MovePlan, claim: str = "") -> MoveRun:
    """Make the run of a plan that has not begun.

    Args:
        plan: The plan.
        claim: The run's name in the cluster, which no other run has.
    """
    splits = tuple(SplitProgress() for _ in plan.splits)
    return MoveRun(moves=tuple(MoveProgress() for _ in plan.moves), splits=splits, claim=claim)


def looked_at(plan: MovePlan, run: MoveRun, now_ms: Millis) -> tuple[int, ...]:
    """Number the moves whose bundles the next step has to see.

    Args:
        plan: The plan of the run.
        run: As it is.
        now_ms: The time.
    """
    if run.phase is not RunPhase.MOVING:
        return ()
    return (*_asked(run), *(_beginning(plan, run, now_ms) if run.stop is None else ()))


def splits_looked_at(plan: MovePlan, run: MoveRun, now_ms: Millis) -> tuple[int, ...]:
    """Number the splits whose bundles the next step has to see.

    Args:
        plan: The plan of the run.
        run: As it is.
        now_ms: The time.
    """
    if run.phase is not RunPhase.MOVING:
        return ()
    return splitting.looked_at(plan, run, now_ms, _under_way(plan, run))


def foreseen(plan: MovePlan, sight: ClusterSight) -> tuple[MoveStanding | SplitStanding | None, ...]:
    """Say of each move, then of each split, what would keep it from being asked for now.

    ``None``: nothing, or it was not seen, or it waits for a split that makes its bundle.

    Args:
        plan: A plan that was not begun.
        sight: The cluster, with all bundles of the plan.
    """
    makers, found = plan.makers, list[MoveStanding | SplitStanding | None]()
    for each in plan.steps:
        seen = sight.bundles.get(each.bundle)
        if seen is None or each.bundle in makers:
            found.append(None)
        elif isinstance(each, PlannedMove):
            found.append(_unfit(each, each.source, seen, sight.brokers))
        else:
            found.append(splitting.unfit(each, seen, sight))
    return tuple(found)


def step(plan: MovePlan, run: MoveRun, sight: ClusterSight) -> RunTurn:
    """Decide what is done next.

    Args:
        plan: The plan of the run.
        run: As it was kept last.
        sight: The cluster, with the bundles of :func:`looked_at`.
    """
    match run.phase:
        case RunPhase.WAITING:
            return _wait(plan, run, sight)
        case RunPhase.PAUSING:
            return _pause(run, sight)
        case RunPhase.MOVING:
            return _move(plan, run, sight)
        case RunPhase.RESTORING:
            return _restore(run, sight)
        case RunPhase.ENDED:
            return RunTurn(run)


def stopped(run: MoveRun, stop: RunStop) -> MoveRun:
    """Have a run begin nothing more, put the settings back and end; the first reason stays."""
    return run if run.stop is not None or run.phase is RunPhase.ENDED else replace(run, stop=stop)


def answered(run: MoveRun, number: int, now_ms: Millis) -> MoveRun:
    """Record that the unload of a move was answered with success."""
    return _with(run, number, replace(run.moves[number], answered_ms=now_ms))


def refused(run: MoveRun, number: int, words: str, now_ms: Millis) -> MoveRun:
    """Record that the cluster refused the unload of a move, and will again.

    Args:
        run: As it is.
        number: The move's.
        words: The cluster's own.
        now_ms: The time.
    """
    told = replace(run.moves[number], standing=MoveStanding.REFUSED, ended_ms=now_ms, words=words)
    return _with(run, number, told)


def _wait(plan: MovePlan, run: MoveRun, sight: ClusterSight) -> RunTurn:
    if run.stop is not None or not _anything_open(run):
        return _let_go(_ended(run, sight.at_ms), run, sight)
    opens = _opens_ms(plan, run, sight.at_ms)
    if opens > sight.at_ms:
        return RunTurn(replace(run, until_ms=opens))
    held = held_by_others(sight, run.claim)
    if held is not None:
        return _let_go(_ended(stopped(run, held), sight.at_ms), stopped(run, held), sight)
    if sight.claim == "" != run.claim:
        return RunTurn(run, (TakeClaim(run.claim),))
    former = {key: sight.dynamic.get(key) for key in STILL}
    return RunTurn(replace(run, phase=RunPhase.PAUSING, former=former, until_ms=Millis(0), pausings=0))


def _pause(run: MoveRun, sight: ClusterSight) -> RunTurn:
    former = run.former or {}
    if claim_lost(sight, run.claim):
        run = stopped(run, _CLAIMED)
    if any(sight.dynamic.get(key) not in {STILL[key], former.get(key)} for key in STILL):
        run = stopped(run, _SETTINGS)
    if run.stop is not None:
        return RunTurn(replace(run, phase=RunPhase.RESTORING))
    loose = tuple(SetSetting(key, value) for key, value in STILL.items() if sight.dynamic.get(key) != value)
    if not loose:
        return RunTurn(replace(run, phase=RunPhase.MOVING))
    if run.pausings >= MOST_PAUSINGS:
        return RunTurn(replace(stopped(run, _SETTINGS), phase=RunPhase.RESTORING))
    return RunTurn(replace(run, pausings=run.pausings + 1), loose)


def _move(plan: MovePlan, run: MoveRun, sight: ClusterSight) -> RunTurn:
    if claim_lost(sight, run.claim):
        run = stopped(run, _CLAIMED)
    if any(sight.dynamic.get(key) != value for key, value in STILL.items()):
        run = stopped(run, _SETTINGS)
    if run.stop is not None:
        return RunTurn(_left(plan, run, sight))
    run, splits = splitting.turned(plan, run, sight, _under_way(plan, run))
    acts: list[MoveAct] = [*splits]
    run = _without_bundles(plan, run, sight.at_ms)
    for number in _asked(run):
        run, act = _followed(plan, run, number, sight)
        acts += act
    for number in _beginning(plan, run, sight.at_ms):
        seen = sight.bundles.get(plan.moves[number].bundle)
        if seen is not None:
            run, act = _begun(plan, run, number, seen, sight)
            acts += act
    if acts or _asked(run) or splitting.asked(run):
        return RunTurn(run, tuple(acts))
    opens = _opens_ms(plan, run, sight.at_ms)
    if not _anything_open(run) or opens > sight.at_ms + LONG_WAIT_MS:
        return RunTurn(replace(run, phase=RunPhase.RESTORING))
    return RunTurn(replace(run, until_ms=opens if opens > sight.at_ms else Millis(0)))


def _restore(run: MoveRun, sight: ClusterSight) -> RunTurn:
    """Put back what is still as the run has set it; what somebody has set since is theirs."""
    acts: list[MoveAct] = []
    for key, former in (run.former or {}).items():
        if sight.dynamic.get(key) == STILL[key] != former:
            acts.append(UnsetSetting(key) if former is None else SetSetting(key, former))
    if acts:
        return RunTurn(run, tuple(acts))
    free = replace(run, former=None)
    if run.stop is not None or not _anything_open(run):
        return _let_go(_ended(free, sight.at_ms), run, sight)
    return _let_go(replace(free, phase=RunPhase.WAITING), run, sight)


def _let_go(then: MoveRun, run: MoveRun, sight: ClusterSight) -> RunTurn:
    """Go on to what comes then once the cluster is claimed no more by the run."""
    if run.claim and sight.claim == run.claim:
        return RunTurn(run, (ReleaseClaim(),))
    return RunTurn(then)


_CLAIMED: Final = RunStop(
    code=BalancingOwned.code, words="the claim on the cluster is lost: another run of moves has claimed it since"
)
_SETTINGS: Final = RunStop(
    code=RunStopCode.SETTINGS,
    words="somebody else has set one of the settings that keep Pulsar from moving bundles itself",
)


def _begun(
    plan: MovePlan, run: MoveRun, number: int, seen: BundleSight, sight: ClusterSight
) -> tuple[MoveRun, tuple[MoveAct, ...]]:
    """Begin a move, or ask for it again, if all is as it is expected; else it ends with what is not."""
    move, source = plan.moves[number], _source(plan, run, number)
    if run.moves[number].asked_ms and seen.owner == move.target:
        return _end(run, number, MoveStanding.DONE, seen.owner, sight.at_ms), ()
    found = _unfit(move, source, seen, sight.brokers)
    if found is None:
        return _unload(plan, run, number, source, sight.at_ms)
    return _end(run, number, found, seen.owner, sight.at_ms), ()


def _source(plan: MovePlan, run: MoveRun, number: int) -> str:
    """The broker that a bundle leaves, or is expected to: where an unload went astray, the one that has got it."""
    progress = run.moves[number]
    seen = progress.asked_of if progress.standing is MoveStanding.ASKED else progress.owner
    return seen or plan.moves[number].source


def _unfit(move: PlannedMove, source: str, seen: BundleSight, brokers: AbstractSet[str]) -> MoveStanding | None:
    found: MoveStanding | None = None
    if not seen.exists:
        found = MoveStanding.GONE
    elif seen.owner is None:
        found = MoveStanding.FREE
    elif seen.owner == move.target:
        found = MoveStanding.ALREADY
    elif seen.owner != source:
        found = MoveStanding.FOREIGN
    elif move.target not in brokers:
        found = MoveStanding.NO_TARGET
    elif not move.fits(seen.throughput):
        found = MoveStanding.CHANGED
    return found


def _followed(plan: MovePlan, run: MoveRun, number: int, sight: ClusterSight) -> tuple[MoveRun, tuple[MoveAct, ...]]:
    """Follow a move that was asked for to its end; ask again where the target was missed."""
    move, progress, now = plan.moves[number], run.moves[number], sight.at_ms
    seen = sight.bundles.get(move.bundle)
    if seen is None:
        return run, ()
    if not seen.exists:
        return _end(run, number, MoveStanding.GONE, None, now), ()
    if seen.owner == move.target:
        return _end(run, number, MoveStanding.DONE, seen.owner, now), ()
    since_ms = now - progress.asked_ms[-1]
    if seen.owner is None:
        if since_ms >= FREE_MS:
            return _end(run, number, MoveStanding.MISSED, None, now), ()
        return _with(run, number, replace(progress, owner=None)), (LookUp(move.bundle),)
    if not _settled(progress, seen.owner, now):
        return run, ()
    if len(progress.asked_ms) >= MOST_UNLOADS:
        return _end(run, number, MoveStanding.MISSED, seen.owner, now), ()
    return _with(run, number, replace(progress, standing=MoveStanding.AGAIN, owner=seen.owner)), ()


def _settled(progress: MoveProgress, owner: str, now_ms: Millis) -> bool:
    """Whether an unload that was asked for is surely over, though a broker other than the target owns the bundle."""
    if progress.answered_ms is not None:
        return now_ms - progress.answered_ms >= ANSWER_SETTLES_MS
    return owner != progress.owner or now_ms - progress.asked_ms[-1] >= SETTLES_MS


def _unload(
    plan: MovePlan, run: MoveRun, number: int, owner: str, now_ms: Millis
) -> tuple[MoveRun, tuple[MoveAct, ...]]:
    move, progress = plan.moves[number], run.moves[number]
    asked = replace(
        progress,
        standing=MoveStanding.ASKED,
        asked_ms=(*progress.asked_ms, now_ms),
        asked_of=owner,
        answered_ms=None,
        owner=owner,
    )
    return _with(run, number, asked), (Unload(number, move.bundle, move.target),)


def _without_bundles(plan: MovePlan, run: MoveRun, now_ms: Millis) -> MoveRun:
    """End the moves whose bundle no split will make any more."""
    makers = plan.makers
    for number in _numbers(run, {MoveStanding.WAITING}):
        if splitting.never_made(run, makers.get(plan.moves[number].bundle)):
            run = _end(run, number, MoveStanding.NOT_MADE, None, now_ms)
    return run


def _left(plan: MovePlan, run: MoveRun, sight: ClusterSight) -> MoveRun:
    """Leave a run that was stopped: what was asked for is seen once more, and is not waited for."""
    run = splitting.left(plan, run, sight)
    if splitting.asked(run):
        return run
    for number in _asked(run):
        move = plan.moves[number]
        seen = sight.bundles.get(move.bundle)
        if seen is None:
            return run
        there = seen.exists and seen.owner == move.target
        run = _end(run, number, MoveStanding.DONE if there else MoveStanding.LEFT, seen.owner, sight.at_ms)
    return replace(run, phase=RunPhase.RESTORING)


def _ended(run: MoveRun, now_ms: Millis) -> MoveRun:
    for number, each in enumerate(run.moves):
        if each.standing in OPEN:
            left = MoveStanding.MISSED if each.asked_ms else MoveStanding.NOT_BEGUN
            run = _end(run, number, left, each.owner, now_ms)
    run = splitting.ended(run, now_ms)
    return replace(run, phase=RunPhase.ENDED, until_ms=Millis(0))


def _beginning(plan: MovePlan, run: MoveRun, now_ms: Millis) -> tuple[int, ...]:
    """Number the moves that may begin now, in the order of the plan, each beside those before it."""
    asked, found, makers = _asked_ms(run), [], plan.makers
    under_way = [*_under_way(plan, run), *splitting.splits_under_way(plan, run)]
    for number, each in enumerate(run.moves):
        if each.standing not in {MoveStanding.WAITING, MoveStanding.AGAIN}:
            continue
        if not splitting.halves_there(run, makers.get(plan.moves[number].bundle), now_ms):
            continue
        if plan.bounds.opens_ms(asked, now_ms) > now_ms:
            break
        move, pair = plan.moves[number], (_source(plan, run, number), plan.moves[number].target)
        if plan.bounds.leaves_room(move.bundle, pair, under_way):
            under_way.append((move.bundle, pair))
            asked.append(now_ms)
            found.append(number)
    return tuple(found)


def _under_way(plan: MovePlan, run: MoveRun) -> list[UnderWay]:
    return [
        (plan.moves[number].bundle, (_source(plan, run, number), plan.moves[number].target)) for number in _asked(run)
    ]


def _opens_ms(plan: MovePlan, run: MoveRun, now_ms: Millis) -> Millis:
    return plan.bounds.opens_ms(_asked_ms(run), now_ms)


def _asked_ms(run: MoveRun) -> list[Millis]:
    return [at for each in run.moves for at in each.asked_ms]


def _asked(run: MoveRun) -> tuple[int, ...]:
    return _numbers(run, {MoveStanding.ASKED})


def _anything_open(run: MoveRun) -> bool:
    return bool(_numbers(run, OPEN)) or splitting.any_open(run)


def _numbers(run: MoveRun, standings: Iterable[MoveStanding]) -> tuple[int, ...]:
    return tuple(number for number, each in enumerate(run.moves) if each.standing in standings)


def _end(run: MoveRun, number: int, standing: MoveStanding, owner: str | None, now_ms: Millis) -> MoveRun:
    return _with(run, number, replace(run.moves[number], standing=standing, owner=owner, ended_ms=now_ms))


def _with(run: MoveRun, number: int, progress: MoveProgress) -> MoveRun:
    return replace(run, moves=(*run.moves[:number], progress, *run.moves[number + 1 :]))
