"""``python -m deploy.lab.demo``: two real Pulsar clusters that share nothing, and the daemons that keep them equal.

``--versions 5.0.0-M1,4.2.4`` gives us-east and us-west their versions of Pulsar; one version alone is that of both.
us-west keeps its metadata in etcd where its version can, else in ZooKeeper as us-east does.

Everything is started on free loopback ports and removed at the end, however that comes. The exit status says whether
the story held.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from deploy.lab.pulsar import ClusterSettings, PulsarCluster, StoreKind, bring_up
from deploy.lab.region import LabRegion
from deploy.lab.releases.assembled import home_of
from deploy.lab.releases.versions import VersionRefused, release
from deploy.lab.software import PULSAR_VERSION
from deploy.lab.stories.playing import play
from deploy.lab.stories.two_clusters import BOTH, EAST, WEST, Story
from syncer.demo.screen import Screen


def main(arguments: Sequence[str] | None = None) -> int:
    """Play the story; 0 when all of it held."""
    parser = argparse.ArgumentParser(prog="python -m deploy.lab.demo", description=__doc__)
    parser.add_argument("--versions", type=_versions, default=_versions(PULSAR_VERSION), metavar="VERSION[,VERSION]")
    versions: Mapping[str, str] = parser.parse_args(arguments).versions
    kept = {name: _settings(name, version).store.label for name, version in versions.items()}
    title = (
        f"[bold]pulsar-syncer: two real Pulsar clusters, one story.[/] us-east keeps its metadata in {kept[EAST]},"
        f" us-west in {kept[WEST]}; they share nothing."
    )
    return play("demo-pulsar", title, partial(_set_up, versions))


def _versions(word: str) -> dict[str, str]:
    versions = word.split(",")
    if len(versions) > len(BOTH):
        raise argparse.ArgumentTypeError(f"{word!r} is more than two versions")
    try:
        for version in versions:
            release(version)
    except VersionRefused as exc:
        raise argparse.ArgumentTypeError(str(exc)) from exc
    return {EAST: versions[0], WEST: versions[-1]}


def _settings(name: str, version: str) -> ClusterSettings:
    """The story writes past us-east's broker into a ZooKeeper; us-west has another store where its version allows."""
    store = StoreKind.ETCD if name == WEST and release(version).etcd else StoreKind.ZOOKEEPER
    # A broker would copy a new partitioned topic to the peer by itself; here only pulsar-syncer does.
    broker = {"createTopicToRemoteClusterForReplication": "false"}
    return ClusterSettings(name=name, version=version, store=store, broker=broker)


def _set_up(versions: Mapping[str, str], screen: Screen, stack: contextlib.ExitStack) -> Story:
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="syncer-demo-pulsar-")))
    clusters = {
        name: PulsarCluster(folder / name, _settings(name, version), leashed=True) for name, version in versions.items()
    }
    if set(versions.values()) != {PULSAR_VERSION}:
        told = " and ".join(f"Pulsar {version} in {name}" for name, version in versions.items())
        screen.say(f"{told}: what is missing of it is fetched with Maven, which takes a minute or some")
        for version in versions.values():
            home_of(version)
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
