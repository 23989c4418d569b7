"""Settings of splits, and the clients that a split by itself will cut off."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from syncer.balancer.doctor.case import Case
from syncer.balancer.doctor.codes import DiagnosisCode
from syncer.balancer.doctor.diagnosis import Answer, Diagnosis, DiagnosisEvidence, Unjudged
from syncer.balancer.exempt import never_shed
from syncer.balancer.load import BundleStats, Rates
from syncer.balancer.loads import stats_of
from syncer.balancer.picture import LoadManager, SeenBundle
from syncer.balancer.ranges import namespace_of_bundle
from syncer.balancer.settings import BalancerSettings
from syncer.balancer.splits import over_limit

_SPLIT: Final = "loadBalancerAutoBundleSplitEnabled"
_UNLOAD: Final = "loadBalancerAutoUnloadSplitBundlesEnabled"
_FLOW: Final = "flow_or_qps_equally_divide"
_FEWEST_TOPICS: Final = 2


def costly_splits(case: Case) -> Iterator[Answer]:
    """Judge the splits that brokers make by themselves.

    Args:
        case: What is known.
    """
    settings, splits, unloads = case.settings, case.flag(_SPLIT), case.flag(_UNLOAD)
    if splits is False:
        return
    if settings is None or splits is None or unloads is None:
        because = f"the settings, {_SPLIT} or {_UNLOAD} are not known"
        yield Unjudged(
            codes=(DiagnosisCode.SPLIT_UNLOADS, DiagnosisCode.SPLIT_BY_FLOW),
            where=case.picture.cluster,
            because=because,
        )
        return
    if case.picture.manager is LoadManager.EXTENSIBLE and settings.split.algorithm == _FLOW:
        yield Diagnosis(
            code=DiagnosisCode.SPLIT_BY_FLOW,
            where=case.picture.cluster,
            what="the extensible manager refuses a split with more than one boundary, which this algorithm often finds",
            evidence=(case.setting("defaultNamespaceBundleSplitAlgorithm", _FLOW), case.shown(_SPLIT)),
            remedy="Set defaultNamespaceBundleSplitAlgorithm=topic_count_equally_divide.",
        )
    if unloads:
        yield from _unloading(case, settings)


def _unloading(case: Case, settings: BalancerSettings) -> Iterator[Answer]:
    counts = Counter(namespace_of_bundle(name) for name in case.picture.bundles)
    for name, seen in case.picture.bundles.items():
        stats = stats_of(seen)
        if never_shed(name) or stats is None or stats.topics < _FEWEST_TOPICS:
            continue
        if counts[namespace_of_bundle(name)] >= settings.split.max_bundles:
            continue
        judged = _judged(case, seen, stats, settings)
        if judged is not None:
            yield judged


def _judged(case: Case, seen: SeenBundle, stats: BundleStats, settings: BalancerSettings) -> Answer | None:
    """Judge by the traffic that decides: the leader's long average, or what the owner measures."""
    reported = seen.stats or seen.topics
    origin = measured = None if reported is None else reported.origin
    traffic = stats.traffic
    if case.picture.manager is not LoadManager.EXTENSIBLE:
        traffic = Rates() if seen.averages is None else seen.averages.value.long.traffic
        measured = None if seen.averages is None else seen.averages.origin
    reason = over_limit(stats, traffic, settings.split)
    if reason is None:
        if seen.averages is None and over_limit(stats, stats.traffic, settings.split) is not None:
            because = "its traffic is over a limit now, and the long average that decides is not known"
            return Unjudged(codes=(DiagnosisCode.SPLIT_UNLOADS,), where=seen.bundle, because=because)
        return None
    namespace, _, cut = seen.bundle.rpartition("/")
    return Diagnosis(
        code=DiagnosisCode.SPLIT_UNLOADS,
        where=seen.bundle,
        what=f"it is over the limit of {reason.value}: its split unloads both halves, and cuts all its clients off",
        evidence=(
            DiagnosisEvidence("topics", str(stats.topics), origin),
            DiagnosisEvidence("producers and consumers", str(stats.producers + stats.consumers), origin),
            DiagnosisEvidence("traffic", f"{traffic.rate:.0f} messages/s, {traffic.throughput:.0f} bytes/s", measured),
            case.shown(_UNLOAD),
        ),
        remedy=f"Set {_UNLOAD}=false, and split it with 'pulsar-admin namespaces split-bundle {namespace} --bundle"
        f" {cut}'.",
    )
