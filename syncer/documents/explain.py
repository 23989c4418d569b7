"""JSON documents of one path's explanation: its versions, the journal's decisions, and all beside them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from pydantic import Field

from syncer.conflict.register import HoldReason
from syncer.documents.conflicts import ConflictDocument, conflict_document
from syncer.documents.document import Document
from syncer.documents.holds import HoldDocument, ParkedDocument, hold_document, parked_document
from syncer.documents.values import OtherDocument, PresentDocument, other_document, present_document
from syncer.documents.words import stamped
from syncer.operations.decisions import held_of
from syncer.paths import classify
from syncer.replacing import replace

if TYPE_CHECKING:
    from syncer.config import Config
    from syncer.conflict.register import Register, Stored
    from syncer.documents.values import Present
    from syncer.model import MetaPath, Version
    from syncer.state.views.region import Views
    from syncer.state.views.summaries import JournalRow

PAGE: Final = 500
OTHERS: Final = 20
"""Of each sort of other versions, the latest."""


class DecisionDocument(Document):
    """One decision of the journal; ``events tail -o json`` prints one per line."""

    id: int
    at_ms: int
    path: str
    decision: str
    stamp: str | None
    digest: str | None
    seen: dict[str, int] | None = Field(description="What the author had seen, by counter.")
    against: str | None = Field(description="The other candidate.")
    detail: str


class EventList(Document):
    """Decisions of the journal, oldest first."""

    items: list[DecisionDocument]
    next: int = Field(description="Go on behind this number, for more or for what comes later.")


class PathDocument(Document):
    """A path that is known."""

    path: str
    resource: str | None
    known: str | None = Field(description="Stamp of the newest change known.")
    deleted: bool = Field(description="Whether that change was a delete.")
    stored: str | None = Field(description="Stamp of what the store was last known to hold.")
    due: bool = Field(description="The store is not known to hold what the group knows.")
    held: str | None = Field(description="Reason why it waits for a person; null: it does not.")
    parked: str | None = Field(description="Reason why its write waits without anybody; null: it does not.")


class PathList(Document):
    """Paths that are known, in order."""

    items: list[PathDocument]
    next: str | None


class VersionDocument(Document):
    """A version of a path."""

    stamp: str
    by: str = Field(description="Who counted the change.")
    seen: dict[str, int]
    digest: str | None = Field(description="null: deleted.")
    alive: bool


class ExplainDocument(Document):
    """``syncer explain``: why a path is as it is."""

    path: str
    resource: str | None
    scope: str = Field(description="Which way the path flows.")
    verdict: str
    known: VersionDocument | None
    seated: VersionDocument | None = Field(description="What the store was last known to hold.")
    due: bool
    hold: HoldDocument | None
    parked: ParkedDocument | None
    intent: str | None = Field(description="Stamp of a write whose outcome is not known.")
    allowed: str | None = Field(description="Stamp that a person has let pass the guards.")
    candidates: list[DecisionDocument] = Field(description="Newest first.")
    conflicts: list[ConflictDocument]
    present: PresentDocument | None = Field(default=None, description="What the store holds now; null: not looked.")
    others: list[OtherDocument] = Field(
        default=[], description="Other versions whose values are kept here; of each sort the latest 20."
    )


def path_document(register: Register) -> PathDocument:
    """A path in short."""
    known, stored = register.known, register.stored
    resource = classify(register.path)
    return PathDocument(
        path=register.path,
        resource=resource.name if resource is not None else None,
        known=str(known.stamp) if known is not None else None,
        deleted=known is not None and not known.alive,
        stored=str(stored.stamp) if stored is not None else None,
        due=register.due,
        held=register.hold.reason.value if register.hold is not None else None,
        parked=register.parked.reason.value if register.parked is not None else None,
    )


def explanation(views: Views, config: Config, path: MetaPath, present: Present, limit: int) -> ExplainDocument:
    """Gather all that is known of a path, beside what the store holds."""
    register = views.register(path)
    resource = classify(path)
    if register is not None:
        present = replace(present, kept=register.kept)
    shown = present_document(present, path, register.stored_digest if register is not None else None)
    conflicts = _conflicts(views, path)
    return ExplainDocument(
        path=path,
        resource=f"{resource.kind.value} {resource.name}" if resource is not None else None,
        scope=config.compiled_scope().direction(path).value,
        verdict=verdict(register, shown, paused=views.identity().paused),
        known=_version(register.known) if register is not None else None,
        seated=_version(register.stored) if register is not None else None,
        due=register.due if register is not None else False,
        hold=hold_document(held_of(path, register.hold, register.shows))
        if register is not None and register.hold
        else None,
        parked=_parked(register) if register is not None else None,
        intent=str(register.intent.version.stamp) if register is not None and register.intent is not None else None,
        allowed=str(register.allowed) if register is not None and register.allowed is not None else None,
        candidates=[decision_document(row) for row in views.journal(path, limit)],
        conflicts=conflicts,
        present=shown,
        others=list(_others(views, path, register, present, [each.id for each in conflicts])),
    )


def verdict(register: Register | None, present: PresentDocument, *, paused: str | None) -> str:
    """What won, and whether the store has it: one sentence, which says nothing that was not read."""
    if register is None or (register.known is None and register.stored is None and register.hold is None):
        return "No version of this path counts here."
    hold = register.hold
    if hold is not None and hold.local:
        return f"A local change ({stamped(hold.stamp)}) waits for an operator before it is published: {hold.reason}."
    known = register.known
    unreadable = hold is not None and hold.reason is HoldReason.UNREADABLE
    if known is None:
        holds = "holds what cannot be read" if unreadable else "holds a value"
        return f"The store {holds}, and no region has told anything about the path."
    won = f"{stamped(known.stamp)} is the greatest stamp known, so it won" + ("" if known.alive else " (a delete)")
    return f"{won}; {_standing(register, present, paused=paused)}."


def _standing(register: Register, present: PresentDocument, *, paused: str | None) -> str:
    """How the store stands to what won."""
    hold = register.hold
    if present.read and present.as_seated is None:
        size = present.value.size_bytes if present.value is not None else 0
        return f"the store holds {size} bytes that cannot be read, which are left as they are and not published"
    if hold is not None and hold.reason is HoldReason.UNREADABLE:
        if present.read:
            return "what stood in the store could not be read, and the daemon has not read it since it was changed"
        return "what the store was last seen to hold could not be read, so it is left as it is"
    if not register.due:
        return _holds(register, present)
    if hold is not None:
        return f"its write waits for an operator: {hold.reason}"
    if register.parked is not None:
        return f"its write waits: {register.parked.reason}"
    if register.intent is not None:
        return "its write was sent, and the outcome is not known yet"
    return f"replication is paused: {paused}" if paused is not None else "its write is due"


def _holds(register: Register, present: PresentDocument) -> str:
    if not present.read:
        return "the store was last known to hold " + ("it" if register.stored_alive else "nothing there")
    if present.as_seated:
        return "the store holds " + ("it" if register.stored_alive else "nothing there")
    now = "nothing there now" if present.value is None else "another value now"
    return f"the store holds {now}, which the daemon has not taken yet"


def decision_document(row: JournalRow) -> DecisionDocument:
    """A decision as the contract has it."""
    entry = row.entry
    return DecisionDocument(
        id=row.id,
        at_ms=row.at_ms,
        path=entry.path,
        decision=entry.decision.value,
        stamp=str(entry.stamp) if entry.stamp is not None else None,
        digest=entry.digest.hex() if entry.digest is not None else None,
        seen={str(counter): int(at) for counter, at in entry.seen.items()} if entry.seen is not None else None,
        against=str(entry.against) if entry.against is not None else None,
        detail=entry.detail,
    )


def _version(version: Version | Stored | None) -> VersionDocument | None:
    if version is None:
        return None
    return VersionDocument(
        stamp=str(version.stamp),
        by=version.by,
        seen={str(counter): int(at) for counter, at in version.seen.items()},
        digest=version.digest.hex() if version.digest is not None else None,
        alive=version.alive,
    )


def _parked(register: Register) -> ParkedDocument | None:
    stamp = register.known.stamp if register.known is not None else None
    return parked_document(register.path, register.parked, stamp) if register.parked is not None else None


def _conflicts(views: Views, path: MetaPath) -> list[ConflictDocument]:
    found: list[ConflictDocument] = []
    after = 0
    while page := views.conflicts(PAGE, after, path=path):
        found += map(conflict_document, page)
        after = page[-1].id
    return found


def _others(
    views: Views, path: MetaPath, register: Register | None, present: Present, conflicts: list[int]
) -> Iterator[OtherDocument]:
    """Versions that the store does not hold, or is not known to hold, and whose values are kept here."""
    known = register.known if register is not None and register.due else None
    if known is not None:
        yield other_document(path, present, "newest", value=known.value, deleted=not known.alive, stamp=known.stamp)
    for event in views.future_events_at(path, OTHERS):
        yield other_document(
            path, present, "from-the-future", value=event.value, deleted=event.value is None, stamp=event.stamp
        )
    for number in sorted(conflicts, reverse=True)[:OTHERS]:
        row = views.conflict(number)
        if row is not None:
            deleted = row.loser_digest is None
            yield other_document(
                path, present, "lost", value=row.value, deleted=deleted, stamp=row.loser, number=row.id
            )
    for poison in views.quarantined_at(path, OTHERS):
        yield other_document(path, present, "quarantined", value=poison.poison.payload, deleted=False, number=poison.id)


def heard_of(views: Views, path: MetaPath) -> bool:
    """Whether anything is kept of a path."""
    return views.register(path) is not None or bool(
        views.journal(path, 1) or views.future_events_at(path, 1) or views.quarantined_at(path, 1)
    )
