"""Namespaces under load between two real clusters, each moved by a single flip."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import anyio
import anyio.to_thread

from deploy.lab.pulsar import PulsarCluster
from deploy.lab.traffic.account import TrafficAccount
from deploy.lab.traffic.loads import TopicLoad
from deploy.lab.traffic.traffic import ClusterTraffic
from syncer.admin.client import AdminClient
from syncer.migration.brake import FlipTiming
from syncer.migration.broker_health import deadlocked
from syncer.migration.evidence import ClusterUrls
from syncer.migration.running.clock import WallClock
from syncer.migration.running.control.calls import RecordedCalls
from syncer.migration.running.control.examining import BrokerExamination
from syncer.migration.running.flip import Flip
from syncer.migration.running.former import FormerValues
from syncer.migration.running.guard import Guard
from syncer.migration.running.look_ahead import LookAhead
from syncer.migration.running.report import FlipReport
from syncer.waiting import WAIT_S
from tests.migration.flips import MemoryJournal
from tests.real.migrations import BLUE, GREEN

TIMING: Final = FlipTiming(check_period_s=2.0, window_s=1.4)
LOADED_S: Final = 6.0
"""For so long clients work before their namespace is moved, and after."""


class FlippedPair:
    """Both clusters by their admin APIs."""

    def __init__(
        self, clusters: Mapping[str, PulsarCluster], blue: AdminClient, green: AdminClient, folder: Path
    ) -> None:
        self.service_url = clusters[BLUE].service_url
        there = clusters[GREEN]
        self.green_urls = ClusterUrls(http=there.admin_url, pulsar=there.service_url)
        self.sides = {BLUE: blue, GREEN: green}
        self.journal = MemoryJournal()
        clock = WallClock()
        self._look_ahead = [
            LookAhead(calls, clock, FormerValues(calls, clock, self.journal, cluster=cluster))
            for calls, cluster in ((blue, "blue"), (green, "green"))
        ]
        self._folder = folder

    async def make(self, namespace: str, loads: Sequence[TopicLoad]) -> None:
        """Give both the same namespace, topics and subscriptions."""
        tenant = namespace.partition("/")[0]
        for name, calls in self.sides.items():
            if await calls.tenant(tenant) is None:
                await calls.create_tenant(tenant, {"adminRoles": [], "allowedClusters": [name]})
            await calls.create_namespace(namespace, {"replication_clusters": [name]})
            for load in loads:
                if load.partitions:
                    await calls.create_partitions(load.topic, load.partitions)
                else:
                    await calls.create_topic(load.topic)
                for kind in load.kinds:
                    await calls.create_subscription_at_earliest(load.topic, kind.name)

    async def flip(self, namespace: str, loads: Sequence[TopicLoad]) -> tuple[FlipReport, TrafficAccount]:
        """Load the namespace, move it, and let its clients give account.

        Raises:
            AssertionError: A broker of blue is deadlocked, which is Pulsar's doing: it is named, with its words.
        """
        clock, blue = WallClock(), self.sides[BLUE]
        examination = BrokerExamination("blue", BLUE, blue, clock, tell)
        calls = RecordedCalls(blue, clock, examination.waited_in_vain)
        await self.make(namespace, loads)
        for each in self._look_ahead:
            await each.hold()
        guarded = await Guard(blue, clock, FormerValues(blue, clock, self.journal)).guard(
            BLUE, self.green_urls, [namespace]
        )
        assert guarded.holds
        flip = Flip(calls, self.sides[GREEN], clock, self.journal, TIMING)
        with ClusterTraffic(self.service_url, loads, self._folder) as traffic:
            await anyio.sleep(LOADED_S)
            traffic.gaps_from_now()
            report = await flip.flip([namespace])
            await anyio.sleep(LOADED_S)
            account = await anyio.to_thread.run_sync(traffic.settle, WAIT_S)
        ill = deadlocked(await examination.look())
        assert not ill, ([each.words for each in ill], report, account)
        return report, account

    async def release(self) -> None:
        """Let both do as before."""
        for each in self._look_ahead:
            await each.release()
        blue, clock = self.sides[BLUE], WallClock()
        former = FormerValues(blue, clock, self.journal)
        await former.load()
        await Guard(blue, clock, former).release()


async def tell(event: str, **what: object) -> None:
    """Print what was noted."""
    print(event, what)
