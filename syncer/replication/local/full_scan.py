"""Full resync: after every arming of the watch the whole scope is read once, so that nothing stays hidden in a gap."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from syncer.conflict.reads import Ticket
from syncer.conflict.register import Register
from syncer.conflict.withholding import withholds
from syncer.errors import PreconditionFailed
from syncer.model import MetaPath, Millis
from syncer.replication.bisection import Settle, narrowed
from syncer.replication.fence import HeldFence
from syncer.replication.local import going_over
from syncer.replication.local.dirty import ReadCause
from syncer.replication.local.observe import check_fence, decide, leave_alone, settle_told
from syncer.replication.local.part import OwnStore
from syncer.replication.recovery import rebuild
from syncer.replication.uncompared import NOTHING_UNCOMPARED
from syncer.state.contract.transaction import Transaction
from syncer.stores.contract import Entry

_UNMET_PAGE: Final = 1000


@dataclass(slots=True)
class Scan:
    """A running scan.

    Args:
        alive: How many paths were known to be alive when it began; what lands meanwhile may be on no page.
        met: How many resources it has found.
        finished: Every page was taken.
    """

    alive: int = 0
    met: int = 0
    finished: bool = False


@dataclass(frozen=True, slots=True)
class PageTicket:
    """Identifies a page that was asked for, and tells the fence as it was known then."""

    read: Ticket
    held: HeldFence | None


def begin(local: OwnStore) -> Scan:
    """Begin a scan; the watch must be armed."""
    local.misfits.begin_scan()
    local.versions.filters.begin_scan()
    local.versions.rescan = local.core.going_over.wants_scan = False
    with local.core.state.transaction() as tx:
        tx.begin_scan()
        return Scan(alive=tx.count_alive())


def issue(local: OwnStore) -> PageTicket:
    """The next page is about to be asked for."""
    return PageTicket(local.watch.ledger.issue(), local.core.fence)


def take_page(
    local: OwnStore, scan: Scan, asked: PageTicket, entries: Sequence[Entry], fence: Entry | None, now: Millis
) -> None:
    """Take a page, with the fence read after it: its values serve as reads; what they may not decide is read again.

    Raises:
        Fenced: The fence is not ours: nothing was stamped.
        PreconditionFailed: The store was put back from a backup: likewise.
    """
    settle_told(local, check_fence(local, fence, asked.held), asked.held, now)
    ticket = asked.read
    local.trust(ticket)
    found: dict[MetaPath, Entry] = {}
    for entry in entries:
        if local.core.scope.contains(entry.path):
            found[entry.path] = entry
            local.look_at(entry.path, entry)
        else:
            local.misfits.look_at(entry.path)
    try:
        scan.met += len(found)
        known, first = _meet(local, found), not local.watch.scanned
        settings = local.core.replica.settings
        going, beyond = bool(settings.projections.former), settings.brokers is not None and settings.brokers.beyond
        shares = settings.projections.shares
        news = {
            path: entry
            for path, entry in found.items()
            if (register := known.get(path)) is None
            or register.due
            or register.stored is None
            or register.stored.revision != entry.revision
            or (register.unspoken and local.core.scope.direction(path).publishes)
            or (going and local.core.replica.goes_over(path))
            or withholds(path)  # few; a former version of their projection may have made the digest
            or (((first and register.kept is None) or beyond) and local.core.replica.keeps_more(register, entry))
            or (first and local.core.replica.excludes_others(register))
            or (shares and local.core.replica.shares_more(register, entry))
        }
        valid = {path: entry for path, entry in news.items() if _valid(local, ticket, path)}
        local.dirty.add((path for path in news if path not in valid), ReadCause.SCAN)
        decide(local, ticket, valid, dict.fromkeys(valid, ReadCause.SCAN), now)
    finally:
        local.watch.ledger.close(ticket)


def _meet(local: OwnStore, found: dict[MetaPath, Entry]) -> dict[MetaPath, Register]:
    """Note that these paths were met; what is known of them. What the database cannot keep is left out of them.

    After many of those the rest is left out too, and read again.
    """
    known: dict[MetaPath, Register] = {}

    def attempt(paths: Sequence[MetaPath]) -> Settle:
        with local.core.state.transaction() as tx:
            tx.met(paths)
            registers = tx.registers(paths)
        return partial(known.update, registers)

    def give_up(path: MetaPath, cause: Exception) -> Settle:
        del found[path]
        return leave_alone(local, path, cause)

    if found:
        left = narrowed(local.group, list(found), attempt, give_up)
        local.dirty.add(left, ReadCause.SCAN)
        for path in left:
            del found[path]
    return known


def _valid(local: OwnStore, ticket: Ticket, path: MetaPath) -> bool:
    return local.watch.ledger.valid(ticket, path) and path not in local.writes.in_flight


def end(local: OwnStore, scan: Scan) -> None:
    """Every page was taken: what stood there and was not met has to be confirmed absent by a read.

    What has left the scope is met no more, and nothing is known of it: nobody asks where it is.

    Raises:
        PreconditionFailed: The store answers empty where it was not: nothing was evaluated, nothing stamped.
    """
    with local.core.state.transaction() as tx:
        empty = scan.met == 0 and min(scan.alive, tx.count_alive()) > 0
        if empty and (gone := sum(map(len, _unmet(local, tx)))):
            raise PreconditionFailed(
                f"the store answers empty, where {gone} paths were alive: nothing was stamped, nothing was deleted",
                hint="Check the store's address, chroot and content. To meet a store that was emptied on purpose anew: "
                f"stop the daemon, move its sidecar database away, delete {local.core.fence_path}, start it again.",
            )
        for paths in _unmet(local, tx):
            local.dirty.add(paths, ReadCause.SCAN)
    local.versions.filters.end_scan()
    scan.finished = True


def _unmet(local: OwnStore, tx: Transaction) -> Iterator[list[MetaPath]]:
    """Pages of paths in scope that stood there, and that no page of the scan has shown."""
    after: MetaPath | None = None
    while unmet := tx.unmet_standing(_UNMET_PAGE, after):
        if paths := [path for path in unmet if local.core.scope.contains(path)]:
            yield paths
        if len(unmet) < _UNMET_PAGE:
            return
        after = unmet[-1]


def complete(local: OwnStore, scan: Scan, now: Millis) -> bool:
    """Whether every read that the scan has caused was answered; then the first scan of a database is its genesis."""
    if not scan.finished or local.dirty.from_scan or not local.watch.ledger.idle:
        return False
    local.watch.gap_floor = Millis(0)
    local.watch.scanned = True
    local.versions.scanned()
    going_over.scanned(local)
    local.telemetry.tally["scans", "finished"] += 1
    local.watch.alive_until = now
    _settle_place(local)
    if not local.core.first_scan_done:
        with local.core.state.transaction() as tx:
            rebuild.finish(local.recovery, tx)
            identity = tx.set_identity(first_scan_done=True)
        local.core.identity = identity
        local.recovery.progress.members.clear()
    return True


def _settle_place(local: OwnStore) -> None:
    """All of the store was compared: the fence says from its next write on that it is this one."""
    core = local.core
    core.uncompared = NOTHING_UNCOMPARED
    if core.fence is not None and core.place.at and core.fence.fence.at != core.place.at:
        core.fence = HeldFence(replace(core.fence.fence, at=core.place.at), core.fence.revision)
        local.rollback_counter.advanced = True
