"""The group under attack: three honest regions, each a process of its own, and the people who write to their stores."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.process import BaseProcess
from pathlib import Path
from random import Random
from typing import Any, Final

import orjson

from deploy.lab.ports import HOST, free_ports
from deploy.lab.process import last_lines
from syncer.bus.embedded import set_link
from syncer.conflict.projection import PROJECTIONS
from syncer.dispositions import ExitCode
from syncer.errors import StateForeign, StateUnavailable
from syncer.model import MetaPath
from syncer.paths import classify
from syncer.state.contract.identity import Identity
from syncer.state.views.summaries import DeadLetterSummary
from syncer.waiting import WAIT_S, until
from tests.hostile import commands, daemon
from tests.hostile.ground import Ground
from tests.shell.region import Site, heard, path_of, tenant

NAMES: Final = ("east", "north", "west")
BUS_FILE: Final = "bus.db"
USUAL: Final = {
    "heartbeat_interval": "400ms",
    "log": {"level": "warning"},
    "limits": {"tombstone_grace": "1s"},
    "peers": {"silence": "5min"},
}
RECENT: Final = 500
"""Messages of the bus that are looked through for some that were just published."""
KIBIBYTE: Final = 1024
LOOKED_AT: Final = 10_000
"""Rows of a quarantine that are looked at: as many as there may be."""


@dataclass(slots=True)
class Member(Site):
    """One honest region."""

    running_as: BaseProcess | None = None
    api_port: int | None = None

    def start(self, **overrides: Any) -> None:
        """Start the daemon as a process of its own."""
        assert self.running_as is None
        if self.api_port is None:
            (self.api_port,) = free_ports(1)
        api = {"enabled": True, "listen": f"{HOST}:{self.api_port}"}
        self.write_file(api=api, **overrides)
        self.running_as = daemon.start(self.file, self.log)

    def kill(self) -> None:
        """End the process at whatever instruction it is."""
        if self.running_as is not None:
            self.running_as.kill()
            self.running_as.join(WAIT_S)
            self.running_as = None

    @property
    def pid(self) -> int:
        """Of its daemon."""
        assert self.running_as is not None
        assert self.running_as.pid is not None
        return self.running_as.pid

    @property
    def identity(self) -> Identity:
        """What its database says of itself."""
        return self.status().identity

    @property
    def resident_mib(self) -> float:
        """Memory of its daemon."""
        with Path(f"/proc/{self.pid}/status").open(encoding="ascii") as status:
            lines = dict(line.split(":", 1) for line in status)
        return int(lines["VmRSS"].split()[0]) / KIBIBYTE

    def poisoned(self, after: int = 0) -> list[DeadLetterSummary]:
        """What stands in its quarantine beyond a number, without what the messages hold."""
        found: list[DeadLetterSummary] = self.ask(lambda views: views.quarantine(LOOKED_AT, after))
        return found

    def ended(self) -> str | None:
        """Return how its daemon ended, with the end of its log; ``None`` while it runs."""
        assert self.running_as is not None
        status = self.running_as.exitcode
        return None if status is None else f"status {status}; its log ({self.log}):\n{self.last_words()}"

    def last_words(self) -> str:
        """Return the last lines of its daemon's log."""
        return last_lines(self.log)

    async def command(self, *words: str, status: int = ExitCode.DONE) -> str:
        """Give a command as its operator does; what it wrote.

        Raises:
            AssertionError: It ended in another way than by this status.
        """
        ended, text = await commands.run(self.folder, "--config", str(self.file), *words)
        assert ended == status, f"'syncer {' '.join(words)}' ended with {ended}: {text[-300:]}"
        return text


@dataclass(slots=True)
class Group:
    """Three regions on one bus.

    Args:
        folder: Holds everything.
        ground: What they stand on.
        tables: Of each region's configuration, beside the usual ones.
        seed: Of every choice.
        tokens: Of the HTTP surface, by the name of who has it.
    """

    folder: Path
    ground: Ground
    tables: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    seed: int = 0
    tokens: Mapping[str, str] = field(default_factory=dict)
    members: dict[str, Member] = field(init=False)
    honest: dict[MetaPath, list[bytes]] = field(default_factory=dict)
    unsettled: set[MetaPath] = field(default_factory=set)
    victims: set[MetaPath] = field(default_factory=set)
    rng: Random = field(init=False)
    writes: int = 0

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True)
        self.rng = Random(self.seed)
        self.members = {
            name: Member(
                self.folder / name,
                self.bus_file,
                name,
                self._tables_of(name),
                shared=self.ground.database(name),
            )
            for name in NAMES
        }

    def _tables_of(self, name: str) -> dict[str, Any]:
        tables: dict[str, Any] = {**USUAL, "bus": self.ground.bus(name)}
        for table, values in self.tables.get(name, {}).items():
            tables[table] = {**tables.get(table, {}), **values}
        return tables

    @property
    def bus_file(self) -> Path:
        """Their bus, where it is a file."""
        return self.folder / BUS_FILE

    def __iter__(self) -> Iterator[Member]:
        return iter(self.members.values())

    async def start(self) -> None:
        """Start the daemons, and wait until each has heard both others."""
        await self.ground.prepare()
        for member in self:
            member.start()
        for member in self:
            await self.until_active(member)
        await until(lambda: all(len(heard(member)) >= len(NAMES) - 1 for member in self), "all are heard", needs=self)
        paths = self.write_everywhere()
        await until(lambda: all(member.get(path) for member in self for path in paths), "writes arrive", needs=self)
        self.unsettled.clear()

    async def until_active(self, member: Member) -> None:
        """Wait until a daemon that was started has read its store."""
        making = (StateForeign, StateUnavailable)  # the schema is being made
        await until(partial(_is_active, member), f"{member.name} is active", needs=(member,), passing=making)

    def lose_database(self, member: Member) -> None:
        """Kill a daemon, and start it with a sidecar database that knows nothing."""
        member.kill()
        self.ground.let_go(member.name)
        member.shared = self.ground.database(member.name)
        for file in member.folder.glob(f"{member.database.name}*"):
            file.unlink()
        member.start()

    async def restart(self, member: Member) -> None:
        """Kill a daemon at whatever instruction it is, and start it again."""
        member.kill()
        self.ground.let_go(member.name)
        member.start()
        await self.until_active(member)

    def stop(self) -> None:
        """End the daemons, as a power loss would."""
        for member in self:
            member.kill()
            member.writer.close()

    # -- what honest people do

    def write(self, member: Member, path: MetaPath, value: bytes) -> MetaPath:
        """Write to a store, and remember it: it has to be everywhere, or kept whole in a conflict.

        What the store held just before, the writer saw, and meant to replace.
        """
        seen = member.get(path)
        member.writer.put(path, value)
        self.honest[path] = [*(each for each in self.honest.get(path, ()) if not same(path, each, seen)), value]
        self.unsettled.add(path)
        return path

    def write_everywhere(self) -> list[MetaPath]:
        """One new path in each store."""
        paths = []
        for member in self:
            self.writes += 1
            paths.append(self.write(member, path_of(f"honest-{self.writes:05}"), tenant(member.name)))
        return paths

    def take_victim(self) -> MetaPath:
        """A path for an attack to aim at: it stands everywhere, and no attack has aimed at it."""
        victim = next(path for path in reversed(self.honest) if path not in self.unsettled and path not in self.victims)
        self.victims.add(victim)
        self.unsettled.add(victim)
        return victim

    def quarrel(self) -> MetaPath:
        """Two write to one path at the same time: one of them wins, the other one is kept whole."""
        self.writes += 1
        path = path_of(f"quarrel-{self.writes:05}")
        for member in self.rng.sample(list(self), 2):
            self.write(member, path, tenant(member.name))
        return path

    async def lose(self, count: int = 1, author: Member | None = None) -> list[MetaPath]:
        """Have some changes never reach one region: only anti-entropy can bring them there.

        Where the bus loses nothing, they are changes like any other.

        Args:
            count: How many.
            author: Who makes them; ``None``: anybody.
        """
        author = author or self.rng.choice(list(self))
        robbed, other = self.rng.sample([member for member in self if member is not author], 2)
        self.writes += 1
        paths = [path_of(f"lost-{self.writes:05}-{number}") for number in range(count)]
        if not self.ground.loses:
            return [self.write(author, path, tenant("not lost")) for path in paths]
        set_link(self.bus_file, robbed.name, up=False)
        try:
            for path in paths:
                self.write(author, path, tenant("lost"))
            await until(lambda: all(map(other.get, paths)), f"{other.name} has what {author.name} wrote", needs=self)
            assert not any(map(robbed.get, paths))
            assert self._remove(paths) >= count, "nothing was lost, so nothing can be healed"
        finally:
            set_link(self.bus_file, robbed.name, up=True)
        return paths

    def _remove(self, paths: Sequence[MetaPath]) -> int:
        """Delete the messages of these paths from the bus; how many there were."""
        names = {path.rpartition("/")[2] for path in paths}
        with closing(sqlite3.connect(self.bus_file, timeout=WAIT_S)) as db, db:
            latest = "SELECT id, properties FROM message ORDER BY id DESC LIMIT ?"
            rows = db.execute(latest, (RECENT + 2 * len(paths),)).fetchall()
            found = [(number,) for number, properties in rows if _named(bytes(properties)) in names]
            db.executemany("DELETE FROM log WHERE message = ?", found)
            db.executemany("DELETE FROM message WHERE id = ?", found)
        return len(found)


def _named(properties: bytes) -> str:
    """Which resource a message is about; what others have scrawled is about none."""
    try:
        name = orjson.loads(properties)["syncer.name"]
    except (ValueError, TypeError, KeyError):
        return ""
    return name if isinstance(name, str) else ""


def same(path: MetaPath, one: bytes | None, other: bytes | None) -> bool:
    """Whether two values are the same in all that is replicated."""
    if one is None or other is None or one == other:
        return one == other
    resource = classify(path)
    assert resource is not None
    digest = PROJECTIONS[resource.kind].digest
    return digest(one) == digest(other)


def _is_active(member: Member) -> bool:
    return (bool(member.shared) or member.database.exists()) and member.identity.first_scan_done


def conflicts_of(members: Sequence[Member], path: MetaPath) -> list[bytes]:
    """The values of a path that are kept in any region's conflict records."""
    found: list[bytes] = []
    for member in members:
        rows = member.ask(lambda views: [views.conflict(row.id) for row in views.conflicts(10_000) if row.path == path])
        found += [row.value for row in rows if row is not None and row.value is not None]
    return found
