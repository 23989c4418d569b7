"""The picture of a cluster: of the store with the brokers' settings, or of the brokers alone, or a clear error."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from syncer.balancer.decoding.records import BROKER_LOAD, LoadRecords, TopicRecord
from syncer.balancer.picture import LoadFindingKind, LoadManager
from syncer.balancer.reading.cluster import LoadSources, read_picture
from syncer.errors import AdminDenied, StoreUnavailable
from tests.support.load_documents import FIRST, NOW_MS, broker_load, local_broker, lookup_data, small_cluster
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


async def test_topics_stand_in_for_the_extensible_managers_reports(tmp_path: Path) -> None:
    records = LoadRecords()
    with brokers_with({**CONFIGURED, "/broker-stats/topics": (200, TOPICS)}) as url:
        broker = url.removeprefix("http://")
        documents = {f"/loadbalance/brokers/{broker}": lookup_data(broker), "/admin/clusters/east": {}}
        report = json.dumps(broker_load()).encode()
        async with client(url) as admin, store_with(tmp_path, documents) as store:
            sources = LoadSources(table="green", calls=admin, store=store, records=records)
            before = await read_picture(sources, NOW_MS)
            records.brokers[broker] = TopicRecord(broker, report, NOW_MS)
            after = await read_picture(sources, NOW_MS)
    assert before.manager is LoadManager.EXTENSIBLE
    assert before.brokers[broker].figures is None
    assert before.bundles[FIRST].topics is not None
    figures = after.brokers[broker].figures
    assert figures is not None
    assert figures.origin.where == f"{BROKER_LOAD} {broker}"
