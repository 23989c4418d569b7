"""The price of a move is its clients' seconds without service, each figure with its basis."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncer.balancer.cost.estimate import UNKNOWN, Basis, assumed, known
from syncer.balancer.cost.price import MovedBundle, MoveKind, move_kind, price
from syncer.balancer.cost.retrying import JAVA_CONSUMER, JAVA_PRODUCER, GivenSteps, RetrySteps
from syncer.client_versions import Language
from syncer.errors import LoadDataInvalid

JAVA, OLD_JAVA, CPP, GO = "Pulsar-Java-v4.0.8", "Pulsar-Java-v3.1.0", "Pulsar-CPP-v4.2.0", "Pulsar Go 0.14.0"
OLD_CPP = "Pulsar-CPP-v3.4.2"
OTHERS = {Language.CPP: GivenSteps(latest_ms=[100, 300, 1000], then_every_ms=1000)}
MOVE = MovedBundle(
    kind=MoveKind.UNLOAD, close=known(0.4), load=known(0.25), producers={JAVA: 2}, consumers={JAVA: 3, CPP: 1}
)


def test_every_client_waits_for_its_next_attempt_and_for_the_load_that_it_begins() -> None:
    found = price(MOVE, OTHERS)
    assert found.ready == assumed(0.95), "nobody loads it before a client asks for it"
    assert [(each.said, each.count, each.seconds) for each in found.outages] == [
        (JAVA, 2, assumed(0.95)),
        (JAVA, 3, assumed(0.95)),
        (CPP, 1, known(1.25)),
    ]
    assert found.client_seconds.value == pytest.approx(6.0)
    assert found.client_seconds.basis is Basis.ASSUMED


def test_a_transfer_spares_clients_that_are_told_where_to_go() -> None:
    move = replace(MOVE, kind=MoveKind.TRANSFER, producers={JAVA: 1, OLD_JAVA: 1}, consumers={CPP: 1, OLD_CPP: 1})
    found = price(move, OTHERS)
    assert found.ready == known(0.65)
    assert [each.seconds for each in found.outages] == [known(0.65), assumed(0.95), known(0.65), assumed(1.25)]


def test_clients_of_a_language_that_nobody_measured_make_the_price_unknown_but_not_what_is_known_of_it() -> None:
    found = price(replace(MOVE, consumers={GO: 1}), OTHERS)
    assert (found.client_seconds, found.unknown_clients) == (UNKNOWN, frozenset([GO]))
    assert price(replace(MOVE, producers={}, consumers={GO: 1}), OTHERS).ready == known(0.65)
    assert found.at_least == pytest.approx(1.9)


@pytest.mark.parametrize(
    "move",
    [
        replace(MOVE, close=UNKNOWN),
        replace(MOVE, load=UNKNOWN),
        replace(MOVE, producers=None),
        replace(MOVE, consumers=None),
    ],
)
def test_what_is_missing_is_never_taken_for_nothing(move: MovedBundle) -> None:
    assert price(move, OTHERS).client_seconds == UNKNOWN


def test_a_bundle_without_clients_costs_nothing_even_where_its_times_are_unknown() -> None:
    found = price(replace(MOVE, load=UNKNOWN, producers={}, consumers={CPP: 0}), OTHERS)
    assert (found.client_seconds, found.catch_up_bytes, found.unknown_clients) == (known(0), known(0), frozenset())


def test_messages_come_again_whose_acknowledgements_were_in_flight() -> None:
    busy = replace(MOVE, rate_out=known(1000))
    assert price(busy, OTHERS).redelivered == assumed(100)
    assert price(replace(busy, unacked=known(30)), OTHERS).redelivered == assumed(30)
    assert price(replace(busy, ack_delay=known(0.5), unacked=known(999)), OTHERS).redelivered == known(500)
    assert price(MOVE, OTHERS).redelivered == UNKNOWN


def test_consumers_catch_up_with_what_they_missed() -> None:
    found = price(replace(MOVE, consumers={JAVA: 1, CPP: 1}, throughput_out=known(1000)), OTHERS)
    assert found.catch_up_bytes.value == pytest.approx(1100)
    assert price(MOVE, OTHERS).catch_up_bytes == UNKNOWN
    assert price(replace(MOVE, consumers=None, throughput_out=known(1)), OTHERS).catch_up_bytes == UNKNOWN


def test_fewer_clients_than_none_are_refused() -> None:
    with pytest.raises(LoadDataInvalid, match="cannot be -1 clients that say 'x'"):
        price(replace(MOVE, producers={"x": -1}), OTHERS)


@pytest.mark.parametrize("without", ["extensible", "transfer", "multi_phase", None])
def test_a_transfer_takes_all_three(without: str | None) -> None:
    given_of = {name: name != without for name in ("extensible", "transfer", "multi_phase")}
    assert move_kind(**given_of) is (MoveKind.TRANSFER if without is None else MoveKind.UNLOAD)


SECONDS = st.floats(0, 300)
COUNTS = st.dictionaries(st.sampled_from([JAVA, OLD_JAVA, CPP]), st.integers(0, 1000))


@given(st.sampled_from(MoveKind), SECONDS, SECONDS, SECONDS, COUNTS, COUNTS, st.integers(0, 50))
def test_a_price_grows_with_clients_and_with_the_time_to_close(
    kind: MoveKind,
    close: float,
    load: float,
    longer: float,
    producers: dict[str, int],
    consumers: dict[str, int],
    more: int,
) -> None:
    move = MovedBundle(kind=kind, close=known(close), load=known(load), producers=producers, consumers=consumers)
    base = price(move, OTHERS).at_least
    slower = price(replace(move, close=known(close + longer)), OTHERS).at_least
    busier = price(replace(move, producers={**producers, JAVA: producers.get(JAVA, 0) + more}), OTHERS).at_least
    assert slower >= base
    assert busier >= base + more * (close + load) * 0.999999


@given(SECONDS, SECONDS)
def test_a_load_begins_at_a_step_and_not_before_the_bundle_is_closed(close: float, load: float) -> None:
    move = replace(MOVE, close=known(close), load=known(load))
    clients: tuple[RetrySteps, ...] = (JAVA_PRODUCER, JAVA_CONSUMER, OTHERS[Language.CPP])
    for outage, client in zip(price(move, OTHERS).outages, clients, strict=True):
        assert outage.seconds.value is not None
        begins = round((outage.seconds.value - load) * 1000)
        assert begins >= close * 999
        assert begins == next(step.latest_ms for step in client.steps() if step.latest_ms >= begins)


@given(st.floats(0, 1e6), st.floats(0, 1e6))
def test_the_more_is_published_the_likelier_it_is_that_bystanders_are_cut_off_but_never_certain_beyond_one(
    rate: float, more: float
) -> None:
    calm = price(replace(MOVE, rate_in=known(rate)), OTHERS).bystanders_chance
    busy = price(replace(MOVE, rate_in=known(rate + more)), OTHERS).bystanders_chance
    assert calm.basis is Basis.ASSUMED
    assert 0 <= (calm.value or 0.0) <= (busy.value or 0.0) <= 1


def test_bystanders_are_told_beside_the_price_and_are_no_part_of_it() -> None:
    move = replace(MOVE, rate_in=known(400.0), bystanders=known(64))
    found = price(move, OTHERS)
    assert found.bystanders == known(64)
    assert found.bystanders_chance.value == pytest.approx(1 - math.exp(-4))
    assert found.client_seconds == price(MOVE, OTHERS).client_seconds
    assert price(MOVE, OTHERS).bystanders_chance == price(MOVE, OTHERS).bystanders == UNKNOWN


def test_a_transfer_refuses_no_publish_by_an_error() -> None:
    move = replace(MOVE, kind=MoveKind.TRANSFER, rate_in=known(400.0), bystanders=known(64))
    assert price(move, OTHERS).bystanders_chance == assumed(0.0)
