"""Versions of brokers: every one that is listed is asked, and what is not whole is trouble, never a guess."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

from syncer.admin.client import AdminSettings
from syncer.admin.topics import ClustersProbe
from syncer.admin.version_probe import BrokersTold, NobodyToAsk
from syncer.conflict.deletes.collected import BrokerCollection, CollectionTold
from syncer.conflict.fields.table import parse_version
from tests.support.admin_server import Asked, serving

pytestmark = pytest.mark.anyio

ASKED_VERSION = "/admin/v2/brokers/version"
ASKED_SETTINGS = "/admin/v2/brokers/configuration/runtime"
DELETES = "brokerDeleteInactivePartitionedTopicMetadataEnabled"
ON = BrokerCollection(deletes_declarations=True)


@dataclass
class PulsarCluster:
    """Brokers at one address, as a cluster's admin API shows them."""

    brokers: Mapping[str, list[str]] = field(default_factory=dict)
    """Cluster → addresses that it lists."""
    declared: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    version: str = '"4.2.4"'
    refused: int = 0
    settings: Mapping[str, str] = field(default_factory=dict)
    withheld: int = 0
    """Status in the place of the settings."""
    asked: list[str] = field(default_factory=list)

    def answer(self, asked: Asked) -> tuple[int, str]:
        self.asked.append(asked.path)
        if asked.path == ASKED_VERSION:
            return (self.refused, "no") if self.refused else (200, self.version)
        if asked.path == ASKED_SETTINGS:
            return (self.withheld, "no") if self.withheld else (200, json.dumps(self.settings))
        if asked.path == "/admin/v2/clusters":
            return 200, json.dumps(sorted(self.declared))
        what, _, name = asked.path.removeprefix("/admin/v2/").partition("/")
        table: Mapping[str, object] = self.brokers if what == "brokers" else self.declared
        return (200, json.dumps(table[name])) if name in table else (404, json.dumps({"reason": "not found"}))


@contextmanager
def standing(cluster: PulsarCluster) -> Iterator[str]:
    with serving(cluster.answer) as url:
        yield url


def address(url: str) -> str:
    return url.removeprefix("http://")


async def told_by(url: str, *clusters: str) -> BrokersTold:
    async with ClustersProbe(AdminSettings.model_validate({"url": url}), clusters) as probe:
        assert probe.asks
        return await probe.versions()


async def collection_by(url: str, *clusters: str) -> CollectionTold:
    async with ClustersProbe(AdminSettings.model_validate({"url": url}), clusters) as probe:
        return await probe.collection()


async def test_every_broker_that_is_listed_is_asked_and_the_oldest_counts() -> None:
    first, second = PulsarCluster(), PulsarCluster(version='"5.0.0-M1"')
    with standing(first) as one, standing(second) as other:
        first.brokers = {"blue": [address(one), address(other)]}
        told = await told_by(one, "blue")
    assert told.versions == {address(one): "4.2.4", address(other): "5.0.0-M1"}
    assert (told.trouble, told.oldest) == ("", parse_version("4.2.4"))
    assert (first.asked.count(ASKED_VERSION), second.asked.count(ASKED_VERSION)) == (1, 1)


async def test_a_version_is_read_as_plain_text_too() -> None:
    cluster = PulsarCluster(version="4.0.8")
    with standing(cluster) as url:
        cluster.brokers = {"blue": [address(url)]}
        assert (await told_by(url, "blue")).oldest == parse_version("4.0.8")


async def test_the_brokers_of_every_cluster_are_asked_at_the_address_that_it_is_declared_with() -> None:
    blue, green = PulsarCluster(), PulsarCluster(version='"4.0.8"')
    with standing(blue) as one, standing(green) as other:
        blue.brokers, green.brokers = {"blue": [address(one)]}, {"green": [address(other)]}
        blue.declared = {"blue": {"serviceUrl": one}, "green": {"serviceUrl": other}}
        told = await told_by(one, "green", "blue")
    assert told.versions == {address(one): "4.2.4", address(other): "4.0.8"}
    assert told.oldest == parse_version("4.0.8")


@pytest.mark.parametrize(
    ("declared", "what"),
    [
        ({"blue": {"serviceUrl": "here"}}, "no admin API is declared for cluster green"),
        ({"blue": {"serviceUrl": "here"}, "green": {}}, "no admin API is declared for cluster green"),
    ],
)
async def test_a_cluster_without_an_address_is_trouble(declared: dict[str, dict[str, str]], what: str) -> None:
    cluster = PulsarCluster()
    with standing(cluster) as url:
        cluster.brokers = {"blue": [address(url)]}
        cluster.declared = {name: dict.fromkeys(each, url) for name, each in declared.items()}
        told = await told_by(url, "blue", "green")
    assert (told.trouble, told.oldest) == (what, None)
    assert told.versions, "what was told is shown"


async def test_one_broker_that_does_not_answer_leaves_the_answer_open() -> None:
    first, second = PulsarCluster(), PulsarCluster(refused=403)
    with standing(first) as one, standing(second) as other:
        first.brokers = {"blue": [address(one), address(other)]}
        told = await told_by(one, "blue")
    assert told.trouble
    assert told.oldest is None
    assert told.versions == {address(one): "4.2.4"}


async def test_an_admin_api_that_does_not_know_the_cluster_is_trouble() -> None:
    with standing(PulsarCluster()) as url:
        told = await told_by(url, "blue")
    assert told.trouble
    assert told.oldest is None


async def test_a_cluster_that_lists_no_broker_is_trouble() -> None:
    with standing(PulsarCluster(brokers={"blue": []})) as url:
        told = await told_by(url, "blue")
    assert told == BrokersTold(trouble="the clusters list no broker")


@pytest.mark.parametrize(
    "version",
    ['"nonsense"', '""', "{}", "null", json.dumps("9" * 9000)],
    ids=["word", "empty", "object", "null", "long"],
)
async def test_what_is_no_version_is_trouble_and_shown_shortly(version: str) -> None:
    first, second = PulsarCluster(version='"5.0.0-M1"'), PulsarCluster(version=version)
    with standing(first) as one, standing(second) as other:
        first.brokers = {"blue": [address(one), address(other)]}
        told = await told_by(one, "blue")
    assert told.trouble.startswith(f"not a version of Pulsar: {address(other)} says ")
    assert len(told.trouble) < 200
    assert told.oldest is None


async def test_without_a_configured_cluster_the_one_that_is_asked_counts_and_no_other() -> None:
    cluster = PulsarCluster()
    with standing(cluster) as url:
        cluster.brokers = {"": [address(url)], "elsewhere": ["127.0.0.1:1"]}
        cluster.declared = {"standalone": {}, "elsewhere": {}}
        told = await told_by(url)
    assert told.oldest == parse_version("4.2.4")


async def test_every_broker_is_asked_for_its_settings() -> None:
    first, second = PulsarCluster(), PulsarCluster(settings={DELETES: "true"})
    with standing(first) as one, standing(second) as other:
        first.brokers = {"blue": [address(one), address(other)]}
        told = await collection_by(one, "blue")
    assert told == CollectionTold(brokers={address(one): BrokerCollection(), address(other): ON})
    assert told.deleting == (address(other),)


@pytest.mark.parametrize(("withheld", "refused"), [(401, True), (403, True), (404, True), (400, False), (500, False)])
async def test_a_broker_that_withholds_its_settings_keeps_no_other_back(withheld: int, *, refused: bool) -> None:
    first, second = PulsarCluster(withheld=withheld), PulsarCluster(settings={DELETES: "true"})
    with standing(first) as one, standing(second) as other:
        first.brokers = {"blue": [address(one), address(other)]}
        told = await collection_by(one, "blue")
    assert told.brokers == {address(other): ON}
    assert (bool(told.trouble), told.refused) == (True, refused)


async def test_a_cluster_without_an_address_keeps_no_other_back() -> None:
    cluster = PulsarCluster(settings={DELETES: "true"})
    with standing(cluster) as url:
        cluster.brokers, cluster.declared = {"green": [address(url)]}, {"green": {"serviceUrl": url}}
        told = await collection_by(url, "blue", "green")
    assert told == CollectionTold(
        brokers={address(url): ON}, trouble="no admin API is declared for cluster blue", refused=False
    )


async def test_clusters_that_list_no_broker_tell_no_settings() -> None:
    with standing(PulsarCluster(brokers={"blue": []})) as url:
        told = await collection_by(url, "blue")
    assert told == CollectionTold(trouble="the clusters list no broker")


async def test_where_there_is_nobody_to_ask_for_settings_that_does_not_change() -> None:
    told = await NobodyToAsk().collection()
    assert (told.brokers, told.refused) == ({}, True)


async def test_where_there_is_nobody_to_ask_that_is_said() -> None:
    probe = NobodyToAsk()
    told = await probe.versions()
    assert (probe.asks, told.oldest) == (False, None)
    assert told.trouble


def test_the_oldest_of_none_is_none() -> None:
    assert BrokersTold().oldest is None
    assert BrokersTold(versions={"a": "x"}).oldest is None
    assert BrokersTold(versions={"a": "4.2.4", "b": "4.0.8"}, trouble="why").oldest is None


def test_the_newest_of_what_was_told() -> None:
    told = BrokersTold(versions=dict(enumerate_brokers("4.0.8", "4.2.4", "odd", "4.1.9")))
    assert told.newest is not None
    assert told.newest.numbers[:3] == (4, 2, 4)
    assert told.in_order == ("4.0.8", "4.1.9", "4.2.4")
    assert BrokersTold().newest is None


def enumerate_brokers(*versions: str) -> list[tuple[str, str]]:
    return [(f"broker-{number}:8080", text) for number, text in enumerate(versions)]
