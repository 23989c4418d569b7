"""The course of a run's splits: which is asked for next, what became of it, and which moves its halves may make.

A split is announced before it is asked for, and asked for once: whether the namespace is cut there is seen by its
boundaries, before and after. It cuts no client off, so that it does not count among the unloads of an hour; otherwise
the bounds of moves hold for it, at its own broker.

Source: ``NamespacesBase.internalSplitNamespaceBundleAsync``, Pulsar 4.0.8, which does not look at
``loadBalancerNamespaceMaximumBundles``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from syncer.balancer.moving.acts import Split
from syncer.balancer.moving.move_plan import load_fits
from syncer.balancer.moving.split import MADE, OPEN_SPLITS, SplitProgress, SplitStanding
from syncer.balancer.ranges import namespace_of_bundle, range_of_bundle
from syncer.model import Millis
from syncer.replacing import replace

if TYPE_CHECKING:
    from collections.abc import Iterable

    from syncer.balancer.moving.bounds import UnderWay
    from syncer.balancer.moving.move_plan import MovePlan
    from syncer.balancer.moving.run import MoveRun
    from syncer.balancer.moving.sight import BundleSight, ClusterSight
    from syncer.balancer.moving.split import PlannedSplit

SPLIT_SETTLES_MS: Final = 90_000
"""A split that was not answered may still be under way for so long; the broker itself tries for 60 s."""
HALVES_SETTLE_MS: Final = 2_000
"""After the boundaries were seen, every broker knows who owns the halves by then."""


def looked_at(plan: MovePlan, run: MoveRun, now_ms: Millis, under_way: Iterable[UnderWay]) -> tuple[int, ...]:
    """Number the splits whose bundles the next step has to see.

    Args:
        plan: The plan of the run.
        run: As it is.
        now_ms: The time.
        under_way: Moves that are.
    """
    return (*asked(run), *(beginning(plan, run, now_ms, under_way) if run.stop is None else ()))


def beginning(plan: MovePlan, run: MoveRun, now_ms: Millis, under_way: Iterable[UnderWay]) -> tuple[int, ...]:
    """Number the splits that may begin now, in the order of the plan, each beside those before it.

    Args:
        plan: The plan of the run.
        run: As it is.
        now_ms: The time.
        under_way: Moves that are.
    """
    if plan.bounds.opens_ms((), now_ms) > now_ms:
        return ()
    beside, found, makers = [*under_way, *splits_under_way(plan, run)], [], plan.makers
    for number, each in enumerate(run.splits):
        split, pair = plan.splits[number], _pair(plan.splits[number])
        if each.standing is not SplitStanding.WAITING or not halves_there(run, makers.get(split.bundle), now_ms):
            continue
        if plan.bounds.leaves_room(split.bundle, set(pair), beside):
            beside.append((split.bundle, pair))
            found.append(number)
    return tuple(found)


def halves_there(run: MoveRun, maker: int | None, now_ms: Millis) -> bool:
    """Say whether a bundle may be looked for: no split makes it, or the one that does is over, and settled.

    Args:
        run: As it is.
        maker: Number of the split that makes it; ``None``: none does.
        now_ms: The time.
    """
    if maker is None:
        return True
    made = run.splits[maker]
    return made.standing in MADE and made.ended_ms is not None and now_ms - made.ended_ms >= HALVES_SETTLE_MS


def never_made(run: MoveRun, maker: int | None) -> bool:
    """Say whether a bundle will not come about, as the split that was to make it has failed."""
    return maker is not None and run.splits[maker].standing not in {*MADE, *OPEN_SPLITS}


def turned(plan: MovePlan, run: MoveRun, sight: ClusterSight, moves: Iterable[UnderWay]) -> tuple[MoveRun, list[Split]]:
    """Follow the splits that were asked for, and begin those that may.

    Args:
        plan: The plan of the run.
        run: As it is.
        sight: The cluster, with the bundles of :func:`looked_at`.
        moves: Those that are under way.
    """
    begun = beginning(plan, run, sight.at_ms, moves)
    for number in asked(run):
        run = _followed(plan, run, number, sight)
    acts, more = [], dict.fromkeys((namespace_of_bundle(split.bundle) for split in plan.splits), 0)
    for number in asked(run):
        more[namespace_of_bundle(plan.splits[number].bundle)] += 1
    for number in begun:
        split = plan.splits[number]
        namespace, seen = namespace_of_bundle(split.bundle), sight.bundles.get(split.bundle)
        if seen is None:
            continue
        found = unfit(split, seen, sight, more[namespace])
        if found is None:
            more[namespace] += 1
            run = _with(run, number, SplitProgress(standing=SplitStanding.ASKED, asked_ms=sight.at_ms))
            acts.append(Split(number, split.bundle, split.position))
        else:
            run = _end(run, number, found, sight.at_ms)
    makers = plan.makers
    for number, split in enumerate(plan.splits):
        if run.splits[number].standing is SplitStanding.WAITING and never_made(run, makers.get(split.bundle)):
            run = _end(run, number, SplitStanding.NOT_MADE, sight.at_ms)
    return run, acts


def unfit(split: PlannedSplit, seen: BundleSight, sight: ClusterSight, under_way: int = 0) -> SplitStanding | None:
    """Say what keeps a split from being asked for; ``None``: nothing does.

    Args:
        split: The split.
        seen: Its bundle.
        sight: The cluster.
        under_way: Splits of its namespace whose halves do not count yet.
    """
    boundaries = sight.boundaries[namespace_of_bundle(split.bundle)]
    found: SplitStanding | None = None
    if _is_cut(split, boundaries):
        found = SplitStanding.ALREADY
    elif not seen.exists:
        found = SplitStanding.OTHERWISE
    elif seen.owner is None:
        found = SplitStanding.FREE
    elif seen.owner != split.source:
        found = SplitStanding.FOREIGN
    elif not load_fits(split.throughput, seen.throughput):
        found = SplitStanding.CHANGED
    elif sight.most_bundles is not None and len(boundaries) + under_way > sight.most_bundles:
        found = SplitStanding.FULL
    return found


def left(plan: MovePlan, run: MoveRun, sight: ClusterSight) -> MoveRun:
    """Leave the splits of a run that was stopped: what was asked for is seen once more, and is not waited for."""
    for number in asked(run):
        split = plan.splits[number]
        boundaries = sight.boundaries.get(namespace_of_bundle(split.bundle))
        if boundaries is not None:
            done = _is_cut(split, boundaries)
            run = _end(run, number, SplitStanding.DONE if done else SplitStanding.LEFT, sight.at_ms)
    return run


def ended(run: MoveRun, now_ms: Millis) -> MoveRun:
    """End what has not begun."""
    for number, each in enumerate(run.splits):
        if each.standing is SplitStanding.WAITING:
            run = _end(run, number, SplitStanding.NOT_BEGUN, now_ms)
    return run


def refused(run: MoveRun, number: int, words: str, now_ms: Millis) -> MoveRun:
    """Record that the cluster refused a split.

    Args:
        run: As it is.
        number: The split's.
        words: The cluster's own.
        now_ms: The time.
    """
    told = replace(run.splits[number], standing=SplitStanding.REFUSED, ended_ms=now_ms, words=words)
    return _with(run, number, told)


def asked(run: MoveRun) -> tuple[int, ...]:
    """Number the splits that were asked for and have not ended."""
    return tuple(number for number, each in enumerate(run.splits) if each.standing is SplitStanding.ASKED)


def any_open(run: MoveRun) -> bool:
    """Say whether a split has not ended."""
    return any(each.standing in OPEN_SPLITS for each in run.splits)


def splits_under_way(plan: MovePlan, run: MoveRun) -> list[UnderWay]:
    """Each split that is under way as a move that stays at its broker, for the bounds."""
    return [(plan.splits[number].bundle, _pair(plan.splits[number])) for number in asked(run)]


def _pair(split: PlannedSplit) -> tuple[str, str]:
    return split.source, split.source


def _followed(plan: MovePlan, run: MoveRun, number: int, sight: ClusterSight) -> MoveRun:
    split, progress = plan.splits[number], run.splits[number]
    boundaries = sight.boundaries.get(namespace_of_bundle(split.bundle))
    if boundaries is None:
        return run
    if _is_cut(split, boundaries):
        return _end(run, number, SplitStanding.DONE, sight.at_ms)
    if not _is_whole(split, boundaries):
        return _end(run, number, SplitStanding.OTHERWISE, sight.at_ms)
    if sight.at_ms - (progress.asked_ms or 0) >= SPLIT_SETTLES_MS:
        return _end(run, number, SplitStanding.MISSED, sight.at_ms)
    return run


def _is_cut(split: PlannedSplit, boundaries: tuple[int, ...]) -> bool:
    """Whether the bundle is split as planned; a half may have been split further."""
    low, high = range_of_bundle(split.bundle)
    return {low, split.position, high} <= set(boundaries)


def _is_whole(split: PlannedSplit, boundaries: tuple[int, ...]) -> bool:
    low, high = range_of_bundle(split.bundle)
    return {low, high} <= set(boundaries) and not any(low < each < high for each in boundaries)


def _end(run: MoveRun, number: int, standing: SplitStanding, now_ms: Millis) -> MoveRun:
    return _with(run, number, replace(run.splits[number], standing=standing, ended_ms=now_ms))


def _with(run: MoveRun, number: int, progress: SplitProgress) -> MoveRun:
    return replace(run, splits=(*run.splits[:number], progress, *run.splits[number + 1 :]))
