"""Two real Pulsar clusters that were driven apart are compared by snapshots and made equal, while people write on."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest
from kazoo.client import KazooClient
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from deploy.lab.region import LabRegion, differing
from syncer.cli.main import app
from syncer.log import configure
from syncer.model import MetaPath
from syncer.paths import POLICIES, tenant_path
from syncer.waiting import wait_until
from tests.conftest import PulsarPair
from tests.support.driven_apart import bus_loses_all
from tests.support.logs import logging_restored
from tests.support.synced import BOTH, Side, Synced, bus_topic, tenant

pytestmark = pytest.mark.real("pulsar", "zookeeper", "etcd")

OURS: Final = f"snapshots-{os.getpid()}-"
RULES: Final = [{"pattern": f"{POLICIES}/{OURS}*{below}", "direction": "both"} for below in ("", "/**")]
SELDOM: Final = "1h"
"""Regions compare what they know when they hear from each other: not within this test."""
SKEW_S: Final = 1
"""How far clocks may differ."""
WRITES_PER_S: Final = 20


@pytest.fixture
def pair(pulsar_pair: PulsarPair, tmp_path: Path) -> Iterator[Synced]:
    """Both clusters in sync, as regions of this test's own."""
    topic, clusters = bus_topic("bus-of-snapshots"), pulsar_pair.clusters
    east, west = (
        Side(
            clusters[name],
            LabRegion.beside(
                clusters[name],
                tmp_path / name,
                name=f"snapshots-{name}",
                topic=topic,
                heartbeat=SELDOM,
                scope={"rules": RULES},
                limits={"min_deletes": 1000, "max_clock_skew": f"{SKEW_S}s"},
                snapshots={"folder": str(tmp_path / "snapshots")},
            ),
        )
        for name in BOTH
    )
    with logging_restored(), Synced(east, west, topic).over_its_topic() as synced:
        configure(level="error", form="console")
        synced.start()
        yield synced


def path_of(name: str) -> MetaPath:
    return tenant_path(OURS + name)


def value(*roles: str) -> bytes:
    return json.dumps(tenant(*roles)).encode()


@contextmanager
def somebody_writing(pair: Synced, path: MetaPath) -> Iterator[list[bytes]]:
    """Somebody goes on writing to the store of ``east``; what was acknowledged, in its order."""
    done, written = threading.Event(), [value("w0")]

    def write() -> None:
        with pair.zookeeper() as zookeeper:
            while not done.wait(1 / WRITES_PER_S):
                following = value(f"w{len(written)}")
                zookeeper.set(path, following)
                written.append(following)

    with pair.zookeeper() as zookeeper:
        zookeeper.create(path, written[0])
    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield written
    finally:
        done.set()
        thread.join(30)
        assert not thread.is_alive()


def snapshot(side: Side, *words: str, code: int = 0) -> Any:
    """``syncer snapshot WORDS -o json`` on this region, in the session of the tests."""
    result = CliRunner().invoke(app, ["snapshot", *words, "-o", "json", "--config", str(side.region.file)])
    assert result.exit_code == code, (result.stdout, result.stderr, result.exception)
    return json.loads(result.stdout)


def knows_all(side: Side) -> bool:
    """Whether the region's database is older than a snapshot of now, by as much as the clocks may differ."""
    with side.region.views() as views:
        return time.time() >= views.identity().generation + SKEW_S


def drive_apart(pair: Synced, zookeeper: KazooClient, kept: list[MetaPath]) -> dict[MetaPath, bytes | None]:
    """Both regions change, and neither hears of the other; what the group has to end with."""
    updated, both, deleted = kept[:10], kept[10:13], kept[13:15]
    wanted: dict[MetaPath, bytes | None] = {}
    with bus_loses_all(pair):
        for name in [path.rpartition("/")[2] for path in both]:
            pair.west.send("POST", f"tenants/{name}", tenant("west"))
        wait_until(pair.west.region.quiet, "us-west has stamped its own")
        for path in (*updated, *both):
            zookeeper.set(path, value("east"))
            wanted[path] = value("east")
        for path in deleted:
            zookeeper.delete(path)
            wanted[path] = None
        for number in range(8):
            path = path_of(f"only-east-{number}")
            zookeeper.create(path, value("east"))
            wanted[path] = value("east")
        large, stored = path_of("large"), value("x" * 1_000_000)
        zookeeper.create(large, stored)
        wanted[large] = stored
        for number in range(4):
            name = f"{OURS}only-west-{number}"
            pair.west.send("PUT", f"tenants/{name}", tenant("west"))
            wanted[tenant_path(name)] = value("west")
    return wanted


def test_clusters_that_were_driven_apart_are_made_equal_while_people_write_on(
    pair: Synced, spark: SparkSession, tmp_path: Path
) -> None:
    del spark  # the commands use it
    kept = [path_of(f"kept{number:02}") for number in range(30)]
    plan = str(tmp_path / "repair.jsonl")
    with pair.zookeeper() as zookeeper:
        for path in kept:
            zookeeper.create(path, value("first"))
        wait_until(lambda: set(kept) <= pair.west.region.picture().keys(), "all are in us-west")
        wait_until(lambda: all(map(knows_all, pair.sides)), "the databases are old enough for what is taken next")
        wanted = drive_apart(pair, zookeeper, kept)
        apart = differing((pair.east.region, pair.west.region))
        assert apart == wanted.keys(), "each region has what the other has not heard of"

        busy, again = path_of("busy"), kept[0]
        with somebody_writing(pair, busy) as written:
            for side in pair.sides:
                taken = snapshot(side, "take", "--buckets", "2", "--progress", "none")
                assert taken["registers"] is True
            zookeeper.set(again, value("after the snapshot"))
            wanted[again] = value("after the snapshot")
            found = snapshot(
                pair.west,
                "diff",
                *[side.region.name for side in pair.sides],
                "--progress",
                "none",
                "--plan",
                plan,
                code=3,
            )
            assert {each["path"] for each in found["items"]} - {busy} == apart
            dry = snapshot(pair.west, "sync", plan, "--dry-run")
            assert dry["paths"] == len(found["items"])
            assert apart - {again} <= differing((pair.east.region, pair.west.region)), "a dry run changes nothing"

            began = time.monotonic()
            done = snapshot(pair.west, "sync", plan, "--yes", "--allow-deletes")
            assert (done["state"], done["refused"], done["done"]) == ("done", 0, done["total"])
            wait_until(
                lambda: not differing((pair.east.region, pair.west.region)) - {busy}, "the clusters hold the same"
            )
            took = time.monotonic() - began
        wanted[busy] = written[-1]
    wait_until(lambda: not differing((pair.east.region, pair.west.region)), "also what was written all the time")
    held = pair.west.region.entries()
    roles = {path: sorted(json.loads(held[path])["adminRoles"]) if path in held else None for path in wanted}
    assert roles == {path: None if each is None else json.loads(each)["adminRoles"] for path, each in wanted.items()}
    assert [pair.west.roles(path.rpartition("/")[2]) for path in (kept[1], kept[13])] == [["east"], None]
    kept_aside = {
        tuple(json.loads(row.value)["adminRoles"])
        for path in kept[10:13]
        for side in pair.sides
        for row in side.conflicts(path)
        if row.value is not None
    }
    assert kept_aside == {("west",)}, "who lost is kept whole"
    print(
        f"{len(apart)} paths differed between two live clusters; compared by snapshots and told again: equal "
        f"{took:.1f} s after 'snapshot sync' began, while {len(written)} other writes went on; {done['told']} told, "
        f"{done['superseded']} superseded"
    )
