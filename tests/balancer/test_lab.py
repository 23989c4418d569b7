"""The lab's clusters of three brokers: each reports its own load, bundles go where they are sent, clients come back."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from deploy.lab.brokers.broker import Broker
from deploy.lab.brokers.cluster import BrokersCluster
from deploy.lab.traffic.loads import uneven
from deploy.lab.traffic.traffic import ClusterTraffic
from syncer.balancer.cost.measured import CPP_STEPS
from syncer.waiting import wait_until
from tests.balancer.conftest import Namespace
from tests.balancer.unloads import follows, others, wait_back

pytestmark = [pytest.mark.real("pulsar", "zookeeper"), pytest.mark.slow]


LOOKED_PERCENT = 0.01
"""A broker uses more; less is what it says before it has looked."""
LONG = 4
"""Attempts while the store still knows a killed broker: to it clients are sent in vain."""


def gathered_at(cluster: BrokersCluster, namespace: str, broker: Broker) -> None:
    """Have all bundles of a namespace at one broker."""
    for span, owner in cluster.owners(namespace).items():
        if owner is not broker:
            cluster.move(namespace, span, broker)


@pytest.mark.parametrize("manager", ["modular", "extensible"])
def test_each_broker_reports_a_load_of_its_own(
    request: pytest.FixtureRequest, manager: str, namespace: Namespace, tmp_path: Path
) -> None:
    cluster: BrokersCluster = request.getfixturevalue(manager)
    name, topics = namespace(cluster, topics=8, bundles=4)
    busy = cluster.brokers[0]
    figure, least = (cluster.rate_in, 0.0) if cluster.no_own_cpu else (cluster.cpu_percent, LOOKED_PERCENT)
    with ClusterTraffic(cluster.service_url, uneven(topics, 600), tmp_path, log=tmp_path / "clients.log"):
        gathered_at(cluster, name, busy)
        found: list[float] = []

        def told_apart() -> bool:
            found[:] = [figure(broker) for broker in cluster.brokers]
            return min(found) >= least and found[0] > 1.5 * max(found[1:])

        wait_until(told_apart, "its load is told apart", shown=lambda: (found, cluster.no_own_cpu))
    assert set(cluster.owners(name).values()) == {busy}


def test_a_broker_reports_its_share_as_its_limit(modular: BrokersCluster) -> None:
    if modular.no_own_cpu:
        assert len({modular.report(each)["cpu"]["limit"] for each in modular.brokers}) == 1
        return
    for broker, percent in zip(modular.brokers, modular.settings.cpu_percent, strict=True):
        wait_until(lambda: modular.report(broker)["cpu"]["limit"] == percent, "it reports its share")  # noqa: B023


def test_a_bundle_goes_where_it_is_sent_and_its_clients_come_after_it(
    modular: BrokersCluster, namespace: Namespace, tmp_path: Path
) -> None:
    name, topics = namespace(modular, topics=4, bundles=1)
    (span,) = modular.bundles(name)
    with ClusterTraffic(modular.service_url, uneven(topics, 40), tmp_path, log=tmp_path / "clients.log") as traffic:
        wait_until(lambda: traffic.account().delivered >= 10 * len(topics), "messages are delivered")
        before = modular.owners(name)[span]
        target = others(modular, before)[0]
        unloads = modular.move(name, span, target)
        wait_back(traffic, unloads * 2 * len(topics))
        found = traffic.outages()
        account = traffic.settle(30)
    assert {outage.topic for outage in found} == set(topics)
    assert Counter(outage.role for outage in found) == {
        role: unloads * len(topics) for role in ("consumer", "producer")
    }
    for outage in found:
        assert outage.lasted_ms > 0
        assert len(outage.attempts_ms) == len(outage.delays_ms)
        assert outage.cut_ms + outage.delays_ms[0] <= outage.attempts_ms[0] + 1 <= outage.working_ms + 1
    assert (account.dead, account.lost) == ((), {})
    longest_ms = max(outage.lasted_ms for outage in found if outage.role == "producer")
    assert max(account.gap_s.values()) >= longest_ms / 1000 - 0.05, "no receipt can have come in an outage"


def test_a_killed_broker_comes_back_as_itself(modular: BrokersCluster, namespace: Namespace, tmp_path: Path) -> None:
    name, topics = namespace(modular, topics=2, bundles=1)
    (span,) = modular.bundles(name)
    with ClusterTraffic(modular.service_url, uneven(topics, 20), tmp_path, log=tmp_path / "clients.log") as traffic:
        killed = modular.owners(name)[span]
        before = killed.process.pid()
        killed.kill()
        wait_until(lambda: span in modular.owners(name), "the bundle has an owner")
        wait_back(traffic, 2 * len(topics))
        assert modular.owners(name)[span] is not killed
        modular.start()
        found = traffic.outages()
    assert all(follows(outage.delays_ms, CPP_STEPS.latest_ms) for outage in found), found
    assert max(len(outage.delays_ms) for outage in found) >= LONG, "a broker is missed before it is given up"
    assert killed.process.pid() not in {None, before}
    assert killed.id in {broker.id for broker in modular.brokers}


def test_a_dynamic_setting_is_overridden_and_put_back(modular: BrokersCluster) -> None:
    key = "loadBalancerSheddingEnabled"
    assert key not in modular.dynamic()
    modular.set_dynamic(key, "false")
    assert modular.dynamic()[key] == "false"
    modular.unset_dynamic(key)
    assert key not in modular.dynamic()


def test_the_extensible_manager_hands_a_bundle_over(
    extensible: BrokersCluster, namespace: Namespace, tmp_path: Path
) -> None:
    name, topics = namespace(extensible, topics=4, bundles=1)
    (span,) = extensible.bundles(name)
    with ClusterTraffic(extensible.service_url, uneven(topics, 40), tmp_path, log=tmp_path / "clients.log") as traffic:
        target = others(extensible, extensible.owners(name)[span])[0]
        assert extensible.move(name, span, target) == 1
        account = traffic.settle(30)
    assert (account.dead, account.lost) == ((), {})
