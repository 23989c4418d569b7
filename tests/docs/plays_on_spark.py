"""How the pages are played whose commands work on Spark: for the long form."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from deploy.lab.etcd import EtcdNode
from deploy.lab.region import LabRegion, differing
from deploy.lab.software import etcd_binary
from deploy.lab.zookeeper import ZooKeeperServer
from spark_snapshot.format.layout import new_id, snapshots_in
from spark_snapshot.format.manifest import MANIFEST
from spark_snapshot.format.places import place
from syncer.bus.embedded import set_link
from syncer.dispositions import ExitCode
from syncer.model import Digest, MetaPath
from tests.docs.playing import Play
from tests.docs.stage import NAMESPACE, TENANT, TOPIC, Stage, Table
from tests.spark.cluster import standalone
from tests.spark.jvm import QUICK_JAVA
from tests.spark.stores import kazoo
from tests.support.etcd import EtcdGateway

TAKEN_S: Final = 900.0
"""Snapshots of all regions, taken at once."""
DAY_MS: Final = 86_400_000
ROWS: Final = 1000
TOPICS: Final = 20
HELD: Final = TOPICS + 3
"""Paths that three regions hold alike."""
OTHER_CHROOT: Final = "elsewhere"
GUARDS_ASIDE: Final = {"max_deletes": 1000, "max_delete_fraction": 1.0}


def quickly(stage: Stage) -> None:
    """Each command starts a Java of its own, for seconds only."""
    stage.variables |= {"JAVA_TOOL_OPTIONS": QUICK_JAVA, "SPARK_LOCAL_IP": "127.0.0.1"}


def taking(stage: Stage, **tables: Table) -> dict[str, Table]:
    """Tables of a region that takes snapshots into the folder that all regions share."""
    folder = {"folder": str(_folder(stage)), "buckets": 2}
    return {"snapshots": folder, "limits": GUARDS_ASIDE, **tables}


def take(stage: Stage, *regions: str) -> None:
    """Take a snapshot in each of these regions."""
    program = Path(sys.executable).with_name("syncer")
    environment = {**os.environ, **stage.variables}
    running = {}
    for name in regions:
        with (stage.root / f"take-{name}.log").open("wb") as log:
            running[name] = subprocess.Popen(
                [program, "--config", stage.regions[name].file, "snapshot", "take"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment,
            )
        stage.ends(running[name].kill)
    for name, process in running.items():
        assert process.wait(TAKEN_S) == 0, (stage.root / f"take-{name}.log").read_text(encoding="utf-8")


def link(stage: Stage, region: str, *, up: bool) -> None:
    """Cut or heal a region's link to the others."""
    set_link(stage.root / "regions" / "bus.db", region, up=up)


def taken_in(stage: Stage, region: str, path: str, write: Callable[[], None]) -> None:
    """Write past a daemon, and wait until it has taken that."""
    before = _stored(stage.regions[region], path)
    write()
    stage.until(lambda: _stored(stage.regions[region], path) != before, f"{region} has taken {path}")


def _folder(stage: Stage) -> Path:
    return stage.root / "srv" / "snapshots"


def _stored(region: LabRegion, path: str) -> Digest | None:
    with region.views() as views:
        register = views.register(MetaPath(path))
    return None if register is None or register.stored is None else register.stored.digest


def _held(region: LabRegion) -> int:
    """How many paths the region's store holds, as its daemon knows."""
    with region.views() as views:
        registers = views.registers(ROWS)
    return sum(each.stored_digest is not None for each in registers)


def _clusters(stage: Stage) -> list[str]:
    return [f"pulsar-{name}" for name in stage.regions]


def _policies(stage: Stage, ttl: int) -> dict[str, object]:
    """As brokers write them: what a value lacks of these would differ as a local field."""
    named = {"replication_clusters": _clusters(stage), "message_ttl_in_seconds": ttl}
    return {**named, "deleted": False, "migrated": False}


def _fill(stage: Stage, region: str, *, ttl: int) -> None:
    """A tenant, a namespace, and topics."""
    stage.put(region, TENANT, {"adminRoles": ["ops"], "allowedClusters": _clusters(stage)})
    stage.put(region, NAMESPACE, _policies(stage, ttl))
    for number in range(TOPICS):
        stage.put(region, TOPIC.replace("invoices", f"topic-{number:02}"), {"partitions": 4})


# -- snapshots: east on ZooKeeper, west on etcd, north on a file


def three_stores(stage: Stage) -> None:
    """Three regions that hold the same, each on a store of its own kind."""
    quickly(stage)
    zookeeper, etcd = _servers(stage)
    here = {"chroot": _root(stage), "hosts": zookeeper.hosts}
    there = {"namespace": _root(stage), "endpoints": [etcd.endpoint]}
    regions = (
        stage.region("east", **taking(stage, store={"kind": "zookeeper", **here})),
        stage.region("west", **taking(stage, store={"kind": "etcd", **there})),
        stage.region("north", **taking(stage)),
    )
    with kazoo(zookeeper.hosts) as client, EtcdGateway(etcd.endpoint) as gateway:
        for cluster in _clusters(stage):
            path = f"/admin/clusters/{cluster}"
            client.create(f"{_root(stage)}{path}", b"{}", makepath=True)
            gateway.put(f"{_root(stage)}{path}", b"{}")
            stage.put("north", path, {})
    for region in regions:
        region.start()
    _fill(stage, "north", ttl=60)
    stage.put("north", "/admin/policies/acme/returns", _policies(stage, 60))
    stage.until(lambda: all(_held(each) == HELD for each in regions), "all hold the same")
    stage.variables |= {
        "PATH": f"{etcd_binary().parent}:{stage.environment()['PATH']}",
        "ETCDCTL_ENDPOINTS": etcd.url,
    }
    stage.names |= {"monday": "20261116T0300", "saturday": "20261121T0300"}


def its_files(stage: Stage) -> None:
    """The folder that ZooKeeper writes stands where the page says."""
    zookeeper, _ = _servers(stage)
    (stage.root / "var" / "lib" / "zookeeper" / "version-2").symlink_to(zookeeper.data_directory / "version-2")


def another_chroot(stage: Stage) -> None:
    """The configuration of east names another part of its store, which holds next to nothing."""
    zookeeper, _ = _servers(stage)
    with kazoo(zookeeper.hosts) as client:
        for path, value in ((TENANT, b"{}"), (NAMESPACE, b"{}")):
            client.create(f"{_root(stage)}-{OTHER_CHROOT}{path}", value, makepath=True)
    _rooted(stage, _root(stage), f"{_root(stage)}-{OTHER_CHROOT}")


def apart(stage: Stage) -> None:
    """West, and then north, hear of no change in east any more; all take snapshots."""
    _rooted(stage, f"{_root(stage)}-{OTHER_CHROOT}", _root(stage))
    zookeeper, _ = _servers(stage)
    with kazoo(zookeeper.hosts) as client:
        link(stage, "west", up=False)
        client.create(f"{_root(stage)}{TOPIC}", b'{"partitions":4,"deleted":false}', makepath=True)
        stage.until(lambda: stage.get("north", TOPIC) is not None, "north has the topic")
        link(stage, "north", up=False)
        policies = json.dumps(_policies(stage, 3600)).encode()
        taken_in(stage, "east", NAMESPACE, lambda: client.set(f"{_root(stage)}{NAMESPACE}", policies))
    take(stage, "east", "west", "north")


def together(stage: Stage) -> None:
    """All hear each other again."""
    for name in ("west", "north"):
        link(stage, name, up=True)


def days_later(stage: Stage) -> None:
    """The first snapshot of east is eight days old."""
    east = snapshots_in(place(str(_folder(stage))), "east").snapshots
    first = east[0].manifest
    taken_at_ms = first.about.taken_at_ms - 8 * DAY_MS
    about = first.about.model_copy(update={"taken_at_ms": taken_at_ms})
    manifest = first.model_copy(update={"id": new_id(taken_at_ms, first.id[-6:]), "about": about}).sealed()
    old = _folder(stage) / "east" / first.id
    (old / MANIFEST).write_text(manifest.text(), encoding="utf-8")
    old.rename(old.with_name(manifest.id))
    stage.names |= {"monday": manifest.id[:13], "saturday": east[-1].id}


def _servers(stage: Stage) -> tuple[ZooKeeperServer, EtcdNode]:
    zookeeper, etcd = stage.server
    return zookeeper, etcd


def _root(stage: Stage) -> str:
    return f"/{stage.root.name}"


def _rooted(stage: Stage, before: str, after: str) -> None:
    file = stage.regions["east"].file
    text = file.read_text(encoding="utf-8")
    assert f'"{before}"' in text
    file.write_text(text.replace(f'"{before}"', f'"{after}"'), encoding="utf-8")


# -- make-regions-equal


def two_that_differ(stage: Stage) -> None:
    """Two regions that were changed while they could not hear each other, and the snapshots that they took then."""
    quickly(stage)
    _, west = stage.pair(**taking(stage))
    _fill(stage, "east", ttl=60)
    last = TOPIC.replace("invoices", f"topic-{TOPICS - 1:02}")
    stage.until(lambda: _held(west) == TOPICS + 2, "west has all")
    link(stage, "west", up=False)
    taken_in(stage, "east", NAMESPACE, lambda: stage.put("east", NAMESPACE, _policies(stage, 3600)))
    taken_in(stage, "east", last, lambda: stage.delete("east", last))
    tenant = {"adminRoles": ["dev", "ops"], "allowedClusters": _clusters(stage)}
    taken_in(stage, "west", TENANT, lambda: stage.put("west", TENANT, tenant))
    take(stage, "east", "west")


def hearing(stage: Stage) -> None:
    """The links are up again."""
    link(stage, "west", up=True)


def equal(stage: Stage) -> None:
    """What was told has come to all."""
    east, west = stage.regions.values()
    stage.until(lambda: not differing((east, west)), "both hold the same")


# -- spark-anywhere


def on_a_cluster(stage: Stage) -> None:
    """A standalone master with two workers, for a region whose configuration stands in both places of the page."""
    quickly(stage)
    for name in ("east", "west"):
        stage.region(name, **taking(stage))
    _fill(stage, "east", ttl=60)
    _fill(stage, "west", ttl=3600)
    for link_to_it in ("etc/pulsar-syncer/config.toml", "config.toml"):
        (stage.root / link_to_it).symlink_to(stage.regions["east"].file)
    stage.names["python"] = sys.executable
    cluster = ExitStack()
    stage.ends(cluster.close)
    stage.names["master"] = cluster.enter_context(standalone(stage.root, memory="2g"))


def taken_in_west(stage: Stage) -> None:
    """There is a snapshot of west too."""
    take(stage, "west")


ON_SPARK: Final = {
    "how-to/snapshots": (
        ("zookeeper_server", "etcd_server"),
        Play(
            prepare=three_stores,
            before={
                "syncer snapshot take --config east.toml --offline *": its_files,
                "syncer snapshot take --config east.toml": another_chroot,
                "syncer snapshot diff east west north --fields": apart,
                "syncer snapshot sync repair.jsonl": together,
                "syncer snapshot diff --since Monday *": days_later,
            },
            answers={
                "syncer snapshot sync repair.jsonl": "east",
                "syncer snapshot restore 20261116T0300 --namespace acme/orders": "east",
            },
            endings={
                "syncer snapshot take --config east.toml": ExitCode.REFUSED,
                "syncer snapshot restore * --save *": ExitCode.DIFFERENT,
            },
            places={"20261116T0300": "{monday}", "20261121T0300": "{saturday}"},
        ),
    ),
    "how-to/make-regions-equal": (
        (),
        Play(
            prepare=two_that_differ,
            before={
                "syncer snapshot sync * --reason *": hearing,
                "syncer snapshot reverse *": equal,
            },
            answers={"syncer snapshot sync * --reason *": "east", "syncer plan apply *": "east"},
            endings={"syncer snapshot reverse *": ExitCode.DIFFERENT},
        ),
    ),
    "how-to/spark-anywhere": (
        (),
        Play(
            prepare=on_a_cluster,
            before={"python -m spark_snapshot diff *": taken_in_west},
            places={
                "s3a://meta/snapshots": "/srv/snapshots",
                "spark://spark.example:7077": "{master}",
                "/opt/pulsar-syncer/bin/python": "{python}",
            },
        ),
    ),
}
"""Page → the fixtures of its servers, and how it is played."""
