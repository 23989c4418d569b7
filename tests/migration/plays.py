"""Plays: a namespace of blue under load, and the ways in which it can be sent to green."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from tests.migration.clusters.broker import BrokerSettings
from tests.migration.clusters.consumer import SubscriptionWish
from tests.migration.clusters.pair import SETTINGS, ClusterPairPlay
from tests.migration.clusters.process import Library
from tests.migration.clusters.producer import SimTraffic
from tests.migration.clusters.subscription import SubscriptionKind
from tests.migration.clusters.verdict import Verdict
from tests.migration.rest import AdminApi

LONG: Final = os.environ.get("TEST_FORM") == "long"
NAMESPACE: Final = "acme/orders"
EVEN: Final = SimTraffic(every_ms=40)
BURSTS: Final = SimTraffic(every_ms=10, batch=(1, 6), pipelined=True)
EVEN_BURSTS: Final = SimTraffic(every_ms=40, batch=(4, 4), pipelined=True)
CALM: Final = SimTraffic(every_ms=80)
RARE: Final = SimTraffic(every_ms=1_700)
HOLD: Final = {"limitSize": 0, "limitTime": -1, "policy": "producer_request_hold"}
_MARKED_WITHIN_MS: Final = 12_000


def topic(name: str) -> str:
    """A topic's full name."""
    return f"persistent://{NAMESPACE}/{name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SimTopic:
    """A topic under load.

    Attributes:
        producers: What each publishes.
        kinds: Of its subscriptions, each with one consumer, a Failover one with two.
    """

    name: str
    producers: tuple[SimTraffic, ...]
    kinds: tuple[SubscriptionKind, ...]


KINDS: Final = tuple(SubscriptionKind)
LOAD: Final = (
    SimTopic(name="plain", producers=(EVEN,), kinds=KINDS),
    SimTopic(name="bursts", producers=(BURSTS,), kinds=(SubscriptionKind.FAILOVER, SubscriptionKind.KEY_SHARED)),
)
"""Little of everything."""
ONE_EVEN: Final = tuple(
    SimTopic(name=kind.value.lower(), producers=(traffic,), kinds=(kind,))
    for kind, traffic in zip(KINDS, (CALM, EVEN_BURSTS, CALM, CALM), strict=True)
)
"""One producer a topic, that never rests."""
CROWD: Final = (
    SimTopic(
        name="crowd",
        producers=(EVEN, EVEN, SimTraffic(every_ms=25, size=(100, 4_000)), RARE, RARE, RARE),
        kinds=(SubscriptionKind.EXCLUSIVE, SubscriptionKind.SHARED),
    ),
)
"""Many producers, uneven ones, and some that hardly ever publish."""


class NamespacePlay(ClusterPairPlay):
    """A namespace under load at blue; green has its topics and subscriptions."""

    def __init__(
        self,
        seed: int,
        load: Iterable[SimTopic] = LOAD,
        library: Library = Library.CPP_NEW,
        settings: BrokerSettings = SETTINGS,
        brokers: int = 1,
        *,
        together: bool = False,
        one_store: bool = False,
    ) -> None:
        """Begin to play.

        Args:
            seed: Decides all that happens.
            load: Topics, and who uses them.
            library: Of the clients.
            settings: Of the brokers.
            brokers: How many each cluster has.
            together: Producers and consumers share one process, and its connections.
            one_store: Both clusters have one configuration store, and green has no topic yet.
        """
        super().__init__(seed, settings, brokers, one_store=one_store)
        self.load = tuple(load)
        self.api = AdminApi(self.blue)
        self.add_namespace(NAMESPACE)
        self.topics = tuple(topic(each.name) for each in self.load)
        writing = (self.process(library, "10.0.0.1"), self.process(library, "10.0.0.2"))
        reading = writing[0] if together else self.process(library, "10.0.0.3")
        for each in self.load:
            name = topic(each.name)
            self.add_topic(name, *each.kinds)
            for kind in each.kinds:
                wish = SubscriptionWish(name=kind.value, kind=kind)
                for number in range(2 if kind is SubscriptionKind.FAILOVER else 1):
                    self.add_consumer(reading, name, f"{each.name}-{kind.value}-{number}", wish)
            for number, traffic in enumerate(each.producers):
                self.add_producer(writing[number % 2], name, f"{each.name}-{number}", traffic)
        self.call("POST", "/admin/v2/clusters/blue/migrate?migrated=false", self.green.urls.json)
        self.timeline.run(2_500)

    # Calls

    def call(self, method: str, path: str, body: object = None) -> Any:
        """Call blue's API; the call has to succeed."""
        status, json = self.api.answer(method, path, body)
        assert status in {200, 204}, f"{method} {path}: {status} {json}"
        return json

    def ask(self, name: str, what: str) -> Any:
        """Read something of a topic."""
        return self.call("GET", f"/admin/v2/{name.replace('://', '/')}/{what}")

    def set(self, name: str, policy: str, body: object = None) -> None:
        """Set a topic's policy, or take it off."""
        self.call("DELETE" if body is None else "POST", f"/admin/v2/{name.replace('://', '/')}/{policy}", body)

    # Steps of a flip

    def mark(self, *, marked: bool = True) -> None:
        """Set the namespace's mark, or take it off."""
        self.call("POST", f"/admin/v2/namespaces/{NAMESPACE}/migration", marked)

    def brake(self, pause_s: float = 5.0) -> None:
        """Set each topic's rate to its mean entry in so many seconds."""
        for name in self.topics:
            stats = self.ask(name, "internalStats")
            rate = max(1, int(stats["totalSize"] / max(1, stats["numberOfEntries"]) / pause_s))
            self.set(name, "publishRate", {"publishThrottlingRateInMsg": -1, "publishThrottlingRateInByte": rate})

    def gate(self) -> None:
        """Let no producer come in any more."""
        for name in self.topics:
            self.set(name, "backlogQuota", HOLD)

    def kick(self) -> None:
        """Send all producers away that do not encrypt, and wait until they are gone."""
        self.call("POST", f"/admin/v2/namespaces/{NAMESPACE}/encryptionRequired", True)
        assert self.timeline.until(self._without_producers, within_ms=8_000)
        self.call("POST", f"/admin/v2/namespaces/{NAMESPACE}/encryptionRequired", False)

    def drain(self) -> bool:
        """Wait until all is read: acknowledgements on a stopped connection come when it is released."""
        return self.timeline.until(self._drained, within_ms=20_000)

    def migrated(self) -> bool:
        """Whether every topic shows that it was migrated, or is gone."""
        return all(self._migrated(name) for name in self.topics)

    def wait_migrated(self) -> bool:
        """Wait for that; some never show it."""
        return self.timeline.until(self.migrated, within_ms=_MARKED_WITHIN_MS)

    def brake_off(self) -> None:
        """Take the brake off; who is stopped stays so until the timer that runs."""
        for name in self.topics:
            self.set(name, "publishRate")

    def gate_off(self) -> None:
        """Let producers in again."""
        for name in self.topics:
            self.set(name, "backlogQuota")

    def end(self) -> Verdict:
        """Let green be used for a while, and judge."""
        self.timeline.run(1_000)
        self.settle()
        return self.verdict()

    def _migrated(self, name: str) -> bool:
        ledger = self.blue.ledgers.get(name)
        return ledger is None or ledger.marked

    def _without_producers(self) -> bool:
        return not any(
            self.ask(name, "stats")["publishers"] or self.ask(name, "internalStats")["pendingAddEntriesCount"]
            for name in self.topics
        )

    def _drained(self) -> bool:
        subscriptions = (each for name in self.topics for each in self.ask(name, "stats")["subscriptions"].values())
        return not any(each["msgBacklog"] for each in subscriptions)


def flip_as_is(play: NamespacePlay) -> Verdict:
    """Set the mark, and nothing else."""
    play.mark()
    play.wait_migrated()
    return play.end()


def flip_braked(play: NamespacePlay, wait_ms: int = 400) -> Verdict:
    """Set the mark while everybody who has published since is stopped."""
    play.brake()
    play.timeline.run(wait_ms)
    play.mark()
    play.wait_migrated()
    play.brake_off()
    return play.end()


def flip_gated(play: NamespacePlay) -> Verdict:
    """Stop who publishes, let nobody in, send the others away, and set the mark when all is read."""
    play.brake(4.0)
    play.timeline.run(1_000)
    play.gate()
    play.kick()
    play.brake_off()
    assert play.drain()
    play.mark()
    play.wait_migrated()
    play.gate_off()
    return play.end()
