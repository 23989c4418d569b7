"""Paring: the cheapest plan for a spread of whole bundles or of parts of them, where the loads of topics are known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncer.balancer.planner.leveling import EXACT
from syncer.balancer.planner.search import Search, Sketch, better
from syncer.balancer.planner.slicing import Slicing

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from syncer.balancer.planner.scene import Scene
    from syncer.balancer.planner.slicing import TopicLoads


def pared(scene: Scene, topics: TopicLoads | None, spread: float, known: Sequence[tuple[str, str]] = ()) -> Sketch:
    """Seek the cheapest plan that brings the spread to a bound, and cut bundles where less of them will do.

    Args:
        scene: Fleet, goals and tariff.
        topics: Loads of topics; where they are not known, no bundle is cut.
        spread: The bound, a fraction.
        known: Moves of whole bundles that are known to come near it.

    Raises:
        LoadDataInvalid: An isolation policy cannot be read.
    """
    whole = Search(scene).to_spread(spread, known)
    if topics is None or (not whole.targets and whole.spread <= spread + EXACT):
        return whole
    needs = _needs(scene, scene.fleet.mean + spread, (*whole.targets, *known))
    slicing = Slicing(scene, topics, needs)
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
