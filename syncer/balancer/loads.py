"""Loads: a picture as the leader of either manager sees it, and as a fleet in which bundles are moved in thought.

A broker or bundle whose figures are not all known is left out, never taken for idle; :func:`unknown` lists them.

A leader keeps averages in its heap that nobody can read. Where the store has none of a bundle, they are taken for those
of a leader that has just heard the last report for the first time. So is the average throughput of a broker of the
extensible manager that told its metrics alone.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

from syncer.balancer.attribution import read_fleet
from syncer.balancer.averages import BundleAverages
from syncer.balancer.cluster import ClusterLoad
from syncer.balancer.exempt import never_shed
from syncer.balancer.load import BrokerReport, BundleStats, summed
from syncer.balancer.picture import LoadManager, Tenure
from syncer.balancer.placement.constraints import Constraints
from syncer.balancer.placement.decision import DropReason
from syncer.balancer.placement.isolation import allowed
from syncer.balancer.ranges import namespace_of_bundle
from syncer.balancer.settings import UsageSettings
from syncer.balancer.soundness import refuse_unsound
from syncer.balancer.strategies.transfer import ExtensibleLoad, ExtensibleReport
from syncer.errors import LoadDataInvalid

if TYPE_CHECKING:
    from syncer.balancer.fleet import Fleet
    from syncer.balancer.picture import LoadPicture, SeenBroker, SeenBundle

_BY_ITS_OWN_POLICY: Final = frozenset({DropReason.NOT_IN_POLICY, DropReason.ENOUGH_PRIMARIES})


@dataclass(frozen=True, slots=True)
class UnknownLoad:
    """Registered brokers, and bundles that are owned and may be moved, whose figures are not all known."""

    brokers: tuple[str, ...]
    bundles: tuple[str, ...]


def unknown(picture: LoadPicture) -> UnknownLoad:
    """List what the loads of a picture leave out.

    Args:
        picture: The picture.
    """
    brokers = tuple(name for name in picture.registered if not _is_whole(picture.brokers[name]))
    left_out = frozenset(brokers)
    bundles = tuple(
        name
        for name, seen in picture.bundles.items()
        if (owner := _owner(seen)) is not None
        and (owner in left_out or stats_of(seen) is None)
        and not never_shed(name)
    )
    return UnknownLoad(brokers, bundles)


def stats_of(seen: SeenBundle) -> BundleStats | None:
    """Figures of a bundle: its owner's report, else the sum over its loaded topics where all of them are known.

    Args:
        seen: What was read of the bundle.
    """
    if seen.stats is not None:
        return seen.stats.value
    if seen.topics is None:
        return None
    topics = seen.topics.value.values()
    producers = [each.producers for each in topics if each.producers is not None]
    consumers = [each.consumers for each in topics if each.consumers is not None]
    if len(producers) < len(topics) or len(consumers) < len(topics):
        return None
    return BundleStats(summed([each.traffic for each in topics]), len(topics), sum(producers), sum(consumers))


def modular_load(picture: LoadPicture, *, recently_unloaded: AbstractSet[str] = frozenset()) -> ClusterLoad:
    """See a picture as the leader of the modular manager does.

    Args:
        picture: The picture.
        recently_unloaded: Bundles that are known to be within their grace period; the leader's own memory of them
            cannot be read.

    Raises:
        LoadDataInvalid: The picture is not of that manager, or a figure cannot be true.
    """
    _of(picture, LoadManager.MODULAR)
    averages = {
        name: known
        for name, seen in picture.bundles.items()
        if (known := _averages(seen)) is not None and _owner(seen) is not None
    }
    load = ClusterLoad(
        brokers={name: report for name in picture.registered if (report := _report(picture.brokers[name])) is not None},
        bundles=averages,
        recently_unloaded=recently_unloaded,
        broker_rates=_broker_rates(picture, averages),
    )
    refuse_unsound(load)
    return load


def extensible_load(picture: LoadPicture, *, recently_unloaded: AbstractSet[str] = frozenset()) -> ExtensibleLoad:
    """See a picture as the leader of the extensible manager does.

    Args:
        picture: The picture.
        recently_unloaded: Bundles that are known to have been unloaded just now.

    Raises:
        LoadDataInvalid: The picture is not of that manager, or a figure cannot be true.
    """
    _of(picture, LoadManager.EXTENSIBLE)
    reports = {
        name: report
        for name in picture.registered
        if (report := _extensible_report(picture.brokers[name], picture)) is not None
    }
    load = ExtensibleLoad(
        brokers=reports,
        available=frozenset(picture.registered),
        recently_unloaded=recently_unloaded,
        transferable=_transferable(picture),
    )
    refuse_unsound(load)
    return load


def constraints_of(picture: LoadPicture) -> Constraints:
    """Take the constraints of placement from a picture.

    Args:
        picture: The picture.

    Raises:
        LoadDataInvalid: Isolation policies or failure domains are not known: a move could break one that is.
    """
    for what, known in (("isolation policies", picture.policies), ("failure domains", picture.domains)):
        if known is None:
            raise LoadDataInvalid(
                f"the {what} of {picture.cluster} are not known, and no move is safe without them",
                hint="The findings of 'syncer balancer load' say why they could not be read.",
            )
    return Constraints(
        traits={
            name: seen.registration.value for name, seen in picture.brokers.items() if seen.registration is not None
        },
        policies=() if picture.policies is None else picture.policies.value,
        groups={
            name: seen.group.value
            for name, seen in picture.namespaces.items()
            if seen.group is not None and seen.group.value
        },
        domains={} if picture.domains is None else picture.domains.value,
    )


def fleet_of(picture: LoadPicture) -> Fleet:
    """Make a fleet of a picture: brokers with all usages known, and the bundles of theirs with figures.

    Args:
        picture: The picture.

    Raises:
        LoadDataInvalid: Brokers of both managers are there, or none is known.
    """
    if picture.manager is None:
        raise _odd_manager(picture)
    reports = [
        (name, usages)
        for name in picture.registered
        if (figures := picture.brokers[name].figures) is not None
        and (usages := figures.value.usages.whole()) is not None
    ]
    known = frozenset(name for name, _ in reports)
    bundles = [
        (name, owner, stats)
        for name, seen in picture.bundles.items()
        if (owner := _owner(seen)) in known and owner is not None and (stats := stats_of(seen)) is not None
    ]
    weights = UsageSettings() if picture.settings is None else picture.settings.value.usage
    return read_fleet(reports, bundles, weights, heap=picture.manager is LoadManager.EXTENSIBLE)


def _of(picture: LoadPicture, manager: LoadManager) -> None:
    if picture.manager is not manager:
        raise _odd_manager(picture, manager)


def _odd_manager(picture: LoadPicture, wanted: LoadManager | None = None) -> LoadDataInvalid:
    runs = "no manager that is known, or both" if picture.manager is None else f"the {picture.manager.value} manager"
    wish = "" if wanted is None else f", not the {wanted.value} one"
    return LoadDataInvalid(
        f"the brokers of {picture.cluster} run {runs}{wish}",
        hint="See the brokers and the findings of 'syncer balancer load'.",
    )


def _owner(seen: SeenBundle) -> str | None:
    """The broker that serves a bundle; None while it moves, is free, or nobody knows."""
    if seen.owner is None or seen.owner.value.tenure not in {Tenure.OWNED, Tenure.SPLITTING}:
        return None
    return seen.owner.value.broker


def _transferable(picture: LoadPicture) -> Callable[[str, str, str], bool]:
    """Say which bundle may leave one broker for another, as TransferShedder asks it.

    Its owner has to hold it still. A namespace of an anti-affinity group stays, one with an isolation policy goes where
    that allows; for one without, the policies of others do not count. Where policies are not known, nothing goes.
    """
    policies = picture.policies
    traits = {name: seen.registration.value for name, seen in picture.brokers.items() if seen.registration is not None}

    @cache
    def forbidden(namespace: str) -> AbstractSet[str]:
        step = allowed(namespace, picture.registered, () if policies is None else policies.value, traits)
        return frozenset(broker for broker, reason in step.dropped.items() if reason in _BY_ITS_OWN_POLICY)

    def may_leave(bundle: str, source: str, target: str) -> bool:
        namespace = namespace_of_bundle(bundle)
        seen = picture.namespaces.get(namespace)
        if policies is None or seen is None or seen.group is None or seen.group.value.strip():
            return False
        return _is_held(picture, bundle, source) and target not in forbidden(namespace)

    return may_leave


def _is_held(picture: LoadPicture, bundle: str, broker: str) -> bool:
    seen = picture.bundles.get(bundle)
    held = None if seen is None or seen.owner is None else seen.owner.value
    return held is not None and held.tenure is Tenure.OWNED and held.broker == broker


def _is_whole(seen: SeenBroker) -> bool:
    return seen.figures is not None and seen.figures.value.usages.whole() is not None


def _report(seen: SeenBroker) -> BrokerReport | None:
    if seen.figures is None:
        return None
    figures = seen.figures.value
    usages = figures.usages.whole()
    if usages is None or figures.traffic is None or figures.bundles is None or figures.topics is None:
        return None
    return BrokerReport(usages=usages, traffic=figures.traffic, bundles=figures.bundles, topics=figures.topics)


def _extensible_report(seen: SeenBroker, picture: LoadPicture) -> ExtensibleReport | None:
    if seen.figures is None:
        return None
    figures, age_ms = seen.figures.value, seen.figures.origin.age_ms(picture.taken_ms)
    average = figures.average_throughput
    if average is None and figures.asked and figures.traffic is not None:
        average = figures.traffic.throughput
    if (
        figures.average_usage is None
        or average is None
        or figures.traffic is None
        or figures.topics is None
        or age_ms is None
    ):
        return None
    top = None
    if seen.top is not None:
        listed = [(name, picture.bundles[name].stats) for name in seen.top.value]
        top = [(name, stats.value.traffic.throughput) for name, stats in listed if stats is not None]
    return ExtensibleReport(
        usage=figures.average_usage,
        throughput=figures.traffic.throughput,
        average_throughput=average,
        topics=figures.topics,
        age_ms=age_ms,
        top_bundles=top,
    )


def _averages(seen: SeenBundle) -> BundleAverages | None:
    if seen.averages is not None:
        return seen.averages.value
    stats = stats_of(seen)
    return None if stats is None else BundleAverages().updated(stats)


def _broker_rates(picture: LoadPicture, averages: dict[str, BundleAverages]) -> dict[str, float]:
    """Long rates of the brokers: the leader's where it wrote them, else the sum over the broker's bundles."""
    sums: dict[str, float] = dict.fromkeys(picture.registered, 0.0)
    for name, known in averages.items():
        owner = _owner(picture.bundles[name])
        if owner in sums:
            sums[owner] += known.long.traffic.rate
    written = {name: seen.long_rate.value for name, seen in picture.brokers.items() if seen.long_rate is not None}
    return {name: written.get(name, total) for name, total in sums.items()}
