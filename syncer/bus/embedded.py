"""A bus in one SQLite file, shared by the processes of several regions on one machine.

It is built like a topic that Pulsar replicates: each region has a log of its own; a publish is acknowledged once it is
in the publisher's own log, and reaches the logs of others while both links are up. So a region whose link is cut goes
on publishing, and everybody catches up, in order, when it heals.

    message    what was published, and where            log      region, place in its log → message
    region     link up or cut; who holds its lease      shipped  (from, to) → last message that was replicated
"""

from __future__ import annotations

import os
import sqlite3
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import ClassVar, Final, Literal, TypeVar

import orjson
import structlog
from pydantic import BaseModel, ConfigDict, Field

from syncer.bus.contract import BusPosition, Delivery, Incoming, Outgoing, Role
from syncer.bus.feed import RoleFeed
from syncer.bus.limits import DELIVERY_BYTES, MAX_MESSAGE_BYTES, check_sizes
from syncer.bus.window import Window
from syncer.bus.worker import ClientThread
from syncer.errors import BusUnavailable
from syncer.model import Millis

_Answer = TypeVar("_Answer")
_log = structlog.get_logger(__name__)

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS message (
    id INTEGER PRIMARY KEY AUTOINCREMENT, origin TEXT NOT NULL, published_at_ms INTEGER NOT NULL,
    properties BLOB NOT NULL, payload BLOB NOT NULL);
CREATE INDEX IF NOT EXISTS message_by_origin ON message (origin, id);
CREATE TABLE IF NOT EXISTS region (
    name TEXT PRIMARY KEY, link_up INTEGER NOT NULL DEFAULT 1, acked INTEGER NOT NULL DEFAULT 0,
    delivered INTEGER NOT NULL DEFAULT 0, next_place INTEGER NOT NULL DEFAULT 1,
    owner TEXT, lease_until_ms INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS log (
    region TEXT NOT NULL, place INTEGER NOT NULL, message INTEGER NOT NULL, PRIMARY KEY (region, place)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS log_by_message ON log (message);
CREATE TABLE IF NOT EXISTS shipped (
    origin TEXT NOT NULL, region TEXT NOT NULL, message INTEGER NOT NULL, PRIMARY KEY (origin, region)) WITHOUT ROWID;
"""
_SWEEP_ROWS: Final = 2000
_SWEEP_EVERY_S: Final = 30.0
_CALL_SLACK_S: Final = 5.0
_LINK_PATIENCE: Final = timedelta(seconds=60)
"""How long a drill that cuts or heals a link waits for other writers."""


class EmbeddedConfig(BaseModel):
    """Configuration of the embedded bus.

    ``retention`` bounds the file: what every known region has acknowledged and is older is removed.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal["embedded"] = "embedded"
    path: Path
    region: str = Field(min_length=1)
    lease: timedelta = Field(default=timedelta(seconds=3), ge=timedelta(milliseconds=100))
    poll_interval: timedelta = Field(default=timedelta(milliseconds=25), gt=timedelta(0))
    busy_timeout: timedelta = Field(default=timedelta(seconds=5), gt=timedelta(0))
    retention: timedelta = Field(default=timedelta(days=1), ge=timedelta(0))
    max_batch: int = Field(default=200, ge=1, le=10_000)
    max_unacknowledged: int = Field(default=1000, ge=1)
    max_message_bytes: int = Field(default=MAX_MESSAGE_BYTES, ge=2048)


@dataclass(frozen=True, slots=True)
class _Fetched:
    """What one look into the log found; ``None`` for messages when the lease is not ours any more."""

    messages: tuple[tuple[int, Incoming], ...] | None


class EmbeddedBus:
    """One region's view of the file. See :class:`syncer.bus.contract.Bus`.

    The lease names the active daemon of the region: taken when it is free or over, renewed three times in its length. A
    daemon that was paused past its lease finds another owner in the file and gets nothing more.
    """

    config_model: ClassVar[type[BaseModel]] = EmbeddedConfig

    def __init__(self, config: EmbeddedConfig) -> None:
        self._config = config
        self._owner = uuid.uuid4().hex
        self._feed = RoleFeed()
        self._window: Window[int] = Window(config.max_unacknowledged)
        self._thread = ClientThread(f"embedded bus of {config.region}", self._rounds)
        self._db: sqlite3.Connection | None = None
        self._opened = False
        self._renewed_until_ms = 0
        self._next_sweep = 0.0
        self._deadline_s = config.busy_timeout.total_seconds() + _CALL_SLACK_S

    async def open(self) -> None:
        """Open the file, making it if there is none, and register the region from the earliest message on."""
        self._opened = True
        self._feed.attach()
        self._thread.start()
        try:
            await self._call(self._register)
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Give the lease back, end the thread, close the file."""
        self._feed.close()
        if self._opened:
            await self._thread.stop(self._leave)

    async def abandon(self) -> None:
        """End as a killed process would: the lease stays until it is over. For failover drills and tests."""
        self._feed.close()
        if self._opened:
            await self._thread.stop(self._drop)

    async def publish(self, messages: Sequence[Outgoing]) -> None:
        """Publish; acknowledged when the file holds them, whether or not the region's link is up."""
        check_sizes(messages, self._config.max_message_bytes)
        if messages:
            await self._call(lambda: self._append(messages))

    async def receive(self) -> AsyncIterator[Delivery]:
        """Stream deliveries while this daemon holds the region's lease."""
        turn = -1
        pause_s = self._config.poll_interval.total_seconds()
        while not self._feed.closed:
            if self._feed.current is not Role.ACTIVE:
                await self._feed.wait_changed()
                continue
            if turn != self._feed.turn:
                turn = self._feed.turn
                self._window.restart()
            room = min(self._config.max_batch, self._window.room)
            if room == 0:
                await self._window.wait_room(pause_s)
                continue
            try:
                fetched = await self._call(partial(self._fetch, self._window.last, room))
            except BusUnavailable:
                if self._feed.closed:
                    return
                raise
            if fetched.messages is None:
                self._feed.set(Role.STANDBY)
            elif fetched.messages and turn == self._feed.turn:
                token = self._window.deliver(len(fetched.messages), fetched.messages[-1][0])
                yield Delivery(tuple(message for _, message in fetched.messages), token)
            elif not fetched.messages:
                await self._feed.wait_changed(pause_s)

    async def acknowledge(self, delivery: Delivery) -> None:
        """Move the region's mark up to the end of the oldest deliveries that are acknowledged without a gap."""
        upto = self._window.acknowledge(delivery.token)
        if upto is not None:
            await self._call(lambda: self._mark(upto))

    def role(self) -> AsyncIterator[Role]:
        """Stream whether this daemon holds the region's lease."""
        return self._feed.stream()

    async def proven(self) -> None:
        """Wait until the lease was renewed once more."""
        await self._feed.proven()

    async def position(self) -> BusPosition:
        """Count what the region has not acknowledged; ``connected`` says whether its link is up."""
        return await self._call(self._depth)

    async def _call(self, job: Callable[[], _Answer]) -> _Answer:
        return await self._thread.call(job, timeout_s=self._deadline_s)

    # All below runs on the bus's own thread.

    def _connect(self) -> sqlite3.Connection:
        if self._db is None:
            self._db = _open_file(self._config.path, self._config.busy_timeout)
        return self._db

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with _translated(self._config.path), _transaction(self._connect()) as db:
            yield db

    def _register(self) -> None:
        region = self._config.region
        with self._writing() as db:
            db.execute("INSERT INTO region (name) VALUES (?) ON CONFLICT DO NOTHING", (region,))
            for (origin,) in db.execute("SELECT name FROM region").fetchall():
                for pair in ((origin, region), (region, origin)):
                    db.execute("INSERT INTO shipped VALUES (?, ?, 0) ON CONFLICT DO NOTHING", pair)
            _ship(db)

    def _append(self, messages: Sequence[Outgoing]) -> None:
        region = self._config.region
        now_ms = _now_ms()
        rows = [(region, now_ms, orjson.dumps(dict(each.properties)), each.payload) for each in messages]
        with self._writing() as db:
            db.executemany(
                "INSERT INTO message (origin, published_at_ms, properties, payload) VALUES (?, ?, ?, ?)", rows
            )
            _ship(db)

    def _fetch(self, after: int | None, room: int) -> _Fetched:
        region = self._config.region
        with _translated(self._config.path):
            db = self._connect()
            owner, until_ms, acked, delivered = db.execute(
                "SELECT owner, lease_until_ms, acked, delivered FROM region WHERE name = ?", (region,)
            ).fetchone()
            if owner != self._owner or until_ms <= _now_ms():
                return _Fetched(None)
            found = db.execute(
                "SELECT place, origin, id, published_at_ms, properties, payload FROM log JOIN message ON id = message"
                " WHERE region = ? AND place > ? ORDER BY place LIMIT ?",
                (region, acked if after is None else after, room),
            )
            rows, size = [], 0
            for row in found:
                rows.append(row)
                size += len(row[-1]) + len(row[-2])
                if size >= DELIVERY_BYTES:
                    break
            found.close()
        if rows and rows[-1][0] > delivered:
            with self._writing() as db:
                db.execute(
                    "UPDATE region SET delivered = max(delivered, ?) WHERE name = ? AND owner = ?",
                    (rows[-1][0], region, self._owner),
                )
        messages: list[tuple[int, Incoming]] = []
        for place, _, _, published_at_ms, kept, payload in rows:
            properties, trouble = _properties(kept)
            message = Incoming(
                payload=payload,
                properties=properties,
                position=f"{region}:{place}",
                published_at_ms=Millis(published_at_ms),
                redelivered=int(place <= delivered),
                trouble=trouble,
            )
            messages.append((place, message))
        return _Fetched(tuple(messages))

    def _mark(self, upto: int) -> None:
        with self._writing() as db:
            db.execute(
                "UPDATE region SET acked = max(acked, ?) WHERE name = ? AND owner = ?",
                (upto, self._config.region, self._owner),
            )

    def _depth(self) -> BusPosition:
        with _translated(self._config.path):
            backlog, link_up = (
                self._connect()
                .execute(
                    "SELECT (SELECT count(*) FROM log WHERE region = name AND place > acked), link_up"
                    " FROM region WHERE name = ?",
                    (self._config.region,),
                )
                .fetchone()
            )
        return BusPosition(backlog=backlog, connected=bool(link_up))

    def _rounds(self) -> float:
        """Take or renew the lease, and now and then remove what nobody needs."""
        lease_s = self._config.lease.total_seconds()
        try:
            mine = self._hold_lease()
        except BusUnavailable:
            if _now_ms() >= self._renewed_until_ms:
                self._feed.set_from_thread(Role.STANDBY)
            raise
        self._feed.set_from_thread(Role.ACTIVE if mine else Role.STANDBY)
        if mine and time.monotonic() >= self._next_sweep:
            self._next_sweep = time.monotonic() + _SWEEP_EVERY_S
            sweep(self._config)
        return lease_s / 3 if mine else min(lease_s / 3, self._config.poll_interval.total_seconds() * 2)

    def _hold_lease(self) -> bool:
        region = self._config.region
        now_ms = _now_ms()
        with _translated(self._config.path):
            row = (
                self._connect().execute("SELECT owner, lease_until_ms FROM region WHERE name = ?", (region,)).fetchone()
            )
        if row is None or (row[0] not in {None, self._owner} and row[1] > now_ms):
            return False
        with self._writing() as db:
            until_ms = _now_ms() + int(self._config.lease.total_seconds() * 1000)
            taken = db.execute(
                "UPDATE region SET owner = ?1, lease_until_ms = ?2"
                " WHERE name = ?3 AND (owner IS NULL OR owner = ?1 OR lease_until_ms <= ?4)",
                (self._owner, until_ms, region, _now_ms()),
            ).rowcount
        if taken:
            self._renewed_until_ms = until_ms
        return taken == 1

    def _leave(self) -> None:
        if self._db is None:
            return
        try:
            with self._writing() as db:
                db.execute(
                    "UPDATE region SET owner = NULL, lease_until_ms = 0 WHERE name = ? AND owner = ?",
                    (self._config.region, self._owner),
                )
        except BusUnavailable as exc:
            _log.warning("bus_lease_not_returned", path=str(self._config.path), error=exc.message)
        finally:
            self._drop()

    def _drop(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None


def set_link(path: Path, region: str, *, up: bool) -> None:
    """Cut or heal the link of a region; healing brings everybody what was published meanwhile, in order.

    Raises:
        BusUnavailable: The file cannot be written now.
    """
    with _translated(path):
        db = _open_file(path, _LINK_PATIENCE)
        try:
            with _transaction(db):
                db.execute("UPDATE region SET link_up = ? WHERE name = ?", (int(up), region))
                _ship(db)
        finally:
            db.close()


def sweep(config: EmbeddedConfig) -> int:
    """Remove messages that every region has acknowledged and that are older than the retention; answers how many."""
    oldest_ms = _now_ms() - int(config.retention.total_seconds() * 1000)
    with _translated(config.path):
        db = _open_file(config.path, config.busy_timeout)
        try:
            with _transaction(db):
                db.execute("CREATE TEMP TABLE gone (id INTEGER PRIMARY KEY)")
                db.execute(
                    "INSERT INTO gone SELECT id FROM message WHERE published_at_ms <= ? AND NOT EXISTS ("
                    " SELECT 1 FROM region LEFT JOIN log ON log.region = name AND log.message = message.id"
                    " WHERE place IS NULL OR place > acked) ORDER BY id LIMIT ?",
                    (oldest_ms, _SWEEP_ROWS),
                )
                db.execute("DELETE FROM log WHERE message IN (SELECT id FROM gone)")
                removed = db.execute("DELETE FROM message WHERE id IN (SELECT id FROM gone)").rowcount
        finally:
            db.close()
    return removed


def _properties(kept: bytes) -> tuple[dict[str, str], str]:
    """The properties of a message, and why they cannot be read: whoever may write the file decides what it holds."""
    try:
        found = orjson.loads(kept)
    except orjson.JSONDecodeError as exc:
        return {}, f"the properties of the message cannot be read: {exc}"
    if type(found) is not dict or not all(type(text) is str for text in found.values()):
        return {}, "the properties of the message are no texts"
    return found, ""


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _open_file(path: Path, busy_timeout: timedelta) -> sqlite3.Connection:
    with suppress(OSError):  # what is wrong with the place, SQLite says; its side files take over the mode
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))
    db = sqlite3.connect(path, timeout=busy_timeout.total_seconds(), isolation_level=None, check_same_thread=False)
    try:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        if db.execute("SELECT count(*) FROM sqlite_master WHERE name = 'shipped'").fetchone() == (0,):
            db.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} COMMIT;")
    except BaseException:
        db.close()
        raise
    return db


@contextmanager
def _transaction(db: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    db.execute("BEGIN IMMEDIATE")
    try:
        yield db
    except BaseException:
        db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as exc:
        raise BusUnavailable(
            f"the bus file {path} cannot be used now: {exc}",
            hint="Check free space, permissions and who locks the file.",
        ) from exc


def _ship(db: sqlite3.Connection) -> None:
    """Bring into each log what it lacks: from itself always, from another region while both links are up."""
    pairs = db.execute(
        "SELECT origin, shipped.region, shipped.message,"
        " (SELECT max(id) FROM message WHERE origin = shipped.origin) AS last FROM shipped"
        " JOIN region AS source ON source.name = origin JOIN region AS target ON target.name = shipped.region"
        " WHERE last > shipped.message AND (source.name = target.name OR (source.link_up AND target.link_up))"
    ).fetchall()
    for origin, region, after, last in pairs:
        (first,) = db.execute("SELECT next_place FROM region WHERE name = ?", (region,)).fetchone()
        added = db.execute(
            "INSERT INTO log SELECT ?, ? + row_number() OVER (ORDER BY id) - 1, id FROM message"
            " WHERE origin = ? AND id > ? ORDER BY id",
            (region, first, origin, after),
        ).rowcount
        db.execute("UPDATE region SET next_place = next_place + ? WHERE name = ?", (added, region))
        db.execute("UPDATE shipped SET message = ? WHERE origin = ? AND region = ?", (last, origin, region))
