"""One region under test: its store file, its sidecar database, its daemon in this process or in one of its own.

Everything is real: the SQLite store, the embedded bus, the daemon with all its pumps. Outside writers and the command
line's own view of the database stand beside it.
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, closing, contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import anyio

from syncer.config.model import Config
from syncer.conflict.projection import PROJECTIONS
from syncer.conflict.scope import Scope
from syncer.daemon import Daemon
from syncer.errors import StateForeign, StateUnavailable
from syncer.model import (
    MetaPath,
    Millis,
    ResourceKind,
)
from syncer.operations.contract import OperationRequest
from syncer.operations.decisions import HeldChange, held_at, joining, lost_in, met_until
from syncer.paths import CLUSTERS, classify
from syncer.replication.runtime.environment import wall_clock_ms
from syncer.state.contract.operations import Operation, OperationState
from syncer.state.contract.quarantine import DeadLetterRow
from syncer.state.views.region import Views
from syncer.state.views.summaries import HoldRow, Status
from syncer.stores.sqlite import OutsideWriter
from syncer.waiting import LIVING, WAIT_S, until
from tests.support.forked import ForkedRegion
from tests.support.patience import BUSY_S, LEASE_S, SILENCE_S, STORE_S, patient

_numbers = count(1)

TENANT = MetaPath("/admin/policies/acme")
NAMESPACE = MetaPath("/admin/policies/acme/orders")
TOPIC = MetaPath("/admin/partitioned-topics/acme/orders/persistent/created")

tenants = PROJECTIONS[ResourceKind.TENANT]


def tenant(*roles: str, **fields: object) -> bytes:
    """A tenant's value, in the bytes that a daemon writes."""
    document = {"adminRoles": list(roles), "allowedClusters": [], **fields}
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode()


def path_of(name: str) -> MetaPath:
    """Path of a tenant."""
    return MetaPath(f"/admin/policies/{name}")


@dataclass(slots=True)
class Site:
    """A region's files and what looks at them.

    Args:
        folder: Of this region.
        bus_file: Of all regions.
        name: The region's id.
        overrides: Configuration beside the usual one, by section.
        shared: URL of a sidecar database on a server, instead of a file of the region's own.
    """

    folder: Path
    bus_file: Path
    name: str
    overrides: dict[str, Any] = field(default_factory=dict)
    clusters: Sequence[str] = ("east", "north", "west")
    ahead_ms: int = 0
    shared: str = ""
    writer: OutsideWriter = field(init=False)
    file: Path = field(init=False, repr=False, compare=False)
    process: ForkedRegion | None = None

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.file = self.folder / "syncer.yaml"
        self.writer = OutsideWriter(self.store_file, clock=self.clock)
        for cluster in self.clusters:
            self.writer.put(f"{CLUSTERS}/{cluster}", b'{"serviceUrl":"http://%s.example:8080"}' % cluster.encode())

    @property
    def store_file(self) -> Path:
        """The region's metadata store."""
        return self.folder / "store.db"

    @property
    def database(self) -> Path:
        """The region's sidecar database."""
        return self.folder / "state.db"

    @property
    def log(self) -> Path:
        """The log of its daemon, as a process of its own."""
        return self.folder / "daemon.log"

    def clock(self) -> Millis:
        """The clock of the region's machines."""
        return Millis(wall_clock_ms() + self.ahead_ms)

    def config(self, **overrides: Any) -> Config:
        """The region's configuration."""
        document: dict[str, Any] = {
            "region": self.name,
            "clusters": [self.name],
            "heartbeat_interval": "200ms",
            "store": {"kind": "sqlite", "path": str(self.store_file), "timeout": patient(STORE_S)},
            "bus": {
                "kind": "embedded",
                "path": str(self.bus_file),
                "busy_timeout": patient(BUSY_S),
                "lease": patient(LEASE_S),
            },
            "state": {"url": self.shared} if self.shared else {"path": str(self.database)},
            "api": {"enabled": False},
            "peers": {"silence": patient(SILENCE_S)},
        }
        for section, values in [*self.overrides.items(), *overrides.items()]:
            laid_over = isinstance(values, dict) and "kind" not in values  # of another adapter nothing of ours is meant
            document[section] = {**document.get(section, {}), **values} if laid_over else values
        return Config.model_validate(document)

    @asynccontextmanager
    async def running(self, **overrides: Any) -> AsyncIterator[Daemon]:
        """Run the daemon in this process; leaving the block stops it in order."""
        daemon = Daemon(self.config(**overrides), clock=self.clock)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(daemon.run)
            yield daemon
            tasks.cancel_scope.cancel()

    # -- as a process

    def start(self, **overrides: Any) -> None:
        """Start the daemon as a process of its own, as ``syncer run`` does."""
        assert self.process is None
        self.write_file(**overrides)
        self.process = ForkedRegion(str(self.file), str(self.ahead_ms), name=self.name, log=self.log)

    def write_file(self, **overrides: Any) -> None:
        """Write the configuration into a new file: another process may still read the former one."""
        self.file = self.folder / f"syncer-{next(_numbers)}.yaml"
        self.file.write_text(self.dumped(**overrides), encoding="utf-8")
        self.file.chmod(0o600)

    def dumped(self, **overrides: Any) -> str:
        """The configuration as a file's text."""
        config = self.config(**overrides)
        raw = config.model_dump(mode="json", exclude_none=True, exclude_unset=True)
        raw["store"], raw["bus"] = config.store.raw, config.bus.raw
        if self.shared:
            raw["state"] = {"url": self.shared}  # a dump hides it
        return json.dumps(raw)

    def kill(self) -> None:
        """End the process at whatever instruction it is."""
        self._end(signal.SIGKILL)

    def stop(self) -> int:
        """End the process in order; its exit status."""
        return self._end(signal.SIGTERM)

    def _end(self, how: signal.Signals) -> int:
        process, self.process = self.process, None
        if process is None:
            return 0
        LIVING.let_go(process)
        if process.poll() is None:
            os.kill(process.pid, how)
        try:
            return process.wait()
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()

    # -- what it holds and tells

    def get(self, path: MetaPath) -> bytes | None:
        """What the store holds."""
        return self.writer.get(path)

    def picture(self) -> dict[str, bytes | str]:
        """What the store holds in scope, as digests of what is replicated; the value itself where it is none."""
        scope, held = Scope(), dict[str, bytes | str]()
        for path, value in self.writer.items().items():
            resource = classify(MetaPath(path))
            if resource is not None and scope.contains(MetaPath(path)):
                held[path] = PROJECTIONS[resource.kind].digest(value)
        return held

    def ask(self, question: Callable[[Views], Any]) -> Any:
        """Look into the sidecar database as the command line does."""
        with closing(Views.open(self.shared or f"sqlite:///{self.database}")) as views:
            return question(views)

    def status(self) -> Status:
        """The database's facts and the daemon's report."""
        found: Status = self.ask(lambda views: views.status())
        return found

    def report(self) -> dict[str, Any]:
        """The daemon's report."""
        return dict(self.status().document or {}) if self.shared or self.database.exists() else {}

    def conditions(self) -> dict[str, str]:
        """What the daemon reports as worth a look, by code."""
        return {each["code"]: each["message"] for each in self.report().get("conditions", ())}

    def quarantined(self) -> list[DeadLetterRow]:
        """What stands in the quarantine."""

        def question(views: Views) -> list[DeadLetterRow]:
            rows = [views.dead_letter(each.id) for each in views.quarantine(1000)]
            return [row for row in rows if row is not None]

        found: list[DeadLetterRow] = self.ask(question)
        return found

    def codes(self) -> list[str]:
        """Codes of what stands in the quarantine, sorted."""
        return sorted(row.poison.code for row in self.quarantined())

    def holds(self) -> dict[str, HoldRow]:
        """What waits for a person, by path."""
        return {row.path: row for row in self.ask(lambda views: views.holds(1000))}

    def requests(self, path: MetaPath) -> dict[str, OperationRequest]:
        """What an operator may ask for who looks now at what is held at a path, by its kind."""
        held: HeldChange = self.ask(lambda views: held_at(views, path))
        return {request.kind: request for request in (held.confirming, held.refusing)}

    async def decide(self, kind: str, path: MetaPath) -> Operation:
        """Look at what is held at a path, and decide about it."""
        return await self.do(kind, **self.requests(path)[kind].arguments)

    async def restore(self, conflict: int) -> Operation:
        """Look at a conflict, and restore its loser."""
        request: OperationRequest = self.ask(lambda views: lost_in(views, conflict).restoring)
        return await self.do(request.kind, **request.arguments)

    async def join(self) -> Operation:
        """Look at what first contact holds, and let it pass."""
        request: OperationRequest = self.ask(lambda views: joining(met_until(views)))
        return await self.do(request.kind, **request.arguments)

    async def do(self, kind: str, **arguments: str) -> Operation:
        """Ask the daemon to do something, and wait for its answer."""
        number = self.ask(lambda views: views.ask(kind, arguments, "a test", "because"))
        answered: list[Operation] = []

        def done() -> bool:
            operation = self.ask(lambda views: views.operation(number))
            if operation.state is OperationState.PENDING:
                return False
            answered.append(operation)
            return True

        await until(done, f"{kind} is answered")
        return answered[0]


async def active(*sites: Site) -> None:
    """Wait until the daemons of these regions have met what their stores hold, for the first time on their database."""
    for site in sites:

        def met(site: Site = site) -> bool:
            return bool(site.shared or site.database.exists()) and site.status().identity.first_scan_done

        await until(met, f"{site.name} is active", passing=(StateForeign, StateUnavailable))  # its schema is being made


async def equal(*sites: Site) -> None:
    """Wait until the stores of these regions hold the same."""
    await until(lambda: all(site.picture() == sites[0].picture() for site in sites[1:]), "the stores are equal")


def heard(site: Site) -> list[str]:
    """The regions that a region has heard, as it has last reported."""
    return [each["region"] for each in site.report().get("peers", ())]


@contextmanager
def locked(file: Path) -> Any:
    """Keep everybody from writing to an SQLite file."""
    with closing(sqlite3.connect(file, timeout=WAIT_S, isolation_level=None)) as db:
        db.execute("BEGIN IMMEDIATE")
        yield
        db.execute("ROLLBACK")
