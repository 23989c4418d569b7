"""Playing: rounds of a leader one after another, over load that stays or changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from typing import TYPE_CHECKING, Final, Protocol

from syncer.balancer.rounds.outcome import PlayedRound, PlayedRounds, RoundMove
from syncer.balancer.rounds.reporting import MINUTE_MS
from syncer.errors import SettingInvalid

if TYPE_CHECKING:
    from syncer.balancer.cost.price import Price
    from syncer.balancer.fleet import Fleet, FleetBundle
    from syncer.balancer.settings import BalancerSettings

MOST_HITS: Final = 12
"""More rounds than any strategy counts, by default, before it acts."""

Pricing = Callable[["FleetBundle"], "Price"]
"""Says what moving a bundle costs its clients."""


class RoundLeader(Protocol):
    """A leader of either manager, with its memories."""

    settings: BalancerSettings

    def round(self, fleet: Fleet, now_ms: int) -> tuple[list[tuple[str, str]], int]:
        """Choose bundles and their new brokers, and count the choices that came to nothing.

        It moves no bundle of the fleet; it may cut some, which then stay with their owners until the moves are made.
        """


def play(frames: Sequence[Fleet], leader: RoundLeader, pricing: Pricing, rounds: int) -> PlayedRounds:
    """Play rounds over the load of a cluster; the fleets that are given are not moved.

    Under load that stays, no more rounds are played once it has settled.

    Args:
        frames: The cluster at the beginning of each round; the last stays. From the second on, a bundle's owner is
            the one that the rounds gave it, where that broker is still there.
        leader: With empty memories.
        pricing: What moves cost.
        rounds: How many are played at most.

    Raises:
        SettingInvalid: Rounds follow each other without time between.
        LoadDataInvalid: An isolation policy cannot be read, or traffic cannot be true.
    """
    if leader.settings.shedding.interval_min < 1:
        raise SettingInvalid(
            f"loadBalancerSheddingIntervalMinutes is {leader.settings.shedding.interval_min}, and must be at least 1"
        )
    fleet = frames[0].copy()
    before = fleet.spread
    own = leader.settings.shedding
    interval_ms = own.interval_min * MINUTE_MS
    enough = max(MOST_HITS, own.grace_min // own.interval_min + 2)
    played: list[PlayedRound] = []
    quiet = 0
    for number in count(1):
        if number > rounds or (quiet >= enough and number > len(frames)):
            break
        if 1 < number <= len(frames):
            fleet = _carried(frames[number - 1], fleet)
        bundles = len(fleet.bundles)
        chosen, futile = leader.round(fleet, number * interval_ms)
        cuts = len(fleet.bundles) - bundles
        moves = tuple(_moved(fleet, bundle, target, pricing) for bundle, target in chosen)
        quiet = 0 if moves else quiet + 1
        played.append(
            PlayedRound(
                number=number, moves=moves, futile=futile, greatest=fleet.greatest, spread=fleet.spread, cuts=cuts
            )
        )
    return PlayedRounds(spread_before=before, quiet=enough, rounds=played)


def _moved(fleet: Fleet, bundle: str, target: str, pricing: Pricing) -> RoundMove:
    source = fleet.owners[bundle]
    fleet.move(bundle, target)
    return RoundMove(bundle, source, target, pricing(fleet.bundles[bundle]).client_seconds)


def _carried(frame: Fleet, before: Fleet) -> Fleet:
    fleet = frame.copy()
    for bundle, owner in before.owners.items():
        if bundle in fleet.bundles and owner in fleet.brokers and fleet.owners[bundle] != owner:
            fleet.move(bundle, owner)
    return fleet
