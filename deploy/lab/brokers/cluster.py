"""A Pulsar cluster whose bookies and brokers are processes of their own: one ZooKeeper or etcd, some of each."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from deploy.lab import rest
from deploy.lab.brokers.bookie import Bookie
from deploy.lab.brokers.bookie_shell import BookieShell
from deploy.lab.brokers.broker import Broker
from deploy.lab.brokers.cpu_group import CpuGroup, why_no_groups
from deploy.lab.brokers.settings import MANAGERS, OWN, BrokersSettings, Replication
from deploy.lab.etcd import EtcdNode
from deploy.lab.jvm import Jvm
from deploy.lab.ports import HOST
from deploy.lab.process import Command, ServerFailed
from deploy.lab.pulsar import BROKER_SETTINGS, StoreKind, pulsar_environment
from deploy.lab.releases.assembled import home_of
from deploy.lab.waiting import wait_for
from deploy.lab.zookeeper import ZooKeeperServer, ZooKeeperSettings
from syncer.waiting import WAIT_S, wait_until

_SESSION_MS: Final = 10_000
"""How long a killed broker seems to be alive; shorter, one that gets no turn for long loses its bundles."""
_OWNED_S: Final = 5.0
"""How long a bundle may take to come to its target before it is unloaded again."""
_UNLOADS: Final = 15
"""Under traffic each keeps to its target once in three times or more seldom: whoever looks it up first decides."""
_CPU_USAGE: Final = "brk_lb_cpu_usage"


class BrokersCluster:
    """One cluster in a directory of its own.

    Attributes:
        keeper: Its metadata store.
        bookies: Its bookies.
        brokers: Its brokers.
        no_own_cpu: Why its brokers have no CPU figures of their own; empty where they have.

    Args:
        directory: Holds configuration, data, logs and pid files.
        settings: How it is set up.
        leashed: End its processes when this program ends.
    """

    def __init__(self, directory: Path, settings: BrokersSettings, *, leashed: bool = True) -> None:
        self._directory = directory
        self.settings = settings
        self.no_own_cpu = why_no_groups() if settings.cpu_percent else "no shares of the CPU were asked for"
        quick = settings.quick_start
        zookeeper = ZooKeeperSettings(
            jvm=Jvm(heap_mb=512, quick_start=quick),
            max_session_ms=_SESSION_MS,
            system_properties=settings.store_properties,
        )
        self.keeper: ZooKeeperServer | EtcdNode = (
            ZooKeeperServer(directory, settings=zookeeper, leashed=leashed)
            if settings.store is StoreKind.ZOOKEEPER
            else EtcdNode(directory, leashed=leashed)
        )
        self._leashed = leashed
        self.bookies = tuple(self._bookie(number) for number in range(settings.bookies))
        self.brokers = tuple(
            Broker(
                directory,
                name=f"broker-{number}",
                settings=self._broker_settings(),
                environment=pulsar_environment(directory, Jvm(heap_mb=384, direct_mb=256, quick_start=quick)),
                group=None if self.no_own_cpu else CpuGroup(f"{settings.name}-{number}"),
                leashed=leashed,
                version=settings.version,
            )
            for number in range(settings.brokers)
        )

    @property
    def store(self) -> ZooKeeperServer:
        """Its ZooKeeper.

        Raises:
            TypeError: It keeps its metadata in something else.
        """
        if not isinstance(self.keeper, ZooKeeperServer):
            raise TypeError(f"{self.settings.name} has no ZooKeeper: it keeps its metadata in {self.settings.store}")
        return self.keeper

    @property
    def name(self) -> str:
        """Name of the cluster in Pulsar."""
        return self.settings.name

    @property
    def store_config(self) -> dict[str, object]:
        """Its store as the daemon's configuration names it."""
        if isinstance(self.keeper, ZooKeeperServer):
            return {"kind": "zookeeper", "hosts": self.keeper.endpoint}
        return {"kind": "etcd", "endpoints": [self.keeper.endpoint]}

    @property
    def service_url(self) -> str:
        """Where clients connect: all brokers."""
        return f"pulsar://{','.join(broker.endpoint for broker in self.brokers)}"

    @property
    def admin_url(self) -> str:
        """Where the admin REST API of a broker that runs is.

        Raises:
            ServerFailed: None runs.
        """
        for broker in self.brokers:
            if broker.process.pid() is not None:
                return broker.admin_url
        raise ServerFailed(f"{self.settings.name}: no broker runs")

    def start(self) -> None:
        """Start all that does not run, and wait until all brokers know of each other.

        Raises:
            ServerFailed: A process ended.
            WaitFailed: One was not ready in time, or another process ended.
        """
        self.keeper.start()
        self._set_up_metadata()
        if self.settings.bookie.recovery:  # of two that make the layout of auto-recovery at once, one ends
            self._start(self.bookies[:1])
        self._start(self.bookies)
        for broker in self.brokers:
            if broker.group is not None and broker.process.pid() is None:
                broker.group.make()
        self._start(self.brokers)
        for broker, percent in zip(self.brokers, self.settings.cpu_percent, strict=False):
            if broker.group is not None:
                broker.group.limit(percent)  # not before: a start takes all that it can get
        everybody = {broker.id for broker in self.brokers}
        wait_until(partial(self._acquainted, everybody), f"the brokers know of each other: {sorted(everybody)}")

    def stop(self) -> None:
        """End it in order, all brokers at once; the data stay."""
        with ThreadPoolExecutor(max_workers=len(self.brokers)) as pool:
            list(pool.map(Broker.stop, self.brokers))
        self._remove_groups()
        for server in (*self.bookies, self.keeper):
            server.stop()

    def kill(self) -> None:
        """End it as a power loss would; the data stay."""
        for server in (*self.brokers, *self.bookies, self.keeper):
            server.kill()
        self._remove_groups()

    def add_bookie(self) -> Bookie:
        """Start one more bookie; it begins empty."""
        added = self._bookie(len(self.bookies))
        self.bookies += (added,)
        self.bring_back(added)
        return added

    def bring_back(self, *servers: Bookie | Broker) -> None:
        """Start some that do not run, side by side, each when the store has forgotten its former self.

        Raises:
            ServerFailed: One ended.
            WaitFailed: One was not ready in time, or another process ended.
        """
        self._start(servers)

    def shell(self) -> BookieShell:
        """BookKeeper's own shell, with the settings of the first bookie."""
        return BookieShell(self._directory, self.bookies[0].configuration, version=self.settings.version)

    def set_rack(self, bookie: Bookie, rack: str) -> None:
        """Tell the brokers, and by them all, in which rack a bookie is."""
        info = {"rack": rack, "hostname": bookie.endpoint}
        rest.send("POST", f"{self.admin_url}/admin/v2/bookies/racks-info/{bookie.endpoint}?group=default", info)

    def replicate(self, namespace: str, replication: Replication) -> None:
        """Have the ledgers that a namespace's topics open from now on laid in another way."""
        url = f"{self.admin_url}/admin/v2/namespaces/{namespace}/persistence"
        rest.send("POST", url, replication.policy())

    def set_dynamic(self, key: str, value: str) -> None:
        """Override a dynamic setting of all brokers."""
        rest.send("POST", f"{self.admin_url}/admin/v2/brokers/configuration/{key}/{quote(value, safe='')}")

    def unset_dynamic(self, key: str) -> None:
        """Take the override of a dynamic setting away."""
        rest.send("DELETE", f"{self.admin_url}/admin/v2/brokers/configuration/{key}")

    def dynamic(self) -> dict[str, str]:
        """The dynamic settings that are overridden."""
        overridden: dict[str, str] = rest.get(f"{self.admin_url}/admin/v2/brokers/configuration/values")
        return overridden

    def make_namespace(self, namespace: str, *, bundles: int) -> None:
        """Have ``tenant/namespace`` with so many bundles."""
        tenant = namespace.partition("/")[0]
        rights = {"adminRoles": [], "allowedClusters": [self.settings.name]}
        rest.send("PUT", f"{self.admin_url}/admin/v2/tenants/{tenant}", rights, exists_is_fine=True)
        policies = {"bundles": {"numBundles": bundles}, "replication_clusters": [self.settings.name]}
        rest.send("PUT", f"{self.admin_url}/admin/v2/namespaces/{namespace}", policies, exists_is_fine=True)

    def bundles(self, namespace: str) -> tuple[str, ...]:
        """The ranges of a namespace's bundles, as Pulsar writes them."""
        boundaries = rest.get(f"{self.admin_url}/admin/v2/namespaces/{namespace}/bundles")["boundaries"]
        return tuple(f"{low}_{high}" for low, high in pairwise(boundaries))

    def owners(self, namespace: str) -> dict[str, Broker]:
        """Which broker owns which of a namespace's bundles, by range; asked of each broker itself."""
        return {
            bundle.rpartition("/")[2]: broker
            for broker in self.brokers
            if broker.process.pid() is not None
            for bundle in self._owned(broker)
            if bundle.rpartition("/")[0] == namespace
        }

    def unload(self, namespace: str, span: str, to: Broker) -> None:
        """Have a bundle leave its broker, for another one if Pulsar keeps to it."""
        bundle = f"{self.admin_url}/admin/v2/namespaces/{namespace}/{span}"
        rest.send("PUT", f"{bundle}/unload?destinationBroker={to.id}")

    def move(self, namespace: str, span: str, to: Broker) -> int:
        """Unload a bundle until a broker owns it; how many unloads that took.

        One is not always enough: the modular manager forgets the target at the first look-up, whoever makes it (Pulsar
        issue 24884).

        Raises:
            ServerFailed: It does not own it in the end.
        """
        for unloads in range(1, _UNLOADS + 1):
            self.unload(namespace, span, to)
            if wait_for(lambda: self.owners(namespace).get(span) is to, deadline_s=_OWNED_S) is not None:
                return unloads
        owner = self.owners(namespace).get(span)
        name = "nobody" if owner is None else owner.id
        raise ServerFailed(f"{namespace}/{span} belongs to {name}, not to {to.id}, after {_UNLOADS} unloads")

    def report(self, broker: Broker) -> dict[str, Any]:
        """The load that a broker with the modular manager reports of itself."""
        report: dict[str, Any] = rest.get(f"{broker.admin_url}/admin/v2/broker-stats/load-report")
        return report

    def cpu_percent(self, broker: Broker) -> float:
        """How much of its CPU a broker says that it uses, whichever manager it runs; it looks once a minute."""
        for each in rest.get(f"{broker.admin_url}/admin/v2/broker-stats/metrics"):
            if _CPU_USAGE in each["metrics"]:
                return float(each["metrics"][_CPU_USAGE])
        raise ServerFailed(f"{broker.id} does not tell its CPU usage")

    def rate_in(self, broker: Broker) -> float:
        """Messages a second that come to a broker, as it counts them."""
        topics = rest.get(f"{broker.admin_url}/admin/v2/broker-stats/topics")
        return sum(
            float(topic.get("msgRateIn", 0.0))
            for bundles in topics.values()
            for domains in bundles.values()
            for topics_of in domains.values()
            for topic in topics_of.values()
        )

    def _owned(self, broker: Broker) -> set[str]:
        """The bundles that a broker owns; asked again where it is about to own one, which it answers with an error."""
        url = f"{broker.admin_url}/admin/v2/brokers/{self.settings.name}/{broker.id}/ownedNamespaces"
        found: set[str] = set()

        def answers() -> bool:
            try:
                found.update(rest.get(url) or ())
            except ServerFailed:
                return False
            return True

        wait_until(answers, f"{broker.id} tells which bundles it owns")
        return found

    def _broker_settings(self) -> dict[str, str]:
        own = {
            "clusterName": self.settings.name,
            "metadataStoreUrl": self.keeper.metadata_url,
            "configurationMetadataStoreUrl": self.keeper.metadata_url,
        }
        manager, replication = MANAGERS[self.settings.manager], self.settings.replication.settings()
        return {**BROKER_SETTINGS, **OWN, **manager, **replication, **own, **self.settings.broker}

    def _bookie(self, number: int) -> Bookie:
        return Bookie(
            self._directory,
            name=f"bookie-{number}",
            store=self.keeper,
            settings=self.settings.bookie,
            jvm=Jvm(heap_mb=192, direct_mb=256, quick_start=self.settings.quick_start),
            host=f"127.0.0.{number + 1}" if self.settings.bookie.hosts else HOST,
            leashed=self._leashed,
            version=self.settings.version,
        )

    def _start(self, servers: Iterable[Bookie | Broker]) -> None:
        """Start those that do not run side by side, each when the store has forgotten its former self."""
        waiting = [server for server in servers if server.process.pid() is None]
        for server in waiting:
            gone = partial(self._forgotten, server.registration)
            wait_until(gone, f"the store has forgotten {server.registration}")
            server.launch()
        for server in waiting:
            server.wait_ready()

    def _forgotten(self, registration: str) -> bool:
        return not self.keeper.has_ephemeral(registration)

    def _acquainted(self, everybody: set[str]) -> bool:
        """Whether all know of each other, and can be given bundles.

        A broker is registered, and answers, before its extensible load manager is started: it owns nothing then, not
        even what each broker has of its own, and a bundle that is brought to it is nobody's for a minute.
        """
        known = f"/admin/v2/brokers/{self.settings.name}"
        return all(
            set(rest.get(f"{broker.admin_url}{known}") or ()) == everybody and self._owned(broker)
            for broker in self.brokers
        )

    def _set_up_metadata(self) -> None:
        """Write what a cluster begins with; nothing when that was done.

        Raises:
            ServerFailed: It could not.
        """
        done = self._directory / "data" / "metadata-is-set-up"
        if done.exists():
            return
        url, broker = self.keeper.metadata_url, self.brokers[0]
        words = [str(home_of(self.settings.version) / "bin" / "pulsar"), "initialize-cluster-metadata"]
        words += ["--cluster", self.settings.name]
        words += ["--metadata-store", url, "--configuration-metadata-store", url]
        words += ["--web-service-url", broker.admin_url, "--broker-service-url", broker.service_url]
        environment = pulsar_environment(self._directory, Jvm(heap_mb=128))
        command = Command(words=tuple(words), directory=self._directory, environment=environment)
        tool = subprocess.run(
            command.words,
            env=command.full_environment(),
            capture_output=True,
            text=True,
            timeout=WAIT_S,
            check=False,
        )
        if tool.returncode != 0:
            said = (tool.stdout + tool.stderr).strip()[-800:]
            raise ServerFailed(f"{self.settings.name}: its metadata could not be set up: {said}")
        done.touch()

    def _remove_groups(self) -> None:
        for broker in self.brokers:
            if broker.group is not None:
                broker.group.remove()
