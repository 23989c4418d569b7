"""Picture: a cluster's load, ownership and constraints as they were read at one time.

What is not known is None and never 0. Every figure comes with its origin: the kind of source, the place in it, the time
at which its author wrote it. What was torn, impossible, stale or contradicted by another source is no figure here; a
finding says so, and the rest stands.

Units: those of :mod:`syncer.balancer.load`; times in milliseconds since the epoch, UTC.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Generic, TypeVar

from syncer.balancer.averages import BundleAverages
from syncer.balancer.load import BundleStats, Rates, Usage, Usages
from syncer.balancer.placement.decision import BrokerTraits
from syncer.balancer.placement.isolation import IsolationPolicy
from syncer.balancer.settings import BalancerSettings

Value_co = TypeVar("Value_co", covariant=True)


class LoadManager(StrEnum):
    """Pulsar's two load managers."""

    MODULAR = "modular"
    EXTENSIBLE = "extensible"


class LoadSource(StrEnum):
    """Kinds of sources."""

    STORE = "store"
    TOPIC = "topic"
    REST = "rest"
    HISTORY = "history"


@dataclass(frozen=True, slots=True)
class FigureOrigin:
    """The place that a figure was read from: a path, a topic with its key, an address.

    ``written_ms`` is the time that its author gave it, else the store's; None where neither tells.
    """

    source: LoadSource
    where: str
    written_ms: int | None = None

    def age_ms(self, now_ms: int) -> int | None:
        """Age of what was read there; 0 where its author's clock is ahead, None where it has no time.

        Args:
            now_ms: The time to which it is reckoned.
        """
        return None if self.written_ms is None else max(0, now_ms - self.written_ms)


@dataclass(frozen=True, slots=True)
class Known(Generic[Value_co]):
    """A value with its origin."""

    value: Value_co
    origin: FigureOrigin


class LoadFindingKind(StrEnum):
    """Why something that was looked for is not known, or not to be trusted."""

    TORN = "torn"
    MISSING = "missing"
    IMPOSSIBLE = "impossible"
    STALE = "stale"
    CONTRADICTION = "contradiction"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class LoadFinding:
    """A flaw of what was read: which, where, and the operator's next step."""

    kind: LoadFindingKind
    where: str
    what: str
    remedy: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenUsages:
    """Usages of a broker's resources, each None where the report does not say it."""

    cpu: Usage | None = None
    memory: Usage | None = None
    direct_memory: Usage | None = None
    bandwidth_in: Usage | None = None
    bandwidth_out: Usage | None = None

    def whole(self) -> Usages | None:
        """All five as the managers reckon with them; None where one is not known."""
        if (
            self.cpu is None
            or self.memory is None
            or self.direct_memory is None
            or self.bandwidth_in is None
            or self.bandwidth_out is None
        ):
            return None
        return Usages(self.cpu, self.memory, self.direct_memory, self.bandwidth_in, self.bandwidth_out)


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerFigures:
    """Load of a broker by one report of its own.

    ``bundles`` are the names of what it serves, None where the report only counts them in ``bundle_count``.
    ``average_usage`` and ``average_throughput`` are what a broker of the extensible manager moves itself. ``asked``
    figures are no report that was heard but its metrics, which tell usages in per cent: limits are those of equal
    machines.
    """

    usages: SeenUsages = SeenUsages()
    traffic: Rates | None = None
    topics: int | None = None
    bundle_count: int | None = None
    bundles: AbstractSet[str] | None = None
    producers: int | None = None
    consumers: int | None = None
    average_usage: float | None = None
    average_throughput: float | None = None
    asked: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenBroker:
    """All that was read of a broker.

    A broker without ``registration`` is not there: somebody else's document names it. ``long_rate`` is the leader's
    long average of its messages a second; ``top`` its busiest bundles, in the order of its report. ``bystanders``
    counts by bundle the clients of its other ones on connections that the bundle's publishers use; not known where a
    bundle is not there.
    """

    broker: str
    registration: Known[BrokerTraits] | None = None
    figures: Known[BrokerFigures] | None = None
    long_rate: Known[float] | None = None
    top: Known[tuple[str, ...]] | None = None
    bystanders: Mapping[str, int] = field(default_factory=dict)


class Tenure(StrEnum):
    """How a bundle is held."""

    OWNED = "owned"
    MOVING = "moving"
    SPLITTING = "splitting"
    FREE = "free"


@dataclass(frozen=True, slots=True)
class Ownership:
    """Who serves a bundle, and who is to get it while it moves."""

    tenure: Tenure
    broker: str | None
    target: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenTopic:
    """Load of a topic by its broker's statistics.

    ``producer_versions`` and ``consumer_versions`` count clients by what they say of their version, None where one of
    them does not say it.
    """

    traffic: Rates
    producers: int | None = None
    consumers: int | None = None
    producer_versions: Mapping[str, int] | None = None
    consumer_versions: Mapping[str, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenBundle:
    """All that was read of a bundle.

    ``stats`` is the last report of its owner, ``averages`` what the leader keeps, ``topics`` those that are loaded, by
    full name.
    """

    bundle: str
    owner: Known[Ownership] | None = None
    stats: Known[BundleStats] | None = None
    averages: Known[BundleAverages] | None = None
    topics: Known[Mapping[str, SeenTopic]] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenNamespace:
    """How a namespace is cut into bundles, and its anti-affinity group, empty where it is in none."""

    namespace: str
    boundaries: Known[tuple[int, ...]] | None = None
    group: Known[str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadPicture:
    """A cluster at one time: ``taken_ms`` is when the reading began.

    ``manager`` is None where nothing tells it, or where brokers of both are there. ``domains`` is the failure domain of
    each broker that is in one.
    """

    cluster: str
    taken_ms: int
    manager: LoadManager | None = None
    brokers: Mapping[str, SeenBroker] = field(default_factory=dict)
    bundles: Mapping[str, SeenBundle] = field(default_factory=dict)
    namespaces: Mapping[str, SeenNamespace] = field(default_factory=dict)
    policies: Known[tuple[IsolationPolicy, ...]] | None = None
    domains: Known[Mapping[str, str]] | None = None
    settings: Known[BalancerSettings] | None = None
    leader: Known[str] | None = None
    findings: tuple[LoadFinding, ...] = ()

    @property
    def registered(self) -> tuple[str, ...]:
        """Brokers that are there, in the order of the registry."""
        return tuple(name for name, seen in self.brokers.items() if seen.registration is not None)
