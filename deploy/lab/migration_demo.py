"""``python -m deploy.lab.migration_demo``: clients are moved from one real Pulsar cluster to another while they work.

Everything is started on free loopback ports and removed at the end, however that comes. The exit status says whether
nobody was harmed.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from deploy.lab.pulsar import ClusterSettings, PulsarCluster, bring_up
from deploy.lab.region import LabRegion
from deploy.lab.stories.migration import MigrationStory
from deploy.lab.stories.playing import play
from syncer.demo.screen import Screen


def main() -> int:
    """Play the story; 0 when nobody was harmed whom the product has moved."""
    title = (
        "[bold]pulsar-syncer: the clients of one Pulsar cluster are moved to another while they work.[/] Every message"
        " is counted at its publisher and at each subscription."
    )
    return play("demo-migration", title, _set_up)


def _set_up(screen: Screen, stack: contextlib.ExitStack) -> MigrationStory:
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="syncer-demo-migration-")))
    blue, green = (PulsarCluster(folder / name, ClusterSettings(name=name), leashed=True) for name in ("blue", "green"))
    screen.say("starting a store, a bookie and a broker for each: some 20 seconds on two cores")
    for cluster in (blue, green):
        stack.callback(cluster.stop)
    began = time.monotonic()
    bring_up([blue, green])
    screen.say(f"both clusters are up after {time.monotonic() - began:.0f} s")
    tables: dict[str, Any] = {}
    for cluster in (blue, green):
        addresses = {"service_url": cluster.admin_url, "broker_service_url": cluster.service_url}
        tables |= {f"cluster.{cluster.name}": addresses, f"cluster.{cluster.name}.admin": {"url": cluster.admin_url}}
    region = LabRegion.beside(green, folder / "syncer", **tables)
    region.init_topic([green])
    region.start()
    stack.callback(region.stop)
    return MigrationStory(blue, green, region, folder, screen)


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    os._exit(status)  # a client whose broker has stopped answering would keep this process for ever
