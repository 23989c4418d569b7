"""Choices that are spent on excluded namespaces are found, in versions that know such."""

from __future__ import annotations

from dataclasses import replace

import pytest

from syncer.balancer.doctor.case import Case
from syncer.balancer.doctor.diagnosis import Diagnosis, Unjudged
from syncer.balancer.doctor.silence import silent_shedders
from syncer.balancer.picture import Known, SeenBroker
from syncer.balancer.placement.decision import BrokerTraits
from tests.support.doctor_cases import STORE, broker, case
from tests.support.load_documents import MODULAR

CODE = "excluded-namespaces-chosen"


def of_version(known: Case, *versions: str) -> Case:
    brokers: dict[str, SeenBroker] = {
        name: replace(seen, registration=Known(BrokerTraits(version=version, manager=MODULAR), STORE))
        for (name, seen), version in zip(known.picture.brokers.items(), versions, strict=True)
    }
    return replace(known, picture=replace(known.picture, brokers=brokers))


def hot(excluded: str, strategy: str) -> Case:
    changed = {
        "loadBalancerSheddingExcludedNamespaces": excluded,
        "loadBalancerLoadSheddingStrategy": f"a.{strategy}",
    }
    return case([broker(90, *[10] * 12), broker(20, 10, 10)], changed)


@pytest.mark.parametrize("strategy", ["ThresholdShedder", "OverloadShedder", "AvgShedder"])
def test_a_broker_whose_choice_is_excluded_is_named(strategy: str) -> None:
    answers = list(silent_shedders(of_version(hot("t/n0", strategy), "4.2.4", "4.2.4")))
    [found] = [each for each in answers if isinstance(each, Diagnosis)]
    assert (found.code, found.where) == (CODE, "b0:8080")
    assert "0 other bundles" in found.what


@pytest.mark.parametrize(
    ("excluded", "version"),
    [
        pytest.param("t/n1", "4.2.4", id="of the broker that does not shed"),
        pytest.param("t/n0", "4.0.8", id="a version that excludes nothing"),
    ],
)
def test_where_something_goes_nothing_is_said(excluded: str, version: str) -> None:
    answers = list(silent_shedders(of_version(hot(excluded, "OverloadShedder"), version, version)))
    assert answers == []


def test_brokers_of_several_rules_are_not_judged() -> None:
    answers = list(silent_shedders(of_version(hot("t/n0", "OverloadShedder"), "4.0.8", "4.2.4")))
    [found] = [each for each in answers if isinstance(each, Unjudged)]
    assert found.codes == (CODE,)
