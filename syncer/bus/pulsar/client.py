"""Configuration of the Pulsar bus, and the client objects made of it."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import _pulsar
import pulsar
import pulsar.schema
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, WithJsonSchema

from syncer.admin.addresses import BrokerUrl
from syncer.admin.auth import Auth, CertificateAuth, OAuth2Auth, TokenAuth, Trust
from syncer.bus.limits import MAX_MESSAGE_BYTES
from syncer.bus.pulsar import log
from syncer.bus.pulsar.names import lock_topic_of
from syncer.bus.wire.native import SCHEMA_TEXT
from syncer.connecting.hosts import host_fault, separated

_TOPIC: Final = r"^persistent://[^/\s]+/[^/\s]+/[^/\s]+$"


def _service_url(url: str) -> str:
    """Take the address of a cluster's brokers, as Pulsar's clients do; blanks beside a comma do not count."""
    scheme, separator, hosts = url.partition("://")
    if not separator or scheme not in {"pulsar", "pulsar+ssl"}:
        raise ValueError("it is no address of brokers: write it as 'pulsar://HOST:PORT' or 'pulsar+ssl://HOST:PORT'")
    found = separated(hosts.removesuffix("/"))
    if fault := next(filter(None, map(host_fault, found)), ""):
        raise ValueError(f"it is no address of brokers: {fault}; write it as '{scheme}://HOST:PORT', several by commas")
    return f"{scheme}://{','.join(found)}"


ServiceUrl = Annotated[
    str, AfterValidator(_service_url), WithJsonSchema({"type": "string", "pattern": r"^pulsar(\+ssl)?://"})
]
"""Address of a cluster's brokers in Pulsar's own protocol; it may name several hosts."""
AdminUrl = Annotated[BrokerUrl, WithJsonSchema({"type": "string", "pattern": r"^https?://"})]
"""The same for the admin REST API, of one broker. The schema says what it said in the first release."""


class PulsarBusConfig(BaseModel):
    """Configuration of the bus on a replicated Pulsar topic.

    ``lock_topic`` is in a namespace that only the local cluster serves: an exclusive producer cannot live on a
    replicated topic. Without ``admin_url`` the subscription is first made when this daemon becomes active, and its
    depth is unknown. ``admin_brokers`` are brokers that its calls may be sent on to, beside those that the cluster
    lists.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal["pulsar"] = "pulsar"
    region: str = Field(min_length=1, pattern=r"^[^/\s]+$")
    service_url: ServiceUrl
    admin_url: AdminUrl | None = None
    admin_brokers: tuple[BrokerUrl, ...] = ()
    topic: str = Field(pattern=_TOPIC)
    subscription: str = Field(default="pulsar-syncer", min_length=1)
    lock_topic: str | None = Field(default=None, pattern=_TOPIC)
    auth: Auth | None = None
    trust: Trust = Trust()
    operation_timeout: timedelta = Field(default=timedelta(seconds=15), ge=timedelta(seconds=1))
    publish_timeout: timedelta = Field(default=timedelta(seconds=30), ge=timedelta(milliseconds=500))
    lock_timeout: timedelta = Field(default=timedelta(seconds=5), ge=timedelta(milliseconds=500))
    max_pending: int = Field(default=1000, ge=1)
    max_batch: int = Field(default=200, ge=1, le=10_000)
    max_unacknowledged: int = Field(default=1000, ge=1)
    max_message_bytes: int = Field(default=MAX_MESSAGE_BYTES, ge=2048)
    client_log: Path | None = None

    @property
    def lock(self) -> str:
        """Name of the lock topic."""
        return self.lock_topic or lock_topic_of(self.topic, self.region)


class NativeSchema(pulsar.schema.Schema):
    """The schema of Pulsar's own synchronizer, registered by its exact text; payloads are passed as they are."""

    def __init__(self) -> None:
        super().__init__(bytes, _pulsar.SchemaType.AVRO, None, "")
        self._schema_info = _pulsar.SchemaInfo(_pulsar.SchemaType.AVRO, "", SCHEMA_TEXT)

    def encode(self, obj: Any) -> bytes:  # noqa: ANN401 - the base class's signature
        """Pass the bytes."""
        return bytes(obj)

    def decode(self, data: bytes) -> bytes:
        """Pass the bytes."""
        return data

    def __str__(self) -> str:
        return "NativeSchema"


def make_client(config: PulsarBusConfig, *, operation_timeout_s: int) -> pulsar.Client:
    """Make a client; nothing is connected yet.

    The client's own lines go to ``client_log``, or into the log (:mod:`syncer.bus.pulsar.log`).
    """
    if config.client_log is not None:
        log.settle(str(config.client_log), _pulsar.LoggerLevel.Info)
    else:
        log.relay()
    return pulsar.Client(
        config.service_url,
        authentication=_authentication(config),
        operation_timeout_seconds=operation_timeout_s,
        stats_interval_in_seconds=0,
        tls_trust_certs_file_path=str(config.trust.certificates) if config.trust.certificates else None,
        tls_allow_insecure_connection=not config.trust.verify,
        tls_validate_hostname=config.trust.verify and config.trust.verify_hostname,
        connection_timeout_ms=operation_timeout_s * 1000,
    )


def _authentication(config: PulsarBusConfig) -> pulsar.Authentication | None:
    match config.auth:
        case None:
            return None
        case TokenAuth() as token:
            token.read()  # a mistake is better said now than by the broker
            return pulsar.AuthenticationToken(token.read)
        case CertificateAuth() as pair:
            return pulsar.AuthenticationTLS(str(pair.certificate), str(pair.key))
        case OAuth2Auth() as oauth2:
            fields = {
                "issuer_url": oauth2.issuer_url,
                "private_key": str(oauth2.credentials_file),
                "audience": oauth2.audience,
                "scope": oauth2.scope,
            }
            return pulsar.AuthenticationOauth2(json.dumps({name: text for name, text in fields.items() if text}))
