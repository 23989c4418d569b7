"""Percentages: usages of brokers that told them in per cent alone, with limits, without which no bundle can be added.

Machines are taken for equal: a limit is that of the brokers whose reports were heard, the smallest of them. Where none
was heard, per cent of 100 does for CPU and memory. A network card then has at least the speed at which its percentage
carries the broker's own traffic; where nothing flows and something is in use, it is taken for the slowest in use.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from syncer.balancer.fleet import KBIT_OF_A_BYTE
from syncer.balancer.load import Usage
from syncer.balancer.picture import SeenUsages

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from syncer.balancer.picture import BrokerFigures

_WHOLE: Final = 100.0
_SLOWEST_KBIT: Final = 1e6
"""A card of 1 Gbit/s."""


def with_limits(
    asked: Mapping[str, BrokerFigures], heard: Iterable[BrokerFigures], card_kbit: float | None
) -> dict[str, BrokerFigures]:
    """Give limits to the usages of brokers that told percentages.

    Args:
        asked: By broker: usages in per cent of 100, with its traffic where that is known.
        heard: Reports of other brokers, with limits.
        card_kbit: Speed of each broker's network card by the settings; None where they do not say it.
    """
    usages = [each.usages for each in heard]
    told = list(asked.values())
    cpu = _least([each.cpu for each in usages], _WHOLE)
    memory = _least([each.memory for each in usages], _WHOLE)
    direct = _least([each.direct_memory for each in usages], _WHOLE)
    into = card_kbit or _least([each.bandwidth_in for each in usages], _card(told, outwards=False))
    out = card_kbit or _least([each.bandwidth_out for each in usages], _card(told, outwards=True))
    return {
        broker: replace(
            each,
            usages=SeenUsages(
                cpu=_of(each.usages.cpu, cpu),
                memory=_of(each.usages.memory, memory),
                direct_memory=_of(each.usages.direct_memory, direct),
                bandwidth_in=_of(each.usages.bandwidth_in, into),
                bandwidth_out=_of(each.usages.bandwidth_out, out),
            ),
        )
        for broker, each in asked.items()
    }


def _least(usages: Sequence[Usage | None], otherwise: float) -> float:
    """Take the smallest limit; one that is not above zero is none, and counts where there is no other."""
    limits = [usage.limit for usage in usages if usage is not None]
    return min((limit for limit in limits if limit > 0), default=min(limits, default=otherwise))


def _card(told: Sequence[BrokerFigures], *, outwards: bool) -> float:
    """Reckon the speed that a card has at least; 0 where none is in use: 0 % may be of a speed not known."""
    found, used = 0.0, False
    for each in told:
        usage = each.usages.bandwidth_out if outwards else each.usages.bandwidth_in
        if usage is None or usage.usage <= 0:
            continue
        used = True
        if each.traffic is not None:
            flow = each.traffic.throughput_out if outwards else each.traffic.throughput_in
            found = max(found, flow * KBIT_OF_A_BYTE * _WHOLE / usage.usage)
    return max(found, _SLOWEST_KBIT) if used else 0.0


def _of(usage: Usage | None, limit: float) -> Usage | None:
    return None if usage is None else Usage(usage.usage * max(0.0, limit) / _WHOLE, limit)
