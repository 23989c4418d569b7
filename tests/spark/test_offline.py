"""Snapshots of stores that are not asked: taken by the command from the files that real servers have written."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from deploy.lab.etcd import EtcdNode
from deploy.lab.zookeeper import ZooKeeperServer
from spark_snapshot.format import tables
from spark_snapshot.format.layout import open_snapshot
from spark_snapshot.format.places import place
from syncer.documents.snapshots import SnapshotDiffDocument, SnapshotDocument
from syncer.model import MetaPath
from tests.spark.stores import EVERYTHING, RESOURCES, fill_zookeeper, kazoo
from tests.spark.test_end_to_end import good, run
from tests.support import bolt
from tests.support.etcd import EtcdGateway, save_snapshot

pytestmark = pytest.mark.real("zookeeper", "etcd")

NEWER = MetaPath("/admin/policies/t0/n00")
GONE = MetaPath("/admin/policies/t1/n19")


def configure(folder: Path, name: str, store: str) -> None:
    (folder / f"{name}.toml").write_text(
        f'region = "{name}"\nclusters = ["{name}"]\n[store]\n{store}\n'
        f'[bus]\nkind = "embedded"\npath = "{folder}/bus.db"\n[state]\npath = "{folder}/{name}-state.db"\n'
        f'[snapshots]\nfolder = "{folder}/snapshots"\n',
        encoding="utf-8",
    )


def taken(files: Path, region: str) -> SnapshotDocument:
    text = good(run("take", "--offline", str(files), "--buckets", "2", "-o", "json", config=region))
    return SnapshotDocument.model_validate_json(text)


def rows(spark: SparkSession, document: SnapshotDocument) -> dict[str, bytes]:
    found = tables.rows(spark, open_snapshot(place(document.place))).select("path", "value").collect()
    return {row["path"]: bytes(row["value"]) for row in found}


def test_two_stores_are_compared_by_the_files_that_they_have_written(
    spark: SparkSession,
    tmp_path: Path,
    zookeeper_server: ZooKeeperServer,
    etcd_server: EtcdNode,
    fresh_prefix: MetaPath,
) -> None:
    with kazoo(zookeeper_server.hosts) as client:
        client.create(fresh_prefix, b"")
        fill_zookeeper(client, fresh_prefix)
    configure(tmp_path, "here", f'kind = "zookeeper"\nhosts = "127.0.0.1:1"\nchroot = "{fresh_prefix}"')
    configure(tmp_path, "there", f'kind = "etcd"\nendpoints = ["127.0.0.1:1"]\nnamespace = "{fresh_prefix}"')
    with EtcdGateway(etcd_server.endpoint) as gateway:
        for path, value in EVERYTHING.items():
            gateway.put(fresh_prefix + path, value)
        gateway.put(fresh_prefix + NEWER, b'{"message_ttl_in_seconds":77}')
        gateway.delete(fresh_prefix + GONE)
        revision = gateway.revision()
    saved = save_snapshot(etcd_server.endpoint, tmp_path / "saved.db")

    here, there = taken(zookeeper_server.data_directory, "here"), taken(saved, "there")
    assert (here.store, here.store_id, here.registers) == ("zookeeper-files", "the-store", False)
    assert (there.store, there.store_id, there.registers) == ("etcd-file", str(saved), False)
    assert there.revision_before == there.revision_after == str(revision)
    assert rows(spark, here) == RESOURCES
    assert rows(spark, there) == {
        path: b'{"message_ttl_in_seconds":77}' if path == NEWER else value
        for path, value in RESOURCES.items()
        if path != GONE
    }
    found = SnapshotDiffDocument.model_validate_json(good(run("diff", "here", "there", "-o", "json", config="here"), 3))
    assert {each.path: each.cls for each in found.items} == {NEWER: "differs", GONE: "only-in"}
    assert found.same == len(RESOURCES) - 2


def test_files_that_cannot_be_read_whole_leave_no_snapshot(spark: SparkSession, tmp_path: Path) -> None:
    del spark  # the command uses it
    configure(tmp_path, "here", 'kind = "zookeeper"\nhosts = "127.0.0.1:1"')
    configure(tmp_path, "there", 'kind = "etcd"\nendpoints = ["127.0.0.1:1"]')
    whole = bolt.database([bolt.write("/admin/policies/t", b"{}", 2)])
    files = {
        "cut.db": (bolt.sealed(whole)[:-1], 1, "it was cut off"),
        "member.db": (whole, 78, "etcdctl snapshot save"),
        "notes.txt": (b"no database", 78, "is no snapshot of etcd"),
    }
    for name, (content, code, said) in files.items():
        (tmp_path / name).write_bytes(content)
        refused = run("take", "--offline", name, config="there")
        assert (refused.exit_code, said in refused.stderr) == (code, True), refused.stderr
    (tmp_path / "empty").mkdir()
    for files_of, region, said in (
        ("empty", "here", "holds no snapshot of ZooKeeper"),
        ("empty", "there", "a folder of zookeeper"),
        ("member.db", "here", "a file of etcd"),
        ("not there", "here", "there is no folder"),
    ):
        refused = run("take", "--offline", files_of, config=region)
        assert (refused.exit_code, said in refused.stderr) == (78, True), refused.stderr
    assert not (tmp_path / "snapshots").exists()
