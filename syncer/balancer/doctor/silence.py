"""Shedders that cannot act at this load although it is uneven: proved by playing them, or by their own bounds.

The proof is of a load that stays, as it was read, with no bundle within its grace period: then most may be shed.
Counters of rounds are played as already full: a shedder that is silent then is silent at any count.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from syncer.balancer.cluster import ClusterLoad
from syncer.balancer.doctor.case import Case, short
from syncer.balancer.doctor.codes import CANNOT_FIRE, DiagnosisCode
from syncer.balancer.doctor.diagnosis import Answer, Diagnosis, DiagnosisEvidence, Unjudged
from syncer.balancer.doctor.excluded import excluded_choices
from syncer.balancer.doctor.thresholds import bytes_of, most_usage, sole_bundle, threshold_silence, usage_of
from syncer.balancer.exempt import never_shed
from syncer.balancer.java import ascending
from syncer.balancer.loads import extensible_load, modular_load
from syncer.balancer.picture import LoadManager
from syncer.balancer.settings import BalancerSettings
from syncer.balancer.strategies.avg import AvgShedder
from syncer.balancer.strategies.overload import OverloadShedder
from syncer.balancer.strategies.taking import messages, throughput
from syncer.balancer.strategies.transfer import TransferReason, TransferShedder
from syncer.balancer.strategies.uniform import UniformLoadShedder, extremes
from syncer.errors import LoadDataInvalid

_CODES: Final = tuple(sorted(CANNOT_FIRE))
_NO_RULES: Final = "the rules of the brokers' versions are not known, or differ"
_BUNDLES_COUNT: Final = frozenset({"AvgShedder", "UniformLoadShedder"})


def silent_shedders(case: Case) -> Iterator[Answer]:
    """Say whether the cluster's shedder leaves uneven load as it is, and which bound holds it.

    Args:
        case: What is known.
    """
    picture, settings = case.picture, case.settings
    if settings is None or picture.manager is None:
        missing = "the settings are" if settings is None else "the load manager is"
        yield Unjudged(codes=_CODES, where=picture.cluster, because=f"{missing} not known")
        return
    try:
        if picture.manager is LoadManager.MODULAR:
            yield from _modular(case, modular_load(picture), settings)
        else:
            yield from _extensible(case, settings)
    except LoadDataInvalid as exc:
        yield Unjudged(codes=_CODES, where=picture.cluster, because=exc.message)


def _modular(case: Case, load: ClusterLoad, settings: BalancerSettings) -> Iterator[Answer]:
    unknown = [broker for broker in case.picture.registered if broker not in load.brokers]
    if unknown:
        yield Unjudged(codes=_CODES, where=", ".join(unknown), because="not all of its load is known")
        return
    if len(load.brokers) <= 1:
        return
    strategy = short(settings.shedding.strategy)
    bundles = [name for report in load.brokers.values() for name in report.bundles if not never_shed(name)]
    nameless = sorted(name for name in bundles if name not in load.bundles)
    if strategy in _BUNDLES_COUNT and nameless:
        yield Unjudged(
            codes=_CODES,
            where=nameless[0],
            because=f"the traffic of {len(nameless)} bundles is not known, this is one",
        )
        return
    match strategy:
        case "ThresholdShedder":
            yield from threshold_silence(case, load, settings)
        case "OverloadShedder":
            yield from _overload(case, load, settings)
        case "UniformLoadShedder":
            yield from _uniform(case, load, settings)
        case "AvgShedder":
            yield from _avg(case, load, settings)
        case _:
            yield Unjudged(codes=_CODES, where=case.picture.cluster, because=f"the rules of {strategy} are not known")
            return
    yield from _excluded(case, load, settings)


def _excluded(case: Case, load: ClusterLoad, settings: BalancerSettings) -> Iterator[Answer]:
    if not settings.shedding.excluded_namespaces:
        return
    rules = case.rules()
    if rules is None:
        yield Unjudged(codes=(DiagnosisCode.EXCLUDED_CHOSEN,), where=case.picture.cluster, because=_NO_RULES)
    else:
        yield from excluded_choices(case, load, settings, rules)


def _overload(case: Case, load: ClusterLoad, settings: BalancerSettings) -> Iterator[Answer]:
    if OverloadShedder(settings).round(load):
        return
    percent = settings.usage.overloaded_percent
    for broker, report in load.brokers.items():
        usage = report.usages.weighted(settings.usage)
        if usage >= percent / 100.0 and len(report.bundles) <= 1:
            limit = case.setting("loadBalancerBrokerOverloadedThresholdPercentage", percent)
            yield sole_bundle(case, broker, (usage_of(case, broker, usage), limit))


def _uniform(case: Case, load: ClusterLoad, settings: BalancerSettings) -> Iterator[Answer]:
    own = settings.uniform
    rate_bound = "loadBalancerMsgRateDifferenceShedderThreshold"
    bytes_bound = "loadBalancerMsgThroughputMultiplierDifferenceShedderThreshold"
    none_at_once = own.max_bundles != -1 and own.max_bundles <= 0
    if none_at_once or (own.rate_difference_percent <= 0 and own.throughput_multiplier <= 0):
        yield Diagnosis(
            code=DiagnosisCode.UNIFORM_OFF,
            where=case.picture.cluster,
            what="both rules of UniformLoadShedder are off, or it may unload no bundle: it never sheds",
            evidence=(
                case.setting(rate_bound, own.rate_difference_percent),
                case.setting(bytes_bound, own.throughput_multiplier),
                case.setting("maxUnloadBundleNumPerShedding", own.max_bundles),
            ),
            remedy=f"Set {rate_bound}=50, {bytes_bound}=4, maxUnloadBundleNumPerShedding=-1: they are Pulsar's own.",
        )
        return
    rules = case.rules()
    if rules is None:
        yield Unjudged(codes=_CODES, where=case.picture.cluster, because=_NO_RULES)
        return
    if UniformLoadShedder(settings, rules.uniform_surplus).round(load):
        return
    by_rate, by_bytes = extremes(load.brokers, messages), extremes(load.brokers, throughput)
    percent = (by_rate.greatest - by_rate.least) * 100 / by_rate.least
    if 0 < own.rate_difference_percent < percent:
        found, unit, minimum, least = by_rate, "messages/s", "minUnloadMessage", own.min_unload_rate
        bound = case.setting(rate_bound, own.rate_difference_percent)
    elif 0 < own.throughput_multiplier < by_bytes.greatest / by_bytes.least:
        found, unit, minimum, least = by_bytes, "bytes/s", "minUnloadMessageThroughput", own.min_unload_throughput
        bound = case.setting(bytes_bound, own.throughput_multiplier)
    else:
        return
    busiest = found.busiest or ""
    difference = found.greatest - found.least
    evidence = (
        DiagnosisEvidence(f"{unit} of {busiest}", f"{found.greatest:.0f}", bytes_of(case, busiest, 0).origin),
        DiagnosisEvidence(f"{unit} of the idlest broker", f"{found.least:.0f}"),
        bound,
    )
    need = int(difference * own.max_unload_fraction)
    if len(load.brokers[busiest].bundles) <= 1:
        yield sole_bundle(case, busiest, evidence)
    elif need < least:
        yield Diagnosis(
            code=DiagnosisCode.UNIFORM_MINIMUM,
            where=busiest,
            what="it is busier by more than the threshold and never sheds: what it would unload is below the minimum",
            evidence=(
                *evidence,
                DiagnosisEvidence("it would unload", f"{need} {unit}"),
                case.setting("maxUnloadPercentage", own.max_unload_fraction),
                case.setting(minimum, least),
            ),
            remedy=f"Set {minimum} to {need} or less.",
        )
    else:
        yield _too_big(busiest, evidence)


def _avg(case: Case, load: ClusterLoad, settings: BalancerSettings) -> Iterator[Answer]:
    eager = AvgShedder(replace(settings, avg=replace(settings.avg, low_hits=0, high_hits=0)))
    if eager.round(load):
        return
    emptiest, *_, fullest = ascending(eager.scores, eager.scores.__getitem__)
    if eager.scores[fullest] - eager.scores[emptiest] < settings.avg.low:
        return
    own, most, least = settings.uniform, load.brokers[fullest].traffic, load.brokers[emptiest].traffic
    rate = (most.rate - least.rate) * own.max_unload_fraction
    bytes_s = (most.throughput - least.throughput) * own.max_unload_fraction
    evidence = (
        usage_of(case, fullest, eager.scores[fullest] / 100),
        usage_of(case, emptiest, eager.scores[emptiest] / 100),
        case.setting("loadBalancerAvgShedderLowThreshold", settings.avg.low),
        DiagnosisEvidence("it would unload", f"{rate:.0f} messages/s or {bytes_s:.0f} bytes/s"),
        case.setting("minUnloadMessage", own.min_unload_rate),
        case.setting("minUnloadMessageThroughput", own.min_unload_throughput),
    )
    if rate <= own.min_unload_rate and bytes_s <= own.min_unload_throughput:
        yield Diagnosis(
            code=DiagnosisCode.AVG_MINIMUM,
            where=fullest,
            what=f"it is fuller than {emptiest} by more than the threshold and never sheds: by messages and by bytes it"
            " would unload less than the minimum",
            evidence=evidence,
            remedy="Set minUnloadMessage or minUnloadMessageThroughput below what it would unload; if that is not above"
            " 0, usage does not follow traffic here: look for another load on the host.",
        )
    else:
        yield _too_big(fullest, evidence)


def _too_big(broker: str, evidence: tuple[DiagnosisEvidence, ...]) -> Diagnosis:
    return Diagnosis(
        code=DiagnosisCode.BUNDLES_TOO_BIG,
        where=broker,
        what="it ought to shed, and each of its bundles that may go is more than what it would unload, or idle",
        evidence=evidence,
        remedy="Split its busiest bundle with 'pulsar-admin namespaces split-bundle', or raise maxUnloadPercentage.",
    )


def _extensible(case: Case, settings: BalancerSettings) -> Iterator[Answer]:
    if short(settings.shedding.strategy) != "TransferShedder":
        because = f"{short(settings.shedding.strategy)} is not of the extensible load manager"
        yield Unjudged(codes=_CODES, where=case.picture.cluster, because=because)
        return
    load = extensible_load(case.picture)
    if len(load.available) <= 1:
        return
    target = case.setting("loadBalancerBrokerLoadTargetStd", settings.transfer.target_std)
    most = max(most_usage((), settings.usage), settings.usage.memory, *(each.usage for each in load.brokers.values()))
    if settings.transfer.target_std >= most / 2:
        yield Diagnosis(
            code=DiagnosisCode.TRANSFER_STD_UNREACHABLE,
            where=case.picture.cluster,
            what="usages from none to full never deviate so much: load is not levelled by their spread",
            evidence=(target, DiagnosisEvidence("greatest deviation there can be", f"{most / 2:g}")),
            remedy="Set loadBalancerBrokerLoadTargetStd=0.25, which is Pulsar's own, or less.",
        )
    unknown = sorted(broker for broker in load.available if broker not in load.brokers)
    if unknown:
        because = "its load is not known; TransferShedder skips every round in which its leader does not know it either"
        yield Unjudged(codes=_CODES, where=", ".join(unknown), because=because)
        return
    eager = TransferShedder(replace(settings, transfer=replace(settings.transfer, hits=-1)))
    chosen = eager.round(load)
    usages = {broker: report.usage for broker, report in load.brokers.items()}
    fullest, emptiest = max(usages, key=usages.__getitem__), min(usages, key=usages.__getitem__)
    uneven = usages[fullest] - usages[emptiest] > settings.transfer.target_std
    if chosen or eager.hits or eager.skipped is not TransferReason.HIT_COUNT or not uneven:
        return
    yield Diagnosis(
        code=DiagnosisCode.TRANSFER_SILENT,
        where=fullest,
        what=f"it is fuller than {emptiest} by more than the target, and the deviation of all brokers is within it:"
        " nothing is transferred",
        evidence=(
            usage_of(case, fullest, usages[fullest]),
            usage_of(case, emptiest, usages[emptiest]),
            DiagnosisEvidence("deviation of all brokers", f"{eager.spread.std:.3f}"),
            target,
        ),
        remedy=f"Set loadBalancerBrokerLoadTargetStd below {eager.spread.std:.3f}.",
    )
