"""The story of a migration: clients at work are moved to another cluster, once with care and once by the mark alone."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import anyio

from deploy.lab.process import ServerFailed
from deploy.lab.pulsar import Part, PulsarCluster
from deploy.lab.region import LabRegion
from deploy.lab.traffic.account import TrafficAccount
from deploy.lab.traffic.loads import PublisherLoad, Sending, TopicLoad
from deploy.lab.traffic.traffic import ClusterTraffic
from syncer.admin.client import AdminClient, AdminSettings
from syncer.demo.screen import Screen
from syncer.errors import AdminError
from syncer.waiting import WAIT_S, wait_until

TENANT: Final = "shop"
CAREFULLY: Final = f"{TENANT}/orders"
CARELESSLY: Final = f"{TENANT}/carts"
WORKING_S: Final = 6.0
"""For so long clients work before their namespace is moved, and after."""
SETTLE_S: Final = 45.0
"""For so long messages are waited for of which some never come."""
CARELESS_S: Final = 30.0

_EACH: Final = PublisherLoad(per_s=50)
_PIPELINED: Final = PublisherLoad(per_s=100, sending=Sending.PIPELINED)
_BATCHED: Final = PublisherLoad(per_s=1_000, sending=Sending.BATCHED)


def loads_of(namespace: str) -> tuple[TopicLoad, ...]:
    """The same clients for any namespace: all four types of subscriptions on each topic."""
    topic = f"persistent://{namespace}/".__add__
    return (
        TopicLoad(topic=topic("plain"), publishers=(_EACH, _PIPELINED)),
        TopicLoad(topic=topic("batched"), publishers=(_BATCHED,)),
        TopicLoad(topic=topic("java"), publishers=(), java_per_s=100),
        TopicLoad(topic=topic("parts"), publishers=(_EACH, _EACH), partitions=3),
    )


class MigrationStory:
    """Plays the acts in order, and remembers what did not hold.

    Args:
        blue: The cluster that clients begin at.
        green: The one that they are to be at.
        region: Beside green; its daemon carries the migration.
        folder: For plan, report, and logs of clients.
        screen: Where it is told.
    """

    def __init__(
        self, blue: PulsarCluster, green: PulsarCluster, region: LabRegion, folder: Path, screen: Screen
    ) -> None:
        self.blue = blue
        self.green = green
        self.region = region
        self.screen = screen
        self.failed: list[str] = []
        self.moved: TrafficAccount | None = None
        self.harmed: TrafficAccount | None = None
        self._plan = folder / "plan.json"
        self._report = folder / "report.html"
        self._folder = folder

    def passed(self, elapsed_s: float) -> str:
        """What it has shown."""
        return (
            f" in {elapsed_s:.0f} s\n  by pulsar-syncer:        {self.moved}\n  by Pulsar's mark alone:  {self.harmed}"
        )

    def play(self) -> bool:
        """Play everything; whether all of it held."""
        anyio.run(self._make)
        with ClusterTraffic(self.blue.service_url, loads_of(CAREFULLY), self._folder / "carefully") as traffic:
            self.plan(traffic)
            self.start(traffic)
            self.move()
            self.close(traffic)
        self.screen.act(5, "The same clients in another namespace, by Pulsar's own mark alone")
        self.screen.say("blue's broker is started anew: what it migrates first takes longest")
        self.blue.stop(Part.BROKER)
        self.blue.start(Part.BROKER)
        with ClusterTraffic(self.blue.service_url, loads_of(CARELESSLY), self._folder / "carelessly") as traffic:
            self.carelessly(traffic)
        return not self.failed

    # Acts

    def plan(self, traffic: ClusterTraffic) -> None:
        """Make the plan, and have both clusters checked."""
        self.screen.act(1, "Clients are at work in the cluster 'blue'; a plan is made to move them to 'green'")
        self.screen.say(
            f"{traffic.publishers} publishers in Python and Java, one of them 1,000 messages/s in batches; "
            f"{traffic.consumers} consumers of all four types; plain and partitioned topics"
        )
        time.sleep(WORKING_S)
        words = ("--from", "blue", "--to", "green", "--canary", CAREFULLY, "--bound", "soak_s=5")
        self._ask("plan", *words, "--save", str(self._plan))
        code, told = self.region.ask("migration", "preflight", str(self._plan))
        self._holds("nothing is in its way: 'syncer migration preflight'", holds=code == 0, why=told)

    def start(self, traffic: ClusterTraffic) -> None:
        """Begin: green is prepared, blue guarded; clients notice nothing."""
        self.screen.act(2, "It is started: green is given all that blue has, blue's brokers are held still")
        traffic.gaps_from_now()
        self._ask("start", str(self._plan), "--reason", "the demonstration")
        status = self._until(lambda told: "go" in told["waits_for"], "it waits for a go")
        self._holds("it waits for an operator's word: 'syncer migration status'", holds=True, why=status)

    def move(self) -> None:
        """Move the canary, which is all that there is."""
        self.screen.act(3, "The word is given: 'syncer migration go'")
        self._ask("go", "--yes", "--reason", "the demonstration")
        began = time.monotonic()
        told = self._until(lambda told: "close" in told["waits_for"], "everything was moved and verified")
        self.screen.say(f"stopped, marked, let go, read to the end, verified: {time.monotonic() - began:.0f} s")
        missing = [name for wave in told["waves"] for name in wave["missing"]]
        self._holds("everybody who was at blue stands at green", holds=not missing, why=missing)
        time.sleep(WORKING_S)

    def close(self, traffic: ClusterTraffic) -> None:
        """Close it, and let clients give account."""
        self.screen.act(4, "It is closed, and every client gives account of every message")
        self._ask("close", "--yes", "--reason", "the demonstration")
        self._until(lambda told: told["phase"] == "closed", "it is closed")
        self._ask("report", "--html", str(self._report))
        self.moved = traffic.settle(WAIT_S)
        self.screen.say(str(self.moved))
        self._holds("nobody was harmed", holds=self.moved.unharmed, why=repr(self.moved))

    def carelessly(self, traffic: ClusterTraffic) -> None:
        """Mark another namespace with the same clients, and nothing else."""
        time.sleep(WORKING_S)
        traffic.gaps_from_now()
        anyio.run(self._mark)
        self.screen.say(f"marked; {CARELESS_S:.0f} s go by")
        time.sleep(CARELESS_S)
        healthy = self.blue.healthy()
        migrated = anyio.run(self._migrated)
        self.harmed = traffic.settle(SETTLE_S)
        self.screen.say(str(self.harmed))
        self.screen.say(
            f"{migrated}; publishers that wait for a receipt still: "
            f"{len(self.harmed.unanswered)}; blue's broker {'is well' if healthy else 'says that it is not well'}"
        )

    # Parts

    async def _make(self) -> None:
        """The namespaces and their topics: the first at blue alone, the second at both, as a careful person does."""
        for cluster in (self.blue, self.green):
            async with AdminClient(AdminSettings(url=cluster.admin_url)) as admin:
                await admin.create_tenant(TENANT, {"adminRoles": [], "allowedClusters": [cluster.name]})
                for namespace in (CAREFULLY, CARELESSLY) if cluster is self.blue else (CARELESSLY,):
                    await admin.create_namespace(namespace, {"replication_clusters": [cluster.name]})
                    await _make_topics(admin, loads_of(namespace))

    async def _mark(self) -> None:
        async with AdminClient(AdminSettings(url=self.blue.admin_url)) as admin:
            urls = {"brokerServiceUrl": self.green.service_url, "serviceUrl": self.green.admin_url}
            await admin.set_migration_mark(self.blue.name, urls, migrated=False)
            await admin.mark_namespace(CARELESSLY, migrated=True)

    async def _migrated(self) -> str:
        """How many topics of the second namespace show that they were migrated."""
        try:
            async with AdminClient(AdminSettings(url=self.blue.admin_url)) as admin:
                ledgers = [await admin.internal_info(topic) for topic in await admin.topics(CARELESSLY)]
        except AdminError as error:
            return f"blue does not say which topics were migrated ({error.code})"
        done = sum((each or {}).get("properties", {}).get("migrated") == "true" for each in ledgers)
        return f"{done} of {len(ledgers)} topics migrated"

    def _ask(self, *words: str) -> Any:  # noqa: ANN401 - the command's own JSON
        return self.region.command("migration", *words)

    def _until(self, holds: Callable[[Any], bool], what: str) -> Any:  # noqa: ANN401 - the command's own JSON
        told: Any = {}

        def there() -> bool:
            nonlocal told
            told = self._ask("status")
            if told["stop"] or told["trouble"]:
                raise ServerFailed(f"the migration has stopped: {told['stop'] or told['trouble']}")
            return holds(told)

        wait_until(there, what, shown=lambda: told["step"])
        return told

    def _holds(self, what: str, *, holds: bool, why: object) -> None:
        self.screen.proof(what, holds=holds)
        if not holds:
            self.failed.append(f"{what}: {why}")


async def _make_topics(admin: AdminClient, loads: Sequence[TopicLoad]) -> None:
    for load in loads:
        if load.partitions:
            await admin.create_partitions(load.topic, load.partitions)
        else:
            await admin.create_topic(load.topic)
        for kind in load.kinds:
            await admin.create_subscription_at_earliest(load.topic, kind.name)
