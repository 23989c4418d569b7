"""Keep the two clusters that the steps of a run share: ``python -m tests.servers FOLDER``.

They start while the first steps work. ``FOLDER/ready`` is there once both serve, ``FOLDER/failed`` with the reason when
they cannot. They end with this process, by SIGTERM in order. A step that finds a part stopped starts it again.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from deploy.lab.process import ServerFailed
from deploy.lab.pulsar import ClusterSettings, PulsarCluster, StoreKind, bring_up
from deploy.lab.software import SoftwareMissing
from syncer.waiting import wait_until

PAIR = (("us-east", StoreKind.ZOOKEEPER), ("us-west", StoreKind.ETCD))
SESSION_MS = 15_000
"""Of the pair's ZooKeeper: a broker and its bookie that get no turn for longer lose all that they hold."""


@dataclass(frozen=True, slots=True)
class SharedServers:
    """The clusters of a run, as one of its steps sees them.

    Args:
        folder: Which the run has named in ``TEST_SERVERS``.
    """

    folder: Path

    @property
    def name(self) -> str:
        """For messages."""
        return "the clusters of the run"

    def ended(self) -> str | None:
        """Return why they could not be started; ``None`` while they may come up."""
        failed = self.folder / "failed"
        return failed.read_text(encoding="utf-8") if failed.exists() else None

    def last_words(self) -> str:
        """Return the folder that has their logs."""
        return f"(logs of both are below {self.folder})"

    def clusters(self) -> list[PulsarCluster]:
        """Wait until they serve; what a step starts anew ends with the step.

        Raises:
            NeedEnded: They could not be started.
        """
        wait_until((self.folder / "ready").exists, "the clusters of the run serve", needs=[self])
        return [PulsarCluster(self.folder / name, leashed=True) for name, _ in PAIR]


def main(arguments: Sequence[str]) -> int:
    """Start both, say so, and wait for the end."""
    folder = Path(arguments[0])
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    clusters = [
        PulsarCluster(folder / name, ClusterSettings(name=name, store=store, session_ms=SESSION_MS), leashed=True)
        for name, store in PAIR
    ]
    try:
        bring_up(clusters)
        (folder / "ready").touch()
        signal.pause()
    except (ServerFailed, SoftwareMissing, OSError) as exc:
        (folder / "failed").write_text(str(exc), encoding="utf-8")
        return 1
    finally:
        for cluster in clusters:
            cluster.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
