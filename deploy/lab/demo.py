"""``python -m deploy.lab.demo``: two real Pulsar clusters that share nothing, and the daemons that keep them equal.

Everything is started on free loopback ports and removed at the end, however that comes. The exit status says whether
the story held.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
import time
from pathlib import Path

from deploy.lab.playing import play
from deploy.lab.pulsar import ClusterSettings, PulsarCluster, StoreKind, bring_up
from deploy.lab.region import LabRegion
from deploy.lab.story import EAST, WEST, Story
from syncer.demo.screen import Screen


def main() -> int:
    """Play the story; 0 when all of it held."""
    title = (
        "[bold]pulsar-syncer: two real Pulsar clusters, one story.[/] us-east keeps its metadata in ZooKeeper,"
        " us-west in etcd; they share nothing."
    )
    return play("demo-pulsar", title, _set_up)


def _set_up(screen: Screen, stack: contextlib.ExitStack) -> Story:
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="syncer-demo-pulsar-")))
    # A broker would copy a new partitioned topic to the peer by itself; here only pulsar-syncer does.
    broker = {"createTopicToRemoteClusterForReplication": "false"}
    clusters = {
        name: PulsarCluster(folder / name, ClusterSettings(name=name, store=store, broker=broker), leashed=True)
        for name, store in ((EAST, StoreKind.ZOOKEEPER), (WEST, StoreKind.ETCD))
    }
    screen.say("starting a store, a bookie and a broker for each: some 20 seconds on two cores")
    for cluster in clusters.values():
        stack.callback(cluster.stop)
    began = time.monotonic()
    bring_up(list(clusters.values()))
    screen.say(f"both clusters are up after {time.monotonic() - began:.0f} s, and know each other's addresses")
    regions = {
        name: LabRegion.beside(cluster, folder / f"{name}-syncer", scope={}, limits={})
        for name, cluster in clusters.items()
    }
    for region in regions.values():
        stack.callback(region.stop)
    return Story(clusters, regions, screen)


if __name__ == "__main__":
    sys.exit(main())
