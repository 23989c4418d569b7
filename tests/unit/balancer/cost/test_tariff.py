"""A bundle's price grows with its topics and clients, and what is unknown weighs more than nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from syncer.balancer.cost.estimate import UNKNOWN, Basis, known
from syncer.balancer.cost.price import MoveKind
from syncer.balancer.cost.tariff import MOVE_S, UNMEASURED_CLIENT_S, BundleClients, Tariff, UnloadTimes
from syncer.balancer.fleet import FleetBundle
from syncer.balancer.load import BundleStats, Rates

X = "t/x/0x00000000_0x80000000"


def bundle(topics: int, producers: int, consumers: int) -> FleetBundle:
    stats = BundleStats(Rates(0.0, 50.0, 0.0, 5000.0), topics=topics, producers=producers, consumers=consumers)
    return FleetBundle(name=X, owner="b1:8080", stats=stats)


def test_clients_nobody_knows_are_taken_for_javas_and_their_price_is_assumed() -> None:
    found = Tariff().price(bundle(10, 2, 3))
    assert found.client_seconds.value == pytest.approx(5 * 0.227)
    assert found.client_seconds.basis is Basis.ASSUMED
    assert found.redelivered.value == pytest.approx(5.0)


def test_more_topics_take_longer() -> None:
    assert Tariff().price(bundle(300, 2, 3)).client_seconds.value == pytest.approx(5 * 1.21)


def test_a_transfer_spares_clients_that_are_known_to_understand_it() -> None:
    told = {X: BundleClients(producers={"Pulsar-Java-v4.0.8": 2}, consumers={"Pulsar-Java-v4.0.8": 3})}
    tariff = Tariff(kind=MoveKind.TRANSFER, clients=told)
    assert tariff.price(bundle(10, 2, 3)).client_seconds.value == pytest.approx(5 * 0.148)


def test_a_move_weighs_its_client_seconds_and_a_little_for_itself() -> None:
    assert Tariff().weight(bundle(10, 2, 3)) == pytest.approx(5 * 0.227 + MOVE_S)
    assert Tariff().weight(bundle(10, 0, 0)) == pytest.approx(MOVE_S)


def test_clients_that_nobody_measured_weigh_a_long_wait() -> None:
    told = {X: BundleClients(producers={"Pulsar Go 0.14.0": 2}, consumers={"Pulsar-Java-v4.0.8": 3})}
    tariff = Tariff(clients=told)
    assert tariff.price(bundle(10, 2, 3)).client_seconds == UNKNOWN
    assert tariff.weight(bundle(10, 2, 3)) == pytest.approx(2 * UNMEASURED_CLIENT_S + 3 * 0.227 + MOVE_S)


def test_unknown_times_weigh_a_long_wait_for_each_client() -> None:
    tariff = Tariff(times=UnloadTimes(close=UNKNOWN, load=known(0.1)))
    assert tariff.weight(bundle(10, 2, 3)) == pytest.approx(5 * UNMEASURED_CLIENT_S + MOVE_S)


def test_bystanders_are_those_of_the_broker_from_which_a_bundle_moves_and_weigh_nothing() -> None:
    tariff = Tariff(bystanders={("b1:8080", X): 64})
    assert tariff.price(bundle(10, 2, 3)).bystanders == known(64)
    assert tariff.price(replace(bundle(10, 2, 3), owner="b2:8080")).bystanders == UNKNOWN
    assert tariff.weight(bundle(10, 2, 3)) == Tariff().weight(bundle(10, 2, 3))
