"""Decisions of operators about what waits: what is shown of it, and the operation that is asked of the daemon by that.

The command line and the REST API show what is found here, and ask for what comes with it: nothing is looked up anew
between the look and the request, so the daemon can tell whether anything has changed since.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Final, Literal, Protocol

from syncer.conflict.register import HoldReason, Shown
from syncer.conflict.shown import arguments
from syncer.errors import NotFound
from syncer.model import MetaPath, Millis, Stamp
from syncer.operations.contract import OperationKind, OperationRequest

if TYPE_CHECKING:
    from syncer.conflict.fields.kept import KeptFields
    from syncer.conflict.register import Hold, Register
    from syncer.state.contract.conflicts import ConflictRow
    from syncer.state.views.summaries import HeldEvent, HoldRow

PAGE: Final = 500
MAX_FUTURE: Final = 10_000
FUTURE: Final = "from-the-future"
NOTHING: Final = Shown(known=None, stored=None, digest=None)
"""What is shown of a path that nobody has heard of."""


class DecisionViews(Protocol):
    """Where it is looked up; :class:`syncer.state.views.region.Views` implements it."""

    def register(self, path: MetaPath) -> Register | None:
        """All that is known of a path."""
        ...

    def holds(self, limit: int, after: MetaPath | None = None) -> list[HoldRow]:
        """Held changes in path order."""
        ...

    def future_events(self, limit: int) -> list[HeldEvent]:
        """Events from the future, oldest stamp first."""
        ...

    def conflict(self, number: int) -> ConflictRow | None:
        """A conflict by its number, whole."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldChange:
    """A change that waits for an operator, as it is shown.

    Args:
        path: Where.
        waits: What of it waits.
        reason: Why.
        stamp: Of the change.
        since_ms: Since when.
        detail: More about why.
        shown: How the path was at the look.
        facts: The same, as arguments of an operation.
    """

    path: MetaPath
    waits: Literal["write", "publication", "event"]
    reason: str
    stamp: Stamp
    since_ms: Millis
    detail: str
    shown: Shown
    facts: Mapping[str, str] = field(repr=False)

    @property
    def confirming(self) -> OperationRequest:
        """What lets it pass."""
        return OperationRequest(OperationKind.RELEASE if self.waits == "event" else OperationKind.CONFIRM, self.facts)

    @property
    def refusing(self) -> OperationRequest:
        """What refuses it."""
        kinds = {"write": OperationKind.REJECT, "publication": OperationKind.UNDO, "event": OperationKind.DECLINE}
        return OperationRequest(kinds[self.waits], self.facts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """The loser of a conflict, and what stands in its place at the look."""

    row: ConflictRow
    shown: Shown
    kept: KeptFields | None = None

    @property
    def restoring(self) -> OperationRequest:
        """What makes the loser the newest."""
        facts = {"conflict": str(self.row.id), "loser": str(self.row.loser), **arguments(self.shown)}
        return OperationRequest(OperationKind.RESTORE, facts)


def every_hold(views: DecisionViews, after: str = "") -> Iterator[HeldChange]:
    """What waits in registers, in path order, beyond ``after``."""
    while page := views.holds(PAGE, MetaPath(after) if after else None):
        yield from (held_of(row.path, row.hold, row.shown) for row in page)
        after = page[-1].path


def every_event(views: DecisionViews) -> Iterator[HeldChange]:
    """Events from the future, the oldest first."""
    for event in views.future_events(MAX_FUTURE):
        shown = event.shown or NOTHING
        yield HeldChange(
            path=event.path,
            waits="event",
            reason=FUTURE,
            stamp=event.stamp,
            since_ms=event.held_at_ms or Millis(0),
            detail=event.type.value,
            shown=shown,
            facts={"path": event.path, "stamp": str(event.stamp), **arguments(shown)},
        )


def met_first(views: DecisionViews) -> Iterator[HoldRow]:
    """What first contact holds, in path order."""
    after: MetaPath | None = None
    while page := views.holds(PAGE, after):
        after = page[-1].path
        yield from (row for row in page if row.hold.reason is HoldReason.FIRST_CONTACT)


def met_until(views: DecisionViews) -> Millis:
    """When the latest hold of first contact began: what began later is not shown, and does not pass with the others."""
    return max((row.hold.since_ms for row in met_first(views)), default=Millis(0))


def joining(until: Millis | None) -> OperationRequest:
    """What lets a region take part (``None``), or lets all pass that first contact held until that moment."""
    return OperationRequest(OperationKind.REGIONS_JOIN, {} if until is None else {"until": str(until)})


def in_order(*some: Iterable[HeldChange]) -> list[HeldChange]:
    """All of these by path, what waits in a register before events, those by their stamps."""
    return sorted(
        chain(*some), key=lambda each: (each.path, each.waits == "event", each.stamp.updated_at_ms, each.stamp.region)
    )


def held_at(views: DecisionViews, path: str) -> HeldChange | None:
    """What is held at a path: the register's hold, else the oldest event from the future."""
    register = views.register(MetaPath(path))
    if register is not None and register.hold is not None:
        return held_of(register.path, register.hold, register.shows)
    return next((each for each in every_event(views) if each.path == path), None)


def held_of(path: MetaPath, hold: Hold, shown: Shown) -> HeldChange:
    """A hold as it is shown."""
    return HeldChange(
        path=path,
        waits="publication" if hold.local else "write",
        reason=hold.reason.value,
        stamp=hold.stamp,
        since_ms=hold.since_ms,
        detail=hold.detail,
        shown=shown,
        facts={"path": path, **arguments(shown, hold)},
    )


def lost_in(views: DecisionViews, number: int) -> Lost:
    """A conflict by its number, and what stands in its place.

    Raises:
        NotFound: There is none.
    """
    row = views.conflict(number)
    if row is None:
        raise NotFound(f"no conflict {number}", hint="See 'syncer conflicts list --all'.")
    register = views.register(row.path)
    if register is None:
        return Lost(row=row, shown=NOTHING)
    return Lost(row=row, shown=register.shows, kept=register.kept)
