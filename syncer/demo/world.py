"""The demo's world: directories, region processes, outside writers, links, and questions about what the stores hold."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeVar

from syncer.bus.embedded import set_link
from syncer.conflict.projection import PROJECTIONS
from syncer.conflict.scope import Scope
from syncer.errors import StateUnavailable, ValueInvalid
from syncer.model import Digest, MetaPath, Millis
from syncer.paths import CLUSTERS, classify
from syncer.replication.runtime.environment import wall_clock_ms
from syncer.state.views.region import Views
from syncer.stores.sqlite import OutsideWriter
from syncer.waiting import WAIT_S, starvation, wait_until

REGIONS: Final = ("east", "north", "west")
MAX_DELETES: Final = 10
DELETE_WINDOW: Final = "1h"
"""Longer than the story takes on any machine, so that the number of deletes that pass does not depend on its speed."""
STOP_DEADLINE_S: Final = 300.0
LOG_BYTES: Final = 4_000
"""Of a daemon's log, the end is shown when the daemon has ended."""

T = TypeVar("T")


@dataclass(slots=True)
class RegionProcess:
    """One region: its store file, its sidecar database, its daemon's process and its clock."""

    name: str
    folder: Path
    bus_file: Path
    ahead_ms: int = 0
    process: subprocess.Popen[bytes] | None = None
    writes: int = 0
    writer: OutsideWriter = field(init=False)

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True)
        self.writer = OutsideWriter(self.folder / "store.db", clock=self.clock)
        self.config.write_text(
            f'region = "{self.name}"\n'
            f'clusters = ["{self.name}"]\n'
            'heartbeat_interval = "1s"\n'
            f'[store]\nkind = "sqlite"\npath = "{self.folder / "store.db"}"\ntimeout = "30s"\n'
            f'[bus]\nkind = "embedded"\npath = "{self.bus_file}"\nbusy_timeout = "30s"\n'
            f'[state]\npath = "{self.database}"\n'
            f'[limits]\nmax_deletes = {MAX_DELETES}\ndelete_window = "{DELETE_WINDOW}"\n'
            "[api]\nenabled = false\n",
            encoding="utf-8",
        )

    @property
    def config(self) -> Path:
        """Its configuration file."""
        return self.folder / "syncer.toml"

    @property
    def database(self) -> Path:
        """Its sidecar database."""
        return self.folder / "state.db"

    @property
    def log(self) -> Path:
        """The log of its daemon."""
        return self.folder / "daemon.log"

    def clock(self) -> Millis:
        """The clock of the region's machines."""
        return Millis(wall_clock_ms() + self.ahead_ms)

    def start(self) -> None:
        """Start the daemon."""
        with self.log.open("ab") as log:
            command = [sys.executable, "-m", "syncer.demo.region", str(self.config), str(self.ahead_ms)]
            self.process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)  # noqa: S603

    def kill(self) -> None:
        """Kill the daemon at whatever instruction it is, as ``kill -9`` does."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """Stop the daemon in order."""
        self._end(signal.SIGTERM)

    def _end(self, how: signal.Signals) -> None:
        process, self.process = self.process, None
        if process is None or process.poll() is not None:
            return
        os.kill(process.pid, how)
        try:
            process.wait(STOP_DEADLINE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(STOP_DEADLINE_S)

    def ended(self) -> str | None:
        """Return how the daemon ended, with the end of its log; ``None`` while it runs, or was stopped here."""
        if self.process is None or (status := self.process.poll()) is None:
            return None
        return f"exit status {status}\n{self.last_words()}"

    def last_words(self) -> str:
        """Return the end of the daemon's log."""
        if not self.log.exists():
            return ""
        return self.log.read_bytes()[-LOG_BYTES:].decode(errors="replace")

    def put(self, path: str, value: bytes) -> None:
        """Write as somebody else than the daemon would."""
        self.writer.put(path, value)
        self.writes += 1

    def delete(self, path: str) -> None:
        """Delete as somebody else than the daemon would."""
        self.writer.delete(path)
        self.writes += 1

    def views(self) -> contextlib.closing[Views]:
        """Questions to the sidecar database, as the command line asks them."""
        return contextlib.closing(Views.open(f"sqlite:///{self.database}"))


class World:
    """Three regions that share nothing but a bus.

    Args:
        folder: An empty folder for all their files.
    """

    def __init__(self, folder: Path) -> None:
        self._bus_file = folder / "bus.db"
        self.regions: Mapping[str, RegionProcess] = {
            name: RegionProcess(name, folder / name, self._bus_file) for name in REGIONS
        }
        self._scope = Scope()
        for region in self.regions.values():
            for cluster in REGIONS:
                region.put(f"{CLUSTERS}/{cluster}", b'{"serviceUrl":"http://%s.example:8080"}' % cluster.encode())

    def __getitem__(self, name: str) -> RegionProcess:
        return self.regions[name]

    def start(self) -> None:
        """Start every daemon."""
        for region in self.regions.values():
            region.start()

    def stop(self) -> None:
        """Stop every daemon and let go of the files."""
        for region in self.regions.values():
            region.stop()
            region.writer.close()

    def link(self, name: str, *, up: bool) -> None:
        """Cut or heal a region's link to the others."""
        set_link(self._bus_file, name, up=up)

    def picture(self, name: str) -> dict[MetaPath, Digest | None]:
        """What a region's store holds, as digests of what is replicated."""
        held: dict[MetaPath, Digest | None] = {}
        for path, value in self[name].writer.items().items():
            resource = classify(MetaPath(path))
            if resource is None or not self._scope.contains(MetaPath(path)):
                continue
            try:
                held[MetaPath(path)] = PROJECTIONS[resource.kind].digest(value)
            except ValueInvalid:
                held[MetaPath(path)] = None
        return held

    def differing(self) -> set[MetaPath]:
        """Paths that are not the same in all regions."""
        pictures = [self.picture(name) for name in self.regions]
        paths = set[MetaPath]().union(*pictures)
        return {path for path in paths if any(picture.get(path) != pictures[0].get(path) for picture in pictures[1:])}

    def wait(self, condition: Callable[[], T], what: str, *, shown: Callable[[], object] | None = None) -> T:
        """Wait until the condition holds, as long as every daemon that was started runs; return what it gave.

        Args:
            condition: The state is there when it gives something true.
            what: The state, for the message.
            shown: Gives what to show when the wait fails.

        Raises:
            WaitFailed: The state did not come, or a daemon has ended.
        """
        return wait_until(
            condition,
            what,
            within_s=WAIT_S * starvation.patience(),
            needs=self.regions.values(),
            shown=shown,
            passing=StateUnavailable,
        )

    def hold(self, paths: Iterable[str], name: str) -> bool:
        """Whether a region's store holds all of these paths."""
        present = self.picture(name)
        return all(MetaPath(path) in present for path in paths)
