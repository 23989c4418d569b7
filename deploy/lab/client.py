"""Clients of Pulsar for the lab and the tests, patient with a busy machine."""

from __future__ import annotations

from typing import Any, Final

import pulsar

OPERATION_S: Final = 300
"""How long a lookup, a subscription or a new producer may take that has to come; Pulsar's own default is 30 s."""
WAIT_MS: Final = 1000 * OPERATION_S
"""How long a message may take that has to come."""
CONNECTION_MS: Final = 60_000
"""How long a connection may take; Pulsar's own default is 10 s."""


class PatientClient(pulsar.Client):
    """A client whose producers wait for their receipts as long as it waits for anything, unless they say otherwise."""

    def create_producer(self, topic: str, *arguments: Any, **options: Any) -> pulsar.Producer:  # noqa: ANN401 - Pulsar's
        """Make a producer; Pulsar's own gives a message up after 30 s."""
        return super().create_producer(topic, *arguments, **{"send_timeout_millis": WAIT_MS, **options})


def patient_client(service_url: str, **options: Any) -> pulsar.Client:  # noqa: ANN401 - Pulsar's own, passed on
    """Make a client that logs errors on the console, where the options do not say otherwise.

    Args:
        service_url: Of the cluster.
        options: Of Pulsar's client.
    """
    patient = {
        "operation_timeout_seconds": OPERATION_S,
        "connection_timeout_ms": CONNECTION_MS,
        "logger": pulsar.ConsoleLogger(pulsar.LoggerLevel.Error),
    }
    return PatientClient(service_url, **{**patient, **options})
