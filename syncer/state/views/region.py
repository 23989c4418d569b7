"""Views of a sidecar database for the CLI and REST, beside a running daemon or without one.

Only what asks writes, and what brings a repair in.
Every method is one short transaction of its own; lists are pages in key order, to be continued by the last key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import orjson
from sqlalchemy import URL, Connection, Engine, Select, Table, func, select

from syncer.conflict.register import HoldReason, Register, Shown
from syncer.errors import StateForeign, StateMissing, StateUnavailable
from syncer.model import MetaPath, Millis, Region, Stamp
from syncer.state import encoding
from syncer.state.contract.identity import Identity
from syncer.state.contract.membership import Membership
from syncer.state.contract.operations import OperationState
from syncer.state.contract.peers import PeerRow
from syncer.state.contract.quarantine import DeadLetterRow
from syncer.state.sql import numbers, opening, presence, registers, rows, tables
from syncer.state.sql.database import identity_of, wall_clock
from syncer.state.sql.opening import BUSY_TIMEOUT_S, translated
from syncer.state.sql.presence import DaemonRow
from syncer.state.sql.tombstones import membership_of
from syncer.state.sql.transaction import beyond
from syncer.state.sql.work.jobs import JobViews
from syncer.state.sql.work.ledger_audits import LedgerAuditViews
from syncer.state.sql.work.migrations import MigrationViews
from syncer.state.sql.work.move_runs import MoveRunViews
from syncer.state.sql.work.operations import OperationViews
from syncer.state.sql.work.repairs import RepairViews
from syncer.state.views.kept import KeptViews
from syncer.state.views.standing import StandingViews
from syncer.state.views.summaries import (
    ConflictSummary,
    Counts,
    DeadLetterSummary,
    HeldEvent,
    HoldRow,
    JournalRow,
    OutboxFacts,
    ParkedRow,
    Status,
)
from syncer.state.views.values import PathViews

_SHOWN: Final = tuple(tables.registers.c[name] for name in ("k_time", "k_region", "s_time", "s_region", "s_digest"))


class Views(
    OperationViews,
    RepairViews,
    MigrationViews,
    MoveRunViews,
    JobViews,
    LedgerAuditViews,
    PathViews,
    KeptViews,
    StandingViews,
):
    """Read-only access to a sidecar database, but for what is asked of its daemon. Threads may share it."""

    def __init__(self, reader: Engine, asker: Engine, url: URL, clock: Callable[[], Millis] = wall_clock) -> None:
        self._reader: Final = reader
        self._asker: Final = asker
        self._url = url
        self._clock = clock

    @classmethod
    def open(
        cls,
        url: str,
        region: Region | None = None,
        *,
        busy_timeout_s: float = BUSY_TIMEOUT_S,
        clock: Callable[[], Millis] = wall_clock,
    ) -> Views:
        """Open a database that a daemon has made. The schema is left as it is.

        Raises:
            ConfigError: The URL cannot be used.
            StateForeign: It belongs to another region, or its schema is not this version's.
            StateMissing: No daemon has made it yet.
            StateDenied: This user has no right to it.
            StateUnavailable: It cannot be opened now.
        """
        parsed = opening.parse_url(url)
        path = opening.file_of(parsed)
        if path is None and parsed.get_backend_name() == "sqlite":
            raise StateUnavailable("a sidecar database in memory can be seen by its own daemon only")
        if path is not None and not opening.is_there(path):
            raise StateMissing(f"there is no sidecar database at {path}")
        reader = opening.connect(parsed, "reader", busy_timeout_s=busy_timeout_s)
        asker = opening.connect(parsed, "asker", busy_timeout_s=busy_timeout_s)
        views = cls(reader, asker, parsed, clock)
        try:
            views._check(region)
        except BaseException:
            views.close()
            raise
        return views

    def close(self) -> None:
        """Let go of the database."""
        self._reader.dispose()
        self._asker.dispose()

    # -- state of the whole

    def identity(self) -> Identity:
        """Facts about the database."""
        with self._reading() as connection:
            return identity_of(connection.execute(select(tables.identity)).mappings().one())[0]

    def membership(self) -> Membership:
        """The region's place in the group."""
        with self._reading() as connection:
            return membership_of(connection)

    def status(self) -> Status:
        """All that ``syncer status`` shows, at one moment."""
        with self._reading() as connection:
            identity, alive = identity_of(connection.execute(select(tables.identity)).mappings().one())
            report = connection.execute(select(tables.status)).mappings().first()
            counts = Counts(
                alive=alive,
                due=_count(connection, tables.registers, tables.UNSETTLED, tables.registers.c.due == 1),
                holds=_count(connection, tables.registers, tables.HELD),
                unreadable=_count(
                    connection,
                    tables.registers,
                    tables.HELD,
                    tables.registers.c.hold_reason == HoldReason.UNREADABLE.value,
                ),
                held_publications=_count(connection, tables.held_publications),
                future_events=_count(connection, tables.future_events),
                parked=_count(connection, tables.registers, tables.PARKED),
                conflicts=_count(connection, tables.conflicts, tables.conflicts.c.restored_at.is_(None)),
                quarantine=_count(connection, tables.quarantine),
                operations=_count(
                    connection, tables.operations, tables.operations.c.state == OperationState.PENDING.value
                ),
            )
            return Status(
                identity=identity,
                counts=counts,
                outbox=_outbox(connection),
                document=orjson.loads(report["document"]) if report is not None else None,
                reported_at_ms=report["reported_at"] if report is not None else None,
            )

    def outbox(self) -> OutboxFacts:
        """How much waits for the bus."""
        with self._reading() as connection:
            return _outbox(connection)

    def peers(self) -> list[PeerRow]:
        """What each peer told last, by region."""
        query = select(tables.peers).order_by(tables.peers.c.region)
        with self._reading() as connection:
            return [rows.peer_of(row) for row in connection.execute(query)]

    def daemons(self) -> list[DaemonRow]:
        """The daemons that use this database, or did within a day; those seen last come first."""
        with self._reading() as connection:
            return presence.read(connection, self._clock)

    # -- paths

    def register(self, path: MetaPath) -> Register | None:
        """All that is known of a path."""
        query = select(tables.registers).where(tables.registers.c.path == path)
        with self._reading() as connection:
            row = connection.execute(query).first()
            return rows.register_of(row) if row is not None else None

    def registers(self, limit: int, after: MetaPath | None = None, prefix: str = "") -> list[Register]:
        """Registers in path order, beyond ``after``, of paths that start with the prefix."""
        column = tables.registers.c.path
        query = select(tables.registers).where(column > (after or ""), column >= prefix)
        if prefix:
            query = query.where(column < beyond(prefix))
        with self._reading() as connection:
            return [rows.register_of(row) for row in connection.execute(query.order_by(column).limit(limit))]

    def due(self, limit: int, after: MetaPath | None = None) -> list[Register]:
        """Registers of paths whose write is due, in path order, beyond ``after``."""
        with self._reading() as connection:
            return registers.due(connection, limit, after)

    def journal(self, path: MetaPath, limit: int, before: int | None = None) -> list[JournalRow]:
        """The latest decisions of a path, newest first, numbered below ``before``."""
        table = tables.journal
        query = select(table).where(table.c.path == path)
        if before is not None:
            query = query.where(table.c.id < before)
        return self._journal(query.order_by(table.c.id.desc()).limit(limit))

    def journal_after(self, number: int, limit: int) -> list[JournalRow]:
        """Decisions numbered above ``number``, oldest first."""
        table = tables.journal
        return self._journal(select(table).where(table.c.id > number).order_by(table.c.id).limit(limit))

    def journal_start(self) -> int:
        """Number of the oldest decision that is kept; one beyond the latest when there is none."""
        with self._reading() as connection:
            return numbers.first(connection, tables.journal)

    def journal_end(self) -> int:
        """Number of the latest decision, be it dropped since, 0 when there never was one: where a tail begins."""
        with self._reading() as connection:
            return numbers.last(connection, tables.journal)

    # -- what waits for an operator

    def lost_by(self, region: Region) -> tuple[int, int]:
        """How many conflicts there are whose loser is of that region, and the greatest number of them; 0: none."""
        table = tables.conflicts
        query = select(func.count(), func.coalesce(func.max(table.c.id), 0)).where(table.c.loser_region == region)
        with self._reading() as connection:
            count, last = connection.execute(query).one()
        return count, last

    def conflicts(
        self, limit: int, after: int = 0, *, restored: bool = True, path: MetaPath | None = None
    ) -> list[ConflictSummary]:
        """Conflicts by number, above ``after``; without ``restored`` only those that nobody has restored."""
        table = tables.conflicts
        size = func.length(table.c.value).label("size")
        query = select(*(column for column in table.c if column.name != "value"), size).where(table.c.id > after)
        if not restored:
            query = query.where(table.c.restored_at.is_(None))
        if path is not None:
            query = query.where(table.c.path == path)
        with self._reading() as connection:
            found = connection.execute(query.order_by(table.c.id).limit(limit)).mappings().all()
        return [
            ConflictSummary(
                id=row["id"],
                path=row["path"],
                loser=Stamp(row["loser_time"], row["loser_region"]),
                loser_digest=row["loser_digest"],
                value_bytes=row["size"],
                winner=Stamp(row["winner_time"], row["winner_region"]),
                reason=row["reason"],
                recorded_at_ms=row["recorded_at"],
                restored_at_ms=row["restored_at"],
            )
            for row in found
        ]

    def quarantine(self, limit: int, after: int = 0) -> list[DeadLetterSummary]:
        """Quarantined things by number, above ``after``."""
        table = tables.quarantine
        size = func.length(table.c.payload).label("size")
        query = select(*(column for column in table.c if column.name != "payload"), size).where(table.c.id > after)
        with self._reading() as connection:
            found = connection.execute(query.order_by(table.c.id).limit(limit)).mappings().all()
        return [
            DeadLetterSummary(
                id=row["id"],
                origin=row["origin"],
                position=row["position"],
                code=row["code"],
                detail=row["detail"],
                path=row["path"],
                payload_bytes=row["size"],
                recorded_at_ms=row["recorded_at"],
            )
            for row in found
        ]

    def dead_letter(self, number: int) -> DeadLetterRow | None:
        """A quarantined thing by its number, whole."""
        table = tables.quarantine
        with self._reading() as connection:
            row = connection.execute(select(table).where(table.c.id == number)).mappings().first()
            return rows.dead_letter_of(row) if row is not None else None

    def holds(self, limit: int, after: MetaPath | None = None) -> list[HoldRow]:
        """Held changes in path order, beyond ``after``."""
        c = tables.registers.c
        held = (c.hold_reason, c.hold_time, c.hold_region, c.hold_since, c.hold_detail, c.hold_local)
        query = select(c.path, c.k_digest, *_SHOWN, *held).where(tables.HELD, c.path > (after or "")).order_by(c.path)
        found = []
        with self._reading() as connection:
            for path, digest, *columns in connection.execute(query.limit(limit)):
                hold = rows.hold_of(columns[len(_SHOWN) :])
                if hold is not None:
                    shown = rows.shown_of(columns[: len(_SHOWN)])
                    found.append(HoldRow(path=path, hold=hold, digest=digest, shown=shown))
        return found

    def held_publications(self, limit: int, after: MetaPath | None = None) -> list[HeldEvent]:
        """Local changes whose publication waits, in path order, beyond ``after``."""
        table = tables.held_publications
        query = select(table.c.path, table.c.head, func.length(table.c.value)).where(table.c.path > (after or ""))
        with self._reading() as connection:
            found = connection.execute(query.order_by(table.c.path).limit(limit)).all()
            return [_held(path, head, size, None, None) for path, head, size in found]

    def future_events(self, limit: int) -> list[HeldEvent]:
        """Events from the future, oldest stamp first."""
        c, known = tables.future_events.c, tables.registers
        query = select(c.path, c.head, func.length(c.value), c.held_at, *_SHOWN)
        query = query.outerjoin_from(tables.future_events, known, known.c.path == c.path)
        query = query.order_by(c.time, c.region, c.path).limit(limit)
        with self._reading() as connection:
            found = connection.execute(query).all()
            return [_held(path, head, size, at, rows.shown_of(shown)) for path, head, size, at, *shown in found]

    def parked(self, limit: int, after: MetaPath | None = None) -> list[ParkedRow]:
        """Parked writes in path order, beyond ``after``."""
        c = tables.registers.c
        query = select(c.path, c.k_time, c.k_region, c.parked_reason, c.parked_since, c.parked_detail)
        query = query.where(tables.PARKED, c.path > (after or "")).order_by(c.path).limit(limit)
        found = []
        with self._reading() as connection:
            for path, time, region, *columns in connection.execute(query):
                parked = rows.parked_of(columns)
                if parked is not None:
                    found.append(ParkedRow(path=path, parked=parked, stamp=encoding.stamp_of(time, region)))
        return found

    # -- inside

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        with translated(self._url), self._reader.connect() as connection, connection.begin():
            try:
                yield connection
            except (ValueError, LookupError, TypeError) as exc:
                raise StateForeign(
                    f"the sidecar database holds a row that no daemon of this version writes: {exc}",
                    hint="Look at it with 'syncer state check'; a daemon rebuilds what is lost from its peers.",
                ) from exc

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        with translated(self._url), self._asker.begin() as connection:
            yield connection

    def _check(self, region: Region | None) -> None:
        with self._reading() as connection:
            found = opening.revision(connection)
            if found is None:
                raise StateMissing(f"{opening.safe(self._url)} holds no sidecar database yet")
            if found != opening.head():
                raise StateForeign(
                    "the schema of the sidecar database is older than this version",
                    hint="This version's daemon updates it when it becomes active; ask the old one until then.",
                )
        with self._reading() as connection:
            owner = connection.execute(select(tables.identity.c.region)).scalar()
        if owner is None:
            raise StateMissing(f"{opening.safe(self._url)} holds no facts of a sidecar database yet")
        if region is not None and owner != region:
            raise StateForeign(f"the sidecar database belongs to region {owner}, not to {region}")

    def _journal(self, query: Select[Any]) -> list[JournalRow]:
        with self._reading() as connection:
            return [
                JournalRow(id=number, at_ms=at, entry=rows.journal_of(rest))
                for number, at, *rest in connection.execute(query)
            ]


def _count(connection: Connection, table: Table, *where: Any) -> int:  # noqa: ANN401 - any condition
    return connection.execute(select(func.count()).select_from(table).where(*where)).scalar_one()


def _outbox(connection: Connection) -> OutboxFacts:
    table = tables.outbox
    oldest = connection.execute(select(table.c.enqueued_at).order_by(table.c.sequence).limit(1)).scalar()
    return OutboxFacts(depth=_count(connection, table), oldest_at_ms=oldest)


def _held(path: str, head: str, size: int | None, at: int | None, shown: Shown | None) -> HeldEvent:
    event = encoding.event_of(path, head, None)
    return HeldEvent(
        path=event.path,
        type=event.type,
        stamp=event.stamp,
        value_bytes=size,
        held_at_ms=None if at is None else Millis(at),
        shown=shown,
    )
