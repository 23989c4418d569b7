"""Reports: late by a bound, missing, or with a network card of no limit; unread ones are not called missing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from syncer.balancer.doctor.case import Case
from syncer.balancer.doctor.diagnosis import Answer, Diagnosis, Unjudged
from syncer.balancer.doctor.reports import LATE_MS, flawed_reports
from syncer.balancer.load import Usage
from syncer.balancer.picture import Known, LoadFinding, LoadFindingKind, SeenBroker
from tests.support.doctor_cases import REST, STORE, case, with_broker
from tests.support.load_documents import EXTENSIBLE, NOW_MS

BOUND_MS = 15 * 60_000 + LATE_MS


def first(known: Case) -> SeenBroker:
    return known.picture.brokers["b0:8080"]


def aged(written_ms: int | None, *, without: tuple[str, ...] = ()) -> list[Answer]:
    known = case(without=without)
    figures = first(known).figures
    assert figures is not None
    older = Known(figures.value, replace(STORE, written_ms=written_ms))
    return list(flawed_reports(with_broker(known, replace(first(known), figures=older))))


def test_a_report_is_stale_beyond_the_longest_interval() -> None:
    assert aged(NOW_MS - BOUND_MS) == []
    (found,) = aged(NOW_MS - BOUND_MS - 1)
    assert isinstance(found, Diagnosis)
    assert (found.code, found.where) == ("report-stale", "b0:8080")
    assert found.evidence[0].value == "960 s"


def test_an_age_or_an_interval_that_is_not_known_is_not_judged() -> None:
    for answers in (aged(None), aged(NOW_MS - 10 * BOUND_MS, without=("loadBalancerReportUpdateMaxIntervalMinutes",))):
        assert {type(each) for each in answers} == {Unjudged}


@pytest.mark.parametrize(("limit", "found"), [(-1000.0, True), (0.0, True), (0.001, False), (None, None)])
@pytest.mark.parametrize("card", ["bandwidth_in", "bandwidth_out"])
def test_a_card_without_a_limit_is_found(card: str, limit: float | None, found: bool | None) -> None:
    known = case()
    figures = first(known).figures
    assert figures is not None
    usage = None if limit is None else Usage(0.0, limit)
    value = replace(figures.value, usages=replace(figures.value.usages, **{card: usage}))
    answers = list(flawed_reports(with_broker(known, replace(first(known), figures=Known(value, figures.origin)))))
    expected = {True: [Diagnosis], False: [], None: [Unjudged]}[found]
    assert [type(each) for each in answers] == expected
    if found:
        assert isinstance(answers[0], Diagnosis)
        assert answers[0].code == "nic-limit-unknown"
        assert answers[0].evidence[0].value == f"{limit:g} kbit/s"


def without_figures(known: Case) -> Answer:
    return next(iter(flawed_reports(with_broker(known, replace(first(known), figures=None)))))


def test_an_entry_without_a_report_is_missing_only_where_the_store_was_read() -> None:
    found = without_figures(case())
    assert isinstance(found, Diagnosis)
    assert found.code == "report-missing"
    known = case()
    registration = first(known).registration
    assert registration is not None
    by_rest = with_broker(known, replace(first(known), registration=Known(registration.value, REST)))
    assert isinstance(without_figures(by_rest), Unjudged)
    assert isinstance(without_figures(case(changed={"loadManagerClassName": EXTENSIBLE})), Unjudged)


def test_a_report_that_was_left_out_for_its_age_is_stale() -> None:
    for where, code in (
        ("/loadbalance/brokers/b0:8080", "report-stale"),
        ("/loadbalance/brokers/b00:8080", "report-missing"),
    ):
        known = case()
        noted = LoadFinding(LoadFindingKind.STALE, where, "it is 44 min old; its figures are not used", "")
        found = without_figures(replace(known, picture=replace(known.picture, findings=(noted,))))
        assert isinstance(found, Diagnosis)
        assert found.code == code


def test_of_a_broker_that_was_asked_neither_age_nor_limits_are_judged() -> None:
    known = case((), {"loadManagerClassName": EXTENSIBLE})
    figures = first(known).figures
    assert figures is not None
    usages = replace(figures.value.usages, bandwidth_in=Usage(0.0, 100.0), bandwidth_out=Usage(0.0, 100.0))
    asked = replace(figures.value, asked=True, usages=usages)
    found = [
        each
        for each in flawed_reports(with_broker(known, replace(first(known), figures=Known(asked, REST))))
        if each.where == "b0:8080"
    ]
    assert [each.codes for each in found if isinstance(each, Unjudged)] == [
        ("report-stale",), ("nic-limit-unknown",), ("nic-limit-unknown",),
    ]  # fmt: skip
    assert not [each for each in found if isinstance(each, Diagnosis)]
