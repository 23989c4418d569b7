"""Parts: what was decoded of a cluster, until a picture is put together of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from syncer.balancer.decoding.fields import FlawNotes

if TYPE_CHECKING:
    from syncer.balancer.averages import BundleAverages
    from syncer.balancer.load import BundleStats, Rates
    from syncer.balancer.picture import BrokerFigures, FigureOrigin, Known, LoadManager, Ownership, SeenTopic
    from syncer.balancer.placement.decision import BrokerTraits
    from syncer.balancer.placement.isolation import IsolationPolicy
    from syncer.balancer.settings import BalancerSettings

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class ServedTopics:
    """All topics that a broker serves: how many, and their traffic."""

    number: int
    traffic: Rates


@dataclass(slots=True)
class BrokerParts:
    """By broker: registration, manager, addresses, reports, averages.

    ``asked`` are usages that a broker told when it was asked, ``served`` what it serves: they stand in for its report.
    ``bystanders`` are by bundle, as of :class:`~syncer.balancer.picture.SeenBroker`.
    ``unstarted`` brokers are registered, and can serve nothing yet.
    """

    registrations: dict[str, Known[BrokerTraits]] = field(default_factory=dict)
    managers: dict[str, LoadManager] = field(default_factory=dict)
    addresses: dict[str, str] = field(default_factory=dict)
    figures: dict[str, Known[BrokerFigures]] = field(default_factory=dict)
    asked: dict[str, Known[BrokerFigures]] = field(default_factory=dict)
    served: dict[str, ServedTopics] = field(default_factory=dict)
    bystanders: dict[str, Mapping[str, int]] = field(default_factory=dict)
    long_rates: dict[str, Known[float]] = field(default_factory=dict)
    top: dict[str, Known[tuple[str, ...]]] = field(default_factory=dict)
    unstarted: set[str] = field(default_factory=set)
    leader: Known[str] | None = None


@dataclass(slots=True)
class BundleParts:
    """By bundle: each broker's statistics of it, averages, ownership, topics.

    ``ownership_read`` is the place of all ownership once it was read whole: a bundle that is not there has no owner.
    """

    reported: dict[str, dict[str, Known[BundleStats]]] = field(default_factory=dict)
    averages: dict[str, Known[BundleAverages]] = field(default_factory=dict)
    owners: dict[str, Known[Ownership]] = field(default_factory=dict)
    topics: dict[str, Known[Mapping[str, SeenTopic]]] = field(default_factory=dict)
    ownership_read: FigureOrigin | None = None


@dataclass(slots=True)
class ConstraintParts:
    """Of the cluster: boundaries and groups by namespace, policies, domains, settings.

    ``first_boundaries`` are those of a namespace's policies, which count where it has no local ones. ``card_kbit`` is
    the speed of a broker's network card where the settings say it.
    """

    boundaries: dict[str, Known[tuple[int, ...]]] = field(default_factory=dict)
    first_boundaries: dict[str, Known[tuple[int, ...]]] = field(default_factory=dict)
    groups: dict[str, Known[str]] = field(default_factory=dict)
    policies: Known[tuple[IsolationPolicy, ...]] | None = None
    domains: Known[Mapping[str, str]] | None = None
    settings: Known[BalancerSettings] | None = None
    card_kbit: float | None = None


@dataclass(slots=True)
class PictureParts:
    """All that was decoded, and the flaws of it."""

    brokers: BrokerParts = field(default_factory=BrokerParts)
    bundles: BundleParts = field(default_factory=BundleParts)
    constraints: ConstraintParts = field(default_factory=ConstraintParts)
    notes: FlawNotes = field(default_factory=FlawNotes)
