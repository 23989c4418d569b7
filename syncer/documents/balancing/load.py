"""JSON document of a cluster's load: every figure with its source and age, null where it is not known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from syncer.balancer.loads import unknown
from syncer.balancer.picture import LoadFindingKind, LoadManager, LoadSource, Tenure
from syncer.documents.document import Document

if TYPE_CHECKING:
    from syncer.balancer.load import Rates, Usage
    from syncer.balancer.picture import BrokerFigures, FigureOrigin, LoadPicture, SeenBroker, SeenBundle
    from syncer.balancer.settings import BalancerSettings


class OriginDocument(Document):
    """The place that figures were read from; ``age_ms`` is null where it tells no time."""

    source: LoadSource
    where: str
    age_ms: int | None


class UsageDocument(Document):
    """Use of a resource and its limit, in Pulsar's units: CPU 100 a core, memory MiB, bandwidth kbit/s.

    Of a broker that was asked for its metrics the limit is that of equal machines: those tell none.
    """

    usage: float
    limit: float


class RatesDocument(Document):
    """Messages and bytes a second."""

    rate_in: float
    rate_out: float
    throughput_in: float
    throughput_out: float


class BrokerLoadDocument(Document):
    """A registered broker; ``usage`` is its greatest weighted usage as its load manager reckons it, a fraction."""

    broker: str
    version: str | None
    manager: str | None
    figures: OriginDocument | None
    usage: float | None
    average_usage: float | None
    cpu: UsageDocument | None
    memory: UsageDocument | None
    direct_memory: UsageDocument | None
    bandwidth_in: UsageDocument | None
    bandwidth_out: UsageDocument | None
    traffic: RatesDocument | None
    topics: int | None
    bundles: int | None
    producers: int | None
    consumers: int | None


class BundleLoadDocument(Document):
    """A bundle; ``tenure`` is null where its owner is not known."""

    bundle: str
    tenure: Tenure | None
    owner: str | None
    target: str | None
    ownership: OriginDocument | None
    figures: OriginDocument | None
    traffic: RatesDocument | None
    topics: int | None
    producers: int | None
    consumers: int | None


class LoadFindingDocument(Document):
    """A flaw of what was read, and the operator's next step."""

    kind: LoadFindingKind
    where: str
    what: str
    remedy: str


class LoadDocument(Document):
    """``syncer balancer load``."""

    cluster: str
    taken_ms: int
    manager: LoadManager | None
    leader: str | None
    shedding_strategy: str | None
    placement_strategy: str | None
    isolation_policies: int | None
    failure_domains: int | None
    brokers: list[BrokerLoadDocument]
    bundles: list[BundleLoadDocument]
    unknown_brokers: list[str]
    unknown_bundles: list[str]
    findings: list[LoadFindingDocument]


def load_document(picture: LoadPicture) -> LoadDocument:
    """Make the document of a picture.

    Args:
        picture: The picture.
    """
    left_out = unknown(picture)
    settings = None if picture.settings is None else picture.settings.value
    return LoadDocument(
        cluster=picture.cluster,
        taken_ms=picture.taken_ms,
        manager=picture.manager,
        leader=None if picture.leader is None else picture.leader.value,
        shedding_strategy=None if settings is None else settings.shedding.strategy,
        placement_strategy=None if settings is None else settings.placement.strategy,
        isolation_policies=None if picture.policies is None else len(picture.policies.value),
        failure_domains=None if picture.domains is None else len(set(picture.domains.value.values())),
        brokers=[_broker(picture.brokers[name], picture, settings) for name in picture.registered],
        bundles=[_bundle(seen, picture.taken_ms) for seen in picture.bundles.values()],
        unknown_brokers=list(left_out.brokers),
        unknown_bundles=list(left_out.bundles),
        findings=[
            LoadFindingDocument(kind=each.kind, where=each.where, what=each.what, remedy=each.remedy)
            for each in picture.findings
        ],
    )


def _broker(seen: SeenBroker, picture: LoadPicture, settings: BalancerSettings | None) -> BrokerLoadDocument:
    traits = None if seen.registration is None else seen.registration.value
    figures = None if seen.figures is None else seen.figures.value
    usages = None if figures is None else figures.usages
    return BrokerLoadDocument(
        broker=seen.broker,
        version=None if traits is None else traits.version,
        manager=None if traits is None else traits.manager,
        figures=None if seen.figures is None else _origin(seen.figures.origin, picture.taken_ms),
        usage=None if figures is None else _weighted(figures, picture, settings),
        average_usage=None if figures is None else figures.average_usage,
        cpu=None if usages is None else _usage(usages.cpu),
        memory=None if usages is None else _usage(usages.memory),
        direct_memory=None if usages is None else _usage(usages.direct_memory),
        bandwidth_in=None if usages is None else _usage(usages.bandwidth_in),
        bandwidth_out=None if usages is None else _usage(usages.bandwidth_out),
        traffic=None if figures is None or figures.traffic is None else _rates(figures.traffic),
        topics=None if figures is None else figures.topics,
        bundles=None if figures is None else figures.bundle_count,
        producers=None if figures is None else figures.producers,
        consumers=None if figures is None else figures.consumers,
    )


def _weighted(figures: BrokerFigures, picture: LoadPicture, settings: BalancerSettings | None) -> float | None:
    """The usage by the cluster's own weights; None where these or a resource are not known."""
    usages = figures.usages.whole()
    if usages is None or settings is None:
        return None
    heap = picture.manager is LoadManager.EXTENSIBLE
    return usages.weighted_with_heap(settings.usage) if heap else usages.weighted(settings.usage)


def _bundle(seen: SeenBundle, taken_ms: int) -> BundleLoadDocument:
    held = None if seen.owner is None else seen.owner.value
    stats = None if seen.stats is None else seen.stats.value
    return BundleLoadDocument(
        bundle=seen.bundle,
        tenure=None if held is None else held.tenure,
        owner=None if held is None else held.broker,
        target=None if held is None else held.target,
        ownership=None if seen.owner is None else _origin(seen.owner.origin, taken_ms),
        figures=None if seen.stats is None else _origin(seen.stats.origin, taken_ms),
        traffic=None if stats is None else _rates(stats.traffic),
        topics=None if stats is None else stats.topics,
        producers=None if stats is None else stats.producers,
        consumers=None if stats is None else stats.consumers,
    )


def _origin(origin: FigureOrigin, taken_ms: int) -> OriginDocument:
    return OriginDocument(source=origin.source, where=origin.where, age_ms=origin.age_ms(taken_ms))


def _usage(usage: Usage | None) -> UsageDocument | None:
    return None if usage is None else UsageDocument(usage=usage.usage, limit=usage.limit)


def _rates(rates: Rates) -> RatesDocument:
    return RatesDocument(
        rate_in=rates.rate_in,
        rate_out=rates.rate_out,
        throughput_in=rates.throughput_in,
        throughput_out=rates.throughput_out,
    )
