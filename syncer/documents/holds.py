"""JSON documents of changes that wait: held ones for an operator, parked ones for something else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from syncer.documents.document import Document
from syncer.documents.words import moment

if TYPE_CHECKING:
    from syncer.conflict.register import Parked
    from syncer.model import MetaPath, Stamp
    from syncer.operations.decisions import HeldChange


class HoldDocument(Document):
    """A change that waits for a person."""

    path: str
    waits: Literal["write", "publication", "event"] = Field(
        description="A remote change that is not written; a local one that is not published; an event from the future."
    )
    reason: str
    stamp: str
    since_ms: int
    detail: str
    known: str | None = Field(description="Stamp of the newest change known here, the held one or a later one.")
    stored: str | None = Field(description="Stamp of what this region's store was last known to hold.")


class HoldList(Document):
    """``syncer holds list``."""

    items: list[HoldDocument]
    next: str | None = Field(description="Give it to --after for more; null: this is all.")


class HoldDetail(HoldDocument):
    """A change that waits for a person, and what either decision would lead to."""

    confirm: list[str] = Field(description="What it would lead to if it passes.")
    reject: list[str] = Field(description="What it would lead to if it is refused.")


class HoldsOfReason(Document):
    """All that is held for one reason, and what either decision about all of it would lead to."""

    reason: str
    count: int
    confirm: list[str]
    reject: list[str]


class ParkedDocument(Document):
    """A write that waits for another path or for the store."""

    path: str
    reason: str
    since_ms: int
    stamp: str | None
    detail: str


class ParkedList(Document):
    """``syncer parked list``."""

    items: list[ParkedDocument]
    next: str | None


def hold_document(held: HeldChange) -> HoldDocument:
    """A hold as the contract has it."""
    known, stored = held.shown.known, held.shown.stored
    return HoldDocument(
        path=held.path,
        waits=held.waits,
        reason=held.reason,
        stamp=str(held.stamp),
        since_ms=held.since_ms,
        detail=_beyond(held) if held.waits == "event" else held.detail,
        known=str(known) if known is not None else None,
        stored=str(stored) if stored is not None else None,
    )


def hold_detail(held: HeldChange, confirm: list[str], reject: list[str]) -> HoldDetail:
    """A hold with what the decisions about it would lead to."""
    return HoldDetail(**hold_document(held).model_dump(), confirm=confirm, reject=reject)


def parked_document(path: MetaPath, parked: Parked, stamp: Stamp | None) -> ParkedDocument:
    """A parked write as the contract has it."""
    return ParkedDocument(
        path=path,
        reason=parked.reason.value,
        since_ms=parked.since_ms,
        stamp=str(stamp) if stamp is not None else None,
        detail=parked.detail,
    )


def _beyond(held: HeldChange) -> str:
    return f"{held.detail}, stamped {moment(held.stamp.updated_at_ms)}: beyond the allowed clock skew"
