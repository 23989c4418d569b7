"""The lab's own servers: they start, restart with their data, and end with the program that started them."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from deploy.lab.etcd import EtcdNode
from deploy.lab.process import start_time
from deploy.lab.zookeeper import ZooKeeperServer

pytestmark = pytest.mark.real

REPOSITORY = Path(__file__).parents[2]


def test_zookeeper_answers_and_comes_back_on_its_port(zookeeper_server: ZooKeeperServer) -> None:
    before = zookeeper_server.process.pid()
    zookeeper_server.kill()
    assert zookeeper_server.ask("ruok") == ""

    zookeeper_server.start()

    assert zookeeper_server.ask("ruok") == "imok"
    assert zookeeper_server.process.pid() not in {None, before}


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
        "time.sleep(60)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path)], cwd=REPOSITORY, stdout=subprocess.PIPE, text=True
    ) as starter:
        assert starter.stdout is not None
        server = int(starter.stdout.readline())
        assert start_time(server) is not None
        starter.kill()
    deadline = time.monotonic() + 10
    while start_time(server) is not None:
        assert time.monotonic() < deadline, "the server outlived the program that started it"
        time.sleep(0.02)
