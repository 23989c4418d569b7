"""A daemon audits a real cluster's ledgers on schedule: kept, told by metrics and a condition, not lost by a kill.

Who asks it from afar, for what was kept or for a new answer, is told what is told on its host.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import httpx2
import pytest
from typer.testing import CliRunner

from deploy.lab.ports import free_ports
from deploy.lab.region import LabRegion
from syncer.cli.main import app
from syncer.ledgers.paths import ledger_path
from syncer.ledgers.recurring.service import IN_DANGER, TROUBLED
from syncer.state.contract.work.ledger_audits import LedgerAuditRow
from syncer.waiting import wait_until
from tests.conftest import PulsarPair
from tests.ledgers.test_answers import asked_of
from tests.spark.stores import kazoo
from tests.support.api_tokens import made
from tests.support.stored_ledgers import StoredLedgers

pytestmark = pytest.mark.real("pulsar", "zookeeper")

LOST: Final = 1_950_000_000
"""A ledger on a bookie that never was."""
EVERY_S: Final = 10


@contextmanager
def audited(pair: PulsarPair, folder: Path, port: int, **audits: object) -> Iterator[LabRegion]:
    """A region with a store of its own, whose daemon audits the cluster on ZooKeeper."""
    cluster = pair.clusters["us-east"]
    urls = {"service_url": cluster.admin_url, "broker_service_url": cluster.service_url}
    region = LabRegion(
        folder,
        name="auditing",
        clusters=(cluster.name,),
        tables={
            "store": {"kind": "sqlite", "path": str(folder / "store.db")},
            "bus": {"kind": "embedded", "path": str(folder / "bus.db")},
            "api": {"enabled": True, "listen": f"127.0.0.1:{port}", "tokens": str(folder / "tokens.json")},
            "cluster.lab": urls,
            "cluster.lab.admin": {"url": cluster.admin_url},
            "cluster.lab.store": cluster.store_config,
            "cluster.lab.audits": {"every": f"{EVERY_S}s", "keep": 3, **audits},
        },
    )
    region.start()
    try:
        yield region
    finally:
        region.stop()


@pytest.fixture
def token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A token of a reader, on another host than the region's."""
    monkeypatch.delenv("SYNCER_CONFIG", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    file = tmp_path / "token"
    file.write_text(made(tmp_path / "tokens.json", "reader"))
    return file


def kept(region: LabRegion) -> list[LedgerAuditRow]:
    """Audits that are kept, the last one first."""
    with region.views() as views:
        return views.ledger_audits("lab", 10)


def conditions(region: LabRegion) -> dict[str, str]:
    """What stands, by code."""
    return {each["code"]: each["message"] for each in region.command("status")["conditions"]}


def measured(port: int, name: str) -> float:
    """A metric of the daemon."""
    text = httpx2.get(f"http://127.0.0.1:{port}/metrics").text
    (found,) = re.findall(rf"^syncer_{re.escape(name)} (\S+)$", text, re.MULTILINE)
    return float(found)


def test_what_is_lost_and_found_again_is_told_and_kept(pulsar_pair: PulsarPair, tmp_path: Path) -> None:
    (port,) = free_ports(1)
    path = f"/ledgers/{ledger_path(LOST)}"
    value = StoredLedgers().ledger(LOST, (1, 1, 1), (0, ["no.bookie.example:3181"])).values[path]
    with audited(pulsar_pair, tmp_path, port) as region:
        wait_until(lambda: len(kept(region)) == 1, "the first audit is taken at once")
        assert kept(region)[0].whole
        assert IN_DANGER not in conditions(region)
        with kazoo(str(pulsar_pair.clusters["us-east"].store_config["hosts"])) as zookeeper:
            zookeeper.create(path, value, makepath=True)
            try:
                wait_until(lambda: "lab: 1 ledgers have entries" in conditions(region).get(IN_DANGER, ""), "it is told")
                wait_until(lambda: measured(port, 'ledger_findings{code="entries-lost"}') == 1, "it is measured")
                region.kill()
                before = kept(region)
                region.start()
                wait_until(lambda: IN_DANGER in conditions(region), "it stands after a kill")
                assert kept(region)[-1].id <= before[0].id, "what was kept stays"
            finally:
                zookeeper.delete(path)
        wait_until(lambda: IN_DANGER not in conditions(region), "it is over with the next audit")
        wait_until(lambda: measured(port, 'ledger_findings{code="entries-lost"}') == 0, "by the metrics, too")
        wait_until(lambda: len(kept(region)) == 3, "as many are kept as shall be")
        taken = [each.taken_ms for each in kept(region)]
        assert min(new - old for new, old in pairwise(taken)) >= EVERY_S * 1000
        assert measured(port, "ledger_audited_clusters") == 1
        assert measured(port, "ledger_audit_taken_timestamp_seconds") * 1000 == pytest.approx(taken[0], abs=1)


def test_an_audit_that_takes_too_long_is_said(pulsar_pair: PulsarPair, tmp_path: Path) -> None:
    (port,) = free_ports(1)
    with audited(pulsar_pair, tmp_path, port, time_limit="1s", max_reads_per_s=1) as region:
        wait_until(lambda: "could not be audited within 1 s" in conditions(region).get(TROUBLED, ""), "it is said")
        assert kept(region) == []
        assert measured(port, "ledger_audit_troubled") == 1


def test_who_asks_from_afar_is_told_the_same(pulsar_pair: PulsarPair, tmp_path: Path, token: Path) -> None:
    (port,) = free_ports(1)
    cluster = asked_of(pulsar_pair.clusters["us-east"], tmp_path)
    topic = cluster.topic()
    cluster.fill(topic)
    with audited(pulsar_pair, tmp_path, port) as region:
        wait_until(lambda: len(kept(region)) >= 2, "two are taken")

        def asked(*words: str) -> tuple[int, Any, Any]:
            command = ["ledgers", *words, "--cluster", "lab"]
            near_code, near = region.ask(*command)
            server = ["--server", f"http://127.0.0.1:{port}", "-o", "json"]
            far = CliRunner().invoke(app, [*server, *command], env={"SYNCER_TOKEN_FILE": str(token)})
            assert far.exit_code == near_code, far.output
            return near_code, near, json.loads(far.stdout)

        first, second = (each.id for each in reversed(kept(region)[:2]))
        for words in (("show", str(first)), ("changes", str(first), str(second))):
            _, near, far = asked("history", *words)
            assert near == far
        assert near["before"]["number"] == first
        code, near, far = asked("explain", topic)
        assert (code, near["loadable"], near["ledgers"]) == (0, True, far["ledgers"])
        _, near, far = asked("audit", "--by-topic")
        assert near["findings"] == far["findings"]
        assert topic in {each["name"] for each in near["groups"]} & {each["name"] for each in far["groups"]}
