"""Loads of a picture: what is known goes in, what is unknown is left out and listed, never taken for idle."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from syncer.balancer.decoding.assembling import assembled
from syncer.balancer.decoding.bundles import take_loaded_topics
from syncer.balancer.decoding.records import BROKER_LOAD, CHANNEL, TOP_BUNDLES, LoadRecords, TopicRecord
from syncer.balancer.load import BundleStats, Rates
from syncer.balancer.loads import (
    UnknownLoad,
    constraints_of,
    extensible_load,
    fleet_of,
    modular_load,
    stats_of,
    unknown,
)
from syncer.balancer.picture import FigureOrigin, Known, LoadPicture, LoadSource
from syncer.balancer.placement.isolation import IsolationPolicy
from syncer.errors import LoadDataInvalid
from tests.support.load_documents import (
    FIRST,
    NOW_MS,
    SECOND,
    broker_load,
    local_broker,
    lookup_data,
    owner,
    small_cluster,
    stats,
    taken,
    top_bundles,
    unit,
)

TRAFFIC = Rates(10.0, 20.0, 1000.0, 2000.0)


def modular(**changed: Any) -> LoadPicture:
    documents = {**small_cluster(), "/loadbalance/brokers/b2:8080": local_broker("b2:8080", SECOND, **changed)}
    return assembled(taken(documents), cluster="east", taken_ms=NOW_MS)


def extensible(**changed: Any) -> LoadPicture:
    documents = {
        path: each
        for path, each in small_cluster().items()
        if not path.startswith(("/loadbalance/bundle-data", "/loadbalance/broker-time", "/namespace"))
    }
    documents |= {f"/loadbalance/brokers/{name}": lookup_data(name) for name in ("b1:8080", "b2:8080")}
    parts, records = taken(documents, ownership_read=False), LoadRecords(channel_read=True)
    for topic, key, value in (
        (BROKER_LOAD, "b1:8080", broker_load()),
        (BROKER_LOAD, "b2:8080", broker_load(**changed)),
        (TOP_BUNDLES, "b1:8080", top_bundles(FIRST)),
        (CHANNEL, FIRST, unit()),
        (CHANNEL, SECOND, unit("Releasing", sourceBroker="b2:8080")),
    ):
        records.put(topic, TopicRecord(key, json.dumps(value).encode(), NOW_MS))
    records.take(parts)
    return assembled(parts, cluster="east", taken_ms=NOW_MS)


def test_the_leader_of_the_modular_manager_sees_reports_and_averages() -> None:
    load = modular_load(modular(), recently_unloaded={SECOND})
    assert list(load.brokers) == ["b1:8080", "b2:8080"]
    assert load.brokers["b1:8080"].traffic == TRAFFIC
    assert load.brokers["b1:8080"].bundles == {FIRST}
    assert load.bundles[FIRST].short.samples == 1
    assert load.bundles[SECOND].long.traffic == TRAFFIC
    assert load.broker_rates == {"b1:8080": 30.0, "b2:8080": 30.0}
    assert load.recently_unloaded == {SECOND}


@pytest.mark.parametrize("figure", ["cpu", "msgRateIn", "numTopics", "bundles"])
def test_a_broker_with_an_unknown_figure_is_left_out(figure: str) -> None:
    load = modular_load(modular(**{figure: None}))
    assert list(load.brokers) == ["b1:8080"]


def test_what_is_left_out_is_listed() -> None:
    assert unknown(modular()) == UnknownLoad((), ())
    assert unknown(modular(cpu=None)) == UnknownLoad(("b2:8080",), (SECOND,))
    assert unknown(modular(lastStats={SECOND: stats(topics=None)})) == UnknownLoad((), (SECOND,))


def test_a_heartbeat_without_figures_is_no_matter() -> None:
    heartbeat = "pulsar/b1:8080/0x00000000_0xffffffff"
    picture = assembled(taken({**small_cluster(), f"/namespace/{heartbeat}": owner()}), cluster="east", taken_ms=NOW_MS)
    assert heartbeat in picture.bundles
    assert picture.findings == ()
    assert unknown(picture) == UnknownLoad((), ())


def test_the_leader_of_the_extensible_manager_sees_averages_and_the_busiest_bundles() -> None:
    load = extensible_load(extensible())
    first = load.brokers["b1:8080"]
    assert (first.usage, first.throughput, first.average_throughput) == (0.14, 3000.0, 2900.0)
    assert (first.topics, first.age_ms, first.top_bundles) == (3, 5000, [(FIRST, 3000.0)])
    assert load.brokers["b2:8080"].top_bundles is None
    assert load.available == {"b1:8080", "b2:8080"}


def ungrouped(picture: LoadPicture, *policies: IsolationPolicy) -> LoadPicture:
    origin = FigureOrigin(LoadSource.STORE, "there")
    seen = replace(picture.namespaces["shop/orders"], group=Known("", origin))
    return replace(picture, namespaces={"shop/orders": seen}, policies=Known(policies, origin))


OF_OTHERS = IsolationPolicy(namespaces=("bank/.*",), primary=("b2",))
WITHOUT_B2 = IsolationPolicy(namespaces=("shop/.*",), primary=("b1",))
ENOUGH = IsolationPolicy(namespaces=("shop/.*",), primary=("b1",), secondary=("b2",), min_primaries=1)


@pytest.mark.parametrize(
    ("policies", "goes"), [((), True), ((OF_OTHERS,), True), ((WITHOUT_B2,), False), ((ENOUGH,), False)]
)
def test_a_bundle_goes_where_its_own_policy_allows(policies: tuple[IsolationPolicy, ...], goes: bool) -> None:
    load = extensible_load(ungrouped(extensible(), *policies))
    assert load.transferable(FIRST, "b1:8080", "b2:8080") is goes


def test_a_bundle_stays_that_moves_already_or_is_of_a_group_or_whose_constraints_are_unknown() -> None:
    free = ungrouped(extensible())
    assert not extensible_load(free).transferable(FIRST, "b2:8080", "b1:8080")
    assert not extensible_load(free).transferable(SECOND, "b2:8080", "b1:8080")
    assert not extensible_load(replace(free, policies=None)).transferable(FIRST, "b1:8080", "b2:8080")
    assert not extensible_load(replace(free, namespaces={})).transferable(FIRST, "b1:8080", "b2:8080")
    grouped = replace(free, namespaces=extensible().namespaces)
    assert not extensible_load(grouped).transferable(FIRST, "b1:8080", "b2:8080")


def test_a_broker_without_an_average_is_available_and_has_no_report() -> None:
    load = extensible_load(extensible(weightedMaxEMA=float("nan")))
    assert list(load.brokers) == ["b1:8080"]
    assert load.available == {"b1:8080", "b2:8080"}


def test_a_picture_is_of_one_manager() -> None:
    with pytest.raises(LoadDataInvalid, match="run the modular manager, not the extensible one"):
        extensible_load(modular())
    with pytest.raises(LoadDataInvalid, match="run the extensible manager"):
        modular_load(extensible())
    for convert in (modular_load, extensible_load, fleet_of):
        with pytest.raises(LoadDataInvalid, match="no manager that is known"):
            convert(replace(modular(), manager=None))


def test_constraints_are_whole_or_refused() -> None:
    picture = modular()
    found = constraints_of(picture)
    assert list(found.traits) == ["b1:8080", "b2:8080"]
    assert found.groups == {"shop/orders": "pair"}
    assert found.domains == {"b1:8080": "rack"}
    assert found.policies == (
        IsolationPolicy(namespaces=("shop/.*",), primary=("b1",), secondary=("b2",), min_primaries=1),
    )
    with pytest.raises(LoadDataInvalid, match="the isolation policies of east are not known"):
        constraints_of(replace(picture, policies=None))
    with pytest.raises(LoadDataInvalid, match="the failure domains of east are not known"):
        constraints_of(replace(picture, domains=None))


def test_a_fleet_shows_each_broker_as_it_reported_itself() -> None:
    picture = modular(bandwidthOut={"usage": 32.0, "limit": 100.0})
    fleet = fleet_of(picture)
    assert fleet.owners == {FIRST: "b1:8080", SECOND: "b2:8080"}
    assert fleet.usages["b1:8080"] == pytest.approx(120.5 / 800)
    assert fleet.usages["b2:8080"] == pytest.approx(0.32)


def test_a_fleet_leaves_out_what_is_unknown() -> None:
    fleet = fleet_of(modular(cpu=None))
    assert list(fleet.brokers) == ["b1:8080"]
    assert list(fleet.owners) == [FIRST]
    assert list(fleet_of(extensible()).owners) == [FIRST]


def test_a_bundle_that_no_report_tells_of_has_the_figures_of_its_topics() -> None:
    topic = {"publishers": [{}], "subscriptions": {}, **{k: v for k, v in stats().items() if k.startswith("msg")}}
    documents = {**small_cluster(), "/loadbalance/brokers/b2:8080": lookup_data("b2:8080")}
    for answer, found in (
        ({"a": topic, "b": topic}, BundleStats(Rates(20.0, 40.0, 2000.0, 4000.0), 2, 2, 0)),
        ({"a": {**topic, "publishers": None}}, None),
    ):
        parts = taken(documents)
        take_loaded_topics(
            "b2:8080",
            {"shop/orders": {SECOND.rpartition("/")[2]: {"persistent": answer}}},
            FigureOrigin(LoadSource.REST, "b2 topics"),
            parts,
        )
        assert stats_of(assembled(parts, cluster="east", taken_ms=NOW_MS).bundles[SECOND]) == found
