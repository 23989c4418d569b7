"""The lab's own servers: they start, restart with their data, and end with the program that started them."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import psycopg
import pytest

from deploy.lab.etcd import EtcdNode
from deploy.lab.postgres import PostgresServer
from deploy.lab.process import start_time
from deploy.lab.pulsar import Part, PulsarCluster, bring_up
from deploy.lab.zookeeper import ZooKeeperServer
from syncer.waiting import WAIT_S, wait_until
from tests.conftest import PulsarPair

pytestmark = pytest.mark.real

REPOSITORY = Path(__file__).parents[2]


def test_zookeeper_answers_and_comes_back_on_its_port(zookeeper_server: ZooKeeperServer) -> None:
    before = zookeeper_server.process.pid()
    zookeeper_server.kill()
    assert zookeeper_server.ask("ruok") == ""

    zookeeper_server.start()

    assert zookeeper_server.ask("ruok") == "imok"
    assert zookeeper_server.process.pid() not in {None, before}


def test_postgres_keeps_its_data_through_a_kill_and_answers_nobody_while_frozen(
    postgres_server: PostgresServer, postgres_url: str
) -> None:
    with psycopg.connect(postgres_url) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 7 AS number")
    before = postgres_server.process.pid()
    postgres_server.kill()
    postgres_server.start()
    assert postgres_server.process.pid() not in {None, before}
    with psycopg.connect(postgres_url) as connection:
        assert connection.execute("SELECT number FROM kept").fetchone() == (7,)
        postgres_server.pause()
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(postgres_url, connect_timeout=2)
        postgres_server.resume()
        assert connection.execute("SELECT 1").fetchone() == (1,)
    with pytest.raises(psycopg.OperationalError, match="password"):
        psycopg.connect(postgres_url.replace("syncer:", "syncer:x"))


def test_starting_twice_is_starting_once(etcd_server: EtcdNode) -> None:
    before = etcd_server.process.pid()
    etcd_server.start()
    assert etcd_server.process.pid() == before


def test_a_leashed_server_ends_with_a_killed_starter(tmp_path: Path, etcd_server: EtcdNode) -> None:
    script = (
        "import pathlib, sys, time\n"
        "from deploy.lab.etcd import EtcdNode\n"
        "node = EtcdNode(pathlib.Path(sys.argv[1]), leashed=True)\n"
        "node.start()\n"
        "print(node.process.pid(), flush=True)\n"
        "time.sleep(600)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path)], cwd=REPOSITORY, stdout=subprocess.PIPE, text=True
    ) as starter:
        assert starter.stdout is not None
        server = int(starter.stdout.readline())
        assert start_time(server) is not None
        starter.kill()
    wait_until(lambda: start_time(server) is None, "the server has ended with the program that started it")


def ask(cluster: PulsarCluster, path: str) -> Any:
    with urllib.request.urlopen(f"{cluster.admin_url}/admin/v2/{path}", timeout=WAIT_S) as answer:
        return json.load(answer)


def test_two_clusters_know_each_other_and_share_no_store(pulsar_pair: PulsarPair) -> None:
    east, west = pulsar_pair.clusters["us-east"], pulsar_pair.clusters["us-west"]
    for cluster, peer in ((east, west), (west, east)):
        assert set(ask(cluster, "clusters")) >= {"us-east", "us-west"}
        assert ask(cluster, f"clusters/{peer.name}")["brokerServiceUrl"] == peer.service_url
    assert (east.store_config["kind"], west.store_config["kind"]) == ("zookeeper", "etcd")


def test_bringing_up_what_is_up_changes_no_process(pulsar_pair: PulsarPair) -> None:
    clusters = list(pulsar_pair.clusters.values())
    before = [cluster.broker.pid() for cluster in clusters]
    bring_up(clusters)
    assert [cluster.broker.pid() for cluster in clusters] == before


@pytest.mark.slow  # the short form kills one in tests/real/test_bus_pulsar.py
def test_a_killed_broker_serves_again_with_its_bookie(pulsar_pair: PulsarPair) -> None:
    cluster = pulsar_pair.clusters["us-east"]
    cluster.kill(Part.BROKER)
    cluster.start(Part.BROKER)
    assert cluster.healthy(), "the broker cannot produce and consume"
