"""Topics whose ledgers are laid in several ways, written, closed, loaded and read entry by entry."""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http import HTTPStatus
from typing import Final

import pulsar
import pulsar.exceptions

from deploy.lab import rest
from deploy.lab.brokers.cluster import BrokersCluster
from deploy.lab.brokers.settings import Replication
from deploy.lab.client import patient_client

ENTRIES: Final = 9
LOAD_S: Final = 60
"""So long a client tries; what cannot be loaded fails each time."""
READ_S: Final = 60.0

Ways = Mapping[str, tuple[Replication, int]]

WAYS: Final[Ways] = {
    "three-of-two": (Replication(3, 2, 2), 3),
    "three-of-three": (Replication(3, 3, 2), 1),
    "two": (Replication(2, 2, 2), 8),
    "one": (Replication(1, 1, 1), 5),
}
"""How ledgers are laid, and the number of topics: enough that bookies are met in several orders."""


def payload(topic: str, number: int) -> bytes:
    """The message that becomes an entry of a topic."""
    return f"{topic} {number}".encode()


def namespaces(kind: str, ways: Ways = WAYS) -> dict[str, tuple[Replication, int]]:
    """The namespaces of a kind of topics.

    A broker that is given a bundle loads all of its topics, and opens a ledger for each: topics that are to stay closed
    share none with others.
    """
    return {f"audit/{kind}-{name}": way for name, way in ways.items()}


def write(cluster: BrokersCluster, kind: str, ways: Ways = WAYS) -> None:
    """Make topics of a kind, one entry for each message; the last ledger of each is open then."""
    with _client(cluster, LOAD_S) as client:
        for namespace, (replication, count) in namespaces(kind, ways).items():
            cluster.make_namespace(namespace, bundles=1)
            # A broker would take away what nobody has subscribed to, while a test looks at it.
            url = f"{cluster.admin_url}/admin/v2/namespaces/{namespace}/retention"
            rest.send("POST", url, {"retentionTimeInMinutes": -1, "retentionSizeInMB": -1})
            cluster.replicate(namespace, replication)
            for topic in (f"{namespace}/{number}" for number in range(count)):
                producer = client.create_producer(f"persistent://{topic}", batching_enabled=False)
                for number in range(ENTRIES):
                    producer.send(payload(topic, number))
                producer.close()


def close(cluster: BrokersCluster, kind: str, ways: Ways = WAYS) -> None:
    """Unload all topics of a kind, so that their ledgers are closed."""
    for namespace in namespaces(kind, ways):
        rest.send("PUT", f"{cluster.admin_url}/admin/v2/namespaces/{namespace}/unload")


def let_open_on_one(cluster: BrokersCluster, *kinds: str) -> None:
    """Have new ledgers on one bookie each: a topic opens one when it is loaded, on as many bookies as there may be."""
    for kind in kinds:
        for namespace in namespaces(kind):
            cluster.replicate(namespace, Replication(1, 1, 1))


def loaded(cluster: BrokersCluster, topics: Iterable[str]) -> set[str]:
    """Those topics that a broker loads for a producer."""
    names = list(topics)
    with _client(cluster, LOAD_S) as client, ThreadPoolExecutor(max_workers=len(names)) as pool:

        def loads(topic: str) -> bool:
            try:
                client.create_producer(f"persistent://{topic}").close()
            except pulsar.exceptions.PulsarException:
                return False
            return True

        return {topic for topic, loads_it in zip(names, pool.map(loads, names), strict=True) if loads_it}


def entry(cluster: BrokersCluster, topic: str, ledger_id: int, entry_id: int) -> bytes | None:
    """The message of one entry, read from the bookies; ``None`` where the broker cannot have it.

    Raises:
        URLError: The broker has not tried to read it, or does not answer.
    """
    tenant, namespace, name = topic.split("/")
    url = f"{cluster.admin_url}/admin/v2/persistent/{tenant}/{namespace}/{name}/ledger/{ledger_id}/entry/{entry_id}"
    try:
        with urllib.request.urlopen(url, timeout=READ_S) as answer:
            body: bytes = answer.read()
            return body
    except urllib.error.HTTPError as exc:
        if exc.code != HTTPStatus.INTERNAL_SERVER_ERROR:
            raise
        return None
    except TimeoutError:
        return None


@contextmanager
def _client(cluster: BrokersCluster, operation_s: int) -> Iterator[pulsar.Client]:
    client = patient_client(cluster.service_url, operation_timeout_seconds=operation_s)
    try:
        yield client
    finally:
        client.close()
