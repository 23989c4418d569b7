"""Scalable topics in a real ZooKeeper that is a cluster's own: counted, and guarded from what other regions do."""

from __future__ import annotations

from pathlib import Path

import pytest

from deploy.lab.zookeeper import ZooKeeperServer
from syncer.inspection.status import collect
from syncer.model import MetaPath
from syncer.waiting import until
from tests.real.moved_store import TOPIC, begin, held, opened, put, sites, syncer, zookeeper_at
from tests.shell.region import NAMESPACE

pytestmark = pytest.mark.real("zookeeper")

RECORD = b'{"epoch":0,"nextSegmentId":2,"segments":{},"properties":{}}'
OTHER = MetaPath("/admin/policies/acme/other")


async def test_what_is_scalable_here_is_counted_and_neither_grown_nor_deleted_from_afar(
    zookeeper_server: ZooKeeperServer, tmp_path: Path
) -> None:
    store = zookeeper_at(zookeeper_server.hosts, "scalable")
    with sites(tmp_path) as make:
        east, west = make("east", "east", store=store), make("west", "west")
        async with opened(east.config()) as zookeeper:
            for path in ("/ledgers/LAYOUT", "/topics/acme/orders/created", "/topics/acme/other/only"):
                await put(zookeeper, MetaPath(path), RECORD)
            async with east.running(), west.running():
                await begin(east, west, zookeeper)
                await put(zookeeper, OTHER, b'{"replication_clusters":["east","west"]}')
                await until(lambda: west.get(OTHER), "the namespace arrives")
                status = east.ask(lambda views: collect(views, east.config()))
                assert status.scalable_topics is not None
                assert status.scalable_topics.namespaces == {"acme/orders": 1, "acme/other": 1}
                file = east.folder / "east.yaml"
                file.write_text(east.dumped(), encoding="utf-8")
                shown = (await syncer(east, file, "status")).stdout
                assert b"2 in 2 namespaces, not carried" in shown
                other = west.folder / "west.yaml"
                other.write_text(west.dumped(), encoding="utf-8")
                differing = await syncer(east, file, "diff", "--with", str(other), accept=(0, 3))
                assert b"region east: 2 scalable topics (topic://), not carried" in differing.stderr
                assert differing.stderr.count(b"scalable") == 1

                west.writer.put(TOPIC, b'{"partitions":8}')
                await until(lambda: TOPIC in east.holds(), "the growth is held")
                assert east.holds()[TOPIC].hold.reason == "scalable-topic"
                west.writer.delete(OTHER)
                await until(lambda: OTHER in east.holds(), "the delete is held")
                assert east.holds()[OTHER].hold.reason == "has-topics"
                stands = await held(zookeeper)
                assert stands[TOPIC] == b'{"partitions":4}'
                assert {NAMESPACE, OTHER} <= stands.keys()
                await east.decide("confirm", TOPIC)
                await until(lambda: TOPIC not in east.holds(), "an operator may let it pass")
