"""Shedding that spends its choice on namespaces that are excluded from it.

The modular manager's strategies do not know of such namespaces: they choose among all bundles of a broker, the busiest
first, and the manager passes over what is excluded. Where that is the whole choice nothing is unloaded, round after
round, although other bundles could go.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from syncer.balancer.cluster import ClusterLoad
from syncer.balancer.doctor.case import Case, short
from syncer.balancer.doctor.codes import DiagnosisCode
from syncer.balancer.doctor.diagnosis import Diagnosis, DiagnosisEvidence
from syncer.balancer.doctor.thresholds import usage_of
from syncer.balancer.exempt import never_shed
from syncer.balancer.ranges import namespace_of_bundle
from syncer.balancer.rounds.naming import modular_shedder
from syncer.balancer.settings import BalancerSettings
from syncer.balancer.versions import BalancerRules


def excluded_choices(
    case: Case, load: ClusterLoad, settings: BalancerSettings, rules: BalancerRules
) -> Iterator[Diagnosis]:
    """Find brokers whose every bundle that is chosen for unloading is of an excluded namespace.

    Args:
        case: What is known.
        load: The cluster as its leader sees it.
        settings: What the brokers were told.
        rules: Those of their version; versions before PIP-380 exclude nothing.

    Raises:
        SettingInvalid: The strategy is not one of the modular manager's.
    """
    excluded = rules.effective(settings).shedding.excluded_namespaces
    eager = replace(settings, avg=replace(settings.avg, low_hits=0, high_hits=0))
    for broker, chosen in modular_shedder(eager, rules).round(load).items():
        if not all(namespace_of_bundle(bundle) in excluded for bundle in chosen):
            continue
        others = sum(
            namespace_of_bundle(bundle) not in excluded and not never_shed(bundle)
            for bundle in load.brokers[broker].bundles
        )
        yield Diagnosis(
            code=DiagnosisCode.EXCLUDED_CHOSEN,
            where=broker,
            what=f"it ought to shed, and all that is chosen for it ({len(chosen)} bundles, the busiest) is of excluded"
            f" namespaces and stays: its {others} other bundles are not looked at",
            evidence=(
                usage_of(case, broker, load.brokers[broker].usages.weighted(settings.usage)),
                DiagnosisEvidence("chosen first", chosen[0]),
                case.setting("loadBalancerSheddingExcludedNamespaces", ", ".join(sorted(excluded))),
                case.setting("loadBalancerLoadSheddingStrategy", short(settings.shedding.strategy)),
            ),
            remedy="Let 'syncer balancer advise' choose among the other bundles, or take the namespace of"
            " the busiest ones out of loadBalancerSheddingExcludedNamespaces.",
        )
