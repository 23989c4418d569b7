"""Brokers that differ: in a setting, in the manager, in the version; who says nothing is named."""

from __future__ import annotations

from dataclasses import replace

from syncer.balancer.doctor.case import Case
from syncer.balancer.doctor.diagnosis import Diagnosis, Unjudged
from syncer.balancer.doctor.differences import differing_brokers
from syncer.balancer.picture import Known
from syncer.balancer.placement.decision import BrokerTraits
from tests.support.doctor_cases import REST, SOUND, STORE, case, with_broker
from tests.support.load_documents import EXTENSIBLE, MODULAR


def registered_as(version: str | None, manager: str | None) -> Case:
    known = case()
    seen = known.picture.brokers["b1:8080"]
    return with_broker(known, replace(seen, registration=Known(BrokerTraits(version=version, manager=manager), STORE)))


def told_by_second(**changed: object) -> Case:
    known = case()
    return replace(known, properties={**known.properties, "b1:8080": Known({**SOUND, **changed}, REST)})


def test_brokers_that_are_alike_are_no_finding() -> None:
    assert list(differing_brokers(case())) == []
    assert list(differing_brokers(told_by_second(loadBalancerEnabled="true"))) == []


def test_a_setting_of_load_balancing_that_differs_is_found_with_the_value_of_each() -> None:
    (found,) = differing_brokers(told_by_second(loadBalancerSheddingEnabled=False))
    assert isinstance(found, Diagnosis)
    assert (found.code, found.where) == ("settings-differ", "loadBalancerSheddingEnabled")
    assert [each.value for each in found.evidence] == ["true", "false"]
    assert "loadBalancerSheddingEnabled" in found.remedy


def test_other_settings_and_those_of_a_host_may_differ() -> None:
    known = told_by_second(webServicePort=8081, loadBalancerOverrideBrokerNicSpeedGbps=10)
    first = {**SOUND, "webServicePort": 8080, "loadBalancerOverrideBrokerNicSpeedGbps": 1}
    assert list(differing_brokers(replace(known, properties={**known.properties, "b0:8080": Known(first, REST)}))) == []


def test_a_broker_that_told_no_settings_is_named_and_the_others_are_compared() -> None:
    known = told_by_second()
    (answer,) = differing_brokers(replace(known, properties={"b0:8080": known.properties["b0:8080"]}))
    assert isinstance(answer, Unjudged)
    assert answer.where == "b1:8080"


def test_both_managers_are_found() -> None:
    (found,) = differing_brokers(registered_as("4.0.8", EXTENSIBLE))
    assert isinstance(found, Diagnosis)
    assert found.code == "mixed-managers"
    assert [each.value for each in found.evidence] == [MODULAR, EXTENSIBLE]


def test_versions_that_differ_or_are_not_known_here_are_found() -> None:
    codes = [each.code for each in differing_brokers(registered_as("4.0.9", MODULAR)) if isinstance(each, Diagnosis)]
    assert codes == ["version-assumed", "mixed-versions"], "4.0.9 is taken for 4.0.8"
    codes = [each.code for each in differing_brokers(registered_as("3.9.9", MODULAR)) if isinstance(each, Diagnosis)]
    assert codes == ["version-unknown", "mixed-versions"]


def test_a_broker_that_does_not_say_what_it_is_is_not_judged() -> None:
    answers = list(differing_brokers(registered_as(None, None)))
    assert [each.codes for each in answers if isinstance(each, Unjudged)] == [
        ("mixed-managers",),
        ("version-unknown", "mixed-versions"),
    ]
    assert len(answers) == 2
