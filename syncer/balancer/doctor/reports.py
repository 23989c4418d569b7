"""Reports that are stale or missing, and network cards whose limit their broker cannot read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from syncer.balancer.doctor.case import Case
from syncer.balancer.doctor.codes import DiagnosisCode
from syncer.balancer.doctor.diagnosis import Answer, Diagnosis, DiagnosisEvidence, Unjudged
from syncer.balancer.picture import BrokerFigures, Known, LoadFindingKind, LoadManager, LoadSource, SeenBroker

_INTERVAL: Final = "loadBalancerReportUpdateMaxIntervalMinutes"
_NIC: Final = "loadBalancerOverrideBrokerNicSpeedGbps"
_MS_A_MINUTE: Final = 60_000
LATE_MS: Final = _MS_A_MINUTE
"""How late a report may be: a broker looks every few seconds whether one is due."""


def flawed_reports(case: Case) -> Iterator[Answer]:
    """Judge the reports of all registered brokers.

    Args:
        case: What is known.
    """
    for broker in case.picture.registered:
        seen = case.picture.brokers[broker]
        if seen.figures is None:
            yield _without_figures(case, seen)
            yield Unjudged(codes=(DiagnosisCode.NIC_LIMIT,), where=broker, because="its load is not known")
        else:
            yield from _age(case, broker, seen.figures)
            yield from _cards(broker, seen.figures)


def _without_figures(case: Case, seen: SeenBroker) -> Answer:
    broker, registration = seen.broker, seen.registration
    origin = None if registration is None else registration.origin
    stale = next(
        (
            each
            for each in case.picture.findings
            if each.kind is LoadFindingKind.STALE and broker in each.where.replace(" ", "/").split("/")
        ),
        None,
    )
    if stale is not None:
        return Diagnosis(
            code=DiagnosisCode.REPORT_STALE,
            where=broker,
            what="its last report is so old that no figure of it is used",
            evidence=(DiagnosisEvidence(stale.where, stale.what, origin),),
            remedy=f"See whether {broker} hangs and whether its clock is right; restart it if it stays so.",
        )
    if case.picture.manager is LoadManager.MODULAR and origin is not None and origin.source is LoadSource.STORE:
        return Diagnosis(
            code=DiagnosisCode.REPORT_MISSING,
            where=broker,
            what="it is registered, and its entry holds no report that can be read",
            evidence=(DiagnosisEvidence("registration", "without load", origin),),
            remedy=f"Look at the log of {broker}; restart it if it stays so.",
        )
    return Unjudged(
        codes=(DiagnosisCode.REPORT_MISSING, DiagnosisCode.REPORT_STALE),
        where=broker,
        because="no report was read; a broker of the extensible manager sends one in 15 minutes at the latest",
    )


def _age(case: Case, broker: str, figures: Known[BrokerFigures]) -> Iterator[Answer]:
    age_ms, minutes = figures.origin.age_ms(case.picture.taken_ms), case.number(_INTERVAL)
    if figures.value.asked:
        yield Unjudged(
            codes=(DiagnosisCode.REPORT_STALE,),
            where=broker,
            because="its report was not heard, it was asked for its usage; it sends one in 15 minutes at the latest",
        )
    elif age_ms is None or minutes is None:
        missing = "its report tells no time" if age_ms is None else f"{_INTERVAL} is not known"
        yield Unjudged(codes=(DiagnosisCode.REPORT_STALE,), where=broker, because=missing)
    elif age_ms > minutes * _MS_A_MINUTE + LATE_MS:
        yield Diagnosis(
            code=DiagnosisCode.REPORT_STALE,
            where=broker,
            what="its report is older than a broker that is well lets it grow: it is balanced by figures of the past",
            evidence=(
                DiagnosisEvidence(f"age of the report of {broker}", f"{age_ms // 1000} s", figures.origin),
                case.shown(_INTERVAL),
            ),
            remedy=f"See whether {broker} hangs and whether its clock is right; restart it if it stays so.",
        )


def _cards(broker: str, figures: Known[BrokerFigures]) -> Iterator[Answer]:
    usages = figures.value.usages
    for name, usage in (("bandwidthIn", usages.bandwidth_in), ("bandwidthOut", usages.bandwidth_out)):
        if usage is None:
            yield Unjudged(codes=(DiagnosisCode.NIC_LIMIT,), where=broker, because=f"its {name} is not known")
        elif figures.value.asked:
            because = f"its metrics tell its {name} without the limit, and its report was not heard"
            yield Unjudged(codes=(DiagnosisCode.NIC_LIMIT,), where=broker, because=because)
        elif usage.limit <= 0:
            yield Diagnosis(
                code=DiagnosisCode.NIC_LIMIT,
                where=broker,
                what=f"the speed of its network card is not known to it: {name} counts for nothing in its usage",
                evidence=(
                    DiagnosisEvidence(f"limit of {name} of {broker}", f"{usage.limit:g} kbit/s", figures.origin),
                ),
                remedy=f"Set {_NIC} to the speed of its card in Gbit/s, and restart the broker.",
            )
