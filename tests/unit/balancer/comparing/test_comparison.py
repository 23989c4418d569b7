"""A comparison: each contender's rounds, beside our plan that is as balanced where it acts."""

from __future__ import annotations

import random

from syncer.balancer.comparing.comparison import ComparedLoad, ComparedRow, compare
from syncer.balancer.comparing.contending import Contender, contenders
from syncer.balancer.cost.price import MoveKind
from syncer.balancer.cost.tariff import Tariff
from syncer.balancer.rounds.synthetic import FleetShape
from syncer.balancer.settings import balancer_settings
from syncer.balancer.versions import BalancerRules
from tests.support.balancing import SHEDDERS, conf_of, drawn_cluster


def rows(seed: int, shape: FleetShape) -> list[ComparedRow]:
    cluster = drawn_cluster(seed, shape)
    load = ComparedLoad(
        frames=[cluster.fleet],
        constraints=cluster.constraints,
        settings=balancer_settings({}),
        rules=BalancerRules(),
    )
    listed = [Contender(properties=conf_of(shedder)) for shedder in SHEDDERS]
    return compare(load, listed, lambda kind: Tariff(kind=kind), lambda: random.Random(9).choice, 120)


def test_our_plan_is_as_balanced_as_what_it_stands_beside() -> None:
    found = rows(3, FleetShape.HOT_BROKERS)
    assert [row.contender.strategy for row in found] == list(SHEDDERS)
    acting = [row for row in found if row.played.unloads]
    assert len(acting) >= 4
    for row in acting:
        assert row.ours is not None
        assert row.ours.final_spread <= row.played.final_spread + 1e-9
        assert row.ours.unloads == len(row.ours.rounds[0].moves)


def test_no_plan_of_ours_is_dearer_than_what_it_stands_beside() -> None:
    found = [row for seed in range(6) for row in rows(seed, FleetShape.SCATTERED) if row.ours is not None]
    assert len(found) > 6
    for row in found:
        assert row.ours is not None
        assert (row.ours.client_seconds.value or 0.0) <= (row.played.client_seconds.value or 0.0) + 1e-9


def test_beside_what_does_nothing_there_is_no_plan() -> None:
    assert all(row.ours is None and not row.played.unloads for row in rows(3, FleetShape.EVEN))


def test_the_same_dice_give_the_same_comparison() -> None:
    assert rows(4, FleetShape.NEW_BROKER) == rows(4, FleetShape.NEW_BROKER)


def test_no_contender_makes_no_rows() -> None:
    cluster = drawn_cluster(1)
    load = ComparedLoad(
        frames=[cluster.fleet], constraints=cluster.constraints, settings=balancer_settings({}), rules=BalancerRules()
    )
    assert compare(load, [], lambda kind: Tariff(kind=kind), lambda: random.Random(1).choice, 5) == []
    assert (
        len(
            compare(
                load,
                list(contenders(balancer_settings({})))[:1],
                lambda kind: Tariff(kind=kind),
                lambda: random.Random(1).choice,
                5,
            )
        )
        == 1
    )


def test_both_sides_of_a_row_pay_for_moves_of_the_same_kind() -> None:
    cluster, asked = drawn_cluster(3), []
    load = ComparedLoad(
        frames=[cluster.fleet], constraints=cluster.constraints, settings=balancer_settings({}), rules=BalancerRules()
    )

    def tariff(kind: MoveKind) -> Tariff:
        asked.append(kind)
        return Tariff(kind=kind)

    listed = [
        Contender(properties=conf_of("AvgShedder")),
        Contender(properties=conf_of("TransferShedder")),
        Contender(properties=conf_of("TransferShedder", loadBalancerMultiPhaseBundleUnload=False)),
    ]
    compare(load, listed, tariff, lambda: random.Random(9).choice, 60)
    assert asked == [MoveKind.UNLOAD, MoveKind.TRANSFER, MoveKind.UNLOAD]
