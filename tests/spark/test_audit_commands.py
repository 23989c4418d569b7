"""The commands of audits, as an operator types them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from deploy.lab.zookeeper import ZooKeeperServer
from spark_snapshot.__main__ import app
from spark_snapshot.audit.manifest import AuditManifest
from spark_snapshot.commands import WhatIfDocument, WorstSetsDocument
from syncer.ledgers.decoding.entries import ledger_entry
from syncer.ledgers.losses.impact import loss_impact
from syncer.ledgers.metadata import LedgerMetadata
from syncer.model import MetaPath
from tests.bench.ledger_values import bookie, values
from tests.spark.stores import kazoo

pytestmark = [pytest.mark.real("zookeeper")]

COUNT = 150


def configured(folder: Path, hosts: str, chroot: str) -> None:
    """A region, and a cluster with a store of its own."""
    (folder / "east.toml").write_text(
        f'region = "east"\nclusters = ["east"]\n[store]\nkind = "sqlite"\npath = "{folder}/east.db"\n'
        f'[bus]\nkind = "embedded"\npath = "{folder}/bus.db"\n[state]\npath = "{folder}/state.db"\n'
        '[cluster.green]\nservice_url = "http://127.0.0.1:1"\nbroker_service_url = "pulsar://127.0.0.1:1"\n'
        '[cluster.green.admin]\nurl = "http://127.0.0.1:1"\n'
        f'[cluster.green.store]\nkind = "zookeeper"\nhosts = "{hosts}"\nchroot = "{chroot}"\n',
        encoding="utf-8",
    )


def run(*arguments: str, code: int) -> dict[str, Any]:
    done = CliRunner().invoke(app, ["audit", *arguments, "--config", "east.toml"])
    assert done.exit_code == code, (done.stdout, done.stderr, done.exception)
    last: dict[str, Any] = json.loads(done.stdout.splitlines()[-1]) if done.stdout else {}
    return last


def test_a_cluster_is_audited_and_asked_what_a_loss_would_cost(
    spark: SparkSession, zookeeper_server: ZooKeeperServer, fresh_prefix: MetaPath, tmp_path: Path
) -> None:
    configured(tmp_path, zookeeper_server.hosts, fresh_prefix)
    held = dict(values(0, COUNT))
    decoded = [ledger_entry(path, value, None) for path, value in held.items()]
    ledgers = [each for each in decoded if isinstance(each, LedgerMetadata)]
    sound = {path: value for (path, value), each in zip(held.items(), decoded, strict=True) if each in ledgers}
    folder = str(tmp_path / "audits")
    with kazoo(zookeeper_server.hosts) as client:
        for path, value in sound.items():
            client.create(fresh_prefix + path, value, makepath=True)
        for number in range(50):
            client.create(f"{fresh_prefix}/ledgers/available/{bookie(number)}", b"", ephemeral=True, makepath=True)
        manifest = AuditManifest.model_validate(run("take", "green", "--folder", folder, "--readers", "2", code=0))
        client.create(f"{fresh_prefix}/ledgers/00/0000/L9999", b"garbage")
        client.delete(f"{fresh_prefix}/ledgers/available/{bookie(9)}")
        harmed = AuditManifest.model_validate(run("take", "green", "--folder", folder, code=3))
    up = [f"/ledgers/available/{bookie(number)}" for number in range(50) if number != 9]
    rows = {**sound, "/ledgers/00/0000/L9999": b"garbage", **dict.fromkeys(up, b"")}
    pq.write_table(pa.table({"path": list(rows), "value": list(rows.values())}), tmp_path / "rows.parquet")
    exported = AuditManifest.model_validate(
        run("take", "green", "--folder", folder, "--offline", str(tmp_path / "rows.parquet"), code=3)
    )
    assert exported.summary == harmed.summary
    assert exported.about.store.kind == "parquet-files"
    shutil.rmtree(tmp_path / "audits" / "green" / exported.id)
    assert (manifest.summary.ledgers, manifest.summary.undecodable) == (len(ledgers), {})
    assert (harmed.summary.undecodable, harmed.summary.bookies_away) == ({"ledger": 1}, (bookie(9),))

    lost = frozenset(map(bookie, range(8)))
    wanted = loss_impact(ledgers, lost)
    named = [word for each in sorted(lost) for word in ("--bookie", each)]
    found = WhatIfDocument.model_validate(run("what-if", "green", "--folder", folder, *named, code=3))
    assert (found.audit, found.complete, found.bookies) == (harmed.id, False, tuple(sorted(lost)))
    assert found.lost_entries == wanted.lost_entries > 0
    assert found.not_recoverable == len(wanted.blocked_ledgers)
    assert found.topics_lost.count == len(found.topics_lost.first) == len(wanted.lost_ledgers)
    pairs = WorstSetsDocument.model_validate(run("worst", "green", "--folder", folder, "--count", "3", code=3))
    assert (pairs.audit, pairs.tried, pairs.exact, pairs.complete) == (harmed.id, 1_225, True, False)
    for each in pairs.items:
        cost = loss_impact(ledgers, frozenset(each.bookies))
        assert each.entries == cost.lost_entries
        assert 0 <= cost.lost_bytes - each.bytes <= 3 * len(cost.lost_ledgers)  # shares are rounded set by set
        assert each.ledgers_at_least <= len(cost.lost_ledgers) <= each.ledgers_at_most
    assert len(pairs.items) == 3
    older = str(tmp_path / "audits" / "green" / manifest.id)
    spared = WhatIfDocument.model_validate(run("what-if", older, "--bookie", "nobody:3181", code=0))
    assert (spared.audit, spared.complete, spared.lost_entries) == (manifest.id, True, 0)


def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    configured(tmp_path, "127.0.0.1:1", "/x")
    run("what-if", "green", "--folder", str(tmp_path), "--bookie", "b:1", code=1)
    run("take", "blue", "--folder", str(tmp_path), code=1)
