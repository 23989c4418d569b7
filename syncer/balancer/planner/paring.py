"""Paring: a plan of whole bundles made cheaper by cuts, where the loads of topics are known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncer.balancer.planner.leveling import EXACT
from syncer.balancer.planner.scene import Scene
from syncer.balancer.planner.search import Search, better
from syncer.balancer.planner.slicing import Slicing

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from syncer.balancer.planner.cutting import BundleCut
    from syncer.balancer.planner.search import Sketch
    from syncer.balancer.planner.slicing import TopicLoads


def pared(
    scene: Scene, topics: TopicLoads, spread: float, whole: Sketch, known: Sequence[tuple[str, str]] = ()
) -> Sketch:
    """Seek a plan that brings the spread to a bound by parts of bundles; the one of whole ones, where none is better.

    Args:
        scene: Fleet, goals and tariff.
        topics: Loads of topics.
        spread: The bound, a fraction.
        whole: The plan of whole bundles.
        known: Moves of whole bundles that are known to come near it.

    Raises:
        LoadDataInvalid: An isolation policy cannot be read.
    """
    if not whole.targets and whole.spread <= spread + EXACT:
        return whole
    slicing = Slicing(scene, topics, _needs(scene, scene.fleet.mean + spread, (*whole.targets, *known)))
    if slicing.empty:
        return whole
    search, best = Search(slicing.scene), whole
    found = [
        search.to_spread(spread, slicing.of_whole(known)),
        *search.lightened(slicing.of_whole(whole.targets)),
    ]
    for sketch in found:
        told = slicing.told(sketch)
        if better(told, best, spread):
            best = told
    return best


def cut_scene(scene: Scene, cuts: Sequence[BundleCut]) -> Scene:
    """Make the scene in which cuts are made, and nothing has moved.

    Args:
        scene: The one with whole bundles.
        cuts: Those of a plan of it.
    """
    if not cuts:
        return scene
    fleet = scene.fleet.copy()
    for cut in cuts:
        fleet.split(cut.bundle, cut.parts)
    return Scene(fleet, scene.bounds, scene.tariff, scene.weights)


def _needs(scene: Scene, level: float, moves: Iterable[tuple[str, str]]) -> dict[str, float]:
    """Reckon by how much brokers must or may fall: those above a level to it, and all by what leaves them in plans."""
    fleet = scene.fleet
    leaving: dict[str, float] = {}
    for bundle in dict.fromkeys(bundle for bundle, _ in moves if bundle in fleet.bundles):
        source = fleet.owners[bundle]
        leaving[source] = leaving.get(source, 0.0) + fleet.pull(source, bundle)
    for broker, usage in fleet.usages.items():
        if usage > level + EXACT:
            leaving[broker] = max(leaving.get(broker, 0.0), usage - level)
    return leaving
