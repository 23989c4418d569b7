"""A region of Pulsar 3.0.7 on ZooKeeper beside one of 4.0.8 on etcd: every field that either version has, each way.

A broker of 3.0.7 drops what only 4.0.8 knows from its store whenever it writes a namespace.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pytest

from deploy.lab.pulsar import StoreKind
from deploy.lab.releases.assembled import home_of
from deploy.lab.software import etcd_binary, java, pulsar_home
from syncer.conflict.fields.table import known_fields, parse_version
from syncer.model import ResourceKind
from syncer.waiting import wait_until
from tests.conftest import require
from tests.versions.edits_both_ways import MixedPair, each_way, pair_of

OLD, NEW = "3.0.7", "4.0.8"
EAST, WEST = 0, 1
EDITS: Final = 200
PAUSE: Final = "dispatcherPauseOnAckStatePersistentEnabled"
CODE: Final = "broker-fields-unknown"

pytestmark = [pytest.mark.real("pulsar", "zookeeper", "etcd"), pytest.mark.slow, pytest.mark.timeout(1_200)]


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MixedPair]:
    """Both clusters, and a daemon beside each."""
    require(java, pulsar_home, etcd_binary, lambda: home_of(OLD))
    with pair_of(tmp_path_factory.mktemp("older"), (OLD, NEW), (StoreKind.ZOOKEEPER, StoreKind.ETCD)) as pair:
        yield pair


def conditions(pair: MixedPair, side: int) -> dict[str, str]:
    """What a side's status reports, by code."""
    status: dict[str, Any] = pair.regions[side].command("status")
    return {each["code"]: each["message"] for each in status["conditions"]}


def test_no_edit_of_any_field_of_either_version_is_lost_and_no_field_is_stripped(pair: MixedPair) -> None:
    outcome = each_way(pair, EDITS)
    print(outcome.words)
    assert min(outcome.edits.values()) >= EDITS
    for side, version in ((EAST, OLD), (WEST, NEW)):
        known = known_fields(parse_version(version), ResourceKind.NAMESPACE)
        assert known.keys() <= outcome.fields[pair.regions[side].name], "a field that nobody edited proves nothing"
    assert outcome.dropped >= EDITS, "3.0.7 keeps them by itself: the test proves nothing"
    assert (outcome.lost, outcome.held, outcome.conflicts) == ([], {}, [])
    for name in pair.expected:
        document = pair.stored(WEST, name)
        assert document[PAUSE] is True, name
        assert document["persistence"]["managedLedgerStorageClassName"] == "bookkeeper", name
        assert document["delayed_delivery_policies"]["maxDeliveryDelayInMillis"] >= 60_000, name


def test_the_older_region_tells_which_fields_its_brokers_do_not_know(pair: MixedPair) -> None:
    pair.make(1)
    name = next(iter(pair.expected))
    for number, called in enumerate((PAUSE, "delayed_delivery_policies", "persistence")):
        pair.edit(WEST, name, called, 100 + number)
    pair.settle("set in 4.0")
    pair.edit(EAST, name, "message_ttl_in_seconds", 500)
    pair.settle("edited through 3.0")
    wait_until(lambda: CODE in conditions(pair, EAST), "us-east tells it", shown=lambda: conditions(pair, EAST))
    said = conditions(pair, EAST)[CODE]
    assert f"({OLD})" in said
    for place in (PAUSE, "delayed_delivery_policies.maxDeliveryDelayInMillis", "persistence.managedLedgerStorageClass"):
        assert f"namespace {place}" in said
    assert CODE not in conditions(pair, WEST)
