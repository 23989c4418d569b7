"""ThresholdShedder's bounds that nothing reaches: its minimum of bytes, and a mean that a full majority raises.

The leader's moving averages cannot be read. At a load that stays they settle at the usages, and what is said holds from
then on; only :func:`unreachable` holds for any averages.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from syncer.balancer.cluster import ClusterLoad
from syncer.balancer.doctor.case import Case
from syncer.balancer.doctor.codes import DiagnosisCode
from syncer.balancer.doctor.diagnosis import Diagnosis, DiagnosisEvidence
from syncer.balancer.java import MIB
from syncer.balancer.load import BrokerReport
from syncer.balancer.settings import BalancerSettings, UsageSettings
from syncer.balancer.strategies.threshold import LOWER_MARGIN, MARGIN

SLACK: Final = 1e-9
"""Far more than rounding moves an average that has settled, far less than any usage that matters."""
_MINIMUM: Final = "loadBalancerBundleUnloadMinThroughputThreshold"
_LOWER: Final = "lowerBoundarySheddingEnabled"


@dataclass(frozen=True, slots=True)
class _Settled:
    """The brokers' usages, their mean, and the settings as fractions and bytes."""

    usages: dict[str, float]
    mean: float
    threshold: float
    fewest: float

    def need(self, broker: str, report: BrokerReport) -> float:
        """Bytes a second that a broker would unload."""
        return report.traffic.throughput * (self.usages[broker] - self.mean - self.threshold + MARGIN)


def threshold_silence(case: Case, load: ClusterLoad, settings: BalancerSettings) -> Iterator[Diagnosis]:
    """Say why ThresholdShedder lets full brokers be, where it never acts at this load.

    Args:
        case: What is known.
        load: All brokers as the leader sees them, at least two.
        settings: Of the cluster.
    """
    found = _settled(load, settings)
    if not 0 <= settings.usage.history <= 1 or _may_act(load, found, lower=settings.threshold.lower_boundary):
        return
    hot = [broker for broker in load.brokers if found.usages[broker] >= found.mean + found.threshold]
    for broker in hot:
        yield _blocked(case, broker, load.brokers[broker], found)
    cold = [broker for broker in load.brokers if found.usages[broker] < found.mean - found.threshold]
    if cold and not hot:
        yield _hot_majority(case, cold, found, lower=settings.threshold.lower_boundary)
    if unreachable(load, settings) and any(report.traffic.throughput > 0 for report in load.brokers.values()):
        yield _too_little(case, load, settings)


def unreachable(load: ClusterLoad, settings: BalancerSettings) -> bool:
    """Say whether no usage up to the full one, nor any average of such, brings ThresholdShedder to act.

    Args:
        load: All brokers; only their bytes, number and greatest usage count.
        settings: Of the cluster.
    """
    own = settings.threshold
    if not 0 <= settings.usage.history <= 1:
        return False
    threshold, fewest = own.threshold_percent / 100.0, own.min_throughput_mib * MIB
    over = most_usage(load.brokers.values(), settings.usage) * (1 - 1 / len(load.brokers)) - threshold + MARGIN + SLACK
    for report in load.brokers.values():
        bytes_s = report.traffic.throughput
        if bytes_s * over >= fewest or (own.lower_boundary and bytes_s * threshold * LOWER_MARGIN >= fewest):
            return False
    return fewest > 0


def most_usage(reports: Iterable[BrokerReport], weights: UsageSettings) -> float:
    """Reckon the weighted usage of a full broker, or the greatest one where a broker is over its limits.

    Args:
        reports: Of brokers.
        weights: Of the resources.
    """
    full = (1.0, weights.cpu, weights.direct_memory, weights.bandwidth_in, weights.bandwidth_out)
    return max(*full, *(report.usages.weighted(weights) for report in reports))


def _settled(load: ClusterLoad, settings: BalancerSettings) -> _Settled:
    usages = {broker: report.usages.weighted(settings.usage) for broker, report in load.brokers.items()}
    own = settings.threshold
    mean = sum(usages.values()) / len(usages)
    return _Settled(usages, mean, own.threshold_percent / 100.0, own.min_throughput_mib * MIB)


def _may_act(load: ClusterLoad, found: _Settled, *, lower: bool) -> bool:
    """Say whether it might act, every doubt of rounding being one that it does."""
    below = any(usage < found.mean - found.threshold + SLACK for usage in found.usages.values())
    for broker, report in load.brokers.items():
        usage, bytes_s = found.usages[broker], report.traffic.throughput
        if len(report.bundles) <= 1:
            continue
        if (
            usage >= found.mean + found.threshold - SLACK
            and found.need(broker, report) + bytes_s * SLACK >= found.fewest
        ):
            return True
        if (
            lower
            and below
            and usage > found.mean - found.threshold - SLACK
            and bytes_s * found.threshold * LOWER_MARGIN >= found.fewest
        ):
            return True
    return False


def _blocked(case: Case, broker: str, report: BrokerReport, found: _Settled) -> Diagnosis:
    evidence = (
        usage_of(case, broker, found.usages[broker]),
        DiagnosisEvidence("mean usage", f"{found.mean:.1%}"),
        case.setting("loadBalancerBrokerThresholdShedderPercentage", f"{found.threshold * 100:g}"),
    )
    if len(report.bundles) <= 1:
        return sole_bundle(case, broker, evidence)
    need = max(0.0, found.need(broker, report))
    return Diagnosis(
        code=DiagnosisCode.THRESHOLD_MINIMUM,
        where=broker,
        what="it is over the threshold and never sheds: what it would unload is below the minimum",
        evidence=(
            *evidence,
            bytes_of(case, broker, report.traffic.throughput),
            DiagnosisEvidence("it would unload", f"{need / MIB:.3g} MiB/s"),
            case.setting(_MINIMUM, f"{found.fewest / MIB:g} MiB/s"),
        ),
        remedy=f"Set {_MINIMUM} below {need / MIB:.3g}.",
    )


def _hot_majority(case: Case, cold: list[str], found: _Settled, *, lower: bool) -> Diagnosis:
    return Diagnosis(
        code=DiagnosisCode.THRESHOLD_HOT_MAJORITY,
        where=case.picture.cluster,
        what=f"{', '.join(cold)} could take load and never gets it: the others are full alike, and so none is over the"
        " threshold above the mean",
        evidence=(
            *(usage_of(case, broker, found.usages[broker]) for broker in cold),
            DiagnosisEvidence("mean usage", f"{found.mean:.1%}"),
            DiagnosisEvidence("greatest usage", f"{max(found.usages.values()):.1%}"),
            case.setting("loadBalancerBrokerThresholdShedderPercentage", f"{found.threshold * 100:g}"),
            case.setting(_LOWER, str(lower).lower()),
        ),
        remedy=f"Set {_MINIMUM} lower: the lower boundary is on, and stopped by it."
        if lower
        else f"Set {_LOWER}=true.",
    )


def _too_little(case: Case, load: ClusterLoad, settings: BalancerSettings) -> Diagnosis:
    busiest = max(load.brokers, key=lambda broker: load.brokers[broker].traffic.throughput)
    return Diagnosis(
        code=DiagnosisCode.THRESHOLD_UNREACHABLE,
        where=case.picture.cluster,
        what="with this traffic no broker sheds, however full it is: the minimum of bytes cannot be reached",
        evidence=(
            bytes_of(case, busiest, load.brokers[busiest].traffic.throughput),
            case.setting(_MINIMUM, f"{settings.threshold.min_throughput_mib:g} MiB/s"),
        ),
        remedy=f"Set {_MINIMUM} to a part of the busiest broker's bytes, such as a hundredth.",
    )


def usage_of(case: Case, broker: str, usage: float) -> DiagnosisEvidence:
    """Show a broker's usage as evidence.

    Args:
        case: What is known.
        broker: The broker.
        usage: Its weighted usage, a fraction.
    """
    return _of_broker(case, broker, f"usage of {broker}", f"{usage:.1%}")


def bytes_of(case: Case, broker: str, throughput: float) -> DiagnosisEvidence:
    """Show a broker's traffic as evidence.

    Args:
        case: What is known.
        broker: The broker.
        throughput: Its bytes a second.
    """
    return _of_broker(case, broker, f"traffic of {broker}", f"{throughput / MIB:.3g} MiB/s")


def sole_bundle(case: Case, broker: str, evidence: tuple[DiagnosisEvidence, ...]) -> Diagnosis:
    """Find a full broker that has but one bundle, which is never shed.

    Args:
        case: What is known.
        broker: The broker.
        evidence: That it is full.
    """
    return Diagnosis(
        code=DiagnosisCode.SOLE_BUNDLE,
        where=broker,
        what="it ought to shed and has one bundle at most, which is never shed",
        evidence=(*evidence, _of_broker(case, broker, f"bundles of {broker}", "1 at most")),
        remedy="Split its bundle with 'pulsar-admin namespaces split-bundle', then move one half; a single hot topic"
        " needs partitions.",
    )


def _of_broker(case: Case, broker: str, what: str, value: str) -> DiagnosisEvidence:
    figures = case.picture.brokers[broker].figures
    return DiagnosisEvidence(what, value, None if figures is None else figures.origin)
