"""The bench ``topic-policies``: how soon the topics of policies of 1,000 namespaces are followed, beside bare readers.

Both sides open the same topics of the same broker in turns, in a process of their own each, as many at a time; the
ratio is the median of the rounds'. Readers alone know the topics and decode nothing; ours finds the namespaces in the
store, lists each, and asks for the schemas. Memory and connections are told of both.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any, Final

import anyio

from deploy.lab import rest
from deploy.lab.process import ServerFailed
from deploy.lab.pulsar import ClusterSettings, PulsarCluster, bring_up
from syncer.admin.client import AdminSettings
from syncer.model import MetaPath
from syncer.system_topics.log import NOTHING, WriterClaim
from syncer.system_topics.policies import key_of
from syncer.system_topics.pulsar import PulsarTopicLogs
from tests.bench.following import BASE, TENANT, bus_of, topic_of
from tests.bench.result import Bar, Result, ratio_in_turns

NAMESPACES: Final = 1_000
QUICK: Final = 100
EACH: Final = 10
"""Topics with policies in each namespace."""
ROUNDS: Final = 5
QUICK_ROUNDS: Final = 2
MOST: Final = 3.0
OURS: Final = "ours"
BARE: Final = "bare"
DEADLINE_S: Final = 600.0
_HEAP_MB: Final = 2_048
_SESSION_MS: Final = 60_000
_AT_ONCE: Final = 8
_TRIES: Final = 3
_NOBODY: Final = WriterClaim(region="-", store_id="", fence=0, database="", batch="", expected=NOTHING)

Rounds = Mapping[str, Sequence[Mapping[str, float]]]


def run(out: Path, *, quick: bool) -> bool:
    """Measure; whether every bar holds. ``TOPIC_POLICIES_NAMESPACES``: another number of them."""
    count = int(os.environ.get("TOPIC_POLICIES_NAMESPACES", QUICK if quick else NAMESPACES))
    rounds: dict[str, list[dict[str, float]]] = {BARE: [], OURS: []}
    with tempfile.TemporaryDirectory(prefix="bench-topic-policies-") as directory, _cluster(Path(directory)) as cluster:
        place = {
            "service": cluster.service_url,
            "admin": cluster.admin_url,
            "store": cluster.store_config["hosts"],
            "namespaces": count,
        }
        _tell(f"{count} namespaces with policies of {EACH} topics each are made")
        anyio.run(_fill, cluster, place, count)
        for what in rounds:  # who comes first has the broker load every topic
            _measured(what, place, count)
        for turn in range(QUICK_ROUNDS if quick else ROUNDS):
            for what, measured in rounds.items():
                _tell(f"round {turn + 1}: {what}")
                measured.append(_measured(what, place, count))
    result = Result(name="topic-policies", rows=table(rounds), bars=[bar(rounds)])
    result.figures = {"namespaces": count, "topics_each": EACH, "rounds": rounds}
    columns = ("following", "seconds, median", "each round", "s of CPU", "memory grown, MB", "connections")
    return result.show(columns, out)


def bar(rounds: Rounds) -> Bar:
    """Seconds of ours by seconds of readers alone."""
    ours, bare = ([each["wall_s"] for each in rounds[what]] for what in (OURS, BARE))
    return Bar(
        name="seconds until all are followed",
        peer="a reader of each topic, told which",
        ratio=ratio_in_turns(ours, bare),
        bar=MOST,
        at_least=False,
    )


def table(rounds: Rounds) -> list[tuple[str, ...]]:
    """A row for each side."""
    return [
        (
            what,
            f"{median(each['wall_s'] for each in measured):.2f}",
            ", ".join(f"{each['wall_s']:.2f}" for each in measured),
            f"{median(each['cpu_s'] for each in measured):.2f}",
            f"{max(each['grown_bytes'] for each in measured) / 1e6:.0f}",
            f"{max(each['connections'] for each in measured):.0f}",
        )
        for what, measured in rounds.items()
    ]


@contextmanager
def _cluster(directory: Path) -> Iterator[PulsarCluster]:
    settings = ClusterSettings(
        name="east",
        quick_start=False,
        session_ms=_SESSION_MS,
        broker_heap_mb=_HEAP_MB,
        broker={"brokerDeleteInactiveTopicsEnabled": "false"},  # with a topic that nobody uses its policies would go
    )
    cluster = PulsarCluster(directory / "east", settings, leashed=True)
    try:
        bring_up([cluster])
        yield cluster
    finally:
        cluster.remove()


async def _fill(cluster: PulsarCluster, place: dict[str, Any], count: int) -> None:
    """One policy of each namespace is set by the broker, so that its topic is there; the others by its schema."""
    url = f"{cluster.admin_url}/admin/v2"
    rest.send("PUT", f"{url}/tenants/{TENANT}", {"adminRoles": [], "allowedClusters": ["east"]})

    def make(number: int) -> None:
        name = f"{TENANT}/n{number:04d}"
        calls = (
            ("PUT", f"namespaces/{name}", {"replication_clusters": ["east"]}),
            ("PUT", f"persistent/{name}/t0", None),
            ("POST", f"persistent/{name}/t0/maxConsumers?isGlobal=true", number + 1),
        )
        for method, path, body in calls:
            for left in reversed(range(_TRIES)):
                try:
                    rest.send(method, f"{url}/{path}", body, exists_is_fine=True)
                    break
                except ServerFailed:  # a broker on a busy machine may take longer than a call waits
                    if not left:
                        raise

    with ThreadPoolExecutor(_AT_ONCE) as threads:
        list(threads.map(make, range(count)))
    logs = PulsarTopicLogs("bench", bus_of(place), AdminSettings(url=cluster.admin_url))
    gate = anyio.Semaphore(_AT_ONCE)

    async def fill(number: int) -> None:
        async with gate:
            name = f"{TENANT}/n{number:04d}"
            log = await logs.log(name, [topic_of(number)])
            for each in range(1, EACH):
                path = MetaPath(f"{BASE}/n{number:04d}/persistent/t{each}")
                payload = await log.prepare(path, b'{"maxConsumerPerTopic":%d,"isGlobal":true}' % (each + 1))
                await log.append(key_of(path), payload, _NOBODY)
            await log.close()

    async with anyio.create_task_group() as group:
        for number in range(count):
            group.start_soon(fill, number)
    await logs.close()


def _tell(what: str) -> None:
    print(f"{time.strftime('%H:%M:%S')}  {what}", file=sys.stderr, flush=True)


def _measured(what: str, place: dict[str, Any], count: int) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.bench.following", what, json.dumps(place)],
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{what} failed:\n{done.stderr[-3000:]}")
    measured: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    if measured["found"] != count * EACH:
        raise RuntimeError(f"{what} found {measured['found']:.0f} of {count * EACH}: this run does not count")
    return measured
