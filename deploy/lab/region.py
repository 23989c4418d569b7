"""A region: a daemon beside its clusters, run and asked as an operator does it, by the installed command and a file."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

import anyio

from deploy.lab.process import Command, ServerFailed, ServerProcess
from deploy.lab.pulsar import PulsarCluster
from syncer.config import Config, load
from syncer.conflict.completing import completed_value
from syncer.conflict.fields.kept import KeptFields
from syncer.conflict.projection import PROJECTIONS
from syncer.errors import StateError, StateMissing, ValueInvalid
from syncer.model import Digest, MetaPath, Region
from syncer.paths import classify
from syncer.state.views.region import Views
from syncer.state.views.summaries import HoldRow, Status
from syncer.waiting import LIVING, WAIT_S

BUS_TOPIC: Final = "persistent://pulsar-syncer/metadata/events"
HEARTBEAT: Final = "2s"
ROWS: Final = 1000


class LabRegion:
    """One region's configuration file, sidecar database and daemon, in a directory of its own.

    Args:
        directory: Holds all three and the daemon's log.
        name: Id of the region.
        clusters: Names of the clusters that its store serves.
        tables: Tables of the configuration file: ``store``, ``bus``, and others that are wanted.
        leashed: End the daemon when this program ends.
        heartbeat: How often its peers hear from it; the pace of comparisons follows it.
    """

    def __init__(
        self,
        directory: Path,
        *,
        name: str,
        clusters: tuple[str, ...],
        tables: Mapping[str, Mapping[str, object]],
        leashed: bool = True,
        heartbeat: str = HEARTBEAT,
    ) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.name = name
        self.file = directory / "syncer.toml"
        self.directory = directory
        whole: dict[str, Mapping[str, object]] = {
            "state": {"path": str(directory / "state.db")},
            "api": {"enabled": False},
            "log": {"format": "json"},
            **tables,
        }
        top = {"region": name, "clusters": clusters, "heartbeat_interval": heartbeat}
        text = _toml(top) + "".join(f"\n[{table}]\n{_toml(values)}" for table, values in whole.items())
        self.file.write_text(text, encoding="utf-8")
        self._leashed = leashed
        self.daemon = ServerProcess(name="daemon", directory=directory, leashed=leashed)

    @classmethod
    def beside(
        cls,
        cluster: PulsarCluster,
        directory: Path,
        *,
        name: str | None = None,
        topic: str = BUS_TOPIC,
        subscription: str | None = None,
        heartbeat: str = HEARTBEAT,
        **tables: Mapping[str, object],
    ) -> LabRegion:
        """A region of one cluster, whose bus is a replicated topic of that cluster.

        Args:
            cluster: Its store is the region's.
            directory: See the class.
            name: Id of the region; ``None``: the cluster's name. Two regions on one store need two, for their fences.
            topic: The bus.
            subscription: Of the bus; ``None``: the product's own.
            heartbeat: See the class.
            **tables: Laid over those that follow from the cluster.
        """
        bus = {
            "kind": "pulsar",
            "service_url": cluster.service_url,
            "admin_url": cluster.admin_url,
            "topic": topic,
            **({"subscription": subscription} if subscription is not None else {}),
        }
        return cls(
            directory,
            name=name or cluster.name,
            clusters=(cluster.name,),
            tables={"store": cluster.store_config, "bus": bus, **tables},
            heartbeat=heartbeat,
        )

    @property
    def config(self) -> Config:
        """Its configuration, as the daemon reads it."""
        return load(self.file)

    # -- the daemon

    def start(self) -> None:
        """Start the daemon, unless it runs, and wait until it is the region's writer and watches the store.

        Raises:
            ServerFailed: It ended.
            WaitFailed: It was not ready in time, or another process ended.
        """
        if self.daemon.pid() is not None:
            LIVING.add(self.daemon)
            return
        epoch = self._epoch()
        self.daemon.start(self._run())
        self.daemon.wait_until(lambda: self._serves(epoch), what="is the writer, and watches the store")

    def launch(self) -> None:
        """Start the daemon, unless it runs, without waiting: for one that is to be refused, and may end by itself."""
        self.daemon.start(self._run())
        LIVING.let_go(self.daemon)

    def start_standby(self) -> ServerProcess:
        """Start a second daemon on the same file and database, which waits until the first one is gone."""
        standby = ServerProcess(name="standby", directory=self.directory, leashed=self._leashed)
        standby.start(self._run())
        return standby

    def stop(self) -> None:
        """End the daemon in order."""
        self.daemon.stop()

    def kill(self) -> None:
        """Kill the daemon at whatever instruction it is, as ``kill -9`` does."""
        self.daemon.kill()

    def _run(self) -> Command:
        return Command(words=(*_syncer(self.file), "run"), directory=self.directory)

    def _epoch(self) -> int:
        try:
            return self.status().identity.epoch
        except StateError:  # no daemon has ever run here
            return 0

    def _serves(self, former_epoch: int) -> bool:
        try:
            status = self.status()
        except StateError:
            return False
        report: Mapping[str, Any] = status.document or {}
        own = status.identity.epoch > former_epoch and report.get("epoch") == status.identity.epoch
        return own and status.identity.first_scan_done and report.get("watch_whole") is True

    # -- questions

    def command(self, *words: str) -> Any:  # noqa: ANN401 - the command's own JSON
        """Run ``syncer WORDS`` on this region; its JSON.

        Raises:
            ServerFailed: It failed; the message has what it said.
        """
        done = self._call(words)
        if done.returncode:
            said = f"{done.stderr.strip()} {done.stdout.strip()}".strip()
            raise ServerFailed(f"syncer {' '.join(words)}: exit code {done.returncode}: {said}")
        return json.loads(done.stdout)

    def init_topic(self, clusters: Iterable[PulsarCluster]) -> list[dict[str, Any]]:
        """Make the bus in these clusters, as an operator does; the steps that this took.

        Raises:
            ServerFailed: It failed; the message has what it said.
        """
        urls = [word for each in clusters for word in ("--cluster", f"{each.name}={each.admin_url}")]
        steps: list[dict[str, Any]] = self.command("topic", "init", *urls, "--yes")["steps"]
        return steps

    def ask(self, *words: str) -> tuple[int, Any]:
        """Run ``syncer WORDS`` on this region; its exit code and its JSON, ``None`` where it printed none."""
        done = self._call(words)
        return done.returncode, json.loads(done.stdout or "null")

    def _call(self, words: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*_syncer(self.file), "-o", "json", *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=WAIT_S,
            check=False,
            text=True,
        )

    def views(self) -> contextlib.closing[Views]:
        """Its sidecar database, to look into."""
        url = load(self.file, check_adapters=False).database_url()
        return contextlib.closing(Views.open(url, Region(self.name)))

    def status(self) -> Status:
        """How it is."""
        with self.views() as views:
            return views.status()

    def holds(self) -> dict[MetaPath, HoldRow]:
        """What waits for a person, by path."""
        with self.views() as views:
            return {row.path: row for row in views.holds(ROWS)}

    def quiet(self) -> bool:
        """Whether nothing is left to be sent, written or decided, except what is held."""
        status = self.status()
        return status.outbox.depth == 0 and status.counts.due <= status.counts.holds

    def entries(self) -> dict[MetaPath, bytes]:
        """What is in scope in its store, read anew: as it stands there."""
        return anyio.run(partial(_entries, self.config))

    def whole_entries(self) -> dict[MetaPath, bytes]:
        """The same with the fields that the region's brokers dropped and its daemon keeps."""
        kept = self.kept_fields()  # before the store: what its daemon has written back meanwhile is no loss
        return {path: completed_value(path, value, kept.get(path)) for path, value in self.entries().items()}

    def kept_fields(self) -> dict[MetaPath, KeptFields]:
        """What the daemon keeps of paths where the store lacks fields; nothing before it has ever run."""
        found: dict[MetaPath, KeptFields] = {}
        with contextlib.suppress(StateMissing), self.views() as views:
            after: MetaPath | None = None
            while page := views.kept_fields(ROWS, after):
                found |= page
                after = max(page)
        return found

    def picture(self) -> dict[MetaPath, Digest | None]:
        """Digest of what is replicated of each path in scope, whole; ``None`` for a value that cannot be read."""
        return {path: _digest(path, value) for path, value in self.whole_entries().items()}


def differing(regions: tuple[LabRegion, LabRegion]) -> set[MetaPath]:
    """Paths in scope that two stores do not hold alike, with what their daemons keep of them."""
    one, other = (region.picture() for region in regions)
    return {path for path in {*one, *other} if path not in one or path not in other or one[path] != other[path]}


async def _entries(config: Config) -> dict[MetaPath, bytes]:
    scope, store = config.compiled_scope(), config.make_store()
    await store.open()
    try:
        return {
            entry.path: entry.value
            for prefix in scope.prefixes
            async for page in store.scan(prefix)
            for entry in page
            if scope.contains(entry.path) and entry.value
        }
    finally:
        await store.close()


def _digest(path: MetaPath, value: bytes) -> Digest | None:
    resource = classify(path)
    if resource is None:
        return None
    try:
        return PROJECTIONS[resource.kind].digest(value)
    except ValueInvalid:
        return None


def _syncer(file: Path) -> tuple[str, ...]:
    return (str(Path(sys.executable).with_name("syncer")), "-c", str(file))


def _toml(table: Mapping[str, object]) -> str:
    return "".join(f"{key} = {_toml_value(value)}\n" for key, value in table.items())


def _toml_value(value: object) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_toml_value(each)}" for key, each in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_toml_value, value)) + "]"
    return json.dumps(value)
