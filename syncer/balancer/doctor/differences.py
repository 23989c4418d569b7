"""Brokers that differ: in their settings, in their load manager, in their version."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from syncer.balancer.doctor.case import Case, short
from syncer.balancer.doctor.codes import DiagnosisCode
from syncer.balancer.doctor.diagnosis import Answer, Diagnosis, DiagnosisEvidence, Unjudged
from syncer.balancer.picture import Known
from syncer.balancer.versions import taken_from
from syncer.errors import VersionUnknown

_PREFIXES: Final = ("loadBalancer", "loadBalance", "maxUnload", "minUnload", "defaultNamespaceBundle")
_ALONE: Final = frozenset(
    {
        "loadManagerClassName",
        "lowerBoundarySheddingEnabled",
        "preferLaterVersions",
        "failureDomainsEnabled",
        "flowOrQpsDifferenceThresholdPercentage",
        "topicFencingTimeoutSeconds",
        "namespaceBundleUnloadingTimeoutMs",
        "supportedNamespaceBundleSplitAlgorithms",
        "topicBundleAssignmentStrategy",
    }
)
_OWN: Final = frozenset({"loadBalancerOverrideBrokerNicSpeedGbps"})
"""Properties that follow a broker's host."""
_FEWEST: Final = 2


def differing_brokers(case: Case) -> Iterator[Answer]:
    """Compare the brokers with each other.

    Args:
        case: What is known.
    """
    yield from _settings(case)
    yield from _managers(case)
    yield from _versions(case)


def _settings(case: Case) -> Iterator[Answer]:
    silent = [broker for broker in case.picture.registered if broker not in case.properties]
    if silent:
        yield Unjudged(
            codes=(DiagnosisCode.SETTINGS_DIFFER,),
            where=", ".join(silent),
            because="its runtime configuration is not known",
        )
    if len(case.properties) < _FEWEST:
        return
    names = {name for known in case.properties.values() for name in known.value if _is_balancing(name)}
    for name in sorted(names):
        told = {broker: _text(known.value[name]) for broker, known in case.properties.items() if name in known.value}
        if len(set(told.values())) > 1:
            yield Diagnosis(
                code=DiagnosisCode.SETTINGS_DIFFER,
                where=name,
                what="brokers differ in it: load is balanced by whichever of them leads, or by each in its own way",
                evidence=tuple(
                    DiagnosisEvidence(f"{name} of {broker}", value, case.properties[broker].origin)
                    for broker, value in told.items()
                ),
                remedy=f"Set {name} alike in the configuration of each broker, and restart those that were changed.",
            )


def _is_balancing(name: str) -> bool:
    return (name.startswith(_PREFIXES) or name in _ALONE) and name not in _OWN


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value).strip()


def _managers(case: Case) -> Iterator[Answer]:
    told, silent = _registered(case, manager=True)
    if silent:
        yield Unjudged(
            codes=(DiagnosisCode.MIXED_MANAGERS,), where=", ".join(silent), because="its load manager is not known"
        )
    if len({short(known.value) for known in told.values()}) > 1:
        yield Diagnosis(
            code=DiagnosisCode.MIXED_MANAGERS,
            where=case.picture.cluster,
            what="brokers of both load managers are there: each manager passes the other's brokers over",
            evidence=_shown("load manager", told),
            remedy="Set loadManagerClassName alike in the configuration of each broker, and restart the others.",
        )


def _versions(case: Case) -> Iterator[Answer]:
    told, silent = _registered(case, manager=False)
    if silent:
        yield Unjudged(
            codes=(DiagnosisCode.VERSION_UNKNOWN, DiagnosisCode.MIXED_VERSIONS),
            where=", ".join(silent),
            because="its version is not known",
        )
    for broker, known in told.items():
        try:
            older = taken_from(known.value)
        except VersionUnknown as exc:
            yield Diagnosis(
                code=DiagnosisCode.VERSION_UNKNOWN,
                where=broker,
                what=f"{exc.message}; what is said of its load balancing may not hold",
                evidence=(DiagnosisEvidence("version", known.value, known.origin),),
                remedy="Upgrade this daemon to one that knows the version.",
            )
            continue
        if older is not None:
            yield Diagnosis(
                code=DiagnosisCode.VERSION_ASSUMED,
                where=broker,
                what=f"its load balancing is taken for that of {older}, the last version of its line that is known",
                evidence=(DiagnosisEvidence("version", known.value, known.origin),),
                remedy="None is needed; look whether the release notes since tell of load balancing.",
            )
    if len({known.value for known in told.values()}) > 1:
        yield Diagnosis(
            code=DiagnosisCode.MIXED_VERSIONS,
            where=case.picture.cluster,
            what="brokers of several versions are there: the rules of load balancing change with the leader",
            evidence=_shown("version", told),
            remedy="Bring all brokers to one version; until then set preferLaterVersions as you mean it.",
        )


def _registered(case: Case, *, manager: bool) -> tuple[dict[str, Known[str]], list[str]]:
    """Brokers to their manager or version, and those that do not say it."""
    told: dict[str, Known[str]] = {}
    silent: list[str] = []
    for broker in case.picture.registered:
        registration = case.picture.brokers[broker].registration
        traits = None if registration is None else registration.value
        value = None if traits is None else traits.manager if manager else traits.version
        if registration is None or value is None:
            silent.append(broker)
        else:
            told[broker] = Known(value, registration.origin)
    return told, silent


def _shown(what: str, told: Mapping[str, Known[str]]) -> tuple[DiagnosisEvidence, ...]:
    return tuple(DiagnosisEvidence(f"{what} of {broker}", known.value, known.origin) for broker, known in told.items())
