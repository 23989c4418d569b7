"""All clients of some topics, in this process."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import pulsar

from deploy.lab.client import patient_client
from deploy.lab.traffic.account import TrafficAccount, take_account
from deploy.lab.traffic.loads import TopicLoad
from deploy.lab.traffic.perf import PerfProducer
from deploy.lab.traffic.publisher import Publisher
from deploy.lab.traffic.receiver import Receiver

_ANOTHER: Final = 2
"""Number of a consumer that comes beside those that were there first."""
_ERRORS: Final = pulsar.ConsoleLogger(pulsar.LoggerLevel.Error)
_POLL_S: Final = 0.2
_PUBLISHING_CLIENTS: Final = 3


class Clients:
    """Publishers and consumers of some topics; they end with this process.

    A client that waits for itself holds Python up when it is closed, so none is: see
    :class:`~deploy.lab.traffic.traffic.ClusterTraffic`.

    Args:
        service_url: Of the cluster at which all of them begin.
        loads: Who does what; the topics are there.
        directory: For logs of the publishers in Java.
        trust: Certificates that brokers are trusted by, where the service URL is one of TLS.
        log: Where the Python clients write down all that they do; ``None``: errors on the console, nothing else. All of
            them share one connection pool then: two that write one file at the same time spoil each other's lines.
    """

    def __init__(
        self,
        service_url: str,
        loads: Iterable[TopicLoad],
        directory: Path,
        *,
        trust: Path | None = None,
        log: Path | None = None,
    ) -> None:
        self._url = service_url
        self._trust = trust
        self._log = log
        self._loads = tuple(loads)
        self._directory = directory
        self._clients: list[pulsar.Client] = []
        self._publishers: list[Publisher] = []
        self._java: list[PerfProducer] = []
        self._receivers: list[Receiver] = []

    def begin(self) -> None:
        """Begin: consumers first, so that each subscription is there before the first message."""
        publishing = 0 if self._log else _PUBLISHING_CLIENTS
        self._clients = [self._client(self._url) for _ in range(1 + publishing)]
        others = {load.elsewhere: self._client(load.elsewhere) for load in self._loads if load.elsewhere}
        self._clients += others.values()
        for load in self._loads:
            self._subscribe(load, others)
        for load in self._loads:
            short = load.topic.rpartition("/")[2]
            for publisher in load.publishers:
                here = self._clients[1 + len(self._publishers) % publishing if publishing else 0]
                client = others[load.elsewhere] if publisher.elsewhere else here
                name = f"{short}-{len(self._publishers)}"
                self._publishers.append(Publisher(client, load, name, publisher))
            if load.java_per_s:
                java = PerfProducer(self._directory, self._url, load.topic, name=f"{short}-java", per_s=load.java_per_s)
                self._java.append(java)
        for thread in (*self._receivers, *self._publishers):
            thread.start()
        for java in self._java:
            java.start()

    def end(self) -> None:
        """End those that are processes of their own."""
        for java in self._java:
            java.stop()

    @property
    def publishers(self) -> int:
        """How many publish."""
        return len(self._publishers) + len(self._java)

    @property
    def consumers(self) -> int:
        """How many consume."""
        return len(self._receivers)

    def attend(self) -> None:
        """The consumers come that were to come late, from the cluster at which all began."""
        self._come((load, pulsar.ConsumerType.Exclusive, name, 0) for load in self._loads for name in load.late)

    def come_again(self) -> None:
        """One more consumer of each subscription comes, from the cluster at which all began."""
        self._come((load, kind, kind.name, _ANOTHER) for load in self._loads for kind in load.kinds)

    def _come(self, wanted: Iterable[tuple[TopicLoad, pulsar.ConsumerType, str, int]]) -> None:
        client = self._client(self._url)
        self._clients.append(client)
        for load, kind, subscription, number in wanted:
            self._receivers.append(Receiver(client, load, kind, subscription, number))
            self._receivers[-1].start()

    def _subscribe(self, load: TopicLoad, others: Mapping[str, pulsar.Client]) -> None:
        for kind in load.kinds:
            for number in range(1 if kind == pulsar.ConsumerType.Exclusive else 2):
                self._receivers.append(Receiver(self._clients[0], load, kind, kind.name, number))
        if load.elsewhere:
            self._receivers.append(Receiver(others[load.elsewhere], load, pulsar.ConsumerType.Failover, "elsewhere"))
        for name in load.late:
            self._clients[0].subscribe(load.topic, name, initial_position=pulsar.InitialPosition.Earliest).close()

    def gaps_from_now(self) -> None:
        """Forget the gaps until now."""
        for publisher in self._publishers:
            publisher.gap_s = 0.0

    def settle(self, within_s: float) -> TrafficAccount:
        """Publish no more, wait until all receipts and messages have come or the time is over, and give account."""
        deadline = time.monotonic() + within_s
        for publisher in self._publishers:
            publisher.ending.set()
        for java in self._java:
            java.stop()
        while True:
            found = self.account()
            waiting = any(each.is_alive() or each.unanswered for each in self._publishers if not each.dead)
            if time.monotonic() >= deadline or not (waiting or found.lost):
                return found
            time.sleep(_POLL_S)

    def account(self) -> TrafficAccount:
        """What became of all messages so far; those that are under way count as lost."""
        told = [each.story() for each in self._publishers] + [each.story() for each in self._java]
        return take_account(told, [each.story() for each in self._receivers])

    def _client(self, url: str) -> pulsar.Client:
        log = self._log
        return patient_client(
            url,
            logger=pulsar.FileLogger(pulsar.LoggerLevel.Info, str(log)) if log else _ERRORS,
            tls_trust_certs_file_path=None if self._trust is None else str(self._trust),
            tls_validate_hostname=self._trust is not None,
        )
