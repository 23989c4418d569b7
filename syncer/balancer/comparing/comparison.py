"""Comparison: strategies played over the same load, each beside our cheapest plan that balances as well."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from syncer.balancer.comparing.own import OwnLeader
from syncer.balancer.goals.hard import MoveBounds
from syncer.balancer.rounds.playing import play

if TYPE_CHECKING:
    from syncer.balancer.comparing.contending import Contender
    from syncer.balancer.cost.price import MoveKind
    from syncer.balancer.cost.tariff import Tariff
    from syncer.balancer.fleet import Fleet
    from syncer.balancer.placement.constraints import Constraints
    from syncer.balancer.placement.decision import Draw
    from syncer.balancer.planner.slicing import TopicLoads
    from syncer.balancer.rounds.outcome import PlayedRounds
    from syncer.balancer.settings import BalancerSettings
    from syncer.balancer.versions import BalancerRules


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedLoad:
    """The load that all are played over: the cluster at the beginning of each round, the last staying.

    ``settings`` and ``rules`` are those of the cluster as it is. ``topics`` are the loads of its topics, by which our
    plans cut bundles; under load that changes from round to round they cut none, as topics are known of one time alone.
    """

    frames: Sequence[Fleet]
    constraints: Constraints
    settings: BalancerSettings
    rules: BalancerRules
    topics: TopicLoads | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedRow:
    """A contender's rounds, and ours with its final spread or better; None where it did nothing."""

    contender: Contender
    played: PlayedRounds
    ours: PlayedRounds | None = None


def compare(
    load: ComparedLoad,
    contenders: Iterable[Contender],
    tariffs: Callable[[MoveKind], Tariff],
    draws: Callable[[], Draw],
    rounds: int,
) -> list[ComparedRow]:
    """Play every contender, and a plan of ours beside each that acts.

    Args:
        load: What all are played over.
        contenders: Strategies with their settings.
        tariffs: What moves of a kind cost; our plan's are of the same kind as those that it stands beside.
        draws: Makes dice that draw the same for each.
        rounds: How many rounds are played at most.

    Raises:
        SettingInvalid: A contender's setting is not of its type, or its strategy is not known here.
        LoadDataInvalid: An isolation policy cannot be read, or traffic cannot be true.
    """
    ours: dict[tuple[float, bool, MoveKind], PlayedRounds] = {}
    rows = []
    topics = load.topics if len(load.frames) == 1 else None
    for contender in contenders:
        leader = contender.leader(load.constraints, load.rules, draws())
        tariff = tariffs(contender.kind)
        played = play(load.frames, leader, tariff.price, rounds)
        beside = None
        if played.unloads:
            key = (played.final_spread, contender.extensible, contender.kind)
            if key not in ours:
                bounds = MoveBounds(
                    constraints=load.constraints, settings=load.settings, extensible=contender.extensible
                )
                own = OwnLeader(bounds, tariff, played.final_spread, played.net_moves, topics)
                ours[key] = play(load.frames, own, tariff.price, rounds)
            beside = ours[key]
        rows.append(ComparedRow(contender=contender, played=played, ours=beside))
    return rows
