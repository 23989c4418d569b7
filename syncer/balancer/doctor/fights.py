"""Settings that fight: each is sound alone, and together they undo or disable each other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from syncer.balancer.doctor.case import Case, short
from syncer.balancer.doctor.codes import DiagnosisCode
from syncer.balancer.doctor.diagnosis import Answer, Diagnosis, DiagnosisEvidence, Unjudged
from syncer.balancer.picture import LoadManager
from syncer.balancer.settings import BalancerSettings, UniformSettings
from syncer.balancer.versions import balancer_rules
from syncer.errors import VersionUnknown

SHEDDING: Final = "loadBalancerLoadSheddingStrategy"
PLACEMENT: Final = "loadBalancerLoadPlacementStrategy"
_EVENLY: Final = "loadBalancerDistributeBundlesEvenlyEnabled"
_AVG: Final = "AvgShedder"
_BY_USAGE: Final = frozenset({"ThresholdShedder", "OverloadShedder"})
_RIGHT_WEIGHTS: Final = {
    "loadBalancerBandwithInResourceWeight": "loadBalancerBandwidthInResourceWeight",
    "loadBalancerBandwithOutResourceWeight": "loadBalancerBandwidthOutResourceWeight",
}


def settings_that_fight(case: Case) -> Iterator[Answer]:
    """Judge the settings of shedding and placement against each other.

    Args:
        case: What is known.
    """
    settings, manager = case.settings, case.picture.manager
    if settings is None:
        yield Unjudged(codes=_CODES, where=case.picture.cluster, because="the settings of its brokers are not known")
    elif manager is None:
        yield Unjudged(
            codes=_CODES, where=case.picture.cluster, because="its load manager is not known, or brokers run both"
        )
    elif manager is LoadManager.MODULAR:
        yield from _avg(case, settings)
        yield from _usage(case, settings)
        yield from _foreign(case, settings, extensible=False)
        yield from _grace(case)
    else:
        yield from _foreign(case, settings, extensible=True)
        yield from _transfer(case, settings)
    yield from _misspelt(case)
    yield from _off(case)


def _avg(case: Case, settings: BalancerSettings) -> Iterator[Answer]:
    sheds, places = short(settings.shedding.strategy) == _AVG, short(settings.placement.strategy) == _AVG
    both = (case.setting(SHEDDING, settings.shedding.strategy), case.setting(PLACEMENT, settings.placement.strategy))
    if sheds and settings.placement.distribute_evenly:
        yield _found(
            case,
            DiagnosisCode.AVG_EVENLY,
            "AvgShedder plans a target, and the filter for an even number of bundles drops it before it is looked up",
            (both[0], case.setting(_EVENLY, "true")),
            f"Set {_EVENLY}=false.",
        )
    if sheds and not places:
        yield _found(
            case,
            DiagnosisCode.AVG_PLAN_UNUSED,
            f"AvgShedder plans targets, and {short(settings.placement.strategy)} does not know them",
            both,
            f"Set {PLACEMENT} to the class that {SHEDDING} names.",
        )
    if places and not sheds:
        yield _found(
            case,
            DiagnosisCode.AVG_PLAN_MISSING,
            f"AvgShedder places by a plan, which {short(settings.shedding.strategy)} never makes: bundles go anywhere",
            both,
            f"Set {SHEDDING} to the class that {PLACEMENT} names, or another strategy of placement.",
        )
    if not sheds:
        return
    if settings.avg.low >= settings.avg.high:
        yield _found(
            case,
            DiagnosisCode.AVG_BOUNDS,
            "the low bound is not below the high one, so that its hits are never counted alone",
            (
                case.setting("loadBalancerAvgShedderLowThreshold", settings.avg.low),
                case.setting("loadBalancerAvgShedderHighThreshold", settings.avg.high),
            ),
            "Set loadBalancerAvgShedderLowThreshold below loadBalancerAvgShedderHighThreshold.",
        )
    yield from _shared_limits(case, settings.uniform)
    if places:
        yield from _plan_lost(case)


def _shared_limits(case: Case, limits: UniformSettings) -> Iterator[Answer]:
    usual = UniformSettings()
    changed = [
        case.setting(name, value)
        for name, value, default in (
            ("maxUnloadPercentage", limits.max_unload_fraction, usual.max_unload_fraction),
            ("minUnloadMessage", limits.min_unload_rate, usual.min_unload_rate),
            ("minUnloadMessageThroughput", limits.min_unload_throughput, usual.min_unload_throughput),
        )
        if value != default
    ]
    if changed:
        yield _found(
            case,
            DiagnosisCode.SHARED_UNLOAD_LIMITS,
            "AvgShedder goes by limits that bear UniformLoadShedder's names; they were changed",
            tuple(changed),
            f"See that {', '.join(each.what for each in changed)} suit AvgShedder.",
        )


def _plan_lost(case: Case) -> Iterator[Answer]:
    for broker in case.picture.registered:
        registration = case.picture.brokers[broker].registration
        version = None if registration is None else registration.value.version
        try:
            by_name = None if version is None else balancer_rules(version).plan_by_name
        except VersionUnknown:
            by_name = None
        if registration is None or version is None or by_name is None:
            yield Unjudged(
                codes=(DiagnosisCode.AVG_PLAN_LOST,), where=broker, because="the rules of its version are not known"
            )
        elif not by_name:
            yield Diagnosis(
                code=DiagnosisCode.AVG_PLAN_LOST,
                where=broker,
                what="AvgShedder of this version loses its plan at the next report: bundles then go anywhere",
                evidence=(DiagnosisEvidence("version", version, registration.origin),),
                remedy="Upgrade the broker to 5.0.1 or later.",
            )


def _usage(case: Case, settings: BalancerSettings) -> Iterator[Answer]:
    shedding, placement = short(settings.shedding.strategy), short(settings.placement.strategy)
    both = (case.setting(SHEDDING, settings.shedding.strategy), case.setting(PLACEMENT, settings.placement.strategy))
    if shedding in _BY_USAGE and placement == "LeastLongTermMessageRate":
        yield _found(
            case,
            DiagnosisCode.SHED_BY_USAGE_PLACED_BY_RATE,
            "bundles are shed by usage and placed by messages: they can land on a broker that is as full",
            both,
            f"Set {PLACEMENT}=org.apache.pulsar.broker.loadbalance.impl.LeastResourceUsageWithWeight.",
        )
    gap, threshold = settings.placement.usage_gap_percent, settings.threshold.threshold_percent
    if shedding == "ThresholdShedder" and placement == "LeastResourceUsageWithWeight" and threshold < gap:
        yield _found(
            case,
            DiagnosisCode.THRESHOLD_BELOW_GAP,
            "a broker sheds before any other is so far below the mean that placement prefers it: bundles go anywhere",
            (
                case.setting("loadBalancerBrokerThresholdShedderPercentage", threshold),
                case.setting("loadBalancerAverageResourceUsageDifferenceThresholdPercentage", gap),
            ),
            f"Set loadBalancerAverageResourceUsageDifferenceThresholdPercentage to {threshold} or less.",
        )
    if shedding in _BY_USAGE and settings.placement.distribute_evenly:
        yield _found(
            case,
            DiagnosisCode.EVENLY_OVER_LOAD,
            "the filter for an even number of bundles comes before load: a shed bundle can return to a full broker",
            (both[0], case.setting(_EVENLY, "true")),
            f"Set {_EVENLY}=false.",
        )


def _foreign(case: Case, settings: BalancerSettings, *, extensible: bool) -> Iterator[Answer]:
    shedding = short(settings.shedding.strategy)
    known = frozenset({*_BY_USAGE, _AVG, "UniformLoadShedder", "TransferShedder"})
    if shedding not in known or (shedding == "TransferShedder") is extensible:
        return
    runs = "extensible" if extensible else "modular"
    yield _found(
        case,
        DiagnosisCode.OTHER_MANAGERS_SHEDDER,
        f"{shedding} is not of the {runs} load manager, which runs here",
        (case.setting(SHEDDING, settings.shedding.strategy), case.setting("load manager", runs)),
        f"Set {SHEDDING}=org.apache.pulsar.broker.loadbalance."
        + ("extensions.scheduler.TransferShedder." if extensible else "impl.ThresholdShedder."),
    )


def _transfer(case: Case, settings: BalancerSettings) -> Iterator[Answer]:
    if short(settings.shedding.strategy) != "TransferShedder":
        return
    if not settings.transfer.transfer:
        yield _found(
            case,
            DiagnosisCode.TRANSFER_OFF,
            "TransferShedder names no target: clients look the new owner up, and placement chooses it",
            (case.setting("loadBalancerTransferEnabled", "false"),),
            "Set loadBalancerTransferEnabled=true.",
        )
    if settings.transfer.debug:
        yield _found(
            case,
            DiagnosisCode.TRANSFER_DEBUG,
            "in debug mode swaps count what comes back: the same load gives other transfers than without it",
            (case.setting("loadBalancerDebugModeEnabled", "true"),),
            "Set loadBalancerDebugModeEnabled=false once you have seen what you looked for.",
        )


def _grace(case: Case) -> Iterator[Answer]:
    interval, grace = "loadBalancerSheddingIntervalMinutes", "loadBalancerSheddingGracePeriodMinutes"
    minutes, protected = case.number(interval), case.number(grace)
    if minutes is None or protected is None:
        yield _unknown(case, DiagnosisCode.GRACE_TOO_SHORT, f"{interval} or {grace}")
    elif protected <= minutes:
        yield _found(
            case,
            DiagnosisCode.GRACE_TOO_SHORT,
            "a bundle that was unloaded in one round may be unloaded in the next one again",
            (case.shown(interval), case.shown(grace)),
            f"Set {grace} to several times {interval}; Pulsar's own is 30.",
        )


def _misspelt(case: Case) -> Iterator[Answer]:
    for wrong, right in _RIGHT_WEIGHTS.items():
        given, proper = case.number(wrong), case.number(right)
        if given is None or given == 1.0:
            continue
        if proper is None:
            yield _unknown(case, DiagnosisCode.MISSPELT_WEIGHT, right)
        elif given != proper:
            effect = (
                f"it applies, since {right} is 1.0" if proper == 1.0 else f"it is passed over, since {right} is set"
            )
            yield _found(
                case,
                DiagnosisCode.MISSPELT_WEIGHT,
                f"{wrong} is the misspelt key of older versions; {effect}",
                (case.shown(wrong), case.shown(right)),
                f"Set {right} to the weight that you want, and take {wrong} away.",
            )
    if case.decisive() is None:
        yield _unknown(case, DiagnosisCode.MISSPELT_WEIGHT, "the runtime configuration")


def _off(case: Case) -> Iterator[Answer]:
    names = ("loadBalancerEnabled", "loadBalancerSheddingEnabled")
    off = [name for name in names if case.flag(name) is False]
    missing = [name for name in names if case.flag(name) is None]
    if off:
        yield _found(
            case,
            DiagnosisCode.SHEDDING_OFF,
            "no broker sheds, whatever its load",
            tuple(map(case.shown, off)),
            f"Set {' and '.join(f'{name}=true' for name in off)}, unless a plan of moves has paused shedding.",
        )
    elif missing:
        yield _unknown(case, DiagnosisCode.SHEDDING_OFF, " and ".join(missing))
    fencing = "topicFencingTimeoutSeconds"
    seconds = case.number(fencing)
    if seconds is None:
        yield _unknown(case, DiagnosisCode.FENCING_TIMEOUT_OFF, fencing)
    elif seconds <= 0:
        yield _found(
            case,
            DiagnosisCode.FENCING_TIMEOUT_OFF,
            "a topic that stays fenced after a failed close is never closed by force; its clients cannot come back",
            (case.shown(fencing),),
            f"Set {fencing} above 0, to 60 for example.",
        )


def _found(
    case: Case, code: DiagnosisCode, what: str, evidence: tuple[DiagnosisEvidence, ...], remedy: str
) -> Diagnosis:
    return Diagnosis(code=code, where=case.picture.cluster, what=what, evidence=evidence, remedy=remedy)


def _unknown(case: Case, code: DiagnosisCode, what: str) -> Unjudged:
    return Unjudged(codes=(code,), where=case.picture.cluster, because=f"{what} is not known")


_CODES: Final = (
    DiagnosisCode.AVG_EVENLY,
    DiagnosisCode.AVG_PLAN_UNUSED,
    DiagnosisCode.AVG_PLAN_MISSING,
    DiagnosisCode.AVG_PLAN_LOST,
    DiagnosisCode.AVG_BOUNDS,
    DiagnosisCode.SHED_BY_USAGE_PLACED_BY_RATE,
    DiagnosisCode.THRESHOLD_BELOW_GAP,
    DiagnosisCode.EVENLY_OVER_LOAD,
    DiagnosisCode.SHARED_UNLOAD_LIMITS,
    DiagnosisCode.GRACE_TOO_SHORT,
    DiagnosisCode.OTHER_MANAGERS_SHEDDER,
    DiagnosisCode.TRANSFER_OFF,
    DiagnosisCode.TRANSFER_DEBUG,
)
