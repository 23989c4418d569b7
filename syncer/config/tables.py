"""Tables of the configuration: every field with its meaning, default and bounds.

Every table stands on its own; what they mean together is :mod:`syncer.config.model`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Literal, Self
from urllib.parse import parse_qs, quote, urlsplit, urlunsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, StringConstraints, model_validator

from syncer import paths
from syncer.admin.addresses import BrokerUrl
from syncer.bus.trust.public_halves import MAX_HALVES, PublicHalf
from syncer.config import adapters
from syncer.config.durations import Duration
from syncer.config.rights import unreadable
from syncer.conflict.deletes.collected import CollectedTopics
from syncer.conflict.exclusion.rules import Exclusion, Exclusions
from syncer.conflict.scope import DEFAULT_RULES, Rule, Scope
from syncer.conflict.settings import Direction
from syncer.errors import ConfigError
from syncer.local_files import secret_text
from syncer.model import Region
from syncer.plan.losses import DEFAULT_MAX_LOST_FRACTION, DEFAULT_MIN_LOST, LossBounds

if TYPE_CHECKING:
    from syncer.admin.client import AdminSettings

DEFAULT_STATE_PATH: Final = Path("/var/lib/pulsar-syncer/state.db")

_USER: Final = re.compile(r"^\w+://[^/@]+@")
_ZERO: Final = timedelta(0)
NAME: Final = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$"

_NAMESPACES: Final = r"^[-=:.\w]+/(\*|[-=:.\w]+)$"

Name = Annotated[str, StringConstraints(pattern=NAME)]


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
            password = secret_text(self.password_file)
        except OSError as exc:
            raise unreadable("state.password_file:", self.password_file, exc) from exc
        parts = urlsplit(url)
        user, at, host = parts.netloc.rpartition("@")
        if ":" in user or "password" in parse_qs(parts.query):
            raise ConfigError("'state.url' has a password, and 'state.password_file' names another one")
        return urlunsplit(parts._replace(netloc=f"{user}:{quote(password, safe='')}{at}{host}"))


class RuleConfig(Section):
    """Paths that match ``pattern`` flow in ``direction``."""

    pattern: str = Field(description="'*' is part of one segment, '**' any number of segments.")
    direction: Direction = Field(description="Which way they flow.")


class ExcludeConfig(Section):
    """Fields that this region has for itself."""

    pattern: str = Field(
        description="As in a rule of the scope: '*' within one segment, '**' across segments.",
        examples=["/admin/policies/acme/**"],
    )
    fields: tuple[str, ...] = Field(
        description="At the top of the documents there, by the names that Pulsar stores them by.",
        examples=[["backlog_quota_map", "message_ttl_in_seconds"]],
    )


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
    collected_topics: CollectedTopics = Field(
        default=CollectedTopics.HOLD,
        description="What becomes of deletes of partitioned topics while brokers of this region delete declarations of "
        "topics that nobody uses: 'hold' until a person decides, or 'carry' to all regions. Needs [admin].",
    )
    carry_offload: bool = Field(
        default=False,
        description="Carry the thresholds, lags, sizes and numbers of threads of policies of offloading, once every "
        "region is set to. Driver, bucket, region, endpoint and keys are each region's own all the same.",
    )
    exclude: tuple[ExcludeConfig, ...] = Field(
        default=(),
        description="Fields that are this region's own: changes of them are neither published nor written here.",
        examples=[[{"pattern": "/admin/policies/acme/**", "fields": ["message_ttl_in_seconds"]}]],
    )

    @model_validator(mode="after")
    def _usable(self) -> Self:
        try:
            self.compiled()
            self.exclusions()
        except ConfigError as exc:
            raise ValueError(f"{exc.message}. {exc.hint}") from exc
        return self

    def exclusions(self) -> Exclusions:
        """The excluded fields as the core reads them."""
        return Exclusions([Exclusion(each.pattern, each.fields) for each in self.exclude])

    def compiled(self, further: Sequence[Rule] = ()) -> Scope:
        """The rules as the core reads them.

        Args:
            further: Rules that go with the default ones, where those that are given do not take their place.
        """
        given = self.rules
        rules = list(DEFAULT_RULES) if given is None else [Rule(rule.pattern, rule.direction) for rule in given]
        if self.clusters:
            rules.append(Rule(f"{paths.CLUSTERS}/*", Direction.BOTH))
        if self.isolation_policies:
            rules.append(Rule(f"{paths.CLUSTERS}/*/namespaceIsolationPolicies", Direction.BOTH))
        if self.global_topic_policies:
            rules.append(Rule(f"{paths.GLOBAL_TOPIC_POLICIES}/**", Direction.BOTH))
        elif given is None:
            rules += further
        return Scope(rules)


class TopicPoliciesConfig(Section):
    """Global topic policies that brokers keep in system topics, carried like those that they keep in the store."""

    system_topics: tuple[Annotated[str, StringConstraints(pattern=_NAMESPACES)], ...] = Field(
        default=(),
        description="Namespaces whose system topics are read and written: 'TENANT/NAMESPACE' or 'TENANT/*'. None when "
        "not given. Needs [admin], and a bus on Pulsar: its address and credentials serve here.",
        examples=[["acme/*", "ops/jobs"]],
    )
    max_readers: int = Field(
        default=1000, ge=1, description="Most system topics that are open at once; beyond it the idlest is closed."
    )
    openings_per_s: float = Field(default=500.0, gt=0, description="Most namespaces looked at or opened in a second.")
    look_every: Duration = Field(
        default=timedelta(seconds=60),
        gt=_ZERO,
        description="How often a namespace is looked at, at least, that is not followed.",
    )
    renew_every: Duration = Field(
        default=timedelta(minutes=30), gt=_ZERO, description="How often one that is followed is read anew."
    )

    @property
    def rules(self) -> tuple[Rule, ...]:
        """Rules of the scope that take in what is kept there."""
        return tuple(Rule(f"{paths.GLOBAL_TOPIC_POLICIES}/{each}/**", Direction.BOTH) for each in self.system_topics)


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
    audit_retention: Duration = Field(
        default=timedelta(days=400), gt=_ZERO, description="How long is kept who asked the daemon for what, and why."
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

    @property
    def journal_kept(self) -> timedelta:
        """How long decisions are kept: at least as long as deletes are counted by them."""
        return max(self.journal_retention, self.delete_window)


class OAuth2Config(Section):
    """Client credentials of OAuth 2: a token is fetched from the issuer, and a new one before it expires.

    The issuer's certificate is verified by the system's authorities.
    """

    issuer_url: str = Field(
        pattern=r"^https?://[^@\s]+$",
        description="Address of the issuer, below which '/.well-known/openid-configuration' is.",
        examples=["https://login.example/realms/pulsar"],
    )
    credentials_file: Path = Field(
        description="JSON file with 'client_id' and 'client_secret', as Pulsar's clients have it."
    )
    audience: str | None = Field(
        default=None, min_length=1, description="For whom the token is, where the issuer asks."
    )
    scope: str | None = Field(default=None, min_length=1, description="Scopes with blanks between, where it asks.")


class AdminConfig(Section):
    """Pulsar's admin REST API. By ``[admin]`` the daemon asks if a namespace has topics before it deletes it."""

    url: BrokerUrl = Field(description="Base URL of a broker.", examples=["http://127.0.0.1:8080"])
    brokers: tuple[BrokerUrl, ...] = Field(
        default=(),
        description="Base URLs of the cluster's brokers: a call about a topic is sent on to the broker that owns it, "
        "and the token with it. Needed where the role may not list the brokers; those that are listed need not stand "
        "here.",
        examples=[["http://broker-1.example:8080", "http://broker-2.example:8080"]],
    )
    token_file: Path | None = Field(default=None, description="File that holds the token; read again when it changes.")
    oauth2: OAuth2Config | None = Field(default=None, description="Fetch tokens from an issuer, by OAuth 2.")
    ca_file: Path | None = Field(default=None, description="Certificates to trust; the system's when not given.")
    cert_file: Path | None = Field(default=None, description="Our own certificate, where the broker asks for one.")
    key_file: Path | None = Field(default=None, description="Private key of our own certificate.")
    timeout: Duration = Field(default=timedelta(seconds=10), gt=_ZERO, description="Deadline of one request.")

    @model_validator(mode="after")
    def _pairs(self) -> Self:
        if (self.cert_file is None) != (self.key_file is None):
            raise ValueError("'cert_file' and 'key_file' go together")
        ways = {"token_file": self.token_file, "oauth2": self.oauth2, "cert_file": self.cert_file}
        if len(named := [f"'{name}'" for name, given in ways.items() if given is not None]) > 1:
            raise ValueError(f"{' and '.join(named)} exclude each other")
        return self

    def settings(self) -> AdminSettings:
        """The admin client's settings."""
        from syncer.admin import auth as ways  # noqa: PLC0415 - who asks no broker needs none
        from syncer.admin.client import AdminSettings  # noqa: PLC0415 - likewise

        auth: ways.Auth | None = None
        if self.token_file is not None:
            auth = ways.TokenAuth(file=self.token_file)
        elif self.oauth2 is not None:
            auth = ways.OAuth2Auth(
                issuer_url=self.oauth2.issuer_url,
                credentials_file=self.oauth2.credentials_file,
                audience=self.oauth2.audience,
                scope=self.oauth2.scope,
            )
        elif self.cert_file is not None and self.key_file is not None:
            auth = ways.CertificateAuth(certificate=self.cert_file, key=self.key_file)
        return AdminSettings(
            url=self.url.rstrip("/"),
            brokers=self.brokers,
            auth=auth,
            trust=ways.Trust(certificates=self.ca_file),
            timeout=self.timeout,
        )


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
    silence: Duration = Field(
        default=timedelta(minutes=5),
        gt=_ZERO,
        description="A region that another one says was forgotten is forgotten here once it was not heard for so long; "
        "at least 3 times 'heartbeat_interval'.",
    )
    keys: dict[Name, Annotated[tuple[str, ...], Field(min_length=1, max_length=MAX_HALVES)]] = Field(
        default_factory=dict,
        description="By region, this one too: the public half of its key pair ('syncer keys show'); while the pair is "
        "rotated, both. The same in every region.",
        examples=[{"west": ["ed25519:11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="]}],
    )

    @model_validator(mode="after")
    def _each_key_of_one_region(self) -> Self:
        owners: dict[PublicHalf, str] = {}
        for region, texts in self.keys.items():
            for text in texts:
                try:
                    half = PublicHalf.parse(text)
                except ConfigError as exc:
                    raise ValueError(f"'keys' of {region!r}: {exc.message}. {exc.hint}") from exc
                if (other := owners.setdefault(half, region)) != region:
                    raise ValueError(f"'keys' gives the same public half to {other!r} and to {region!r}")
            if len(set(texts)) < len(texts):
                raise ValueError(f"'keys' of {region!r} has the same public half twice")
        return self

    def halves(self) -> dict[Region, list[PublicHalf]]:
        """Public halves by region."""
        return {Region(region): [PublicHalf.parse(text) for text in texts] for region, texts in self.keys.items()}


class SigningConfig(Section):
    """What messages are signed with, and what others must be signed with: the key of the group, or keys of regions."""

    key_files: tuple[Path, ...] = Field(
        default=(),
        max_length=2,
        description="Files with a key each: at least 32 bytes as base64, readable by the daemon alone. The first one "
        "signs; while keys are rotated, a second one is accepted too. The same in every region.",
        examples=[["/run/credentials/pulsar-syncer.service/credentials_group-key"]],
    )
    region_key_file: Path | None = Field(
        default=None,
        description="File with the private key of this region alone ('syncer keys create'), readable by the daemon "
        "alone. Messages are signed with it too.",
        examples=["/run/credentials/pulsar-syncer.service/credentials_region-key"],
    )
    require_region_keys: bool = Field(
        default=False,
        description="Take only messages that are signed with a key of the region that speaks ('peers.keys'): no member "
        "can speak as another one.",
    )
    native_regions: tuple[Annotated[str, StringConstraints(min_length=1)], ...] = Field(
        default=(),
        description="Regions that run Pulsar's own synchronizer, which cannot sign, by cluster name: anybody on the "
        "topic may speak for these.",
    )
    accept_unsigned: bool = Field(
        default=False, description="Take messages without a signature too, while the group is given its first key."
    )

    @model_validator(mode="after")
    def _some_key(self) -> Self:
        if not self.key_files and self.region_key_file is None and not self.require_region_keys:
            raise ValueError("'signing' names no key: give 'key_files', 'region_key_file', or both")
        if self.accept_unsigned and self.require_region_keys:
            raise ValueError("'accept_unsigned' and 'require_region_keys' exclude each other")
        return self


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
    max_lost_fraction: float = Field(
        default=DEFAULT_MAX_LOST_FRACTION,
        ge=0,
        le=1,
        description="A snapshot that lost a greater share of the paths of the last one is refused; 1: never.",
    )
    min_lost: int = Field(default=DEFAULT_MIN_LOST, ge=1, description="The share counts from this many lost paths on.")
    time_limit: Duration = Field(
        default=timedelta(hours=1),
        gt=_ZERO,
        description="A snapshot or comparison of the daemon that takes longer is stopped.",
    )
    work: Path | None = Field(
        default=None,
        description="Directory here for the state of a running one; in the folder if not given.",
    )

    @property
    def loss_bounds(self) -> LossBounds:
        """How much may be gone since the last snapshot before an operator is asked."""
        return LossBounds(max_fraction=self.max_lost_fraction, min_lost=self.min_lost)

    @property
    def workplace(self) -> Path | None:
        """The directory of this machine, where one can be told."""
        if self.work is not None or self.folder is None:
            return self.work
        return Path(self.folder).absolute() / ".job" if "://" not in self.folder else None


class LogConfig(Section):
    """The log, on stderr."""

    level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="Least level that is written."
    )
    format: Literal["auto", "json", "console"] = Field(
        default="auto", description="'auto': for people on a terminal, else JSON."
    )
