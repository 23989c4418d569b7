"""What stands before a page is played: a directory of its own, regions, what stores hold, and what has happened."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from deploy.lab.region import LabRegion
from syncer.state.views.summaries import Status
from syncer.stores.sqlite import OutsideWriter
from syncer.waiting import wait_until
from tests.suites import REPOSITORY

HEARTBEAT: Final = "500ms"
PLACES: Final = ("/etc/pulsar-syncer", "/srv", "/var/backups", "/var/lib/pulsar-syncer", "/var/lib/zookeeper")
"""Directories of the system that pages name; each stands below the stage's own directory."""

HERE: Final = "here.toml"
TENANT: Final = "/admin/policies/acme"
NAMESPACE: Final = "/admin/policies/acme/orders"
TOPIC: Final = "/admin/partitioned-topics/acme/orders/persistent/invoices"

Table = Mapping[str, object]


class Stage:
    """Regions whose configurations are ``REGION.toml`` in the directory in which a page is played.

    A command without ``--config`` means the region that is ``here``, the first one at the beginning. ``variables`` are
    those of the environment that are another page's or another machine's. Leaving the block ends every daemon.

    Args:
        root: A directory of the page's own.
        server: What the test has started for the page.
    """

    def __init__(self, root: Path, *, server: Any = None) -> None:
        self.root = root
        self.server = server
        self.names: dict[str, str] = {}
        self.variables: dict[str, str] = {}
        self.regions: dict[str, LabRegion] = {}
        self._ends = ExitStack()

    def region(self, name: str, **tables: Table) -> LabRegion:
        """Configure a region: a store and a bus in files, unless ``tables`` say something else."""
        directory = self.root / "regions" / name
        whole: dict[str, Table] = {
            "store": {"kind": "sqlite", "path": str(directory / "store.db")},
            "bus": {"kind": "embedded", "path": str(self.root / "regions" / "bus.db")},
            **tables,
        }
        made = LabRegion(directory, name=name, clusters=(f"pulsar-{name}",), tables=whole, heartbeat=HEARTBEAT)
        self._ends.callback(made.stop)
        self.regions[name] = made
        (self.root / f"{name}.toml").symlink_to(made.file)
        if len(self.regions) == 1:
            self.here(name)
        return made

    def here(self, name: str) -> None:
        """From now on commands without ``--config`` are given in this region."""
        link = self.root / HERE
        link.unlink(missing_ok=True)
        link.symlink_to(self.root / f"{name}.toml")

    def key(self) -> Table:
        """The table ``signing`` with a key of the group."""
        file = self.root / "group.key"
        file.write_bytes(base64.b64encode(bytes(32)))
        file.chmod(0o600)
        return {"key_files": [str(file)]}

    def pair(self, **tables: Table) -> tuple[LabRegion, LabRegion]:
        """Two regions, east and west, that run and know each other; the store of each knows both clusters."""
        east, west = (self.region(name, **tables) for name in ("east", "west"))
        for name in ("east", "west"):
            for cluster in ("pulsar-east", "pulsar-west"):
                self.put(name, f"/admin/clusters/{cluster}", {"serviceUrl": f"http://{cluster}.example:8080"})
        east.start()
        west.start()
        self.until(lambda: all(map(_peers, (east, west))), "both regions have heard each other")
        return east, west

    def put(self, region: str, path: str, value: object) -> None:
        """Write past the daemon, as a broker does; a ``str`` as it is, anything else as JSON."""
        data = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
        with closing(OutsideWriter(self.root / "regions" / region / "store.db")) as writer:
            writer.put(path, data.encode())

    def delete(self, region: str, path: str) -> None:
        """Delete past the daemon."""
        with closing(OutsideWriter(self.root / "regions" / region / "store.db")) as writer:
            writer.delete(path)

    def get(self, region: str, path: str) -> bytes | None:
        """Read from the store."""
        with closing(OutsideWriter(self.root / "regions" / region / "store.db")) as writer:
            return writer.get(path)

    def ends(self, end: Callable[[], None]) -> None:
        """Do this at the end."""
        self._ends.callback(end)

    def until(self, condition: Callable[[], object], what: str) -> None:
        """Wait until something is so."""
        wait_until(condition, what)

    def status(self, region: str) -> Status:
        """How a region is."""
        return self.regions[region].status()

    def as_on_a_page(self, printed: str) -> str:
        """Take the stage's directory away again."""
        return printed.replace(str(self.root), "")

    def environment(self) -> dict[str, str]:
        """What commands of the page see. Daemons serve no HTTP: its port may be somebody else's here."""
        return {
            "PATH": f"{REPOSITORY / '.venv' / 'bin'}:{os.environ['PATH']}",
            "HOME": str(self.root),
            "COLUMNS": "240",
            "NO_COLOR": "1",
            "TERM": "dumb",
            "LANG": "C.UTF-8",
            "SYNCER_API__ENABLED": "false",
            "SYNCER_CONFIG": str(self.root / HERE),
            **self.variables,
        }

    def __enter__(self) -> Self:
        for place in PLACES:
            Path(f"{self.root}{place}").mkdir(parents=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ends.close()


def _peers(region: LabRegion) -> int:
    with region.views() as views:
        return len(views.peers())
