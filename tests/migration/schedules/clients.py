"""Clusters of a schedule: a few namespaces with few topics each, and who uses them, drawn by chance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Final

from syncer.migration.course import MigrationCommand
from tests.migration.clusters.broker import BrokerSettings
from tests.migration.clusters.consumer import SubscriptionWish
from tests.migration.clusters.ledger import Cursor
from tests.migration.clusters.process import Library
from tests.migration.clusters.producer import SimTraffic
from tests.migration.clusters.subscription import SubscriptionKind
from tests.migration.plays import NAMESPACE, NamespacePlay

STEADY: Final = SimTraffic(every_ms=90)
"""Often enough for a brake alone."""
SLOW: Final = SimTraffic(every_ms=600)
UNEVEN: Final = SimTraffic(every_ms=500, size=(100, 4_000))
BATCHES: Final = SimTraffic(every_ms=500, batch=(1, 5), pipelined=True)
RARE: Final = SimTraffic(every_ms=2_500)
KINDS: Final = tuple(SubscriptionKind)
NAMESPACES: Final = (NAMESPACE, "acme/bills", "acme/parts")
NIGHT: Final = "night"
"""In the story: what has happened beside the migration."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Newcomer:
    """Clients that have come while the migration was on its way.

    Attributes:
        asked: How many calls blue had been asked before.
    """

    topic: str
    asked: int


class ScheduledPlay(NamespacePlay):
    """Two or three namespaces under load at blue; green is empty, or has some of them.

    Attributes:
        chance: Of everything that is not the clusters' own.
        asked: Tells how many calls blue was asked.
        cancel: Cancels the controller that runs.
        newcomers: Who has come since.
        rescued: Topics whose backlog somebody reads at blue though its consumers were sent to green: out of order.
        unread: Subscriptions that nobody reads yet, each with its topic.
        wishes: What operators want to do next, the first of them that they can.
    """

    def __init__(self, seed: int, *, batches: bool, deadlocks: bool) -> None:
        """Begin to play.

        Args:
            seed: Decides all.
            batches: Whether C++ producers may send batch after batch: a connection that breaks puts them out of order.
            deadlocks: Whether a broker may deadlock.
        """
        chance = self.chance = Random(f"clients {seed}")
        settings = BrokerSettings(
            check_period_s=chance.choice((1, 2, 2, 4)),
            makes_resources=chance.random() < 0.3,
            quota_check_s=chance.choice((2, 60)),
            deadlocks=0.5 if deadlocks else 0.0,
        )
        super().__init__(seed, (), settings=settings, brokers=chance.choice((1, 1, 2)))
        self.asked: Callable[[], int] = int
        self.cancel: Callable[[], None] = lambda: None
        self.newcomers: list[Newcomer] = []
        self.rescued: set[str] = set()
        self.unread: list[tuple[str, str]] = []
        self.wishes: list[MigrationCommand] = []
        self.names = NAMESPACES[: chance.choice((2, 2, 3))]
        self._traffic = (SLOW, UNEVEN, RARE, *((BATCHES,) if batches else ()))
        self._hosts = 0
        for namespace in self.names:
            if namespace != NAMESPACE:
                self.add_namespace(namespace)
            self._fill(namespace, steady=chance.random() < 0.35)
        self.timeline.run(chance.randint(500, 2_500))

    def happen(self, trouble: str) -> None:
        """Tell the story that something happens now."""
        self.timeline.tell(NIGHT, trouble)

    def waves(self) -> tuple[tuple[str, ...], ...]:
        """The namespaces in waves."""
        waves = [[self.names[0]]]
        for name in self.names[1:]:
            if self.chance.random() < 0.6:
                waves.append([name])
            else:
                waves[-1].append(name)
        return tuple(map(tuple, waves))

    def host(self) -> str:
        """An address that nobody has yet."""
        self._hosts += 1
        return f"10.0.1.{self._hosts}"

    def read(
        self, name: str, kind: SubscriptionKind, *, library: Library, subscription: str = "", work_ms: int = 0
    ) -> None:
        """A consumer comes from a host of its own."""
        wish = SubscriptionWish(name=subscription or kind.value, kind=kind)
        consumer = f"{name.rpartition('/')[2]}-{wish.name}-{len(self.consumers)}"
        self.add_consumer(self.process(library, self.host()), name, consumer, wish, work_ms=work_ms)

    def write(self, name: str, traffic: SimTraffic, *, library: Library) -> None:
        """A producer comes from a host of its own."""
        producer = f"{name.rpartition('/')[2]}-{len(self.producers)}"
        self.add_producer(self.process(library, self.host()), name, producer, traffic)

    def _fill(self, namespace: str, *, steady: bool) -> None:
        chance = self.chance
        for number in range(chance.choice((1, 1, 2))):
            name = f"persistent://{namespace}/t{number}"
            partitions = chance.choice((0, 0, 0, 2))
            parts = [f"{name}-partition-{each}" for each in range(partitions)] or [name]
            kinds = chance.sample(KINDS, chance.choice((1, 1, 2)))
            idle = not steady and chance.random() < 0.2
            there = chance.random() < 0.5
            for part in parts:
                self._add(part, kinds, at_green=there)
                for kind in kinds if not idle or chance.random() < 0.5 else ():
                    self.read(part, kind, library=chance.choice(tuple(Library)))
                traffic = [STEADY] if steady else chance.choices(self._traffic, k=chance.randint(1, 3))
                for each in () if idle else traffic:
                    self.write(part, each, library=chance.choice(tuple(Library)))
            if partitions:
                for cluster in (self.blue, *((self.green,) if there else ())):
                    cluster.namespaces[namespace].partitions[name] = partitions

    def _add(self, name: str, kinds: list[SubscriptionKind], *, at_green: bool) -> None:
        self.topics = (*self.topics, name)
        self.add_topic(name)
        for cluster in (self.blue, self.green):
            for kind in kinds:
                cluster.ledgers[name].cursors[kind.value] = Cursor(mark=0, stored=0)
        if not at_green:
            del self.green.ledgers[name]
