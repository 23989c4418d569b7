"""Pages of what a region keeps, in key order, as the command line and REST list them.

A page ends after ``limit`` items, and names the key to go on behind; ``None`` says that it was the last one. A filter
by tenant leaves out what belongs to another one, or to none.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, TypeVar

from syncer.bus.wire.messages import LEFT
from syncer.documents.conflicts import ConflictList, conflict_document
from syncer.documents.explain import EventList, PathList, decision_document, path_document
from syncer.documents.holds import HoldList, ParkedList, hold_document, parked_document
from syncer.documents.operations import OperationList, operation_document
from syncer.documents.quarantine import QuarantineDocument, QuarantineList, quarantine_document
from syncer.documents.regions import RegionList
from syncer.documents.status import RegionDocument
from syncer.errors import NotFound
from syncer.model import MetaPath
from syncer.operations.decisions import every_event, every_hold, in_order
from syncer.paths import tenant_of

if TYPE_CHECKING:
    from syncer.conflict.register import Register
    from syncer.documents.explain import DecisionDocument
    from syncer.documents.status import StatusDocument
    from syncer.state.contract.operations import OperationState
    from syncer.state.views.region import Views
    from syncer.state.views.summaries import ConflictSummary, ParkedRow

PAGE: Final = 500

Row = TypeVar("Row")


def hold_list(views: Views, limit: int, after: str = "", *, tenant: str = "", only: str = "") -> HoldList:
    """What waits for an operator, in path order; events from the future of a path follow what waits in its register.

    A page never parts what waits at one path, so it may have a few items more than its limit.
    """
    kept = (each for each in every_hold(views, after) if _belongs(each.path, tenant) and only in {"", each.reason})
    events = (
        each
        for each in every_event(views)
        if each.path > after and _belongs(each.path, tenant) and only in {"", each.reason}
    )
    found = in_order(itertools.islice(kept, limit + 1), events)
    end = min(limit, len(found))
    while end and end < len(found) and found[end].path == found[end - 1].path:
        end += 1
    return HoldList(
        items=[hold_document(each) for each in found[:end]],
        next=found[end - 1].path if end < len(found) else None,
    )


def conflict_list(
    views: Views, limit: int, after: int = 0, *, restored: bool = False, tenant: str = "", path: MetaPath | None = None
) -> ConflictList:
    """Conflicts, oldest first; those that were restored too if asked for."""

    def page(number: int) -> Sequence[ConflictSummary]:
        return views.conflicts(PAGE, number, restored=restored, path=path)

    rows = _numbered(page, after, lambda row: row.id, lambda row: _belongs(row.path, tenant))
    items = [conflict_document(row) for row in itertools.islice(rows, limit + 1)]
    return ConflictList(items=items[:limit], next=items[limit - 1].id if len(items) > limit else None)


def quarantine_list(views: Views, limit: int, after: int = 0, *, tenant: str = "") -> QuarantineList:
    """What could not be handled, oldest first."""
    rows = _numbered(
        lambda number: views.quarantine(PAGE, number),
        after,
        lambda row: row.id,
        lambda row: not tenant or (row.path is not None and _belongs(row.path, tenant)),
    )
    items = [quarantine_document(row) for row in itertools.islice(rows, limit + 1)]
    return QuarantineList(items=items[:limit], next=items[limit - 1].id if len(items) > limit else None)


def parked_list(views: Views, limit: int, after: str = "", *, tenant: str = "") -> ParkedList:
    """Writes that wait for another path or for the store, in path order."""

    def every() -> Iterator[ParkedRow]:
        behind = after
        while rows := views.parked(PAGE, MetaPath(behind) if behind else None):
            yield from (row for row in rows if _belongs(row.path, tenant))
            behind = rows[-1].path

    rows = list(itertools.islice(every(), limit + 1))
    items = [parked_document(row.path, row.parked, row.stamp) for row in rows[:limit]]
    return ParkedList(items=items, next=items[-1].path if len(rows) > limit else None)


def operation_list(views: Views, limit: int, after: int = 0, *, state: OperationState | None = None) -> OperationList:
    """What was asked of the daemon, oldest first."""
    rows = views.operations(limit + 1, after, state=state)
    following = rows[limit - 1].id if len(rows) > limit else None
    return OperationList(items=[operation_document(each) for each in rows[:limit]], next=following)


def quarantine_entry(views: Views, number: int) -> QuarantineDocument:
    """One entry of the quarantine, without its payload.

    Raises:
        NotFound: There is none.
    """
    rows = views.quarantine(1, number - 1)
    if not rows or rows[0].id != number:
        raise NotFound(f"nothing is quarantined as {number}", hint="See 'syncer quarantine list'.")
    return quarantine_document(rows[0])


def path_list(views: Views, limit: int, after: str = "", *, prefix: str = "", tenant: str = "") -> PathList:
    """Paths that are known, in order, that start so."""

    def every() -> Iterator[Register]:
        behind = after
        while rows := views.registers(PAGE, MetaPath(behind) if behind else None, prefix):
            yield from (row for row in rows if _belongs(row.path, tenant))
            behind = rows[-1].path

    rows = list(itertools.islice(every(), limit + 1))
    items = [path_document(row) for row in rows[:limit]]
    return PathList(items=items, next=items[-1].path if len(rows) > limit else None)


def event_list(views: Views, limit: int, after: int = 0, *, prefix: str = "") -> EventList:
    """Decisions numbered above that, oldest first, of paths that start so."""
    found: list[DecisionDocument] = []
    while len(found) < limit and (rows := views.journal_after(after, PAGE)):
        for row in rows:
            after = row.id
            if row.entry.path.startswith(prefix):
                found.append(decision_document(row))
                if len(found) == limit:
                    break
    return EventList(items=found, next=after)


def latest_event_list(views: Views, count: int, limit: int, *, prefix: str = "") -> EventList:
    """The first of the latest so many decisions, oldest first, of paths that start so; a tail begins with these."""
    return event_list(views, limit, max(0, views.journal_end() - count), prefix=prefix)


def region_list(found: StatusDocument) -> RegionList:
    """This region and every one that was ever heard, by the region's status."""
    here = RegionDocument(
        region=found.region,
        here=True,
        mode=found.mode,
        version=None,
        heard_at_ms=found.reported_at_ms,
        heard_age_s=found.reported_age_s,
        skew_s=None,
        watermark_ms=None,
        compared=None,
        differing_paths=None,
        equal_at_ms=None,
        member=found.mode != LEFT,
        same_rules=None,
        key_id=found.region_key,
    )
    return RegionList(items=[here, *found.peers, *found.held_regions])


def _belongs(path: MetaPath, tenant: str) -> bool:
    return not tenant or tenant_of(path) == tenant


def _numbered(
    page: Callable[[int], Sequence[Row]], after: int, number: Callable[[Row], int], fits: Callable[[Row], bool]
) -> Iterator[Row]:
    while rows := page(after):
        yield from filter(fits, rows)
        after = number(rows[-1])
