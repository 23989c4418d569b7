"""Sample: a cluster's load at one moment, without its constraints, which belong to the present.

Units: those of :mod:`syncer.balancer.load`; times in milliseconds since the epoch, UTC.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from syncer.balancer.loads import stats_of
from syncer.balancer.picture import (
    BrokerFigures,
    FigureOrigin,
    Known,
    LoadManager,
    LoadSource,
    Ownership,
    SeenBroker,
    SeenBundle,
    SeenUsages,
)

if TYPE_CHECKING:
    from syncer.balancer.load import BundleStats, Rates
    from syncer.balancer.picture import LoadPicture


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledBroker:
    """What a broker reported of itself; each figure None where it was not known."""

    usages: SeenUsages = field(default_factory=SeenUsages)
    traffic: Rates | None = None
    topics: int | None = None
    bundle_count: int | None = None
    producers: int | None = None
    consumers: int | None = None


@dataclass(frozen=True, slots=True)
class SampledBundle:
    """Who held a bundle, and its load; each None where it was not known."""

    held: Ownership | None = None
    stats: BundleStats | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadSample:
    """A cluster's load at ``taken_ms``: registered brokers, and bundles by name."""

    cluster: str
    taken_ms: int
    manager: LoadManager | None = None
    brokers: Mapping[str, SampledBroker] = field(default_factory=dict)
    bundles: Mapping[str, SampledBundle] = field(default_factory=dict)


def sample_of(picture: LoadPicture) -> LoadSample:
    """Take from a picture what a history keeps of it.

    Args:
        picture: The picture.
    """
    return LoadSample(
        cluster=picture.cluster,
        taken_ms=picture.taken_ms,
        manager=picture.manager,
        brokers={name: _broker(picture.brokers[name]) for name in picture.registered},
        bundles={
            name: SampledBundle(None if seen.owner is None else seen.owner.value, stats_of(seen))
            for name, seen in picture.bundles.items()
        },
    )


def picture_then(sample: LoadSample, present: LoadPicture) -> LoadPicture:
    """See a cluster with the load and the owners of a sample, and all else as it is.

    A broker that is not there any more is left out; one that was not there yet has no figures.

    Args:
        sample: The load.
        present: Settings, constraints and brokers.
    """
    origin = FigureOrigin(LoadSource.HISTORY, "the history of load", sample.taken_ms)
    brokers = {
        name: replace(
            present.brokers[name], figures=_figures(sample.brokers.get(name), origin), long_rate=None, top=None
        )
        for name in present.registered
    }
    bundles = {
        name: SeenBundle(
            bundle=name,
            owner=None if each.held is None else Known(each.held, origin),
            stats=None if each.stats is None else Known(each.stats, origin),
        )
        for name, each in sample.bundles.items()
    }
    return replace(
        present, taken_ms=sample.taken_ms, manager=sample.manager, brokers=brokers, bundles=bundles, findings=()
    )


def _broker(seen: SeenBroker) -> SampledBroker:
    if seen.figures is None:
        return SampledBroker()
    known = seen.figures.value
    return SampledBroker(
        usages=known.usages,
        traffic=known.traffic,
        topics=known.topics,
        bundle_count=known.bundle_count,
        producers=known.producers,
        consumers=known.consumers,
    )


def _figures(known: SampledBroker | None, origin: FigureOrigin) -> Known[BrokerFigures] | None:
    if known is None or known == SampledBroker():
        return None
    return Known(
        BrokerFigures(
            usages=known.usages,
            traffic=known.traffic,
            topics=known.topics,
            bundle_count=known.bundle_count,
            producers=known.producers,
            consumers=known.consumers,
        ),
        origin,
    )
