"""The picture of a cluster: of the store with the brokers' settings, or of the brokers alone, or a clear error."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path

import pytest

from syncer.balancer.decoding.records import BROKER_LOAD, CHANNEL, LoadRecords, TopicRecord
from syncer.balancer.inquiry import rules_of
from syncer.balancer.load import Rates
from syncer.balancer.loads import unknown
from syncer.balancer.picture import FigureOrigin, LoadFindingKind, LoadManager, LoadSource
from syncer.balancer.reading.cluster import LoadSources, owners_in_store, read_picture
from syncer.balancer.versions import balancer_rules
from syncer.errors import AdminDenied, StoreUnavailable
from tests.support.load_documents import (
    EXTENSIBLE,
    FIRST,
    NOW_MS,
    broker_load,
    broker_metrics,
    local_broker,
    lookup_data,
    small_cluster,
    unit,
)
from tests.support.load_sources import (
    RUNTIME,
    TOPICS,
    Answer,
    brokers_with,
    client,
    failing,
    store_with,
    whole_cluster,
)

pytestmark = pytest.mark.anyio

CONFIGURED: dict[str, Answer] = {RUNTIME: (200, {"clusterName": "east"})}


async def test_the_store_tells_the_load_and_the_brokers_the_settings(tmp_path: Path) -> None:
    with brokers_with(CONFIGURED) as url:
        async with client(url) as admin, store_with(tmp_path, small_cluster()) as store:
            picture = await read_picture(LoadSources(table="green", calls=admin, store=store), NOW_MS)
    assert picture.findings == ()
    assert (picture.cluster, picture.manager) == ("east", LoadManager.MODULAR)
    assert picture.settings is not None
    assert picture.policies is not None
    assert picture.bundles[FIRST].stats is not None


async def test_without_settings_the_rest_is_read(tmp_path: Path) -> None:
    with brokers_with({RUNTIME: (403, {"reason": "not you"})}) as url:
        async with client(url) as admin, store_with(tmp_path, small_cluster()) as store:
            picture = await read_picture(LoadSources(table="green", calls=admin, store=store), NOW_MS)
    assert picture.settings is None
    assert [each.kind for each in picture.findings] == [LoadFindingKind.UNREADABLE]
    assert picture.cluster == "east"
    assert picture.registered == ("b1:8080", "b2:8080")


async def test_a_store_that_fails_is_stood_in_for_by_the_brokers(tmp_path: Path) -> None:
    here = [""]
    answers = {**CONFIGURED, **whole_cluster(lambda: here[0])}
    answers["/broker-stats/load-report"] = lambda: (
        200,
        local_broker(here[0], FIRST, lastUpdate=time.time_ns() // 1_000_000),
    )
    with brokers_with(answers) as url:
        here[0] = url.removeprefix("http://")
        answers[f"/brokers/east/{here[0].replace(':', '%3A')}/ownedNamespaces"] = (200, {FIRST: {}})
        async with client(url) as admin, store_with(tmp_path, {}) as store:
            sources = LoadSources(table="green", calls=admin, store=failing(store, "/loadbalance/brokers"))
            picture = await read_picture(sources, time.time_ns() // 1_000_000)
    seen = picture.bundles[FIRST]
    assert seen.owner is not None
    assert seen.owner.value.broker == here[0]
    assert seen.stats is not None
    assert "/loadbalance/brokers" in [each.where for each in picture.findings]


async def test_where_nobody_answers_the_trouble_is_told(tmp_path: Path) -> None:
    with brokers_with({RUNTIME: (403, {"reason": "not you"}), "/brokers/green": (403, {"reason": "not you"})}) as url:
        async with client(url) as admin, store_with(tmp_path, {}) as store:
            with pytest.raises(StoreUnavailable):
                await read_picture(
                    LoadSources(table="green", calls=admin, store=failing(store, "/loadbalance/brokers")), NOW_MS
                )
            with pytest.raises(AdminDenied, match="not you"):
                await read_picture(LoadSources(table="green", calls=admin), NOW_MS)


async def test_an_empty_cluster_is_a_picture(tmp_path: Path) -> None:
    with brokers_with(CONFIGURED) as url:
        async with client(url) as admin, store_with(tmp_path, {}) as store:
            picture = await read_picture(LoadSources(table="green", calls=admin, store=store), NOW_MS)
    assert (dict(picture.brokers), dict(picture.bundles)) == ({}, {})


async def test_who_was_not_heard_is_asked(tmp_path: Path) -> None:
    answers: dict[str, Answer] = {
        **CONFIGURED,
        "/broker-stats/topics": (200, TOPICS),
        "/broker-stats/metrics": (200, broker_metrics()),
    }
    records = LoadRecords(channel_read=True)
    with brokers_with(answers) as url:
        broker = url.removeprefix("http://")
        answers[f"/brokers/east/{broker.replace(':', '%3A')}/ownedNamespaces"] = (200, {FIRST: {}})
        documents = {f"/loadbalance/brokers/{broker}": lookup_data(broker), "/admin/clusters/east": {}}
        async with client(url) as admin, store_with(tmp_path, documents) as store:
            sources = LoadSources(table="green", calls=admin, store=store)
            at_once = await read_picture(sources, NOW_MS)
            unasked = await read_picture(sources, NOW_MS, ask=False)
            heard = replace(sources, records=records)
            silent = await read_picture(heard, NOW_MS)
            records.brokers[broker] = TopicRecord(broker, json.dumps(broker_load()).encode(), NOW_MS)
            after = await read_picture(heard, NOW_MS)
    assert at_once.manager is LoadManager.EXTENSIBLE
    asked = at_once.brokers[broker].figures
    assert asked is not None
    assert asked.origin == FigureOrigin(LoadSource.REST, f"{broker} broker-stats/metrics", NOW_MS)
    assert (asked.value.traffic, asked.value.topics) == (Rates(1.0, 1.0, 1.0, 1.0), 1)
    owner = at_once.bundles[FIRST].owner
    assert owner is not None
    assert (owner.value.broker, owner.origin.source) == (broker, LoadSource.REST)
    assert [each.where for each in at_once.findings] == [CHANNEL, "the brokers' reports"]
    assert (unknown(at_once).brokers, unknown(unasked).brokers) == ((), (broker,))
    assert [each.where for each in silent.findings] == ["the brokers' reports"]
    assert silent.bundles[FIRST].owner is None, "the channel was read to its end, and nobody owns it"
    figures = after.brokers[broker].figures
    assert figures is not None
    assert figures.origin.where == f"{BROKER_LOAD} {broker}"
    assert after.findings == ()


@pytest.mark.parametrize("status", [403, 500])
async def test_who_refuses_to_tell_stays_unknown(tmp_path: Path, status: int) -> None:
    answers: dict[str, Answer] = {**CONFIGURED, "/broker-stats/metrics": (status, {"reason": "no"})}
    with brokers_with(answers) as url:
        broker = url.removeprefix("http://")
        documents = {f"/loadbalance/brokers/{broker}": lookup_data(broker), "/admin/clusters/east": {}}
        async with client(url) as admin, store_with(tmp_path, documents) as store:
            picture = await read_picture(LoadSources(table="green", calls=admin, store=store), NOW_MS)
    assert picture.brokers[broker].figures is None
    assert unknown(picture).brokers == (broker,)
    assert f"{broker} broker-stats/metrics" in [each.where for each in picture.findings]


async def test_a_broker_that_has_counted_nothing_yet_is_not_idle(tmp_path: Path) -> None:
    answers: dict[str, Answer] = {
        **CONFIGURED,
        "/broker-stats/topics": (200, ""),
        "/broker-stats/metrics": (200, broker_metrics()),
    }
    with brokers_with(answers) as url:
        broker = url.removeprefix("http://")
        documents = {f"/loadbalance/brokers/{broker}": lookup_data(broker), "/admin/clusters/east": {}}
        async with client(url) as admin, store_with(tmp_path, documents) as store:
            picture = await read_picture(LoadSources(table="green", calls=admin, store=store), NOW_MS)
    figures = picture.brokers[broker].figures
    assert figures is not None
    assert (figures.value.traffic, figures.value.topics) == (None, None)


async def test_without_a_store_the_brokers_of_the_extensible_manager_tell_theirs() -> None:
    here = [""]
    answers = {**whole_cluster(lambda: here[0])}
    answers |= {
        RUNTIME: (200, {"clusterName": "east", "loadManagerClassName": EXTENSIBLE}),
        "/broker-stats/load-report": (500, {"reason": "UnsupportedOperationException"}),
        "/broker-stats/topics": (200, TOPICS),
        "/broker-stats/metrics": (200, broker_metrics()),
        "/brokers/version": (200, "4.0.8"),
    }
    with brokers_with(answers) as url:
        here[0] = url.removeprefix("http://")
        answers[f"/brokers/east/{here[0].replace(':', '%3A')}/ownedNamespaces"] = (200, {FIRST: {}})
        async with client(url) as admin:
            picture = await read_picture(LoadSources(table="green", calls=admin), NOW_MS)
    assert (picture.manager, unknown(picture).brokers) == (LoadManager.EXTENSIBLE, ())
    assert [each.where for each in picture.findings] == [CHANNEL, "the brokers' reports"]
    assert rules_of(picture) == balancer_rules("4.0.8")


async def test_owners_are_told_in_the_store_or_elsewhere(tmp_path: Path) -> None:
    known = {"/loadbalance/brokers/b1:8080": lookup_data("b1:8080"), "/admin/clusters/east": {}}
    told: dict[bool, bool] = {}
    with brokers_with(CONFIGURED) as url:
        for units in (False, True):
            documents = {**known, **({f"/service_unit_state/{FIRST}": unit()} if units else {})}
            folder = tmp_path / str(units)
            folder.mkdir()
            async with client(url) as admin, store_with(folder, documents) as store:
                sources = LoadSources(table="green", calls=admin, store=store)
                told[units] = owners_in_store(await read_picture(sources, NOW_MS, ask=False))
    assert told == {False: False, True: True}


async def test_a_broker_whose_load_manager_is_not_started_is_left_out(tmp_path: Path) -> None:
    answers: dict[str, Answer] = {
        **CONFIGURED,
        "/broker-stats/topics": (200, TOPICS),
        "/broker-stats/metrics": (200, broker_metrics()),
    }
    with brokers_with(answers) as url:
        broker = url.removeprefix("http://")
        answers[f"/brokers/east/{broker.replace(':', '%3A')}/ownedNamespaces"] = (200, {})
        documents = {f"/loadbalance/brokers/{broker}": lookup_data(broker), "/admin/clusters/east": {}}
        async with client(url) as admin, store_with(tmp_path, documents) as store:
            sources = LoadSources(table="green", calls=admin, store=store, records=LoadRecords(channel_read=True))
            picture = await read_picture(sources, NOW_MS)
    assert unknown(picture).brokers == (broker,)
    assert "is not started" in picture.findings[0].what
