"""Two regions with daemons, on a real ZooKeeper and a real etcd: registers, tombstones, and a plan to tell."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import anyio
import pytest
from kazoo.client import KazooClient
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from deploy.lab.etcd import EtcdNode
from deploy.lab.zookeeper import ZooKeeperServer
from syncer.cli.main import app
from syncer.config import load
from syncer.documents.plans import AppliedDocument
from syncer.documents.snapshots import SnapshotDiffDocument, SnapshotDocument
from syncer.model import EventType, MetaPath
from syncer.paths import scaffold
from syncer.plan.diffing import pictured
from syncer.planning.sources import LiveSide
from syncer.repair.repair_file import RepairFile
from syncer.state.views.region import Views
from syncer.stores.contract import Delete, Put
from syncer.waiting import WAIT_S, wait_until
from tests.spark.test_end_to_end import good, run
from tests.suites import REPOSITORY
from tests.support.living import living
from tests.support.planning import contents, fill, resources, value

pytestmark = pytest.mark.real("zookeeper", "etcd")

SPACE = MetaPath("/admin/policies/acme/orders")
GONE = MetaPath("/admin/partitioned-topics/acme/orders/persistent/topic-00003")
IDLE = MetaPath("/admin/policies/idle")
LATER = MetaPath("/admin/partitioned-topics/acme/orders/persistent/topic-00004")
OWN = MetaPath("/admin/policies/acme/empty")


@contextmanager
def daemon(folder: Path, region: str) -> Iterator[None]:
    """The region's daemon, until the end of the block."""
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    command = [sys.executable, "-m", "syncer.demo.region", str(folder / f"{region}.toml"), "0"]
    file = folder / f"{region}.log"
    with file.open("ab") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=environment)
        try:
            with living(process, file, f"the daemon of {region}"):
                yield
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(WAIT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(WAIT_S)


def configure(folder: Path, name: str, store: str) -> None:
    (folder / f"{name}.toml").write_text(
        f'region = "{name}"\nclusters = ["{name}"]\nheartbeat_interval = "1s"\n[store]\n{store}\n'
        f'[bus]\nkind = "embedded"\npath = "{folder}/bus.db"\n[state]\npath = "{folder}/{name}-state.db"\n'
        "[api]\nenabled = false\n[limits]\nmax_deletes = 1000\nmax_delete_fraction = 1.0\n",
        encoding="utf-8",
    )


def held(folder: Path, name: str) -> Mapping[MetaPath, bytes]:
    """All that a region's store holds."""
    config = load(folder / f"{name}.toml", file_only=True)

    async def read() -> Mapping[MetaPath, bytes]:
        store = config.make_store()
        await store.open()
        try:
            return await contents(LiveSide(store, config.settings().region, config.compiled_scope()))
        finally:
            await store.close()

    return anyio.run(read)


def write(folder: Path, name: str, puts: Mapping[MetaPath, bytes], deletes: Sequence[MetaPath] = ()) -> None:
    """Write as any program beside the daemon does."""
    config = load(folder / f"{name}.toml", file_only=True)

    async def work() -> None:
        store = config.make_store()
        await store.open()
        try:
            entries = await store.read([*puts, *deletes])
            new = {path: stored for path, stored in puts.items() if entries[path] is None}
            await fill(store, new)
            for path, entry in entries.items():
                if entry is not None and path in puts:
                    put = Put(path=path, value=puts[path], expected=entry.revision, scaffold=scaffold(path))
                    await store.apply([put])
                elif entry is not None:
                    await store.apply([Delete(path=path, expected=entry.revision)])
        finally:
            await store.close()

    anyio.run(work)


def stored(folder: Path, name: str, path: MetaPath) -> bytes | None:
    """Digest that the region's daemon says its store holds."""
    views = Views.open(f"sqlite:///{folder}/{name}-state.db")
    try:
        register = views.register(path)
    finally:
        views.close()
    return None if register is None or register.stored is None else register.stored.digest


def test_daemons_registers_decide_and_what_they_have_not_seen_is_not_told(
    spark: SparkSession,
    tmp_path: Path,
    zookeeper_server: ZooKeeperServer,
    etcd_server: EtcdNode,
    fresh_prefix: MetaPath,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    client = KazooClient(hosts=zookeeper_server.hosts)
    client.start(timeout=WAIT_S)
    client.ensure_path(fresh_prefix)
    client.stop()
    client.close()
    configure(tmp_path, "east", f'kind = "zookeeper"\nhosts = "{zookeeper_server.hosts}"\nchroot = "{fresh_prefix}"')
    configure(tmp_path, "west", f'kind = "etcd"\nendpoints = ["{etcd_server.endpoint}"]\nnamespace = "{fresh_prefix}"')
    first = {
        path: stored.replace(b'"global"', b'"east", "west"') for path, stored in resources("acme", topics=8).items()
    }
    first[IDLE] = b'{"adminRoles":[],"allowedClusters":["east","west"]}'
    clusters = {MetaPath(f"/admin/clusters/{name}"): b"{}" for name in ("east", "west")}
    write(tmp_path, "east", {**clusters, **first})
    write(tmp_path, "west", clusters)
    with ExitStack() as stack:
        stack.enter_context(daemon(tmp_path, "east"))
        with daemon(tmp_path, "west"):
            wait_until(lambda: len(held(tmp_path, "west")) == len(first), "west has all of it")
        changed = value(replication_clusters=["east", "west"], message_ttl_in_seconds=7)
        before = stored(tmp_path, "east", SPACE)
        write(tmp_path, "east", {LATER: b'{"partitions":6}'}, [GONE, IDLE])
        write(tmp_path, "east", {SPACE: changed})
        wait_until(
            lambda: stored(tmp_path, "east", SPACE) != before and stored(tmp_path, "east", GONE) is None,
            "east's daemon has seen the last writes",
        )
    write(tmp_path, "west", {OWN: value(replication_clusters=["east", "west"], message_ttl_in_seconds=1)})

    folder = ("--folder", str(tmp_path / "snapshots"))
    for name in ("east", "west"):
        text = good(run("take", "--buckets", "2", *folder, "-o", "json", config=name))
        taken = SnapshotDocument.model_validate_json(text)
        assert taken.registers
        assert taken.revision_before <= taken.revision_after
        assert taken.unseen == (1 if name == "west" else 0)
    text = good(run("diff", "east", "west", *folder, "--plan", "repair.jsonl", "-o", "json"), 3)
    found = SnapshotDiffDocument.model_validate_json(text)
    assert {each.path: (each.cls, each.winner, each.origin) for each in found.items} == {
        SPACE: ("differs", "east", "register"),
        GONE: ("deleted", "east", "register"),
        IDLE: ("deleted", "east", "register"),
        LATER: ("differs", "east", "register"),
        OWN: ("differs", "west", "unseen"),
    }
    with RepairFile(tmp_path / "repair.jsonl").reading() as (_, lines):
        events = {each.path: each.event for each in lines}
    assert events[OWN] is None, "its own daemon finds it"
    space, gone = events[SPACE], events[GONE]
    assert space is not None
    assert gone is not None
    assert json.loads(space.value or b"")["message_ttl_in_seconds"] == 7
    assert space.stamp.region == "east"
    assert gone.type is EventType.DELETED

    with daemon(tmp_path, "east"), daemon(tmp_path, "west"):
        good(run("sync", "repair.jsonl", "--yes"))
        repaired = {SPACE: changed, IDLE: None, LATER: b'{"partitions":6}'}
        alike(tmp_path, repaired)
        write(tmp_path, "west", {LATER: b'{"partitions":8}'})
        dry = run("reverse", "repair.jsonl", *folder, "--delete", "--dry-run", "-o", "json", config="west")
        assert AppliedDocument.model_validate_json(good(dry)).counts["applied"] == 2
        assert "1 paths hold another version than the repair's, and stay as they are" in dry.stderr
        assert LATER in dry.stderr
        good(run("reverse", "repair.jsonl", *folder, "--save", "back.json", config="west"), 3)
        good(CliRunner().invoke(app, ["plan", "apply", "back.json", "--yes", "--config", "west.toml"]))
        alike(tmp_path, {SPACE: first[SPACE], IDLE: first[IDLE], LATER: b'{"partitions":8}'})
        refused = run("reverse", "repair.jsonl", *folder)
        assert (refused.exit_code, "changes nothing in region east" in refused.stderr) == (5, True)


def alike(folder: Path, wanted: Mapping[MetaPath, bytes | None]) -> None:
    """Wait until both regions hold these values."""

    def are() -> bool:
        stores = [held(folder, name) for name in ("east", "west")]
        return all(
            pictured({path: store[path] for path in wanted if path in store})
            == pictured({path: stored for path, stored in wanted.items() if stored is not None})
            for store in stores
        )

    def shown() -> object:
        return {name: {path: held(folder, name).get(path) for path in wanted} for name in ("east", "west")}

    wait_until(are, "both regions hold them", shown=shown)
