"""Settings that fight: each pair is found, and neither of it alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from syncer.balancer.doctor.codes import DiagnosisCode
from syncer.balancer.doctor.diagnosis import Diagnosis, Unjudged
from syncer.balancer.doctor.fights import settings_that_fight
from tests.support.doctor_cases import case
from tests.support.load_documents import EXTENSIBLE

SHEDDING = "loadBalancerLoadSheddingStrategy"
PLACEMENT = "loadBalancerLoadPlacementStrategy"
EVENLY = "loadBalancerDistributeBundlesEvenlyEnabled"
GAP = "loadBalancerAverageResourceUsageDifferenceThresholdPercentage"
AVG = {SHEDDING: "a.AvgShedder", PLACEMENT: "a.AvgShedder"}
TRANSFER = {"loadManagerClassName": EXTENSIBLE}
WRONG, RIGHT = "loadBalancerBandwithInResourceWeight", "loadBalancerBandwidthInResourceWeight"


def codes(changed: Mapping[str, object]) -> set[str]:
    return {each.code for each in settings_that_fight(case(changed=changed)) if isinstance(each, Diagnosis)}


def test_sound_settings_do_not_fight() -> None:
    assert list(settings_that_fight(case())) == []
    assert list(settings_that_fight(case(changed=TRANSFER))) == []


@pytest.mark.parametrize(
    ("code", "fighting", "peaceful"),
    [
        ("avg-with-even-distribution", {**AVG, EVENLY: True}, AVG),
        ("avg-plan-unused", {**AVG, PLACEMENT: "a.LeastResourceUsageWithWeight"}, AVG),
        ("avg-plan-missing", {**AVG, SHEDDING: "a.UniformLoadShedder"}, AVG),
        ("avg-low-not-below-high", {**AVG, "loadBalancerAvgShedderLowThreshold": 40}, AVG),
        ("avg-low-not-below-high", {**AVG, "loadBalancerAvgShedderLowThreshold": 40},
         {**AVG, "loadBalancerAvgShedderLowThreshold": 39}),
        ("shed-by-usage-placed-by-rate", {PLACEMENT: "a.LeastLongTermMessageRate"},
         {PLACEMENT: "a.LeastLongTermMessageRate", SHEDDING: "a.UniformLoadShedder"}),
        ("shed-by-usage-placed-by-rate",
         {PLACEMENT: "a.LeastLongTermMessageRate", SHEDDING: "a.OverloadShedder"}, {SHEDDING: "a.OverloadShedder"}),
        ("threshold-below-placement-gap", {GAP: 11}, {GAP: 10}),
        ("even-distribution-over-load", {EVENLY: True}, {EVENLY: True, SHEDDING: "a.UniformLoadShedder"}),
        ("shared-unload-limits", {**AVG, "minUnloadMessage": 999}, {"minUnloadMessage": 999}),
        ("grace-not-longer-than-interval", {"loadBalancerSheddingGracePeriodMinutes": 1},
         {"loadBalancerSheddingGracePeriodMinutes": 2}),
        ("shedder-of-other-manager", {SHEDDING: "a.TransferShedder"}, {SHEDDING: "a.UniformLoadShedder"}),
        ("shedder-of-other-manager", {**TRANSFER, SHEDDING: "a.ThresholdShedder"}, {**TRANSFER}),
        ("transfer-off", {**TRANSFER, "loadBalancerTransferEnabled": False}, {"loadBalancerTransferEnabled": False}),
        ("transfer-debug", {**TRANSFER, "loadBalancerDebugModeEnabled": "true"}, {**TRANSFER}),
        ("shedding-off", {"loadBalancerEnabled": "false"}, {"loadBalancerEnabled": "true"}),
        ("shedding-off", {"loadBalancerSheddingEnabled": False}, {}),
        ("fencing-timeout-off", {"topicFencingTimeoutSeconds": 0}, {"topicFencingTimeoutSeconds": 1}),
        ("misspelt-weight", {WRONG: 0.5}, {WRONG: 1.0}),
        ("misspelt-weight", {WRONG: 0.5, RIGHT: 0.7}, {WRONG: 0.7, RIGHT: 0.7}),
    ],
)  # fmt: skip
def test_each_fight_is_found_and_no_peace_is_called_one(
    code: str, fighting: dict[str, object], peaceful: dict[str, object]
) -> None:
    assert code in codes(fighting)
    assert code not in codes(peaceful)


def test_a_finding_names_settings_origin_remedy_and_source() -> None:
    found = next(iter(settings_that_fight(case(changed={**AVG, EVENLY: True}))))
    assert isinstance(found, Diagnosis)
    assert (found.code, found.severity, found.source) == (DiagnosisCode.AVG_EVENLY, "error", "PIP-364")
    assert [each.what for each in found.evidence] == [SHEDDING, EVENLY]
    assert all(each.origin is not None and each.origin.where == "the runtime configuration" for each in found.evidence)
    assert found.remedy == f"Set {EVENLY}=false."


def test_the_plan_is_lost_by_version() -> None:
    known = case(changed=AVG)
    assert "avg-plan-lost" in codes(AVG)
    brokers = known.picture.brokers
    newer = {
        name: replace(
            seen,
            registration=replace(seen.registration, value=replace(seen.registration.value, version=version)),
        )
        for (name, seen), version in zip(brokers.items(), ("5.0.1", None), strict=True)
        if seen.registration is not None
    }
    answers = list(settings_that_fight(replace(known, picture=replace(known.picture, brokers=newer))))
    assert [(type(each), each.where) for each in answers] == [(Unjudged, "b1:8080")]


def test_what_is_not_known_is_said() -> None:
    known = case(without=["topicFencingTimeoutSeconds", "loadBalancerEnabled", "loadBalancerSheddingIntervalMinutes"])
    answers = list(settings_that_fight(known))
    assert {each.codes[0] for each in answers if isinstance(each, Unjudged)} == {
        "fencing-timeout-off",
        "shedding-off",
        "grace-not-longer-than-interval",
    }
    assert len(answers) == 3
    for changed in ({"settings": None}, {"manager": None}):
        answers = list(settings_that_fight(replace(known, picture=replace(known.picture, **changed))))  # type: ignore[arg-type]  # one field
        assert isinstance(answers[0], Unjudged)
        assert DiagnosisCode.AVG_EVENLY in answers[0].codes
    nothing = list(settings_that_fight(replace(known, properties={})))
    assert all(isinstance(each, Unjudged) for each in nothing)
    assert "misspelt-weight" in {code for each in nothing if isinstance(each, Unjudged) for code in each.codes}
