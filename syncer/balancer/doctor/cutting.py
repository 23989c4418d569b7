"""Namespaces and topics that no move helps: one bundle, one hot topic, a hash that no bundle holds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from syncer.balancer.doctor.case import Case
from syncer.balancer.doctor.codes import DiagnosisCode
from syncer.balancer.doctor.diagnosis import Answer, Diagnosis, DiagnosisEvidence, Unjudged
from syncer.balancer.exempt import never_shed
from syncer.balancer.java import MIB
from syncer.balancer.loads import stats_of
from syncer.balancer.picture import SeenNamespace
from syncer.balancer.ranges import FULL_UPPER_BOUND, boundary_text, range_text, topic_hash

_SYSTEM: Final = "pulsar/system"
_BOUNDS_OF_ONE: Final = 2
_SHOWN: Final = 5


def unmovable_load(case: Case) -> Iterator[Answer]:
    """Judge namespaces, and topics where they are known.

    Args:
        case: What is known.
    """
    if len(case.picture.registered) > 1:
        for seen in case.picture.namespaces.values():
            yield from _single(case, seen)
    yield from _unservable(case)
    yield from _hot(case)


def _single(case: Case, seen: SeenNamespace) -> Iterator[Answer]:
    whole = f"{seen.namespace}/{range_text(0, FULL_UPPER_BOUND)}"
    if never_shed(whole) or seen.namespace == _SYSTEM:
        return
    code, known = DiagnosisCode.SINGLE_BUNDLE, seen.boundaries
    if known is None:
        yield Unjudged(codes=(code,), where=seen.namespace, because="its boundaries are not known")
        return
    if len(known.value) > _BOUNDS_OF_ONE:
        return
    bundle = case.picture.bundles.get(whole)
    stats = None if bundle is None else stats_of(bundle)
    if bundle is None or stats is None:
        yield Unjudged(codes=(code,), where=seen.namespace, because="it has one bundle, whose load is not known")
    elif stats.traffic.rate > 0:
        report = bundle.stats or bundle.topics
        yield Diagnosis(
            code=code,
            where=seen.namespace,
            what="it has one bundle: one broker serves all of it",
            evidence=(
                DiagnosisEvidence("bundles", "1", known.origin),
                DiagnosisEvidence(
                    "traffic", f"{stats.traffic.rate:.0f} messages/s", None if report is None else report.origin
                ),
            ),
            remedy=f"Run 'pulsar-admin namespaces split-bundle {seen.namespace} --bundle"
            f" {range_text(0, FULL_UPPER_BOUND)}'.",
        )


def _unservable(case: Case) -> Iterator[Answer]:
    code = DiagnosisCode.TOPIC_UNSERVABLE
    if case.topics is None:
        because = "the names of its topics are not known; such a topic is never loaded, and brokers do not report it"
        yield Unjudged(codes=(code,), where=case.picture.cluster, because=because)
        return
    for topic in sorted(case.topics.value):
        if topic_hash(topic) == FULL_UPPER_BOUND:
            yield Diagnosis(
                code=code,
                where=topic,
                what="no bundle holds its hash: Pulsar fails to look it up",
                evidence=(DiagnosisEvidence("hash", boundary_text(FULL_UPPER_BOUND), case.topics.origin),),
                remedy="Give its data another name: no setting and no move makes it servable.",
            )


def _hot(case: Case) -> Iterator[Answer]:
    code, settings = DiagnosisCode.HOT_TOPIC, case.settings
    if settings is None:
        yield Unjudged(codes=(code,), where=case.picture.cluster, because="the settings of its brokers are not known")
        return
    dark = [name for name, seen in case.picture.bundles.items() if seen.topics is None and not never_shed(name)]
    if dark:
        yield Unjudged(
            codes=(code,),
            where=", ".join(dark[:_SHOWN]),
            because=f"the topics of {len(dark)} bundles are not known; they are asked for with '--topics'",
        )
    most_rate, most_mib = settings.split.max_rate, settings.split.max_bandwidth_mib
    for name, seen in case.picture.bundles.items():
        if seen.topics is None:
            continue
        for topic, load in seen.topics.value.items():
            rate, bytes_s = load.traffic.rate, load.traffic.throughput
            if rate > most_rate or bytes_s > most_mib * MIB:
                yield Diagnosis(
                    code=code,
                    where=topic,
                    what=f"alone it is over the limit at which {name} is split: splitting does not help",
                    evidence=(
                        DiagnosisEvidence(
                            "traffic", f"{rate:.0f} messages/s, {bytes_s:.0f} bytes/s", seen.topics.origin
                        ),
                        case.setting("loadBalancerNamespaceBundleMaxMsgRate", most_rate),
                        case.setting("loadBalancerNamespaceBundleMaxBandwidthMbytes", most_mib),
                    ),
                    remedy="Give it more partitions with 'pulsar-admin topics update-partitioned-topic', or raise the"
                    " limit that it is over.",
                )
