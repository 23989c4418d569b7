"""``config check --connect`` and ``topic init`` against real servers: stdout is one document, wrong ports are named."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx2
import pytest

from syncer.waiting import WAIT_S
from tests.conftest import PulsarPair

pytestmark = pytest.mark.real("pulsar")

TENANT = f"check-{os.getpid()}"


def configuration(directory: Path, pair: PulsarPair, **instead: str) -> Path:
    """The region's configuration, with some addresses of other servers' ports."""
    cluster = pair.clusters["us-east"]
    at = {
        "hosts": str(cluster.store_config["hosts"]),
        "service_url": cluster.service_url,
        "admin_url": cluster.admin_url,
        "topic": f"persistent://{TENANT}/sync/events",
        "lock": "",
        **instead,
    }
    file = directory / "config.toml"
    file.write_text(
        f'region = "us-east"\n[store]\nkind = "zookeeper"\nhosts = "{at["hosts"]}"\n'
        f'[bus]\nkind = "pulsar"\nservice_url = "{at["service_url"]}"\nadmin_url = "{at["admin_url"]}"\n'
        f'topic = "{at["topic"]}"\n{at["lock"]}[admin]\nurl = "{at["admin_url"]}"\n'
        f'[state]\npath = "{directory}/state.db"\n',
        encoding="utf-8",
    )
    return file


def said(file: Path, *arguments: str) -> tuple[int, dict[str, Any], str]:
    """Run a command: its exit status, the one document on its stdout, stderr."""
    done = subprocess.run(
        [sys.executable, "-c", "from syncer.cli.main import main; main()", *arguments, "-o", "json", "-c", str(file)],
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=False,
    )
    return done.returncode, json.loads(done.stdout), done.stderr


def checked(file: Path, timeout_s: int) -> tuple[int, dict[str, str], str]:
    code, document, recovery = said(file, "config", "check", "--connect", "--timeout", str(timeout_s))
    return code, {each["name"]: each["cause"] for each in document["dependencies"] if not each["ok"]}, recovery


def test_a_dial_asks_for_no_role_and_leaves_no_subscription(pulsar_pair: PulsarPair, tmp_path: Path) -> None:
    topic, lock = (f"persistent://public/default/{name}-{os.getpid()}" for name in ("dial", "lock"))
    file = configuration(tmp_path, pulsar_pair, topic=topic, lock=f'lock_topic = "{lock}"\n')
    with httpx2.Client(base_url=pulsar_pair.clusters["us-east"].admin_url, timeout=WAIT_S) as admin:
        admin.put(f"/admin/v2/{topic.replace('://', '/')}").raise_for_status()
        assert checked(file, 30)[:2] == (0, {})
        topics = admin.get("/admin/v2/persistent/public/default").json()
        assert topic in topics
        assert lock not in topics, "nobody asked for the region's lock"
        assert admin.get(f"/admin/v2/{topic.replace('://', '/')}/stats").json()["subscriptions"] == {}


def test_all_is_well_once_the_topic_is_made(pulsar_pair: PulsarPair, tmp_path: Path) -> None:
    file = configuration(tmp_path, pulsar_pair)
    clusters = [f"--cluster={name}={each.admin_url}" for name, each in pulsar_pair.clusters.items()]
    code, made, _ = said(file, "topic", "init", *clusters, "--yes")
    assert code == 0
    assert {step["state"] for step in made["steps"]} >= {"done"}
    code, missing, recovery = checked(file, 30)
    assert (code, missing) == (0, {}), recovery
    assert "ERROR" not in recovery


def test_ports_of_other_servers_are_no_traceback_and_no_hang(pulsar_pair: PulsarPair, tmp_path: Path) -> None:
    cluster = pulsar_pair.clusters["us-east"]
    broker, web = cluster.service_url.rpartition("/")[2], cluster.admin_url.rpartition("/")[2]
    zookeeper = str(cluster.store_config["hosts"])
    file = configuration(
        tmp_path, pulsar_pair, hosts=broker, service_url=f"pulsar://{web}", admin_url=f"http://{zookeeper}"
    )
    code, missing, recovery = checked(file, 4)
    assert code == 4
    assert set(missing) == {"store zookeeper", "bus pulsar", "admin"}
    assert broker in missing["store zookeeper"]
    assert "Traceback" not in recovery
    file = configuration(tmp_path, pulsar_pair, service_url=f"pulsar+ssl://{web}", admin_url=f"https://{web}")
    code, missing, recovery = checked(file, 4)
    assert code == 4
    assert set(missing) == {"bus pulsar", "admin"}
    assert "TLS" in missing["bus pulsar"]
    assert "the server does not speak TLS on this port" in missing["admin"]
    assert "Traceback" not in recovery
