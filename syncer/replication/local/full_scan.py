"""Full resync: after every arming of the watch the whole scope is read once, so that nothing stays hidden in a gap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from syncer.conflict.reads import Ticket
from syncer.conflict.register import Register
from syncer.conflict.withholding import withholds
from syncer.errors import PreconditionFailed
from syncer.model import MetaPath, Millis
from syncer.replication.bisection import Settle, narrowed
from syncer.replication.context import Context
from syncer.replication.fence import HeldFence
from syncer.replication.local.dirty import ReadCause
from syncer.replication.local.observe import check_fence, decide, leave_alone
from syncer.replication.recovery import rebuild
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


def begin(context: Context) -> Scan:
    """Begin a scan; the watch must be armed."""
    context.misfits.begin_scan()
    with context.state.transaction() as tx:
        tx.begin_scan()
        return Scan(alive=tx.count_alive())


def issue(context: Context) -> PageTicket:
    """The next page is about to be asked for."""
    return PageTicket(context.ledger.issue(), context.fence)


def take_page(
    context: Context, scan: Scan, asked: PageTicket, entries: Sequence[Entry], fence: Entry | None, now: Millis
) -> None:
    """Take a page, with the fence read after it: its values serve as reads; what they may not decide is read again.

    Raises:
        Fenced: The fence is not ours: nothing was stamped.
        PreconditionFailed: The store was put back from a backup: likewise.
    """
    check_fence(context, fence, asked.held)
    ticket = asked.read
    context.trust(ticket)
    found: dict[MetaPath, Entry] = {}
    for entry in entries:
        if context.scope.contains(entry.path):
            found[entry.path] = entry
        else:
            context.misfits.look_at(entry.path)
    try:
        scan.met += len(found)
        known = _meet(context, found)
        news = {
            path: entry
            for path, entry in found.items()
            if (register := known.get(path)) is None
            or register.due
            or register.stored is None
            or register.stored.revision != entry.revision
            or withholds(path)  # few; a former version of their projection may have made the digest
        }
        valid = {path: entry for path, entry in news.items() if _valid(context, ticket, path)}
        context.dirty.add((path for path in news if path not in valid), ReadCause.SCAN)
        decide(context, ticket, valid, dict.fromkeys(valid, ReadCause.SCAN), now)
    finally:
        context.ledger.close(ticket)


def _meet(context: Context, found: dict[MetaPath, Entry]) -> dict[MetaPath, Register]:
    """Note that these paths were met; what is known of them. What the database cannot keep is left out of them.

    After many of those the rest is left out too, and read again.
    """
    known: dict[MetaPath, Register] = {}

    def attempt(paths: Sequence[MetaPath]) -> Settle:
        with context.state.transaction() as tx:
            tx.met(paths)
            registers = tx.registers(paths)
        return partial(known.update, registers)

    def give_up(path: MetaPath, cause: Exception) -> Settle:
        del found[path]
        return leave_alone(context, path, cause)

    if found:
        left = narrowed(context, list(found), attempt, give_up)
        context.dirty.add(left, ReadCause.SCAN)
        for path in left:
            del found[path]
    return known


def _valid(context: Context, ticket: Ticket, path: MetaPath) -> bool:
    return context.ledger.valid(ticket, path) and path not in context.writes.in_flight


def end(context: Context, scan: Scan) -> None:
    """Every page was taken: what stood there and was not met has to be confirmed absent by a read.

    Raises:
        PreconditionFailed: The store answers empty where it was not: nothing was evaluated, nothing stamped.
    """
    with context.state.transaction() as tx:
        alive = min(scan.alive, tx.count_alive())
        if scan.met == 0 and alive > 0:
            raise PreconditionFailed(
                f"the store answers empty, where {alive} paths were alive: nothing was stamped, nothing was deleted",
                hint="Check the store's address, chroot and content. To meet a store that was emptied on purpose anew: "
                f"stop the daemon, move its sidecar database away, delete {context.fence_path}, start it again.",
            )
        after: MetaPath | None = None
        while unmet := tx.unmet_standing(_UNMET_PAGE, after):
            context.dirty.add(unmet, ReadCause.SCAN)
            after = unmet[-1]
            if len(unmet) < _UNMET_PAGE:
                break
    scan.finished = True


def complete(context: Context, scan: Scan, now: Millis) -> bool:
    """Whether every read that the scan has caused was answered; then the first scan of a database is its genesis."""
    if not scan.finished or context.dirty.from_scan or not context.ledger.idle:
        return False
    context.gap_floor = Millis(0)
    context.scanned = True
    context.tally["scans", "finished"] += 1
    context.alive_until = now
    if not context.first_scan_done:
        with context.state.transaction() as tx:
            rebuild.finish(context, tx)
            identity = tx.set_identity(first_scan_done=True)
        context.identity = identity
        context.recovery.members.clear()
    return True
