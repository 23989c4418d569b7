"""Dealing: bundles that must leave their brokers, given out one by one to the brokers that bear them best.

The largest come first and go to the emptiest broker that may have them, so that few are left without any room.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from syncer.balancer.goals.veto import Veto, VetoReason

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from syncer.balancer.planner.scene import Scene

_TARGETS_WEIGHED: Final = 3


@dataclass(slots=True)
class Dealt:
    """Targets of bundles in the order in which they were given out, and those that nobody may or can have."""

    targets: list[tuple[str, str]] = field(default_factory=list)
    left: list[Veto] = field(default_factory=list)


def deal(scene: Scene, bundles: Iterable[str], targets: AbstractSet[str]) -> Dealt:
    """Give out bundles, moving the scene's fleet.

    Args:
        scene: Fleet and goals.
        bundles: Those that must leave.
        targets: Brokers that may get them, as far as the hard goals let them; none that has them now.

    Raises:
        LoadDataInvalid: An isolation policy cannot be read.
    """
    fleet, dealt = scene.fleet, Dealt()
    order = sorted((fleet.usages[broker], broker) for broker in targets)
    largest = sorted(bundles, key=lambda bundle: (-fleet.pull(fleet.owners[bundle], bundle), bundle))
    for bundle in largest:
        fitting: list[tuple[float, str]] = []
        first: Veto | None = None
        for _, broker in order:
            veto = scene.forbids(bundle, broker)
            first = first or veto
            if veto is None:
                fitting.append((scene.loss(bundle, broker), broker))
                if len(fitting) == _TARGETS_WEIGHED:
                    break
        if not fitting:
            dealt.left.append(first or Veto(reason=VetoReason.ISOLATION, bundle=bundle, detail="no-other-broker"))
            continue
        target = min(fitting)[1]
        del order[bisect_left(order, (fleet.usages[target], target))]
        fleet.move(bundle, target)
        insort(order, (fleet.usages[target], target))
        dealt.targets.append((bundle, target))
    return dealt


def leaving(scene: Scene, broker: str) -> list[str]:
    """Name the bundles that leave a broker before it stops: all but its own, which end with it.

    Args:
        scene: Fleet and goals.
        broker: The broker.
    """
    return [bundle for bundle in sorted(scene.fleet.bundles_of(broker)) if not scene.own_of_a_broker(bundle)]
