"""The configuration as one value, and what the core needs of it.

``[store]`` and ``[bus]`` belong to their adapters. They are kept as read until somebody asks for them, so that commands
that only look into the sidecar database never load a client library.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BaseModel, Field, StringConstraints, model_validator

from syncer import paths
from syncer.bus.contract import Bus
from syncer.bus.pulsar.names import local_namespace_of, namespace_of
from syncer.config import adapters
from syncer.config.api_table import ApiConfig
from syncer.config.cluster_table import ClusterConfig
from syncer.config.durations import Duration
from syncer.config.tables import (
    AdminConfig,
    BusAdapter,
    LimitsConfig,
    LogConfig,
    Name,
    PeersConfig,
    ScopeConfig,
    Section,
    SigningConfig,
    SnapshotsConfig,
    StateConfig,
    StoreAdapter,
    TopicPoliciesConfig,
)
from syncer.config.webhooks import LOG, MAX_WEBHOOKS, NotifyConfig, WebhookConfig
from syncer.conflict import settings as core
from syncer.conflict.changeover import ABLE_TO_CARRY, NEWEST
from syncer.conflict.cluster_names.telling import RegionNames
from syncer.conflict.deletes.collected import CollectedTopics
from syncer.conflict.fields.brokers import Brokers
from syncer.conflict.scope import Rule, Scope
from syncer.conflict.settings import Direction, Settings
from syncer.errors import ConfigError
from syncer.model import MetaPath, Millis, Region, TieOrder
from syncer.naming.cluster_names import ClusterNames
from syncer.naming.mapped_store import mapped
from syncer.repair.preconditions import Terms
from syncer.replacing import replace
from syncer.stores.contract import MetadataStore

ClusterName = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[-=:.\w]+$")]
"""As Pulsar names clusters."""
BEATS_IN_A_SILENCE: Final = 3
"""Who is well says so at least so often in the time after which he is taken for silent."""


class Config(Section):
    """Configuration of one region's daemon."""

    region: Name = Field(
        description="Id of this region, unique in the whole system; not a cluster's name.", examples=["east"]
    )
    clusters: tuple[Annotated[str, StringConstraints(min_length=1)], ...] = Field(
        default=(), description="Names of the Pulsar clusters that the store serves.", examples=[["pulsar-east"]]
    )
    cluster_names: dict[ClusterName, ClusterName] = Field(
        default_factory=dict,
        description="Clusters that brokers here call otherwise than the group does: the name here = the name in the "
        "group. Values are carried by the names of the group.",
        examples=[{"pulsar-eu": "eu-west"}],
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
    topic_policies: TopicPoliciesConfig = Field(default_factory=TopicPoliciesConfig)
    limits: LimitsConfig = Field(default_factory=LimitsConfig)
    admin: AdminConfig | None = None
    cluster: dict[Name, ClusterConfig] = Field(
        default_factory=dict,
        description="By a name of your own: Pulsar clusters between which a migration moves clients.",
        examples=["green"],
    )
    peers: PeersConfig = Field(default_factory=PeersConfig)
    signing: SigningConfig | None = Field(
        default=None, description="Keys; without any, messages are neither signed nor checked."
    )
    snapshots: SnapshotsConfig = Field(default_factory=SnapshotsConfig)
    api: ApiConfig = Field(default_factory=ApiConfig)
    notify: NotifyConfig = Field(default_factory=NotifyConfig)
    webhook: dict[Name, WebhookConfig] = Field(
        default_factory=dict,
        max_length=MAX_WEBHOOKS,
        description="By a name of your own: webhooks that are told of what waits for an operator.",
        examples=["ops"],
    )
    log: LogConfig = Field(default_factory=LogConfig)

    @model_validator(mode="after")
    def _not_its_own_peer(self) -> Self:
        if self.region in (self.peers.expected or ()):
            raise ValueError(f"'peers.expected' names this region itself ({self.region!r}); list the other regions")
        return self

    @model_validator(mode="after")
    def _each_name_once(self) -> Self:
        given: dict[str, str] = {}
        for here, there in self.cluster_names.items():
            if there in given:
                raise ValueError(f"'cluster_names' gives {there!r} to two clusters: {given[there]!r} and {here!r}")
            given[there] = here
        taken = next((own for own in self.clusters if own in given and own not in self.cluster_names), None)
        if taken is not None:
            raise ValueError(
                f"'cluster_names' gives {given[taken]!r} the name {taken!r}, which is a cluster of this region: give "
                f"{taken!r} another name in the group, too"
            )
        return self

    @model_validator(mode="after")
    def _each_cluster_once(self) -> Self:
        for (one, first), (other, second) in itertools.combinations(sorted(self.cluster.items()), 2):
            if shared := first.addresses & second.addresses:
                raise ValueError(f"'cluster.{one}' and 'cluster.{other}' are one cluster: both have {min(shared)}")
        return self

    @model_validator(mode="after")
    def _no_webhook_is_the_log(self) -> Self:
        if LOG in self.webhook:
            raise ValueError("'webhook.log' is the name of the daemon's own log: give the webhook another one")
        return self

    @model_validator(mode="after")
    def _silence_is_no_pause_for_breath(self) -> Self:
        if "silence" in self.peers.model_fields_set and self.peers.silence < self.silence:
            raise ValueError(
                f"'peers.silence' needs to be at least {BEATS_IN_A_SILENCE} times 'heartbeat_interval': a region that "
                "is well would be taken for silent between two heartbeats, and forgotten on anybody's word"
            )
        return self

    @model_validator(mode="after")
    def _scheduled_somewhere(self) -> Self:
        if self.snapshot_interval is not None and self.snapshots.workplace is None:
            what = "'snapshots.work'" if self.snapshots.folder is not None else "'snapshots.folder'"
            raise ValueError(f"'snapshot_interval' needs {what}: a directory of this machine")
        return self

    @model_validator(mode="after")
    def _system_topics_reached(self) -> Self:
        named = self.topic_policies.system_topics
        if not named:
            return self
        if self.admin is None or self.bus.kind != "pulsar":
            raise ValueError("'topic_policies.system_topics' needs [admin], and a bus of kind 'pulsar'")
        if len(self.clusters) > 1:
            raise ValueError(
                "'topic_policies.system_topics': each cluster has its own system topics, and 'clusters' names several"
            )
        scope = self.scope.compiled(self.topic_policies.rules)
        for each in named:
            one = each.removesuffix("*") + ("syncer" if each.endswith("*") else "")
            if not scope.contains(MetaPath(f"{paths.GLOBAL_TOPIC_POLICIES}/{one}/persistent/syncer")):
                raise ValueError(
                    f"'topic_policies.system_topics' names {each!r}, which 'scope.rules' leave out: add "
                    f'{{ pattern = "{paths.GLOBAL_TOPIC_POLICIES}/{each}/**", direction = "both" }}'
                )
        return self

    @model_validator(mode="after")
    def _itself_not_native(self) -> Self:
        if self.signing is not None and self.region in self.signing.native_regions:
            raise ValueError(f"'signing.native_regions' names this region itself ({self.region!r}), which signs")
        return self

    @model_validator(mode="after")
    def _keys_of_regions(self) -> Self:
        if self.signing is None:
            return self
        if believed := sorted(set(self.signing.native_regions) & set(self.peers.keys)):
            raise ValueError(
                f"'signing.native_regions' names {believed[0]!r}, which has a key in 'peers.keys': anybody could speak "
                "for it without one"
            )
        if not self.signing.require_region_keys:
            return self
        if self.region not in self.peers.keys:
            raise ValueError(f"'signing.require_region_keys' needs the public half of {self.region!r} in 'peers.keys'")
        if self.signing.region_key_file is None and self.mode != "observe":
            raise ValueError("'signing.require_region_keys' needs 'signing.region_key_file': no region would hear us")
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
            ConfigError: No such adapter, or its settings are wrong.
        """
        return adapters.settings_of("store", self.store.group, self.store.raw, {"region": self.region})

    @functools.cached_property
    def bus_settings(self) -> BaseModel:
        """The checked settings of the bus; a field ``region`` that was not given is this region's id."""
        return adapters.settings_of("bus", self.bus.group, self.bus.raw, {"region": self.region})

    @functools.cached_property
    def names(self) -> ClusterNames:
        """What brokers here call clusters, and what the group does."""
        return ClusterNames(self.cluster_names)

    @property
    def region_names(self) -> RegionNames:
        """The same as other regions are told of it."""
        own = tuple(sorted(map(self.names.in_group, self.clusters)))
        return RegionNames(own=own, table={here: there for here, there in self.cluster_names.items() if here != there})

    @property
    def store_place(self) -> str:
        """Digest of where the store is, and by which names it is read."""
        return adapters.address_digest(
            self.store_settings, self.cluster_names, sorted(set(self.topic_policies.system_topics))
        )

    def make_store(self, *, writes: bool = False) -> MetadataStore:
        """The store by the group's names of clusters, with what is kept in system topics, not yet opened.

        Args:
            writes: Whoever asks may become the region's writer.

        Raises:
            ConfigError: The adapter is none, or a file that its settings name cannot be read.
        """
        return mapped(self._with_policies(self.make_plain_store(), writes=writes), self.names)

    def _with_policies(self, store: MetadataStore, *, writes: bool) -> MetadataStore:
        """The store, with what selected namespaces keep in system topics; itself, where none are."""
        table = self.topic_policies
        if not table.system_topics or self.admin is None:
            return store
        from syncer.system_topics.assembling import SourceBounds, beside  # noqa: PLC0415 - it loads Pulsar's client

        bounds = SourceBounds(
            max_readers=table.max_readers,
            openings_per_s=table.openings_per_s,
            look_every=table.look_every,
            renew_every=table.renew_every,
        )
        return beside(
            store,
            table.system_topics,
            Region(self.region),
            self.bus_settings,
            self.admin.settings(),
            bounds=bounds,
            alone=len(self.clusters) <= 1,
            writes=writes,
        )

    def make_plain_store(self) -> MetadataStore:
        """The store as its brokers read it, not yet opened. Raises like :meth:`make_store`."""
        return adapters.make_store(self.store.kind, self.store_settings)

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
        return Scope([*lock_rules(self.bus.raw), *self.scope.compiled(self.topic_policies.rules).rules])

    def settings(self, generation: int = 1) -> Settings:
        """What the core is set to.

        Args:
            generation: Of the sidecar database.
        """
        return Settings(
            region=Region(self.region),
            generation=generation,
            clusters=frozenset(map(self.names.in_group, self.clusters)),
            ties=self.tie_order,
            limits=self.core_limits,
            bus_paths=self.bus_paths,
            excluded=self.scope.exclusions().at,
            projections=replace(NEWEST, able=ABLE_TO_CARRY) if self.scope.carry_offload else NEWEST,
            collected_topics=self._collected_topics,
            brokers=None if self.store.kind == "sqlite" and self.admin is None else Brokers(),
        )

    @property
    def _collected_topics(self) -> CollectedTopics | None:
        """Hold or carry deletes that a broker may have made; ``None``: no broker can be asked, so all are carried."""
        wanted = self.scope.collected_topics
        return wanted if self.admin is not None or wanted is CollectedTopics.CARRY else None

    @property
    def silence(self) -> timedelta:
        """After how long a region is silent: as configured, and never between two heartbeats."""
        return max(self.peers.silence, BEATS_IN_A_SILENCE * self.heartbeat_interval)

    @property
    def core_limits(self) -> core.Limits:
        """Bounds of the guards, as the core has them."""
        limits = self.limits
        return core.Limits(
            max_clock_skew_ms=in_ms(limits.max_clock_skew),
            park_grace_ms=in_ms(limits.park_grace),
            max_deletes=limits.max_deletes,
            max_delete_fraction=limits.max_delete_fraction,
            min_deletes=limits.min_deletes,
            delete_window_ms=in_ms(limits.delete_window),
            max_flips=limits.max_flips,
            flip_window_ms=in_ms(limits.flip_window),
        )

    @property
    def repair_terms(self) -> Terms:
        """On what terms a repair begins here; neither store nor bus is looked at."""
        return Terms(
            region=Region(self.region),
            rules=(self.compiled_scope().fingerprint, self.tie_order.value),
            limits=self.core_limits,
            grace_ms=in_ms(self.limits.tombstone_grace),
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
    declaration = f"{paths.PARTITIONED_TOPICS}/{tenant}/{namespace}/{domain}/{paths.topic_name(local)}"
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
