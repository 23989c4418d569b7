"""Percentages become usages with limits: those of equal machines, of settings, or the least that traffic needs."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from syncer.balancer.decoding.percentages import with_limits
from syncer.balancer.load import Rates, Usage
from syncer.balancer.picture import BrokerFigures, SeenUsages


def figures(cpu: Usage, memory: Usage, card: Usage, kbit: float = 0.0) -> BrokerFigures:
    usages = SeenUsages(cpu=cpu, memory=memory, direct_memory=memory, bandwidth_in=card, bandwidth_out=card)
    return BrokerFigures(usages=usages, traffic=Rates(1.0, 1.0, kbit * 125, kbit * 125))


def limited(
    asked: Sequence[BrokerFigures], heard: Sequence[BrokerFigures] = (), card_kbit: float | None = None
) -> list[SeenUsages]:
    told = {f"b{number}": each for number, each in enumerate(asked)}
    return [each.usages for each in with_limits(told, heard, card_kbit).values()]


def percents(cpu: float, card: float, kbit: float = 0.0) -> BrokerFigures:
    return figures(Usage(cpu, 100.0), Usage(20.0, 100.0), Usage(card, 100.0), kbit)


def test_limits_are_the_smallest_that_were_heard() -> None:
    big = figures(Usage(80.0, 1600.0), Usage(1.0, 4096.0), Usage(5.0, 2e7))
    small = figures(Usage(80.0, 800.0), Usage(1.0, 8192.0), Usage(5.0, 1e7))
    (found,) = limited([percents(50.0, 10.0)], [big, small])
    assert (found.cpu, found.memory) == (Usage(400.0, 800.0), Usage(819.2, 4096.0))
    assert (found.bandwidth_in, found.bandwidth_out) == (Usage(1e6, 1e7), Usage(1e6, 1e7))


def test_a_card_of_no_limit_stays_one() -> None:
    (found,) = limited([percents(50.0, 0.0)], [figures(Usage(1.0, 800.0), Usage(1.0, 512.0), Usage(3.0, -1000.0))])
    assert found.bandwidth_in == Usage(0.0, -1000.0)
    assert found.bandwidth_in.percent() == 0.0


def test_settings_tell_the_card_of_all() -> None:
    (found,) = limited([percents(50.0, 10.0, kbit=7.0)], card_kbit=4e6)
    assert (found.cpu, found.bandwidth_out) == (Usage(50.0, 100.0), Usage(4e5, 4e6))


@pytest.mark.parametrize(
    ("told", "card"),
    [
        ([(10.0, 3e6), (1.0, 2e5)], 3e7),
        ([(10.0, 0.0)], 1e6),
        ([(0.0, 0.0)], 0.0),
        ([(0.0, 5e5)], 0.0),
    ],
)
def test_a_card_nobody_tells_is_as_fast_as_the_traffic_needs(told: list[tuple[float, float]], card: float) -> None:
    for found, (percent, _) in zip(limited([percents(50.0, *each) for each in told]), told, strict=True):
        assert found.bandwidth_in is not None
        assert found.bandwidth_in.limit == pytest.approx(card)
        assert found.bandwidth_in.percent() == pytest.approx(percent if card else 0.0, rel=1e-6)


def test_what_is_unknown_stays_so() -> None:
    (found,) = limited([BrokerFigures(usages=SeenUsages(cpu=Usage(5.0, 100.0)))])
    assert (found.cpu, found.memory, found.bandwidth_in) == (Usage(5.0, 100.0), None, None)
