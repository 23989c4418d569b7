"""The table of a Pulsar cluster by name: the addresses that its clients use, and how its admin API is reached."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Final, Literal, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator

from syncer.balancer.history.thinning import HistoryBounds
from syncer.config.durations import Duration
from syncer.config.tables import AdminConfig, Section, StoreAdapter
from syncer.connecting.hosts import host_fault
from syncer.migration.evidence import ClusterUrls
from syncer.paths import fault_of
from syncer.wanted.ledgers import LEDGERS_ROOT

_SCHEMES: Final = {
    "service_url": "http",
    "service_url_tls": "https",
    "broker_service_url": "pulsar",
    "broker_service_url_tls": "pulsar+ssl",
}
"""Field of an address → its scheme."""


_MS: Final = timedelta(milliseconds=1)


class HistoryConfig(Section):
    """The history of the cluster's load, which the active daemon records beside its database.

    A look reads what load managers keep and asks brokers; it changes nothing and loads no topic.
    """

    enabled: bool = Field(default=True, description="Whether it is recorded; what was recorded stays.")
    every: Duration = Field(
        default=timedelta(minutes=1),
        ge=timedelta(seconds=1),
        description="How often the cluster is looked at; more seldom where a look takes more than a tenth of it.",
    )
    keep: Duration = Field(
        default=timedelta(days=7), ge=timedelta(minutes=1), description="How long samples and changes of owner stay."
    )
    keep_all: Duration = Field(
        default=timedelta(hours=6), ge=timedelta(0), description="How long every sample stays; then they are thinned."
    )
    thinned_to: Duration = Field(
        default=timedelta(minutes=10),
        ge=timedelta(seconds=1),
        description="One sample of so long stays of those that are older.",
    )
    max_bytes: int = Field(
        default=1 << 28, ge=1 << 20, description="The file never takes more: the oldest is dropped before."
    )
    path: Path | None = Field(
        default=None,
        description="The file; 'load-history-NAME.sqlite' in the directory of 'state.path' when not given.",
    )

    @property
    def bounds(self) -> HistoryBounds:
        """What the history may keep."""
        return HistoryBounds(
            keep_ms=self.keep // _MS,
            full_ms=self.keep_all // _MS,
            thin_ms=self.thinned_to // _MS,
            most_bytes=self.max_bytes,
        )


class AuditsConfig(Section):
    """Audits of the cluster's ledgers, which the active daemon takes on schedule and keeps in its database.

    An audit reads the cluster's store alone; no ledger is opened, no broker and no bookie is asked.
    """

    enabled: bool = Field(default=True, description="Whether they are taken; what was kept stays.")
    every: Duration = Field(
        default=timedelta(hours=6),
        ge=timedelta(seconds=10),
        description="From the beginning of one audit to that of the next.",
    )
    keep: int = Field(default=100, ge=2, le=10_000, description="So many of them stay.")
    time_limit: Duration = Field(
        default=timedelta(hours=1), ge=timedelta(seconds=1), description="One that takes longer is given up."
    )
    max_reads_per_s: int | None = Field(
        default=2_000, ge=1, description="Paths that the store is asked for in a second at most."
    )
    ledgers_root: str = Field(default=LEDGERS_ROOT, description="Where BookKeeper's own paths begin in the store.")

    @field_validator("ledgers_root")
    @classmethod
    def _is_path(cls, root: str) -> str:
        fault = fault_of(root)
        if fault is not None or not root.startswith("/") or root == "/":
            raise ValueError(f"it is no path: {fault or 'it begins with / and names a node'}")
        return root


class PlacementConfig(Section):
    """How the cluster's brokers place ledgers, so that audits hold them against it; racks are read from its store."""

    over: Literal["racks", "regions"] = Field(
        default="racks",
        description="'regions' where 'bookkeeperClientRegionawarePolicyEnabled' is on in the brokers.",
    )
    min_racks: int = Field(
        default=2,
        ge=1,
        le=1_000,
        description="Over so many racks a write quorum is spread: 'bookkeeperClientMinNumRacksPerWriteQuorum'.",
    )
    enforced: bool = Field(
        default=False,
        description="Brokers open no ledger otherwise: 'bookkeeperClientEnforceMinNumRacksPerWriteQuorum'.",
    )


class ClusterConfig(Section):
    """A Pulsar cluster by a name of your own: where its clients find it, and how the product itself reaches it.

    A migration sends clients to these addresses. At least one for HTTP and one for the binary protocol are needed; fill
    all four where Java clients or brokers older than 4.0.1 are sent there, which fail where one is missing.
    """

    service_url: str | None = Field(
        default=None,
        description="Address of the admin API, Pulsar's 'serviceUrl'.",
        examples=["http://pulsar-green.example:8080"],
    )
    service_url_tls: str | None = Field(
        default=None,
        description="The same with TLS, Pulsar's 'serviceUrlTls'.",
        examples=["https://pulsar-green.example:8443"],
    )
    broker_service_url: str | None = Field(
        default=None,
        description="Address of the brokers' binary protocol, Pulsar's 'brokerServiceUrl'.",
        examples=["pulsar://pulsar-green.example:6650"],
    )
    broker_service_url_tls: str | None = Field(
        default=None,
        description="The same with TLS, Pulsar's 'brokerServiceUrlTls'.",
        examples=["pulsar+ssl://pulsar-green.example:6651"],
    )
    store: StoreAdapter | None = Field(
        default=None,
        description="Its own metadata store, Pulsar's 'metadataStoreUrl', where load and ownership lie; the region's "
        "[store] when not given.",
    )
    admin: AdminConfig
    history: HistoryConfig | None = Field(
        default=None, description="Record the cluster's load; nothing is recorded when not given."
    )
    audits: AuditsConfig | None = Field(
        default=None, description="Audit the cluster's ledgers on schedule; none are taken when not given."
    )
    placement: PlacementConfig = Field(
        default_factory=PlacementConfig, description="How the cluster's brokers place ledgers."
    )

    @field_validator(*_SCHEMES)
    @classmethod
    def _sound(cls, url: str | None, info: ValidationInfo) -> str | None:
        """An address as Pulsar's clients take it, which may name several hosts; without the slash at its end."""
        scheme = _SCHEMES[str(info.field_name)]
        if url is None:
            return None
        if not url.strip():
            raise ValueError(f"it is blank: write it as '{scheme}://HOST:PORT', or leave it out")
        given, separator, hosts = url.partition("://")
        hosts = hosts.removesuffix("/")
        fault = next(filter(None, map(host_fault, hosts.split(","))), "")
        if given.lower() != scheme or not separator or fault:
            because = f" ({fault})" if separator and fault else ""
            raise ValueError(
                f"it is no address{because}: write it as '{scheme}://HOST:PORT', several hosts with commas between"
            )
        return f"{scheme}://{hosts.lower()}"

    @model_validator(mode="after")
    def _of_each_kind(self) -> Self:
        for fields in (("service_url", "service_url_tls"), ("broker_service_url", "broker_service_url_tls")):
            if all(getattr(self, field) is None for field in fields):
                raise ValueError(f"it needs {' or '.join(map(repr, fields))}: clients are sent to these addresses")
        return self

    @property
    def urls(self) -> ClusterUrls:
        """The addresses that its clients use."""
        return ClusterUrls(
            http=self.service_url or "",
            https=self.service_url_tls or "",
            pulsar=self.broker_service_url or "",
            pulsar_ssl=self.broker_service_url_tls or "",
        )

    @property
    def addresses(self) -> frozenset[str]:
        """Every address by which somebody reaches it, each host for itself."""
        return each_host(*self.urls.named.values(), self.admin.url)


def each_host(*urls: str) -> frozenset[str]:
    """Addresses of one host each: the one of several hosts is several of one."""
    found: set[str] = set()
    for url in urls:
        scheme, separator, hosts = url.lower().removesuffix("/").partition("://")
        found |= {f"{scheme}://{host}" for host in hosts.split(",") if separator}
    return frozenset(found)
