"""One group whose clusters run different versions of Pulsar: 5.0.0-M1 on ZooKeeper and 4.2.4 on etcd.

A broker of 4.2.4 drops what only 5.0 knows from its store whenever it writes a namespace.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

import pytest

from deploy.lab.pulsar import StoreKind
from deploy.lab.releases.assembled import home_of
from deploy.lab.software import etcd_binary, java, pulsar_home
from syncer.model import MetaPath
from syncer.waiting import wait_until
from tests.conftest import require
from tests.versions.edits_both_ways import MixedPair, each_way, pair_of

NEW, OLD = "5.0.0-M1", "4.2.4"
EAST, WEST = 0, 1
POLICY: Final = "scalableTopicAutoScalePolicy"
BY_REPLICATOR: Final = "is_allow_auto_update_schema_with_replicator"
BUS_NAMESPACE: Final = MetaPath("/admin/policies/pulsar-syncer/metadata")
EDITS: Final = 200


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MixedPair]:
    """Both clusters, and a daemon beside each."""
    require(java, pulsar_home, etcd_binary, lambda: home_of(NEW), lambda: home_of(OLD))
    place = tmp_path_factory.mktemp("mixed")
    with pair_of(place, (NEW, OLD), (StoreKind.ZOOKEEPER, StoreKind.ETCD)) as pair:
        yield pair


def test_what_a_version_writes_by_itself_is_no_difference(mixed: MixedPair) -> None:
    """5.0 writes a default into every namespace that 4.2 leaves out, the bus's own included."""
    mixed.settle("what the clusters came with")
    for region in mixed.regions:
        assert BUS_NAMESPACE not in region.holds()
    assert BY_REPLICATOR in json.loads(mixed.regions[EAST].entries()[BUS_NAMESPACE])


def test_each_region_tells_the_versions_of_its_brokers(mixed: MixedPair) -> None:
    east, west = (region.command("status") for region in mixed.regions)
    assert (set(east["brokers"].values()), set(west["brokers"].values())) == ({NEW}, {OLD})
    for status in (east, west):
        assert not {each["code"] for each in status["conditions"]} & {"broker-versions-unknown"}
    wait_until(
        lambda: [peer["brokers"] for peer in mixed.regions[WEST].command("status")["peers"]] == [[NEW]],
        "the versions of us-east's brokers are known in us-west",
    )


def test_nothing_is_lost_by_edits_of_every_field_each_way(mixed: MixedPair) -> None:
    outcome = each_way(mixed, EDITS)
    print(outcome.words)
    assert min(outcome.edits.values()) >= EDITS
    assert (outcome.lost, outcome.held, outcome.conflicts) == ([], {}, [])


def test_who_does_not_know_a_field_keeps_it_and_who_knows_it_removes_it(mixed: MixedPair) -> None:
    mixed.make(1)
    name = next(iter(mixed.expected))
    mixed.edit(EAST, name, POLICY, 41)
    mixed.settle("set in 5.0")
    mixed.edit(WEST, name, "message_ttl_in_seconds", 900)
    mixed.settle("edited through 4.2")
    assert POLICY not in mixed.stored(WEST, name), "4.2 keeps it by itself: the test proves nothing"
    assert mixed.stored(EAST, name)[POLICY] == mixed.expected[name][POLICY]
    assert mixed.stored(EAST, name)["message_ttl_in_seconds"] == 960
    mixed.remove(EAST, name, POLICY)
    mixed.settle("removed in 5.0")
    mixed.edit(WEST, name, "message_ttl_in_seconds", 901)
    mixed.settle("edited through 4.2 again")
    assert POLICY not in mixed.stored(EAST, name)
    assert mixed.judge().lost == []


def test_a_field_outlives_its_daemon(mixed: MixedPair) -> None:
    """The daemon beside 4.2 is killed after its broker has dropped a field, before anybody heard of the edit."""
    mixed.make(1)
    name = next(iter(mixed.expected))
    mixed.edit(EAST, name, POLICY, 42)
    mixed.settle("set in 5.0")
    mixed.regions[WEST].kill()
    mixed.edit(WEST, name, "message_ttl_in_seconds", 902)
    mixed.regions[WEST].start()
    mixed.settle("edited while the daemon was away")
    assert mixed.stored(EAST, name)[POLICY] == mixed.expected[name][POLICY]
    assert mixed.stored(EAST, name)["message_ttl_in_seconds"] == 962
