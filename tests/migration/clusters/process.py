"""Client processes: one connection to each broker, and producers and consumers that look for their topic again.

Source: ``HandlerBase`` and ``ClientConnection`` of the C++ client 3.7 and 4.2, ``ProducerImpl``, ``ConsumerImpl``,
``ConnectionHandler`` of Pulsar 4.0.8.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from tests.migration.clusters.answers import ClusterUrl, Refusal
from tests.migration.clusters.broker import Broker
from tests.migration.clusters.cluster import Cluster
from tests.migration.clusters.connection import Connection
from tests.migration.clusters.timeline import Timeline

OPERATION_TIMEOUT_MS: Final = 30_000
_FIRST_BACKOFF_MS: Final = 100
_LAST_BACKOFF_MS: Final = 30_000


class Library(StrEnum):
    """Client libraries that behave differently in the window; the value is the version that they tell."""

    JAVA = "Pulsar-Java-v4.0.8"
    CPP_OLD = "Pulsar-CPP-v3.7.2"
    """It retries a producer whose topic is terminated."""
    CPP_NEW = "Pulsar-CPP-v4.2.0"
    """Its producer is dead then; Python 3.13 is one of these."""

    @property
    def is_cpp(self) -> bool:
        """Whether an error, or a command that it does not know, costs it the whole connection."""
        return self is not Library.JAVA


class ClientState(StrEnum):
    """How a producer or consumer is."""

    CONNECTING = "connecting"
    READY = "ready"
    DEAD = "dead"
    """Every later call of its application fails."""
    CLOSED = "closed"
    """Its application has closed it."""


_OVER: Final = frozenset({ClientState.DEAD, ClientState.CLOSED})


class ClientProcess:
    """A client object: its connections are shared by all that it makes."""

    def __init__(self, timeline: Timeline, service: Cluster, library: Library, host: str) -> None:
        self.timeline = timeline
        self.service = service
        self.library = library
        self.host = host
        self._connections: dict[Broker, Connection] = {}
        self._ports = 40_000

    def connection(self, broker: Broker) -> Connection:
        """The connection to a broker; a new one if there is none."""
        found = self._connections.get(broker)
        if found is None or not found.is_open:
            self._ports += 1
            found = self._connections[broker] = broker.connect(self._ports)
        return found

    def close(self) -> None:
        """The process ends."""
        for connection in self._connections.values():
            connection.close()


class Handler(ABC):
    """What producers and consumers have in common: they are let in, thrown out, and sent elsewhere.

    Attributes:
        url: Of the cluster at which it looks for its topic; a redirect changes it for the object's life.
        refusals: Every reason that it was given.
    """

    def __init__(self, process: ClientProcess, topic: str, name: str) -> None:
        self.process = process
        self.timeline = process.timeline
        self.topic = topic
        self.name = name
        self.version = process.library.value
        self.host = process.host
        self.url = process.service.urls.pulsar
        self.state = ClientState.CONNECTING
        self.created = False
        self.refusals: list[Refusal] = []
        self.attempt = 0
        self._tries = 0
        self._connection: Connection | None = None

    @property
    def cluster(self) -> Cluster | None:
        """Where it looks for its topic."""
        return self.process.service.network.get(self.url)

    def connect(self) -> None:
        """Look the topic up, and ask its owner to be let in."""
        if self.state in _OVER:
            return
        self.attempt += 1
        cluster = self.cluster
        brokers = () if cluster is None else cluster.active
        if not brokers:
            self.retry()
            return
        entry = brokers[0]
        connection = self._use(entry)
        self.timeline.after(OPERATION_TIMEOUT_MS, self._timed_out, self.attempt)
        attempt = self.attempt
        connection.send(entry.look_up, connection, self.topic, lambda found: self._looked_up(attempt, found))

    @abstractmethod
    def ask(self, owner: Broker, connection: Connection, attempt: int) -> None:
        """Ask the owner of the topic to be let in."""

    @abstractmethod
    def detached(self) -> None:
        """It is not at a broker any more."""

    def let_in(self) -> None:
        """It is at a broker."""
        self.state = ClientState.READY
        self.created = True
        self._tries = 0

    def refused(self, attempt: int, reason: Refusal) -> None:
        """It is not let in: some reasons kill it."""
        if attempt != self.attempt:
            return
        self.refusals.append(reason)
        if self._is_fatal(reason):
            self.die(reason)
        else:
            self.retry()

    def redirected(self, url: ClusterUrl) -> None:
        """Look for the topic elsewhere from now on; an address that is blank changes nothing."""
        if url.pulsar:
            self.url = url.pulsar

    def retry(self) -> None:
        """Try again after the next step of the backoff."""
        if self.state in _OVER:
            return
        self.state = ClientState.CONNECTING
        self.attempt += 1
        step_ms = min(_FIRST_BACKOFF_MS << self._tries, _LAST_BACKOFF_MS)
        self._tries = min(self._tries + 1, 16)
        self.timeline.within(step_ms - step_ms // 10, step_ms, self._connect_if, self.attempt)

    def die(self, reason: str) -> None:
        """It fails for good."""
        self.state = ClientState.DEAD
        self.detached()
        self.timeline.tell(self.name, f"dead: {reason}")

    def disconnected(self, connection: Connection) -> None:
        """The connection that it uses is no more."""
        if connection is self._connection:
            self._connection = None
            self.detached()
            self.retry()

    def drop_connection(self) -> None:
        """Close the whole connection, whoever else is on it."""
        if self._connection is not None:
            self.timeline.tell(self.name, "closes its connection")
            self._connection.close()

    def _connect_if(self, attempt: int) -> None:
        if attempt == self.attempt:
            self.connect()

    def _timed_out(self, attempt: int) -> None:
        if attempt == self.attempt and self.state is ClientState.CONNECTING:
            self.retry()

    def _looked_up(self, attempt: int, found: Broker | Refusal) -> None:
        if attempt != self.attempt:
            return
        if isinstance(found, Refusal):
            self.refused(attempt, found)
        else:
            self.ask(found, self._use(found), attempt)

    def _use(self, broker: Broker) -> Connection:
        connection = self.process.connection(broker)
        if connection is not self._connection:
            if self._connection is not None and self in self._connection.handlers:
                self._connection.handlers.remove(self)
            connection.handlers.append(self)
            self._connection = connection
        return connection

    def _is_fatal(self, reason: Refusal) -> bool:
        library = self.process.library
        match reason:
            case Refusal.TERMINATED:
                return not self.created or library is not Library.CPP_OLD
            case Refusal.QUOTA:
                return not self.created and library.is_cpp
            case Refusal.NOT_FOUND | Refusal.ENCRYPTION:
                return not self.created
            case _:
                return False


@dataclass(frozen=True, slots=True, eq=False)
class Attempt:
    """One attempt of a client to be let in; what is answered to an earlier one counts no more."""

    handler: Handler
    attempt: int
    connection: Connection

    def refused(self, reason: Refusal) -> None:
        """It is not let in."""
        self.handler.refused(self.attempt, reason)

    def redirected(self, url: ClusterUrl) -> None:
        """It is sent to another cluster."""
        if self.attempt == self.handler.attempt:
            self.handler.redirected(url)
            self.handler.retry()
