"""Tariff: the price of moving any bundle of a fleet, and what it weighs where plans are compared.

A bundle is closed and loaded in a time that grows with its topics. Until moves were observed, the times are assumed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from syncer.balancer.cost.estimate import UNKNOWN, Estimate, known, total
from syncer.balancer.cost.measured import CLOSE_OF_A_TOPIC_S, CLOSE_S, LOAD_OF_A_TOPIC_S, LOAD_S, OTHER_STEPS
from syncer.balancer.cost.price import MovedBundle, MoveKind, Price, price
from syncer.client_versions import Language

if TYPE_CHECKING:
    from syncer.balancer.cost.retrying import RetrySteps
    from syncer.balancer.fleet import FleetBundle

UNMEASURED_CLIENT_S: Final = 3.1
"""What a client weighs whose attempts nobody measured: a long wait, as what is unknown is never nothing."""
MOVE_S: Final = 0.05
"""What any move weighs besides its clients, so that of two plans of one price the one with fewer moves is better."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnloadTimes:
    """Seconds to close and to load a bundle: what it takes at least, and more for each topic."""

    close: Estimate = CLOSE_S
    close_of_a_topic: Estimate = CLOSE_OF_A_TOPIC_S
    load: Estimate = LOAD_S
    load_of_a_topic: Estimate = LOAD_OF_A_TOPIC_S

    def closing(self, topics: Estimate) -> Estimate:
        """Reckon the seconds to close a bundle.

        Args:
            topics: How many it has.
        """
        return total((self.close, self.close_of_a_topic.times(topics)))

    def loading(self, topics: Estimate) -> Estimate:
        """Reckon the seconds to load a bundle.

        Args:
            topics: How many it has.
        """
        return total((self.load, self.load_of_a_topic.times(topics)))


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleClients:
    """A bundle's clients by what they say of their version."""

    producers: Mapping[str, int]
    consumers: Mapping[str, int]


@dataclass(slots=True, kw_only=True)
class Tariff:
    """Prices of a fleet's bundles, each reckoned once.

    ``clients`` tells the versions of a bundle's clients; those of a bundle that is not there are taken for ``usual``
    ones, and their price is assumed. ``bystanders`` are by broker and bundle; those of a pair that is not there are
    unknown. ``others`` are the attempts of clients that are not Java's.
    """

    times: UnloadTimes = field(default_factory=UnloadTimes)
    kind: MoveKind = MoveKind.UNLOAD
    clients: Mapping[str, BundleClients] = field(default_factory=dict)
    bystanders: Mapping[tuple[str, str], int] = field(default_factory=dict)
    others: Mapping[Language, RetrySteps] = field(default_factory=lambda: OTHER_STEPS)
    usual: str = "Pulsar-Java"
    _weights: dict[str | tuple[int, int, int], float] = field(default_factory=dict)

    def price(self, bundle: FleetBundle) -> Price:
        """Reckon what moving a bundle costs its clients.

        Args:
            bundle: As it is reported.

        Raises:
            LoadDataInvalid: A count of clients is below zero.
        """
        stats, told = bundle.stats, self.clients.get(bundle.name)
        topics, bystanders = known(stats.topics), self.bystanders.get((bundle.owner, bundle.name))
        return price(
            MovedBundle(
                kind=self.kind,
                close=self.times.closing(topics),
                load=self.times.loading(topics),
                producers=told.producers if told is not None else {self.usual: stats.producers},
                consumers=told.consumers if told is not None else {self.usual: stats.consumers},
                rate_in=known(stats.traffic.rate_in),
                rate_out=known(stats.traffic.rate_out),
                throughput_out=known(stats.traffic.throughput_out),
                bystanders=UNKNOWN if bystanders is None else known(bystanders),
            ),
            self.others,
        )

    def weight(self, bundle: FleetBundle) -> float:
        """Reckon what a move weighs: its client-seconds, a little for itself, and a long wait for each unknown client.

        Args:
            bundle: As it is reported.

        Raises:
            LoadDataInvalid: A count of clients is below zero.
        """
        stats = bundle.stats
        key = bundle.name if bundle.name in self.clients else (stats.topics, stats.producers, stats.consumers)
        found = self._weights.get(key)
        if found is None:
            own = self.price(bundle)
            unknown = sum(each.count for each in own.outages if each.client_seconds.value is None)
            found = self._weights[key] = own.at_least + unknown * UNMEASURED_CLIENT_S + MOVE_S
        return found
