"""A further broker of a cluster, in a process of its own; the first one stands in one process with the bookie."""

from __future__ import annotations

from typing import Final

from deploy.lab import rest
from deploy.lab.ports import HOST, free_ports
from deploy.lab.process import Command, ServerProcess
from deploy.lab.pulsar import READY_TIMEOUT_S, PulsarCluster, laid_over
from deploy.lab.software import pulsar_home

NAME: Final = "broker-2"


class FurtherBroker:
    """A second broker on the stores of a cluster that runs.

    Args:
        cluster: Whose broker it is; it has the settings of the first one.
        leashed: End it when this program ends.
    """

    def __init__(self, cluster: PulsarCluster, *, leashed: bool = False) -> None:
        self._cluster = cluster
        self._ports = tuple(free_ports(2))
        self.process = ServerProcess(name=NAME, directory=cluster.directory, leashed=leashed)

    @property
    def service_url(self) -> str:
        """Where clients connect."""
        return f"pulsar://{HOST}:{self._ports[0]}"

    @property
    def admin_url(self) -> str:
        """Where its admin REST API is."""
        return f"http://{HOST}:{self._ports[1]}"

    def start(self) -> None:
        """Start it, and wait until it serves.

        Raises:
            ServerFailed: It ended, or was not ready in time.
        """
        self.process.start(self._command())
        made_by_the_first = f"{self.admin_url}/admin/v2/namespaces/public/default"
        token = self._cluster.settings.token
        self.process.wait_until(lambda: rest.answers(made_by_the_first, token), timeout_s=READY_TIMEOUT_S)

    def stop(self) -> None:
        """End it in order."""
        self.process.stop()

    def _command(self) -> Command:
        cluster = self._cluster
        configuration = cluster.directory / "conf" / f"{NAME}.conf"
        values = cluster.broker_values(*self._ports)
        configuration.write_text(laid_over(pulsar_home() / "conf" / "broker.conf", values))
        return Command(
            words=(str(pulsar_home() / "bin" / "pulsar"), "broker"),
            directory=cluster.directory,
            environment={**cluster.broker_environment(), "PULSAR_BROKER_CONF": str(configuration)},
        )
