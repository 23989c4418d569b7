"""Clients of Pulsar for the lab and the tests, patient with a busy machine."""

from __future__ import annotations

from typing import Any, Final

import pulsar

OPERATION_S: Final = 300
"""How long a lookup, a subscription or a new producer may take that has to come; Pulsar's own default is 30 s."""
CONNECTION_MS: Final = 60_000
"""How long a connection may take; Pulsar's own default is 10 s."""


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
    return pulsar.Client(service_url, **{**patient, **options})
