"""Shedders that cannot act: each bound is found at its edge, and not beyond it; unknown load is not judged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from syncer.balancer.doctor.codes import CANNOT_FIRE
from syncer.balancer.doctor.diagnosis import Diagnosis, Unjudged
from syncer.balancer.doctor.silence import silent_shedders
from tests.support.doctor_cases import DrawnBroker, broker, case, with_broker, with_bundle
from tests.support.load_documents import EXTENSIBLE

SHEDDING = "loadBalancerLoadSheddingStrategy"
UNIFORM = {SHEDDING: "a.UniformLoadShedder"}
AVG = {SHEDDING: "a.AvgShedder"}
OVERLOAD = {SHEDDING: "a.OverloadShedder"}
TRANSFER = {"loadManagerClassName": EXTENSIBLE}
LOWER = {"lowerBoundarySheddingEnabled": True}
FULL_NINE = [broker(80, 50, 50)] * 9


def codes(brokers: list[DrawnBroker], changed: Mapping[str, object]) -> set[str]:
    return {each.code for each in silent_shedders(case(brokers, changed)) if isinstance(each, Diagnosis)}


@pytest.mark.parametrize(
    ("code", "silent", "loud", "changed"),
    [
        # 0.8 - 0.5 - 0.1 + 0.05 = 0.25 of 39 MiB is below 10 MiB, of 41 above it
        ("threshold-minimum", [broker(80, 20, 19), broker(20)], [broker(80, 20, 21), broker(20)], {}),
        ("hot-broker-with-sole-bundle", [broker(80, 90), broker(20)], [broker(80, 50, 40), broker(20)], {}),
        ("threshold-hot-majority", [*FULL_NINE, broker(68)], [*FULL_NINE, broker(69)], {}),
        ("threshold-hot-majority", [*FULL_NINE, broker(0)], [*[broker(80, 150, 150)] * 9, broker(0)], LOWER),
        # (1/2 - 0.1 + 0.05) of 22 MiB is below 10 MiB, of 23 above it
        ("threshold-minimum-unreachable", [broker(50, 22), broker(50)], [broker(50, 23), broker(50)], {}),
        ("hot-broker-with-sole-bundle", [broker(85, 9), broker(20)], [broker(84, 9), broker(20)], OVERLOAD),
        ("uniform-minimum", [broker(5, 1, 1, rate=2497), broker(5)], [broker(5, 1, 1, rate=2501), broker(5)], UNIFORM),
        ("uniform-off", [broker(5, 1)] * 2, [broker(5, 1)] * 2, {**UNIFORM, "maxUnloadBundleNumPerShedding": 0}),
        ("hot-broker-with-sole-bundle", [broker(5, 1, rate=9999), broker(5)], [broker(5, 1, 1), broker(5)], UNIFORM),
        # 0.2 of 5000 messages is the minimum, which it must be above
        ("avg-minimum", [broker(60, 1, 1, rate=2500), broker(45)], [broker(59, 1, 1, rate=2500), broker(45)], AVG),
        ("avg-minimum", [broker(60, 1, 1, rate=2500), broker(45)], [broker(60, 1, 1, rate=2501), broker(45)], AVG),
        ("bundles-too-big", [broker(60, 9, 9), broker(45)], [broker(60, *[2] * 9), broker(45)], AVG),
        ("transfer-target", [broker(70, 10), broker(40, 10)], [broker(64, 10), broker(40, 10)], TRANSFER),
        ("transfer-target", [broker(70, 10), broker(40, 10)], [broker(95, 10), broker(40, 10)], TRANSFER),
    ],
)  # fmt: skip
def test_each_bound_is_found_at_its_edge_and_not_beyond(
    code: str, silent: list[DrawnBroker], loud: list[DrawnBroker], changed: Mapping[str, object]
) -> None:
    assert code in codes(silent, changed)
    if code != "uniform-off":
        assert code not in codes(loud, changed)


def test_uniform_is_off_by_its_rules_alone() -> None:
    rate, size = (
        "loadBalancerMsgRateDifferenceShedderThreshold",
        "loadBalancerMsgThroughputMultiplierDifferenceShedderThreshold",
    )
    assert codes([broker(5, 1)] * 2, {**UNIFORM, rate: 0, size: 0}) == {"uniform-off"}
    assert codes([broker(5, 1)] * 2, {**UNIFORM, rate: 0}) == set()
    assert codes([broker(5, 1)] * 2, {**UNIFORM, size: 0}) == set()


def test_a_target_that_no_usages_reach_is_found() -> None:
    target = "loadBalancerBrokerLoadTargetStd"
    even = [broker(50, 10), broker(50, 10)]
    assert "transfer-std-unreachable" in codes(even, {**TRANSFER, target: 0.5})
    assert codes(even, {**TRANSFER, target: 0.49}) == set()


@pytest.mark.parametrize("changed", [{}, OVERLOAD, UNIFORM, AVG, TRANSFER])
def test_a_level_cluster_and_a_single_broker_are_no_finding(changed: Mapping[str, object]) -> None:
    level = [broker(50, *[30] * 4), broker(50, *[30] * 4)]
    assert list(silent_shedders(case(level, changed))) == []
    assert list(silent_shedders(case(level[:1], changed))) == []


@pytest.mark.parametrize("changed", [{}, OVERLOAD, UNIFORM, AVG, TRANSFER])
def test_a_broker_of_unknown_load_makes_all_unjudged(changed: Mapping[str, object]) -> None:
    known = case([broker(80, 5, 5), broker(20)], changed)
    dark = with_broker(known, replace(known.picture.brokers["b1:8080"], figures=None))
    answers = list(silent_shedders(dark))
    assert [(type(each), each.where) for each in answers] == [(Unjudged, "b1:8080")]
    assert isinstance(answers[0], Unjudged)
    assert set(answers[0].codes) == CANNOT_FIRE


def test_bundles_of_unknown_traffic_matter_where_they_are_chosen_by_it() -> None:
    for changed, judged in (({}, Diagnosis), (UNIFORM, Unjudged), (AVG, Unjudged)):
        known = case([broker(80, 5, 5), broker(20)], changed)
        name = next(iter(known.picture.bundles))
        dark = with_bundle(known, name, replace(known.picture.bundles[name], stats=None, averages=None))
        assert {type(each) for each in silent_shedders(dark)} == {judged}


def test_unknown_settings_managers_and_strategies_are_not_judged() -> None:
    known = case()
    for odd in (
        replace(known, picture=replace(known.picture, settings=None)),
        replace(known, picture=replace(known.picture, manager=None)),
        case(changed={SHEDDING: "a.OfOurOwn"}),
        case(changed={**TRANSFER, SHEDDING: "a.ThresholdShedder"}),
    ):
        assert [type(each) for each in silent_shedders(odd)] == [Unjudged]


def test_a_finding_shows_figures_with_their_origin_and_a_setting_that_helps() -> None:
    found = next(iter(silent_shedders(case([broker(80, 5, 5), broker(20)]))))
    assert isinstance(found, Diagnosis)
    assert (found.where, found.source) == ("b0:8080", "issues 21299, 19806; PR pulsar-site 882")
    shown = {each.what: each.value for each in found.evidence}
    assert shown["usage of b0:8080"] == "80.0%"
    assert shown["it would unload"] == "2.5 MiB/s"
    assert found.evidence[0].origin is not None
    assert found.remedy == "Set loadBalancerBundleUnloadMinThroughputThreshold below 2.5."
