"""One transaction of the daemon on a SQL database: the contract's methods as statements."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple
from typing import Any, Final

from sqlalchemy import Connection, CursorResult, delete, exists, func, or_, select

from syncer.conflict.acts import Journal
from syncer.conflict.causality.consumed import Consumed
from syncer.conflict.register import HoldReason, Register
from syncer.errors import InvariantBroken
from syncer.model import Digest, MetadataChangeEvent, MetaPath, Millis, Region
from syncer.paths import child_prefixes
from syncer.replacing import replace
from syncer.state import encoding
from syncer.state.contract.identity import Identity, check_changes
from syncer.state.contract.outbox import OutboxRow
from syncer.state.contract.peers import PeerRow
from syncer.state.contract.tree import KeptTree
from syncer.state.sql import digest_tree, rows, tables
from syncer.state.sql.cache import MAX_OPEN, Cache, OpenPaths, Unknown
from syncer.state.sql.conflicts import ConflictRows
from syncer.state.sql.quarantine import QuarantineRows
from syncer.state.sql.statements import Statements, upserting
from syncer.state.sql.tombstones import TombstoneRows
from syncer.state.sql.withholding import WithheldRows
from syncer.state.sql.work import migrations, move_runs, operations, repairs
from syncer.state.sql.work.jobs import JobRows
from syncer.state.sql.work.ledger_audits import LedgerAuditRows
from syncer.state.sql.work.move_runs import MoveRunRows
from syncer.state.sql.work.operations import OperationRows
from syncer.state.sql.work.repairs import RepairRows

_CHILDREN: Final = 100
"""Children that are asked for at once."""


def beyond(prefix: str) -> str:
    """The smallest string greater than every one that starts with the prefix."""
    return prefix[:-1] + chr(ord(prefix[-1]) + 1)


def prune(connection: Connection, journal_before: Millis, limit: int, audit_before: Millis | None = None) -> int:
    """Drop journal rows, repairs, migrations and runs before that, and operations before another; how many went.

    Only the oldest ``limit`` journal rows are looked at, so it costs the same however long the journal is.
    """
    journal = tables.journal
    oldest = select(journal.c.id, journal.c.at).order_by(journal.c.id).limit(limit).subquery()
    old = select(oldest.c.id).where(oldest.c.at < journal_before)
    gone = connection.execute(delete(journal).where(journal.c.id.in_(old))).rowcount
    gone += operations.prune(connection, journal_before if audit_before is None else audit_before, limit)
    gone += repairs.prune(connection, journal_before, limit)
    gone += move_runs.prune(connection, journal_before, limit)
    return gone + migrations.prune(connection, journal_before, limit)


class SqlTransaction(
    QuarantineRows,
    ConflictRows,
    TombstoneRows,
    WithheldRows,
    OperationRows,
    RepairRows,
    MoveRunRows,
    JobRows,
    LedgerAuditRows,
):
    """Implements :class:`~syncer.state.contract.transaction.Transaction`.

    ``touched`` holds the paths whose register it has changed, in the cache too; ``all_touched``: any may have been.
    """

    def __init__(
        self, connection: Connection, statements: Statements, cache: Cache, clock: Callable[[], Millis]
    ) -> None:
        if cache.identity is None:
            raise InvariantBroken("a transaction needs the facts of its database")
        self._connection = connection
        self._statements = statements
        self._cache = cache
        self._clock = clock
        self._identity = cache.identity
        self._before = (cache.identity, cache.alive)
        self.touched: set[MetaPath] = set()
        self.all_touched = False

    # -- registers

    def registers(self, paths: Collection[MetaPath]) -> dict[MetaPath, Register]:
        """The registers that exist, of these paths and in their order."""
        cached = self._cache.registers
        found: dict[MetaPath, Register] = {}
        missing: list[MetaPath] = []
        for path in paths:
            register = cached.get(path)
            if isinstance(register, Unknown):
                missing.append(path)
            elif register is not None:
                found[path] = register
        if missing:
            read = {row[0]: rows.register_of(row) for row in self._rows(self._statements.registers(missing))}
            for path in missing:
                cached.put(path, read.get(path))
            found = {path: register for path in paths if (register := read.get(path) or found.get(path)) is not None}
        return found

    def save(self, registers: Iterable[Register]) -> None:
        """Insert or replace registers."""
        latest = {register.path: register for register in registers}
        before = self.registers(latest)
        changed = [register for path, register in latest.items() if before.get(path) is not register]
        if not changed:
            return
        self.touched.update(register.path for register in changed)
        shapes: defaultdict[int, list[rows.Row]] = defaultdict(list)
        for register in changed:
            shape, row = rows.register_row(register)
            shapes[shape].append(row)
        for shape, alike in shapes.items():
            saving = self._statements.save_register(shape)
            self._many(saving.sql, list(map(saving.arranged, alike)))
        cached = self._cache.registers
        for register in changed:
            former = before.get(register.path)
            self._cache.alive += register.stored_alive - (former is not None and former.stored_alive)
            cached.put(register.path, register)

    def forget_revisions(self) -> None:
        """No register knows at which revision the store holds its value any more: each is compared when it is read."""
        table = tables.registers
        self._connection.execute(table.update().where(table.c.s_revision.is_not(None)).values(s_revision=None))
        self._cache.registers.clear()
        self.all_touched = True

    def parents_of_living(self, paths: Collection[MetaPath], carried: Callable[[MetaPath], bool]) -> set[MetaPath]:
        """Of these paths, those with a child that is carried, and whose stored value is alive."""
        ranges = [(path, prefix, beyond(prefix)) for path in paths for prefix in child_prefixes(path)]
        found = {row[0] for row in self._rows(self._statements.living_in(ranges))}
        return {path for path in found if any(carried(child) for child in self._living_below(path))}

    def _living_below(self, path: MetaPath) -> Iterator[MetaPath]:
        """Children whose stored value is alive, a few at a time: the first one decides nearly always."""
        for prefix in child_prefixes(path):
            first = prefix
            while True:
                page = (first, beyond(prefix), _CHILDREN)
                found = self._connection.exec_driver_sql(self._statements.living_between, page).fetchall()
                yield from (child for (child,) in found)
                if len(found) < _CHILDREN:
                    break
                first = found[-1][0] + "\x01"  # nothing lies between: no path holds a zero

    def count_alive(self) -> int:
        """How many paths the store was last known to hold."""
        return self._cache.alive

    def living(self, limit: int, after: MetaPath | None = None) -> list[tuple[MetaPath, Digest]]:
        """Paths whose known version is alive, with its digest, in path order, beyond ``after``."""
        found = self._connection.exec_driver_sql(self._statements.known_alive, (after or "", limit)).fetchall()
        return [(path, digest) for path, digest in found]

    # -- digest tree

    def tree(self) -> KeptTree:
        """The digest tree as kept."""
        return digest_tree.read(self._connection)

    def tree_number(self) -> int:
        """Number of the last row ever written into the tree's log."""
        number = self._cache.tree_number
        if number is None:
            number = self._cache.tree_number = digest_tree.last_number(self._connection)
        return number

    def log_tree(self, changes: bytes) -> int:
        """Append to the tree's log; the row's number, one more than that of the last one."""
        number = self.tree_number() + 1
        self._many(self._statements.log_tree, [(number, rows.as_bytes(changes))])
        self._cache.tree_number = number
        return number

    def save_tree(self, label: str, pages: Mapping[int, bytes]) -> None:
        """Replace the label and all pages, and forget the log; its numbers go on."""
        digest_tree.replace_all(self._connection, label, self.tree_number(), pages)

    # -- outbox

    def enqueue(self, events: Sequence[MetadataChangeEvent]) -> None:
        """Put events into the outbox, giving each the next sequence number."""
        if not events:
            return
        now, first, sender = self._clock(), self._identity.last_sequence + 1, self._identity.database_id
        queue = self._open()
        numbered = list(enumerate(events, first))
        self._many(
            self._statements.enqueue,
            [
                (number, event.path, now, encoding.event_head(event), rows.as_bytes(event.value))
                for number, event in numbered
            ],
        )
        self._know(replace(self._identity, last_sequence=first + len(events) - 1))
        queue.enqueued([(number, replace(event, sender=sender, sequence=number)) for number, event in numbered])

    def carried(self, limit: int) -> dict[int, MetadataChangeEvent]:
        """What was carried over of the outbox of the database before, in its order, by numbers of its own."""
        table = tables.carried
        query = select(table.c.id, table.c.path, table.c.head, table.c.value).order_by(table.c.id).limit(limit)
        return {number: encoding.event_of(*row) for number, *row in self._connection.execute(query)}

    def drop_carried(self, numbers: Collection[int]) -> None:
        """These were published, or need not be."""
        self._connection.execute(delete(tables.carried).where(tables.carried.c.id.in_(numbers)))

    def hold_publication(self, event: MetadataChangeEvent) -> None:
        """Keep an event back; it replaces one held before for the same path."""
        self._many(self._statements.hold_publication, [(event.path, encoding.event_head(event), event.value)])
        self._open().holding = True

    def held_publication(self, path: MetaPath) -> MetadataChangeEvent | None:
        """The event that is held back for a path."""
        table = tables.held_publications
        row = self._connection.execute(select(table).where(table.c.path == path)).first()
        return encoding.event_of(*row) if row is not None else None

    def drop_held(self, path: MetaPath) -> None:
        """Forget the held event of a path, if there is one."""
        queue = self._open()
        if not queue.holding:
            return
        table = tables.held_publications
        self._connection.execute(delete(table).where(table.c.path == path))
        queue.holding = self._holding()

    def open_paths(self, paths: Collection[MetaPath]) -> set[MetaPath]:
        """Of these paths, those with an event in the outbox or held back."""
        among = self._open().among(paths)
        if among is not None:
            return among
        return {row[0] for row in self._rows(self._statements.open_paths(list(paths)))}

    def outbox(self, limit: int, after: int = 0) -> list[OutboxRow]:
        """The oldest events that are not yet acknowledged, with a number above ``after``, in order."""
        kept = self._open().events(limit, after)
        if kept is not None:
            return [OutboxRow(sequence=number, event=event) for number, event in kept]
        table, sender = tables.outbox, self._identity.database_id
        query = select(table.c.sequence, table.c.path, table.c.head, table.c.value).where(table.c.sequence > after)
        return [
            OutboxRow(sequence=sequence, event=encoding.event_of(path, head, value, sender, sequence))
            for sequence, path, head, value in self._connection.execute(query.order_by(table.c.sequence).limit(limit))
        ]

    def acknowledged(self, sequences: Collection[int]) -> None:
        """The bus has acknowledged these: they leave the outbox."""
        if not sequences:
            return
        queue = self._open()
        result = self._many(self._statements.acknowledge, [(sequence,) for sequence in sequences])
        queue.acknowledged(sequences, result.rowcount)

    # -- consumption

    def consumed(self, senders: Collection[str]) -> dict[str, Consumed]:
        """What was consumed of each sender that is known."""
        known = self._cache.consumed
        missing = [sender for sender in senders if sender not in known]
        if missing:
            table = tables.consumed
            for sender, through, ahead in self._connection.execute(select(table).where(table.c.sender.in_(missing))):
                known[sender] = rows.consumed_of(through, ahead)
        return {sender: known[sender] for sender in senders if sender in known}

    def senders(self) -> set[str]:
        """Every sender of whom something was consumed."""
        return set(self._connection.execute(select(tables.consumed.c.sender)).scalars())

    def save_consumed(self, consumed: dict[str, Consumed]) -> None:
        """Replace what was consumed of these senders."""
        if not consumed:
            return
        changes = [(sender, value.through, rows.ahead_text(value)) for sender, value in consumed.items()]
        self._many(self._statements.save_consumed, changes)
        self._cache.consumed.update(consumed)

    # -- records

    def journal(self, rows_: Sequence[Journal], now: Millis) -> None:
        """Append decisions."""
        if rows_:
            self._many(self._statements.journal, [rows.journal_row(entry, now) for entry in rows_])

    # -- scans

    def begin_scan(self) -> None:
        """Forget which paths a former scan met."""
        self._connection.execute(delete(tables.met))

    def met(self, paths: Collection[MetaPath]) -> None:
        """The running scan met these paths."""
        if paths:
            self._many(self._statements.met, [(path,) for path in paths])

    def unmet_standing(self, limit: int, after: MetaPath | None = None) -> list[MetaPath]:
        """Paths where something stood that the scan did not meet, in path order, beyond ``after``."""
        table, met = tables.registers, tables.met
        query = select(table.c.path).where(
            or_(table.c.alive == 1, table.c.hold_reason == HoldReason.UNREADABLE.value),
            table.c.path > (after or ""),
            ~exists(select(met.c.path).where(met.c.path == table.c.path)),
        )
        return list(self._connection.execute(query.order_by(table.c.path).limit(limit)).scalars())

    # -- facts

    def identity(self) -> Identity:
        """Facts about the database."""
        return self._identity

    def set_identity(self, **changes: object) -> Identity:
        """Change some fields of the identity (not region, database id, epoch or last sequence)."""
        check_changes(changes)
        texts = {name: encoding.storable(text) for name, text in changes.items() if isinstance(text, str)}
        changed: Any = replace(self._identity, **{**changes, **texts})  # type: ignore[arg-type]  # checked by name above
        self._know(changed)
        return self._identity

    def save_peer(self, peer: PeerRow) -> None:
        """Keep what a peer told last; one row per region."""
        row = {
            "region": peer.region,
            "sender": peer.sender,
            "heard_at": peer.heard_at_ms,
            "sent_at": peer.sent_at_ms,
            "document": encoding.dumps(peer.document),
        }
        self._connection.execute(upserting(self._connection.dialect, tables.peers), row)

    def drop_peer(self, region: Region) -> None:
        """Keep nothing of a peer."""
        self._connection.execute(delete(tables.peers).where(tables.peers.c.region == region))

    def peers(self, regions: Collection[Region] | None = None) -> list[PeerRow]:
        """All peers that were ever heard, or those of these regions, by region."""
        query = select(tables.peers).order_by("region")
        if regions is not None:
            query = query.where(tables.peers.c.region.in_(regions))
        return [rows.peer_of(row) for row in self._connection.execute(query)]

    def save_status(self, document: dict[str, object], now: Millis) -> None:
        """Keep the daemon's own report."""
        row = {"one": 1, "reported_at": now, "document": encoding.dumps(document)}
        self._connection.execute(upserting(self._connection.dialect, tables.status), row)

    # -- upkeep

    def prune(self, journal_before: Millis, limit: int, audit_before: Millis | None = None) -> int:
        """Drop what is older, at most ``limit`` rows of each kind; how many went."""
        return prune(self._connection, journal_before, limit, audit_before)

    # -- the shell of the transaction

    def finish(self) -> bool:
        """Write the facts that changed, right before the commit; ``False``: the database is no longer ours."""
        identity, alive = self._identity, self._cache.alive
        if (identity, alive) == self._before:
            return True
        facts = (*astuple(identity)[2:], alive, identity.epoch)
        return self._many(self._statements.set_facts, [facts]).rowcount == 1

    def _know(self, identity: Identity) -> None:
        self._identity = self._cache.identity = identity

    def _open(self) -> OpenPaths:
        queue = self._cache.open
        if queue is None:
            table = tables.outbox
            waiting = self._connection.execute(select(func.count()).select_from(table)).scalar_one()
            few = self._connection.execute(
                select(table.c.sequence, table.c.path).order_by(table.c.sequence).limit(MAX_OPEN)
            ).all()
            pairs = [(number, path) for number, path in few]
            queue = self._cache.open = OpenPaths(waiting, pairs, holding=self._holding())
        return queue

    def _holding(self) -> bool:
        return self._connection.execute(select(tables.held_publications.c.path).limit(1)).first() is not None

    def _rows(self, queries: Iterable[tuple[str, tuple[str, ...]]]) -> list[Any]:
        return [row for sql, values in queries for row in self._connection.exec_driver_sql(sql, values).fetchall()]

    def _many(self, sql: str, values: list[rows.Row]) -> CursorResult[Any]:
        return self._connection.exec_driver_sql(sql, values if len(values) > 1 else values[0])
