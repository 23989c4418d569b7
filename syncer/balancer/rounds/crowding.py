"""Crowding: topics of synthetic bundles, drawn by dice, each with its place, its traffic and its clients.

Clients crowd on few topics, as load does on few bundles: a topic's popularity is drawn by the same law, and each client
is of a topic by popularity. A producer's rate is drawn by that law, too; a topic takes in what its producers send, and
gives it to each of its consumers. So busy topics have more clients than quiet ones. What a bundle reports stays as it
is: its topics share it. Places on the ring are even.

Of the bundle with the hot topic one topic has nearly all traffic, and clients as it comes.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from syncer.balancer.load import Rates, TopicLoad
from syncer.balancer.ranges import namespace_of_bundle, range_of_bundle
from syncer.balancer.rounds.synthetic import popular

if TYPE_CHECKING:
    from syncer.balancer.fleet import Fleet
    from syncer.balancer.rounds.synthetic import Dice

HOT_SHARE: Final = 0.95
"""Which part of its bundle's traffic a hot topic has."""


class CrowdedTopics:
    """Topics of a fleet's bundles, drawn when they are asked for; the same each time."""

    def __init__(self, fleet: Fleet, dices: Callable[[str], Dice], hot: str | None = None) -> None:
        """Count the bundles of namespaces.

        Args:
            fleet: Whose bundles.
            dices: Makes the dice of a bundle, which draw the same for the same name.
            hot: The bundle with the hot topic.
        """
        self._fleet, self._dices, self._hot = fleet, dices, hot
        self._counts = Counter(namespace_of_bundle(bundle) for bundle in fleet.bundles)
        self._drawn: dict[str, list[TopicLoad]] = {}

    def bundle_count(self, namespace: str) -> int | None:
        """Count the bundles of a namespace."""
        return self._counts[namespace]

    def of(self, bundle: str) -> Sequence[TopicLoad]:
        """List the topics of a bundle, by their places."""
        found = self._drawn.get(bundle)
        if found is None:
            found = self._drawn[bundle] = self._draw(bundle)
        return found

    def _draw(self, bundle: str) -> list[TopicLoad]:
        stats, dice = self._fleet.bundles[bundle].stats, self._dices(bundle)
        lower, upper = range_of_bundle(bundle)
        positions = sorted(lower + int(dice.random() * (upper - lower)) for _ in range(stats.topics))
        popularity = list(accumulate(popular(dice) for _ in positions))
        sent = [0.0] * len(positions)
        producers, consumers = Counter[int](), Counter[int]()
        for _ in range(stats.producers):
            topic = _one(dice, popularity)
            producers[topic] += 1
            sent[topic] += popular(dice)
        for _ in range(stats.consumers):
            consumers[_one(dice, popularity)] += 1
        if bundle == self._hot and positions:
            hottest = max(range(len(sent)), key=sent.__getitem__)
            sent[hottest] = HOT_SHARE / (1 - HOT_SHARE) * (sum(sent) - sent[hottest] or 1.0)
        given = [sent[number] * consumers[number] for number in range(len(sent))]
        entering = _shares(sent)
        leaving = _shares(given) if any(given) else entering
        return [
            TopicLoad(
                position=position,
                traffic=_traffic(stats.traffic, entering[number], leaving[number]),
                producers=producers[number],
                consumers=consumers[number],
            )
            for number, position in enumerate(positions)
        ]


def _one(dice: Dice, sums: Sequence[float]) -> int:
    return min(bisect_right(sums, dice.random() * sums[-1]), len(sums) - 1)


def _shares(values: Sequence[float]) -> list[float]:
    whole = sum(values)
    return [value / whole if whole > 0 else 1.0 / len(values) for value in values]


def _traffic(whole: Rates, entering: float, leaving: float) -> Rates:
    return Rates(
        whole.rate_in * entering,
        whole.rate_out * leaving,
        whole.throughput_in * entering,
        whole.throughput_out * leaving,
    )
