"""The table ``[api]`` of the configuration: where the HTTP server listens, what protects it, and its bounds."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from typing import Final, Self

from pydantic import Field, field_validator, model_validator

from syncer.access.exposure import Exposure, Protection, decide
from syncer.config.durations import Duration
from syncer.config.tables import Section

_ZERO: Final = timedelta(0)
_HOST: Final = re.compile(r"[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?|[0-9a-f:.]*:[0-9a-f:.]*")


class ApiTlsConfig(Section):
    """TLS of the HTTP server. The files are read again when they change, for connections from then on."""

    certificate: Path = Field(
        description="Certificate of the server and those above it (PEM).", examples=["/etc/pulsar-syncer/api.pem"]
    )
    key: Path = Field(description="Its private key (PEM), without a password.", examples=["/etc/pulsar-syncer/api.key"])
    client_ca: Path | None = Field(
        default=None,
        description="Authorities whose client certificates are taken (PEM); their subjects stand in 'api.tokens'.",
    )


class ApiConfig(Section):
    """The HTTP server of the daemon: health, metrics, status."""

    enabled: bool = Field(default=True, description="Whether it is started.")
    listen: str = Field(default="127.0.0.1:8950", description="host:port; IPv6 in brackets.")
    probes: str = Field(
        default="",
        description="A second host:port, open to everybody: /livez, /readyz and /metrics, and nothing else.",
        examples=["0.0.0.0:8951"],
    )
    tokens: Path | None = Field(
        default=None,
        description="File of hashed tokens and of client certificates' subjects; 'syncer api token create' writes it.",
        examples=["/var/lib/pulsar-syncer/api-tokens.json"],
    )
    hosts: tuple[str, ...] = Field(
        default=(),
        description="Names by which clients call the server, beside its address and localhost. Off loopback any name is"
        " taken as long as none is listed.",
        examples=[["syncer.example.com"]],
    )
    without: tuple[Protection, ...] = Field(
        default=(),
        description="What 'listen' may do without, off loopback; else the daemon does not start where one is wanting.",
        examples=[["tls"]],
    )
    request_timeout: Duration = Field(
        default=timedelta(seconds=10), gt=_ZERO, description="Time in which a request must be whole."
    )
    max_connections: int = Field(
        default=256, ge=1, le=10_000, description="At once; slow clients give way to new ones."
    )
    max_connections_per_address: int = Field(default=64, ge=1, le=10_000, description="Of these, from one address.")
    max_streams: int = Field(
        default=64, ge=0, le=10_000, description="Streams at once; never more than half of 'max_connections'."
    )
    max_streams_per_client: int = Field(default=16, ge=0, le=10_000, description="Of these, of one credential.")
    tls: ApiTlsConfig | None = Field(default=None, description="TLS; plain HTTP without it.")

    @field_validator("listen", "probes")
    @classmethod
    def _host_and_port(cls, listen: str) -> str:
        if not listen:
            return listen
        host, _, port = listen.rpartition(":")
        if not host or not port.isdigit() or not 0 <= int(port) <= 65535 or (":" in host and not host.startswith("[")):
            raise ValueError("write it as host:port, for example 127.0.0.1:8950 or [::1]:8950")
        return listen

    @field_validator("listen")
    @classmethod
    def _somewhere(cls, listen: str) -> str:
        if not listen:
            raise ValueError("write it as host:port, for example 127.0.0.1:8950 or [::1]:8950")
        return listen

    @field_validator("hosts")
    @classmethod
    def _names(cls, hosts: tuple[str, ...]) -> tuple[str, ...]:
        found = tuple(each.lower().rstrip(".").strip("[]") for each in hosts)
        if wrong := [each for each in found if not _HOST.fullmatch(each)]:
            raise ValueError(f"{wrong[0]!r} is no name of a host; give it without scheme, port or path")
        return found

    @model_validator(mode="after")
    def _subjects_stand_somewhere(self) -> Self:
        if self.tls is not None and self.tls.client_ca is not None and self.tokens is None:
            raise ValueError("'tls.client_ca' needs 'tokens': the file in which subjects of certificates have rights")
        return self

    @property
    def address(self) -> tuple[str, int]:
        """Host and port."""
        return _split(self.listen)

    @property
    def probes_address(self) -> tuple[str, int] | None:
        """Host and port of the listener for probes; ``None``: there is none."""
        return _split(self.probes) if self.probes else None

    def exposure(self) -> Exposure:
        """What is shown to whom at ``listen``.

        Raises:
            ConfigError: It is reached from elsewhere, and half protected.
        """
        return decide(
            host=self.address[0],
            tls=self.tls is not None,
            rights=self.tokens is not None,
            without=frozenset(self.without),
        )


def _split(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    return host.strip("[]"), int(port)
