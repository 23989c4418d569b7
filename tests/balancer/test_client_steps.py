"""Clients of an unloaded bundle come back at the steps that prices reckon with, and transferred ones at once.

What 32 unloads each showed on two busy cores, as least, median, 90 % and most milliseconds without service:

    manager      topics   modular                  extensible
                      1   189  204  274  1393       72   85  130  542
                     10   188  230  333   637       80  115  139  191
                    100   186  475  678  1457       82  395  625  941
"""

from __future__ import annotations

from pathlib import Path

import pulsar
import pytest

from deploy.lab.brokers.cluster import BrokersCluster
from deploy.lab.traffic.loads import PublisherLoad, Sending, TopicLoad
from deploy.lab.traffic.outages import ClientOutage
from deploy.lab.traffic.traffic import ClusterTraffic
from syncer.balancer.cost.estimate import known, total
from syncer.balancer.cost.measured import (
    CLOSE_OF_A_TOPIC_S,
    CLOSE_S,
    CPP_STEPS,
    LOAD_OF_A_TOPIC_S,
    LOAD_S,
    OTHER_STEPS,
)
from syncer.balancer.cost.price import MovedBundle, MoveKind, price
from tests.balancer.conftest import Namespace
from tests.balancer.unloads import follows, unload_repeatedly, within_a_step

pytestmark = pytest.mark.real("pulsar", "zookeeper")

PYTHON = "Pulsar-CPP-v4.2.0"
PER_S = 20.0
MOSTLY = 0.9
SHORT_FORM = (10, 5, 0.5)
"""Of five unloads a single slow one is a fifth."""
LONG_FORM = [pytest.param(topics, 30, MOSTLY, marks=pytest.mark.slow) for topics in (1, 10, 100)]


def outages_of(
    cluster: BrokersCluster, namespace: Namespace, folder: Path, topics: int, unloads: int
) -> list[ClientOutage]:
    """Those of a producer and a consumer of each topic of one bundle."""
    name, full_names = namespace(cluster, topics=topics, bundles=1)
    publisher = PublisherLoad(per_s=max(1.0, PER_S / topics), sending=Sending.PIPELINED)
    loads = [
        TopicLoad(topic=each, publishers=(publisher,), kinds=(pulsar.ConsumerType.Exclusive,)) for each in full_names
    ]
    with ClusterTraffic(cluster.service_url, loads, folder, log=folder / "clients.log") as traffic:
        return unload_repeatedly(cluster, name, traffic, clients=2 * topics, times=unloads)


def predicted_ms(topics: int) -> float:
    """How long a client of a bundle is without service, as prices assume it."""
    move = MovedBundle(
        kind=MoveKind.UNLOAD,
        close=total((CLOSE_S, CLOSE_OF_A_TOPIC_S.times(known(topics)))),
        load=total((LOAD_S, LOAD_OF_A_TOPIC_S.times(known(topics)))),
        producers={PYTHON: 1},
        consumers={},
    )
    seconds = price(move, OTHER_STEPS).client_seconds.value
    assert seconds is not None
    return seconds * 1000


@pytest.mark.parametrize(("topics", "unloads", "share"), [SHORT_FORM, *LONG_FORM])
def test_clients_of_an_unloaded_bundle_come_back_within_a_step_of_what_is_reckoned(
    modular: BrokersCluster, namespace: Namespace, tmp_path: Path, topics: int, unloads: int, share: float
) -> None:
    found = outages_of(modular, namespace, tmp_path, topics, unloads)
    assert all(follows(outage.delays_ms, CPP_STEPS.latest_ms) for outage in found), found
    near = sum(within_a_step(outage.lasted_ms, predicted_ms(topics)) for outage in found)
    assert near >= share * len(found), sorted(outage.lasted_ms for outage in found)


@pytest.mark.slow
@pytest.mark.parametrize("topics", [1, 10, 100])
def test_clients_of_a_transferred_bundle_come_at_once(
    extensible: BrokersCluster, namespace: Namespace, tmp_path: Path, topics: int
) -> None:
    found = outages_of(extensible, namespace, tmp_path, topics, unloads=30)
    at_once = sum(set(outage.delays_ms) == {0} for outage in found)
    assert at_once >= MOSTLY * len(found), found
