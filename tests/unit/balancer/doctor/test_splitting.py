"""Splits: a bundle over a limit is found where its split unloads it, and not where nothing is split or unloaded."""

from __future__ import annotations

from dataclasses import replace

import pytest

from syncer.balancer.averages import BundleAverages
from syncer.balancer.doctor.case import Case
from syncer.balancer.doctor.diagnosis import Answer, Diagnosis, Unjudged
from syncer.balancer.doctor.splitting import costly_splits
from syncer.balancer.load import BundleStats, Rates
from syncer.balancer.picture import Known
from tests.support.doctor_cases import STORE, broker, case, with_bundle
from tests.support.load_documents import EXTENSIBLE

BUNDLE = "t/n0/0x00000000_0x00000001"
SPLIT, UNLOAD = "loadBalancerAutoBundleSplitEnabled", "loadBalancerAutoUnloadSplitBundlesEnabled"
FLOW = {"loadManagerClassName": EXTENSIBLE, "defaultNamespaceBundleSplitAlgorithm": "flow_or_qps_equally_divide"}


def judged(stats: BundleStats, changed: dict[str, object], averages: BundleAverages | None = None) -> list[Answer]:
    known: Case = case([broker(50, 1)], {UNLOAD: True, **changed})
    seen = replace(
        known.picture.bundles[BUNDLE],
        stats=Known(stats, STORE),
        averages=Known(averages or BundleAverages().updated(stats), STORE),
    )
    return list(costly_splits(with_bundle(known, BUNDLE, seen)))


@pytest.mark.parametrize(
    ("stats", "found"),
    [
        (BundleStats(Rates(), topics=1000), 0),
        (BundleStats(Rates(), topics=1001), 1),
        (BundleStats(Rates(30_001.0), topics=2), 1),
        (BundleStats(Rates(30_001.0), topics=1), 0),
        (BundleStats(Rates(), topics=2, producers=500, consumers=501), 1),
    ],
)
def test_a_bundle_over_a_limit_is_found(stats: BundleStats, found: int) -> None:
    assert len(judged(stats, {})) == found
    assert judged(stats, {UNLOAD: False}) == []
    assert judged(stats, {SPLIT: False}) == []
    assert judged(stats, {"loadBalancerNamespaceMaximumBundles": 1}) == []


def test_the_traffic_is_the_one_that_the_manager_goes_by() -> None:
    now, before = BundleStats(Rates(30_001.0), topics=2), BundleStats(Rates(5.0), topics=2)
    averages = BundleAverages().updated(before)
    assert judged(now, {}, averages) == []
    assert len(judged(now, {"loadManagerClassName": EXTENSIBLE}, averages)) == 1


def test_a_long_average_that_is_not_known_is_not_judged_unless_topics_or_sessions_decide() -> None:
    for stats, kind in (
        (BundleStats(Rates(30_001.0), topics=2), Unjudged),
        (BundleStats(Rates(), topics=1001), Diagnosis),
    ):
        known = case([broker(50, 1)], {UNLOAD: True})
        seen = replace(known.picture.bundles[BUNDLE], stats=Known(stats, STORE), averages=None)
        assert [type(each) for each in costly_splits(with_bundle(known, BUNDLE, seen))] == [kind]


def test_an_algorithm_that_the_extensible_manager_refuses_is_found() -> None:
    (found,) = costly_splits(case(changed=FLOW))
    assert isinstance(found, Diagnosis)
    assert (found.code, found.source) == ("split-by-flow-refused", "issue 22254")
    assert list(costly_splits(case(changed={**FLOW, SPLIT: False}))) == []
    assert (
        list(costly_splits(case(changed={"defaultNamespaceBundleSplitAlgorithm": "flow_or_qps_equally_divide"}))) == []
    )


def test_settings_that_are_not_known_are_not_judged() -> None:
    for name in (SPLIT, UNLOAD):
        assert [type(each) for each in costly_splits(case(without=[name]))] == [Unjudged]
    known = case()
    unset = replace(known, picture=replace(known.picture, settings=None))
    assert [type(each) for each in costly_splits(unset)] == [Unjudged]
