"""Questions about ledgers on etcd write nothing there: its revision stays, and no lease is made."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from typer.testing import CliRunner

from deploy.lab.etcd import EtcdNode
from syncer.cli.main import app
from tests.support.etcd import EtcdGateway
from tests.support.logs import logging_restored
from tests.support.stored_ledgers import StoredLedgers

pytestmark = pytest.mark.real("etcd")

TOPIC: Final = "persistent://acme/orders/t"
ASKED: Final = (
    ("audit", "--by-topic"),
    ("explain", "1"),
    ("explain", TOPIC),
    ("what-if", "a"),
    ("what-if", "--any", "2"),
    ("decommission", "a"),
    ("under-replicated",),
    ("orphans", "--all-clusters", "--apart", "1"),
)


@pytest.fixture
def etcd(etcd_server: EtcdNode) -> Iterator[EtcdGateway]:
    """A client of etcd, which holds a cluster's ledgers."""
    stored = StoredLedgers().bookies("abc").topic(TOPIC, 1, 2).mark(1, "d")
    stored.ledger(1, (3, 2, 2), (0, "abd")).ledger(2, (3, 2, 2), (0, "bcd"), last=None)
    with EtcdGateway(f"127.0.0.1:{etcd_server.port}") as gateway:
        for path, value in stored.values.items():
            gateway.put(path, value)
        yield gateway
        for path in stored.values:
            gateway.delete(path)


def standing(etcd: EtcdGateway) -> tuple[Any, Any]:
    """The revision, and the leases that there are."""
    return etcd.call("maintenance/status", {})["header"]["revision"], etcd.call("lease/leases", {}).get("leases", [])


def test_no_question_writes(etcd: EtcdGateway, etcd_server: EtcdNode, tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text(
        f'region = "here"\n[store]\nkind = "sqlite"\npath = "{tmp_path}/store.db"\n'
        f'[bus]\nkind = "embedded"\npath = "{tmp_path}/bus.db"\n'
        '[cluster.lab]\nservice_url = "http://lab:8080"\nbroker_service_url = "pulsar://lab:6650"\n'
        '[cluster.lab.admin]\nurl = "http://lab:8080"\n'
        f'[cluster.lab.store]\nkind = "etcd"\nendpoints = ["127.0.0.1:{etcd_server.port}"]\n',
        encoding="utf-8",
    )
    before = standing(etcd)
    for words in ASKED:
        with logging_restored():
            found = CliRunner().invoke(
                app, ["-c", str(config), "ledgers", *words, "--cluster", "lab"], catch_exceptions=False
            )
        assert found.exit_code in {0, 3}, found.output
        assert "NOT WHOLE" not in found.output
    assert standing(etcd) == before
    etcd.put("/ledgers/cookies/e", b"")
    assert standing(etcd) != before, "a write would be seen"
    etcd.delete("/ledgers/cookies/e")
