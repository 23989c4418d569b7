"""A broker in a process of its own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from deploy.lab import rest
from deploy.lab.brokers.cpu_group import CpuGroup
from deploy.lab.ports import HOST, free_ports
from deploy.lab.process import Command
from deploy.lab.pulsar import PulsarCluster, laid_over
from deploy.lab.releases.assembled import home_of
from deploy.lab.releases.versions import release
from deploy.lab.server import Server
from deploy.lab.software import PULSAR_VERSION


class Broker(Server):
    """One broker of a cluster; its data are in the cluster's bookies.

    Args:
        directory: Holds configuration, log and pid file.
        name: Name of the process and of its files.
        settings: As in ``broker.conf``, but for its ports.
        environment: What its process finds there.
        token: What the lab shows to it, where it asks who is there.
        group: The share of the CPU that it has.
        leashed: End it when this program ends.
        version: Version of Pulsar.
    """

    def __init__(
        self,
        directory: Path,
        *,
        name: str,
        settings: Mapping[str, str],
        environment: Mapping[str, str],
        token: str = "",
        group: CpuGroup | None = None,
        leashed: bool,
        version: str = PULSAR_VERSION,
    ) -> None:
        port, self.web_port = free_ports(2)
        super().__init__(directory, name=name, port=port, data_directory=directory / "data" / name, leashed=leashed)
        self.group = group
        self._settings = dict(settings)
        self._environment = environment
        self._token = token
        self._version = version

    @property
    def id(self) -> str:
        """Its name among the brokers."""
        return f"{HOST}:{self.web_port}"

    @property
    def service_url(self) -> str:
        """Where clients connect."""
        return f"pulsar://{self.endpoint}"

    @property
    def admin_url(self) -> str:
        """Where its admin REST API is."""
        return f"http://{self.id}"

    @property
    def registration(self) -> str:
        """Its path in the store, for as long as it lives."""
        return f"/loadbalance/brokers/{self.id}"

    @property
    def version(self) -> str:
        """Version of Pulsar that it has at its next start."""
        return self._version

    def set_version(self, version: str) -> None:
        """Have it run another version of Pulsar from its next start on; the bookies stay as they are.

        Args:
            version: As Pulsar counts them.

        Raises:
            VersionRefused: The lab does not have it, or it cannot use the cluster's store.
        """
        release(version, etcd=self._settings.get("metadataStoreUrl", "").startswith("etcd:"))
        self._version = version

    def take_place(self, former: Broker) -> None:
        """Have the addresses of a broker that has ended for good; before its first start.

        Args:
            former: That broker.
        """
        self.port, self.web_port = former.port, former.web_port

    def change(self, settings: Mapping[str, str]) -> None:
        """Change settings; they count from its next start."""
        self._settings |= settings

    def _serves(self) -> bool:
        return rest.answers(f"{self.admin_url}/admin/v2/namespaces/public/default", self._token)

    def _command(self) -> Command:
        home, configuration = home_of(self._version), self.directory / "conf" / f"{self.process.name}.conf"
        configuration.parent.mkdir(parents=True, exist_ok=True)
        ports = {"brokerServicePort": str(self.port), "webServicePort": str(self.web_port)}
        configuration.write_text(laid_over(home / "conf" / "broker.conf", {**self._settings, **ports}))
        words = (str(home / "bin" / "pulsar"), "broker")
        return Command(
            words=words if self.group is None else self.group.entering(words),
            directory=self.directory,
            environment={**self._environment, "PULSAR_BROKER_CONF": str(configuration)},
            favoured=True,
        )


def further_broker(cluster: PulsarCluster, *, leashed: bool = False) -> Broker:
    """A second broker on the stores of a standalone cluster, with the settings of the first one."""
    return Broker(
        cluster.directory,
        name="broker-2",
        settings=cluster.broker_settings(),
        environment=cluster.broker_environment(),
        token=cluster.settings.token,
        leashed=leashed,
        version=cluster.settings.version,
    )
