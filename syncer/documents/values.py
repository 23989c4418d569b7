"""Values and what differs between them, as commands print them with ``-o json``."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from syncer.inspection.status import Document


class ChangeDocument(Document):
    """One field that an update changes."""

    field: str = Field(description="Names joined by dots.")
    before: str | None = Field(description="JSON text; null: absent.")
    after: str | None


class ValueDocument(Document):
    """A value of a store, or its beginning; of a kind with secrets, what may leave the store."""

    size_bytes: int
    sha256: str = Field(description="Of the whole value.")
    readable: bool = Field(description="Whether it is a JSON object, as every resource is.")
    whole: bool = Field(description="Whether all of it is here; false: its beginning.")
    text: str | None = Field(description="null: it is no UTF-8.")
    base64: str | None = Field(description="Where it is no UTF-8; null: see text.")


class PresentDocument(Document):
    """What the region's store held when the command read it."""

    read: bool = Field(description="Whether the store was read.")
    trouble: str = Field(description="Why it was not; empty: it was.")
    value: ValueDocument | None = Field(description="null: it holds nothing there, or was not read.")
    as_seated: bool | None = Field(
        description="Whether that is what the daemon last knew it to hold; null: not read, or it cannot be understood."
    )


class OtherDocument(Document):
    """A version of a path whose value is kept here, beside what the store holds."""

    what: Literal["newest", "from-the-future", "lost", "quarantined"] = Field(
        description="newest: the newest known, which the store is not known to hold. lost: the loser of a conflict."
    )
    number: int | None = Field(description="Of the conflict, or of the quarantine's entry.")
    stamp: str | None
    deleted: bool
    value: ValueDocument | None = Field(description="null: a delete, or not kept here.")
    action: Literal["create", "update", "delete"] | None = Field(
        description="What it would do to the store; null: nothing, or that cannot be told."
    )
    changes: list[ChangeDocument] = Field(
        description="What it would change in the replicated part of the store's value."
    )
    change: str = Field(description="The same in words, as 'syncer diff' shows it.")
