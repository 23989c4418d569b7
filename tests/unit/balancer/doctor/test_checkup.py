"""A checkup asks all families, and shows the worst first."""

from __future__ import annotations

from syncer.balancer.doctor.checkup import checkup
from syncer.balancer.doctor.codes import CANNOT_FIRE, MEANINGS, DiagnosisCode
from tests.support.doctor_cases import broker, case


def test_every_code_has_severity_and_source() -> None:
    assert set(MEANINGS) == set(DiagnosisCode)
    assert all(each.source for each in MEANINGS.values())
    assert set(DiagnosisCode) > CANNOT_FIRE


def test_the_worst_comes_first() -> None:
    found = checkup(
        case(
            [broker(80, 5, 5), broker(20)],
            {
                "loadBalancerSheddingEnabled": False,
                "topicFencingTimeoutSeconds": 0,
                "loadBalancerLoadPlacementStrategy": "a.AvgShedder",
                "loadBalancerLoadSheddingStrategy": "a.AvgShedder",
                "loadBalancerDistributeBundlesEvenlyEnabled": True,
            },
        )
    ).found
    severities = [each.severity for each in found]
    assert severities[0] == "error"
    assert severities[-1] == "note"
    assert severities == sorted(severities, key=["error", "warning", "note"].index)


def test_each_family_is_asked_and_a_case_of_nothing_is_not_well() -> None:
    nothing = case(without=["topicFencingTimeoutSeconds"])
    judged = checkup(nothing)
    assert judged.found == ()
    codes = {code for each in judged.unjudged for code in each.codes}
    assert codes == {"fencing-timeout-off", "bundle-ping-pong", "equal-ranges-under-way", "hot-topic"}
