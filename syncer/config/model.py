"""The configuration as values: every field with its meaning and default, and what the core needs of it.

``[store]`` and ``[bus]`` belong to their adapters. They are kept as read until somebody asks for them, so that commands
that only look into the sidecar database never load a client library.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, Literal, Self
from urllib.parse import parse_qs, quote, quote_plus, urlsplit, urlunsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, StringConstraints, field_validator, model_validator

from syncer import paths
from syncer.bus.contract import Bus
from syncer.bus.names import local_namespace_of, namespace_of
from syncer.config import adapters
from syncer.config.durations import Duration
from syncer.conflict import settings as core
from syncer.conflict.scope import DEFAULT_RULES, Rule, Scope
from syncer.conflict.settings import Direction, Settings
from syncer.errors import ConfigError
from syncer.model import MetaPath, Millis, Region, TieOrder
from syncer.stores.contract import MetadataStore

DEFAULT_STATE_PATH: Final = Path("/var/lib/pulsar-syncer/state.db")

_USER: Final = re.compile(r"^\w+://[^/@]+@")
_ZERO: Final = timedelta(0)
_NAME: Final = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$"

Name = Annotated[str, StringConstraints(pattern=_NAME)]


class Section(BaseModel):
    """A table of the file: no unknown keys, never changed after it was read."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class Adapter(BaseModel):
    """The table of an adapter: ``kind`` names its entry point, the rest is the adapter's own and not yet checked."""

    model_config = ConfigDict(extra="allow", frozen=True, hide_input_in_errors=True)
    group: ClassVar[str]

    kind: str = Field(description="Which adapter; 'syncer config schema' lists those that are installed.")

    def __repr_args__(self) -> list[tuple[str | None, object]]:
        return [("kind", self.kind)]  # the rest may hold secrets

    @property
    def raw(self) -> dict[str, Any]:
        """Everything as read."""
        return {"kind": self.kind, **(self.model_extra or {})}


class StoreAdapter(Adapter):
    """The metadata store of the region."""

    group: ClassVar[str] = adapters.STORES


class BusAdapter(Adapter):
    """The topic that connects the regions."""

    group: ClassVar[str] = adapters.BUSES


class StateConfig(Section):
    """The sidecar database: the daemon's own state."""

    path: Path = Field(default=DEFAULT_STATE_PATH, description="SQLite file; its directory must exist.")
    url: SecretStr | None = Field(
        default=None,
        description="Instead of 'path': a PostgreSQL database, shared by the daemons of one region. Its parameters are "
        "libpq's (sslmode, sslrootcert, …).",
        examples=["postgresql://syncer@db.example/syncer?sslmode=verify-full&sslrootcert=/etc/pulsar-syncer/ca.pem"],
    )
    password_file: Path | None = Field(
        default=None, description="File that holds the password of the database's user, instead of having it in 'url'."
    )

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if self.url is not None and "path" in self.model_fields_set:
            raise ValueError("'path' and 'url' exclude each other")
        if self.password_file is not None and self.url is None:
            raise ValueError("'password_file' belongs to 'url'")
        if self.password_file is not None and not _USER.search(self.url.get_secret_value() if self.url else ""):
            raise ValueError("'password_file' needs the user's name in 'url': postgresql://USER@HOST/DATABASE")
        return self

    def database_url(self) -> str:
        """URL of the database, its password included.

        Raises:
            ConfigError: The file of the password cannot be read, or the URL has a password too.
        """
        if self.url is None:
            return f"sqlite:///{self.path.absolute()}"
        url = self.url.get_secret_value()
        if self.password_file is None:
            return url
        try:
            password = self.password_file.read_text(encoding="utf-8").rstrip("\r\n")
        except (OSError, UnicodeDecodeError) as exc:
            raise ConfigError(f"state.password_file: {self.password_file} cannot be read: {exc}") from exc
        parts = urlsplit(url)
        user, at, host = parts.netloc.rpartition("@")
        if ":" in user or "password" in parse_qs(parts.query):
            raise ConfigError("'state.url' has a password, and 'state.password_file' names another one")
        return urlunsplit(parts._replace(netloc=f"{user}:{quote(password, safe='')}{at}{host}"))


class RuleConfig(Section):
    """Paths that match ``pattern`` flow in ``direction``."""

    pattern: str = Field(description="'*' is part of one segment, '**' any number of segments.")
    direction: Direction = Field(description="Which way they flow.")


class ScopeConfig(Section):
    """Which paths take part. The first rule that matches decides; a path that none matches stays out."""

    rules: tuple[RuleConfig, ...] | None = Field(
        default=None,
        description="Instead of the default: tenants, namespaces, partitioned topics and resource groups, both ways.",
        examples=[[{"pattern": "/admin/policies/**", "direction": "both"}]],
    )
    clusters: bool = Field(default=False, description="Carry cluster declarations too.")
    isolation_policies: bool = Field(default=False, description="Carry namespace isolation policies too.")
    global_topic_policies: bool = Field(default=False, description="Carry global topic policies kept in the store too.")

    @model_validator(mode="after")
    def _usable(self) -> Self:
        try:
            self.compiled()
        except ConfigError as exc:
            raise ValueError(f"{exc.message}. {exc.hint}") from exc
        return self

    def compiled(self) -> Scope:
        """The rules as the core reads them."""
        given = self.rules
        rules = list(DEFAULT_RULES) if given is None else [Rule(rule.pattern, rule.direction) for rule in given]
        if self.clusters:
            rules.append(Rule(f"{paths.CLUSTERS}/*", Direction.BOTH))
        if self.isolation_policies:
            rules.append(Rule(f"{paths.CLUSTERS}/*/namespaceIsolationPolicies", Direction.BOTH))
        if self.global_topic_policies:
            rules.append(Rule(f"{paths.GLOBAL_TOPIC_POLICIES}/**", Direction.BOTH))
        return Scope(rules)


class LimitsConfig(Section):
    """Bounds: what waits for a person, how long things are kept, how fast the store is written."""

    max_clock_skew: Duration = Field(
        default=timedelta(seconds=30), gt=_ZERO, description="An event further in the future than this is held."
    )
    max_delete_fraction: float = Field(
        default=0.10, gt=0, le=1, description="A greater share of all paths gone within 'delete_window' is held."
    )
    max_deletes: int = Field(
        default=100, ge=1, description="More paths than this gone within 'delete_window' are held."
    )
    min_deletes: int = Field(default=10, ge=1, description="The share counts from this many deletes on.")
    delete_window: Duration = Field(
        default=timedelta(seconds=60), gt=_ZERO, description="Over which deletes are counted."
    )
    max_flips: int = Field(default=5, ge=1, description="A path that returns to its former value more often is held.")
    flip_window: Duration = Field(
        default=timedelta(minutes=10), gt=_ZERO, description="Over which returns are counted."
    )
    tombstone_grace: Duration = Field(
        default=timedelta(days=7),
        ge=_ZERO,
        description="Age that a delete must have before it is forgotten, once all regions have it.",
    )
    park_grace: Duration = Field(
        default=timedelta(minutes=5), ge=_ZERO, description="How long a delete waits for living children."
    )
    journal_retention: Duration = Field(
        default=timedelta(days=30), gt=_ZERO, description="How long decisions are kept for 'explain' and 'events tail'."
    )
    mark_interval: Duration = Field(
        default=timedelta(seconds=10),
        gt=_ZERO,
        description="A store or a sidecar database that was put back from a backup is known by marks that both hold; "
        "while there are changes, one is set in so long.",
    )
    max_writes_per_s: float | None = Field(
        default=None, gt=0, description="Most writes per second into the store; no bound when not given."
    )


class AdminConfig(Section):
    """Pulsar's admin REST API, to ask whether a namespace still has topics before it is deleted."""

    url: str = Field(
        pattern=r"^https?://[^/\s@]+/?$", description="Base URL of a broker.", examples=["http://127.0.0.1:8080"]
    )
    token_file: Path | None = Field(default=None, description="File that holds the token; read again when it changes.")
    ca_file: Path | None = Field(default=None, description="Certificates to trust; the system's when not given.")
    cert_file: Path | None = Field(default=None, description="Our own certificate, where the broker asks for one.")
    key_file: Path | None = Field(default=None, description="Private key of our own certificate.")
    timeout: Duration = Field(default=timedelta(seconds=10), gt=_ZERO, description="Deadline of one request.")

    @model_validator(mode="after")
    def _pairs(self) -> Self:
        if (self.cert_file is None) != (self.key_file is None):
            raise ValueError("'cert_file' and 'key_file' go together")
        if self.cert_file is not None and self.token_file is not None:
            raise ValueError("'token_file' and 'cert_file' exclude each other")
        return self


class PeersConfig(Section):
    """The other regions."""

    expected: tuple[Name, ...] | None = Field(
        default=None,
        description="Regions whose events are taken; events of others go to the quarantine. Any region when not given.",
        examples=[["west"]],
    )
    first_contact: Literal["go", "ask"] = Field(
        default="go",
        description="'ask': a new database writes and publishes nothing before 'syncer regions join --confirm'.",
    )


class SigningConfig(Section):
    """The key of the group: messages are signed with it, and others are refused. The same in every region."""

    key_files: tuple[Path, ...] = Field(
        min_length=1,
        max_length=2,
        description="Files with a key each: at least 32 bytes as base64, readable by the daemon alone. The first one "
        "signs; while keys are rotated, a second one is accepted too.",
        examples=[["/run/credentials/pulsar-syncer.service/credentials_group-key"]],
    )
    native_regions: tuple[Annotated[str, StringConstraints(min_length=1)], ...] = Field(
        default=(),
        description="Regions that run Pulsar's own synchronizer, which cannot sign, by cluster name: anybody on the "
        "topic may speak for these.",
    )
    accept_unsigned: bool = Field(
        default=False, description="Take messages without a signature too, while the group is given its first key."
    )


class SnapshotsConfig(Section):
    """Snapshots of the whole store."""

    folder: str | None = Field(
        default=None, min_length=1, description="Where they lie: a directory, or a URI of an object store."
    )
    keep: int = Field(default=7, ge=1, description="How many of this region's stay; older ones are removed.")
    memory: str = Field(
        default="2g", pattern=r"^[1-9]\d*[kmgtKMGT]$", description="Heap of Spark while a snapshot is taken."
    )
    buckets: int = Field(
        default=16, ge=1, le=10_000, description="Files of a snapshot; as many in all regions that are to be compared."
    )
    time_limit: Duration = Field(
        default=timedelta(hours=1), gt=_ZERO, description="A snapshot on schedule that takes longer is stopped."
    )
    work: Path | None = Field(
        default=None,
        description="Directory here for the state of a running one; in the folder if not given.",
    )

    @property
    def workplace(self) -> Path | None:
        """The directory of this machine, where one can be told."""
        if self.work is not None or self.folder is None:
            return self.work
        return Path(self.folder).absolute() / ".job" if "://" not in self.folder else None


class ApiConfig(Section):
    """The HTTP server of the daemon: health, metrics, status."""

    enabled: bool = Field(default=True, description="Whether it is started.")
    listen: str = Field(default="127.0.0.1:8950", description="host:port; IPv6 in brackets.")

    @field_validator("listen")
    @classmethod
    def _host_and_port(cls, listen: str) -> str:
        host, _, port = listen.rpartition(":")
        if not host or not port.isdigit() or not 0 <= int(port) <= 65535 or (":" in host and not host.startswith("[")):
            raise ValueError("write it as host:port, for example 127.0.0.1:8950 or [::1]:8950")
        return listen

    @property
    def address(self) -> tuple[str, int]:
        """Host and port."""
        host, _, port = self.listen.rpartition(":")
        return host.strip("[]"), int(port)


class LogConfig(Section):
    """The log, on stderr."""

    level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="Least level that is written."
    )
    format: Literal["auto", "json", "console"] = Field(
        default="auto", description="'auto': for people on a terminal, else JSON."
    )


class Config(Section):
    """Configuration of one region's daemon."""

    region: Name = Field(
        description="Id of this region, unique in the whole system; not a cluster's name.", examples=["east"]
    )
    clusters: tuple[Annotated[str, StringConstraints(min_length=1)], ...] = Field(
        default=(), description="Names of the Pulsar clusters that the store serves.", examples=[["pulsar-east"]]
    )
    mode: Literal["active", "observe"] = Field(
        default="active", description="'observe' reads, decides and reports, but neither writes nor publishes."
    )
    tie_order: TieOrder = Field(
        default=TieOrder.SMALLER_REGION,
        description="Who wins at equal times; 'native' (the larger) beside Pulsar's own synchronizer. Same everywhere.",
    )
    heartbeat_interval: Duration = Field(
        default=timedelta(seconds=10), ge=timedelta(milliseconds=100), description="How often peers hear from us."
    )
    snapshot_interval: Duration | None = Field(
        default=None,
        ge=timedelta(minutes=1),
        description="How often a snapshot is taken, into 'snapshots.folder'; never when not given.",
        examples=["1d"],
    )
    store: StoreAdapter
    bus: BusAdapter
    state: StateConfig = Field(default_factory=StateConfig)
    scope: ScopeConfig = Field(default_factory=ScopeConfig)
    limits: LimitsConfig = Field(default_factory=LimitsConfig)
    admin: AdminConfig | None = None
    peers: PeersConfig = Field(default_factory=PeersConfig)
    signing: SigningConfig | None = Field(
        default=None, description="The key of the group; without one, messages are neither signed nor checked."
    )
    snapshots: SnapshotsConfig = Field(default_factory=SnapshotsConfig)
    api: ApiConfig = Field(default_factory=ApiConfig)
    log: LogConfig = Field(default_factory=LogConfig)

    @model_validator(mode="after")
    def _not_its_own_peer(self) -> Self:
        if self.region in (self.peers.expected or ()):
            raise ValueError(f"'peers.expected' names this region itself ({self.region!r}); list the other regions")
        return self

    @model_validator(mode="after")
    def _scheduled_somewhere(self) -> Self:
        if self.snapshot_interval is not None and self.snapshots.workplace is None:
            what = "'snapshots.work'" if self.snapshots.folder is not None else "'snapshots.folder'"
            raise ValueError(f"'snapshot_interval' needs {what}: a directory of this machine")
        return self

    @model_validator(mode="after")
    def _itself_not_native(self) -> Self:
        if self.signing is not None and self.region in self.signing.native_regions:
            raise ValueError(f"'signing.native_regions' names this region itself ({self.region!r}), which signs")
        return self

    @model_validator(mode="after")
    def _observer_apart(self) -> Self:
        if self.mode == "observe" and self.state.url is not None:
            raise ValueError(
                "an observer keeps a database of its own, or it would end who is active: give 'state.path'"
            )
        return self

    @functools.cached_property
    def store_settings(self) -> BaseModel:
        """The checked settings of the store.

        Raises:
            ConfigError: No such adapter.
            pydantic.ValidationError: Its settings are wrong; :func:`syncer.config.load` has told already.
        """
        return adapters.checked(self.store.group, self.store.raw, {"region": self.region})

    @functools.cached_property
    def bus_settings(self) -> BaseModel:
        """The checked settings of the bus; a field ``region`` that was not given is this region's id."""
        return adapters.checked(self.bus.group, self.bus.raw, {"region": self.region})

    def make_store(self) -> MetadataStore:
        """The store, not yet opened.

        Raises:
            ConfigError: The adapter is none, or a file that its settings name cannot be read.
        """
        store = adapters.load(self.store.group, self.store.kind)(self.store_settings)
        if not isinstance(store, MetadataStore):
            raise ConfigError(f"the adapter {self.store.kind!r} is no metadata store")
        return store

    def make_bus(self) -> Bus:
        """The bus, not yet opened.

        Raises:
            ConfigError: The adapter is none, or a file that its settings name cannot be read.
        """
        bus = adapters.load(self.bus.group, self.bus.kind)(self.bus_settings)
        if not isinstance(bus, Bus):
            raise ConfigError(f"the adapter {self.bus.kind!r} is no bus")
        return bus

    def database_url(self) -> str:
        """URL of the sidecar database. An observer keeps its own SQLite file, and disturbs nobody.

        Raises:
            ConfigError: The file with its password cannot be used.
        """
        url = self.state.database_url()
        return f"{url}.observe" if self.mode == "observe" else url

    @property
    def bus_paths(self) -> frozenset[MetaPath]:
        """Paths of the bus's own tenant, namespace and topic; nobody may change them through the bus."""
        topic = getattr(self.bus_settings, "topic", None)
        return topic_paths(topic) if isinstance(topic, str) else frozenset()

    def compiled_scope(self) -> Scope:
        """The scope as the core reads it: as given, without the bus's locks, which each cluster has for itself."""
        return Scope([*lock_rules(self.bus.raw), *self.scope.compiled().rules])

    def settings(self, generation: int = 1) -> Settings:
        """What the core is set to.

        Args:
            generation: Of the sidecar database.
        """
        limits = self.limits
        return Settings(
            region=Region(self.region),
            generation=generation,
            clusters=frozenset(self.clusters),
            ties=self.tie_order,
            limits=core.Limits(
                max_clock_skew_ms=in_ms(limits.max_clock_skew),
                park_grace_ms=in_ms(limits.park_grace),
                max_deletes=limits.max_deletes,
                max_delete_fraction=limits.max_delete_fraction,
                min_deletes=limits.min_deletes,
                delete_window_ms=in_ms(limits.delete_window),
                max_flips=limits.max_flips,
                flip_window_ms=in_ms(limits.flip_window),
            ),
            bus_paths=self.bus_paths,
        )


def in_ms(duration: timedelta) -> Millis:
    """A duration in milliseconds."""
    return Millis(duration // timedelta(milliseconds=1))


def topic_paths(topic: str) -> frozenset[MetaPath]:
    """Paths of a topic's tenant, namespace and declaration; empty when the name is no full topic name."""
    domain, _, rest = topic.partition("://")
    names = rest.split("/", 2)
    if domain not in paths.DOMAINS or len(names) != 3 or not all(names):
        return frozenset()
    tenant, namespace, local = names
    declaration = f"{paths.PARTITIONED_TOPICS}/{tenant}/{namespace}/{domain}/{_encoded(local)}"
    return frozenset({paths.tenant_path(tenant), paths.namespace_path(tenant, namespace), MetaPath(declaration)})


def lock_rules(bus: Mapping[str, Any]) -> tuple[Rule, ...]:
    """Rules that keep the namespace of a bus's lock topic to its own cluster; none for a bus without topics.

    Args:
        bus: The table ``[bus]`` as read; no client library is needed to ask.
    """
    topic, lock = bus.get("topic"), bus.get("lock_topic")
    if isinstance(lock, str) and topic_paths(lock):
        namespace = namespace_of(lock)
    elif isinstance(topic, str) and topic_paths(topic):
        namespace = local_namespace_of(topic)
    else:
        return ()
    patterns = (f"{paths.POLICIES}/{namespace}", f"{paths.PARTITIONED_TOPICS}/{namespace}/**")
    return tuple(Rule(pattern, Direction.IGNORE) for pattern in patterns)


def _encoded(name: str) -> str:
    """Encode a topic's local name as Pulsar does (Java's ``URLEncoder``)."""
    return quote_plus(name, safe="*").replace("~", "%7E")
