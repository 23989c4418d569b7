"""Documents of brokers: every figure or nothing, each with the time of its report."""

from __future__ import annotations

import json
from typing import Any

import pytest

from syncer.balancer.decoding.brokers import (
    take_broker_average,
    take_broker_load,
    take_broker_metrics,
    take_leader,
    take_registration,
    take_top_bundles,
)
from syncer.balancer.decoding.fields import DocumentFields
from syncer.balancer.decoding.parts import PictureParts
from syncer.balancer.load import BundleStats, Rates, Usage, Usages
from syncer.balancer.picture import LoadFindingKind, LoadManager
from syncer.balancer.placement.decision import BrokerTraits
from tests.support.load_documents import (
    EXTENSIBLE,
    FIRST,
    MODULAR,
    NOW_MS,
    PATH,
    SECOND,
    STORE,
    broker_load,
    broker_metrics,
    local_broker,
    lookup_data,
    stats,
    top_bundles,
)


def fields_of(document: dict[str, Any], parts: PictureParts) -> DocumentFields:
    return DocumentFields(PATH, json.loads(json.dumps(document)), parts.notes)


def registered(document: dict[str, Any]) -> PictureParts:
    parts = PictureParts()
    take_registration("b1:8080", fields_of(document, parts), STORE, parts)
    return parts


def test_a_report_of_the_modular_manager_is_read_whole() -> None:
    parts = registered(local_broker("b1:8080", FIRST))
    figures = parts.brokers.figures["b1:8080"]
    assert figures.origin.written_ms == NOW_MS - 4000
    assert figures.value.traffic == Rates(10.0, 20.0, 1000.0, 2000.0)
    assert figures.value.usages.whole() == Usages(
        Usage(120.5, 800.0), Usage(100.0, 512.0), Usage(10.0, 256.0), Usage(8.0, -1000.0), Usage(16.0, 10_000_000.0)
    )
    assert (figures.value.topics, figures.value.bundle_count, figures.value.producers, figures.value.consumers) == (
        3,
        1,
        1,
        2,
    )
    assert figures.value.bundles == {FIRST}
    assert parts.bundles.reported[FIRST]["b1:8080"].value == BundleStats(Rates(10.0, 20.0, 1000.0, 2000.0), 3, 1, 2)
    assert parts.brokers.registrations["b1:8080"].value == BrokerTraits(version="4.0.8", manager=MODULAR)
    assert parts.brokers.managers == {"b1:8080": LoadManager.MODULAR}
    assert parts.brokers.addresses["pulsar://b1:6650"] == "b1:8080"
    assert parts.notes.findings == []


def test_a_registration_under_the_extensible_manager_holds_no_load() -> None:
    parts = registered(lookup_data(nonPersistentTopicsEnabled=False))
    assert parts.brokers.figures == {}
    assert parts.brokers.managers == {"b1:8080": LoadManager.EXTENSIBLE}
    assert parts.brokers.registrations["b1:8080"].value == BrokerTraits(
        version="4.0.8", manager=EXTENSIBLE, non_persistent=False
    )
    assert parts.notes.findings == []


@pytest.mark.parametrize("figure", ["msgRateIn", "msgThroughputOut", "numTopics", "cpu", "bundles", "lastStats"])
def test_a_figure_that_is_missing_is_unknown_and_the_rest_is_read(figure: str) -> None:
    document = local_broker("b1:8080", FIRST)
    del document[figure]
    parts = registered(document)
    found = parts.brokers.figures["b1:8080"].value
    whole = registered(local_broker("b1:8080", FIRST)).brokers.figures["b1:8080"].value
    unknown = {
        name for name in ("traffic", "topics", "usages", "bundles") if getattr(found, name) != getattr(whole, name)
    }
    assert (
        unknown
        == {
            "msgRateIn": {"traffic"},
            "msgThroughputOut": {"traffic"},
            "numTopics": {"topics"},
            "cpu": {"usages"},
            "bundles": {"bundles"},
            "lastStats": set(),
        }[figure]
    )
    assert found.usages.whole() is None or figure != "cpu"
    assert [(each.kind, each.what) for each in parts.notes.findings] == [
        (LoadFindingKind.MISSING, f"{figure} is not there")
    ]


def test_a_bundle_with_a_figure_that_cannot_be_true_is_unknown_and_the_others_are_read() -> None:
    document = local_broker("b1:8080", FIRST, SECOND)
    document["lastStats"][FIRST] = stats(msgRateIn=float("nan"))
    document["lastStats"]["nonsense"] = stats()
    parts = registered(document)
    assert list(parts.bundles.reported) == [SECOND]
    assert [(each.kind, FIRST in each.where) for each in parts.notes.findings] == [
        (LoadFindingKind.IMPOSSIBLE, True),
        (LoadFindingKind.TORN, False),
    ]


def test_a_report_of_the_extensible_manager_is_read_whole() -> None:
    parts = PictureParts()
    take_broker_load("b1:8080", fields_of(broker_load(), parts), STORE, parts)
    figures = parts.brokers.figures["b1:8080"]
    assert figures.origin.written_ms == NOW_MS - 5000
    assert (figures.value.average_usage, figures.value.average_throughput) == (0.14, 2900.0)
    assert (figures.value.topics, figures.value.bundle_count, figures.value.bundles) == (3, 1, None)
    assert parts.notes.findings == []


def test_an_average_that_is_missing_is_unknown() -> None:
    parts = PictureParts()
    take_broker_load("b1:8080", fields_of(broker_load(weightedMaxEMA=None), parts), STORE, parts)
    assert parts.brokers.figures["b1:8080"].value.average_usage is None
    assert parts.brokers.figures["b1:8080"].value.traffic is not None


def test_metrics_tell_usages_without_limits_and_the_average() -> None:
    parts = PictureParts()
    take_broker_metrics("b1:8080", broker_metrics(), STORE, parts)
    told = parts.brokers.asked["b1:8080"].value
    assert told.usages.whole() == Usages(*(Usage(each, 100.0) for each in (12.5, 20.0, 6.25, 0.0, 0.5)))
    assert (told.average_usage, told.average_throughput, told.traffic, told.topics) == (0.11, None, None, None)
    assert told.asked
    assert (parts.brokers.figures, parts.notes.findings) == ({}, [])


@pytest.mark.parametrize("flaw", ["NaN", -1.0, None])
def test_a_usage_that_cannot_be_true_is_unknown(flaw: object) -> None:
    parts = PictureParts()
    take_broker_metrics("b1:8080", broker_metrics(brk_lb_cpu_usage=flaw), STORE, parts)
    usages = parts.brokers.asked["b1:8080"].value.usages
    assert (usages.cpu, usages.whole()) == (None, None)
    assert usages.memory == Usage(20.0, 100.0)
    assert len(parts.notes.findings) == 1


def test_metrics_of_another_manager_tell_no_usage() -> None:
    parts = PictureParts()
    take_broker_metrics("b1:8080", [{"metrics": {}, "dimensions": {}}, {}], STORE, parts)
    assert parts.brokers.asked["b1:8080"].value.usages.whole() is None
    assert len(parts.notes.findings) == 6


def test_the_busiest_bundles_keep_their_order() -> None:
    parts = PictureParts()
    take_top_bundles("b1:8080", fields_of(top_bundles(SECOND, FIRST), parts), STORE, parts)
    assert parts.brokers.top["b1:8080"].value == (SECOND, FIRST)
    assert set(parts.bundles.reported) == {FIRST, SECOND}


def test_a_torn_row_of_the_busiest_bundles_is_left_out() -> None:
    parts = PictureParts()
    document = top_bundles(FIRST)
    document["topBundlesLoadData"] += [{"bundleName": SECOND, "stats": stats(topics=-1)}, {"stats": stats()}, 7]
    take_top_bundles("b1:8080", fields_of(document, parts), STORE, parts)
    assert parts.brokers.top["b1:8080"].value == (FIRST,)
    assert len(parts.notes.findings) >= 3
    take_top_bundles("b2:8080", fields_of({"topBundlesLoadData": 3}, parts), STORE, parts)
    assert "b2:8080" not in parts.brokers.top


def test_a_brokers_long_average_is_of_both_ways_or_unknown() -> None:
    parts = PictureParts()
    document = {"longTermMsgRateIn": 1.5, "longTermMsgRateOut": 2.0}
    take_broker_average("b1:8080", fields_of(document, parts), STORE, parts)
    take_broker_average("b2:8080", fields_of({"longTermMsgRateIn": 1.5}, parts), STORE, parts)
    assert {name: each.value for name, each in parts.brokers.long_rates.items()} == {"b1:8080": 3.5}


@pytest.mark.parametrize(
    ("document", "leader"),
    [
        ({"brokerId": "b1:8080", "serviceUrl": "http://other:8080"}, "b1:8080"),
        ({"serviceUrl": "http://b1:8080"}, "b1:8080"),
        ({}, None),
        ({"brokerId": 7}, None),
    ],
)
def test_the_leader_is_known_by_its_id_or_else_by_its_address(document: dict[str, Any], leader: str | None) -> None:
    parts = PictureParts()
    take_leader(fields_of(document, parts), STORE, parts)
    assert (None if parts.brokers.leader is None else parts.brokers.leader.value) == leader
    assert bool(parts.notes.findings) == (leader is None)
