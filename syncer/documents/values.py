"""JSON documents of values and of what differs between them, made from what the store and the registers hold."""

from __future__ import annotations

import base64
import codecs
import contextlib
import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from pydantic import Field

from syncer.conflict.changeover import all_of
from syncer.conflict.completing import completed_value, missing_fields
from syncer.conflict.fields.kept import KeptFields
from syncer.conflict.projection import canonical
from syncer.documents.document import Document
from syncer.errors import ValueInvalid
from syncer.model import Digest, MetaPath, Stamp
from syncer.paths import classify
from syncer.plan.diffing import operation, readable
from syncer.plan.rendering import SIGNS, changes, summary

if TYPE_CHECKING:
    from syncer.plan.operations import Operation

KEPT_BYTES: Final = 64 << 10
"""Of a value in a document."""


@dataclass(frozen=True, slots=True)
class Present:
    """What the store holds at a path.

    Args:
        value: As it stands there; of a kind with secrets, what may leave the store.
        trouble: Why it is not known; empty: it is.
        kept: Fields of it that the store lacks and the daemon keeps.
    """

    value: bytes | None = None
    trouble: str = ""
    kept: KeptFields | None = None

    def whole(self, path: MetaPath) -> bytes | None:
        """What the region goes by: the value with the kept fields that it lacks."""
        return None if self.value is None else completed_value(path, self.value, self.kept)

    def missing(self, path: MetaPath) -> bytes | None:
        """The kept fields that the value lacks, as JSON; ``None``: it lacks none."""
        found = {} if self.value is None else missing_fields(path, self.value, self.kept)
        return canonical(found) if found else None


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
    kept: str | None = Field(
        default=None,
        description="JSON text of the fields that the store lacks, since the region's brokers do not know them, and "
        "that the daemon keeps; null: none.",
    )
    as_seated: bool | None = Field(
        description="Whether that, with the kept fields, is what the daemon last knew it to hold; null: not read, or "
        "it cannot be understood."
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


def digests_of(path: MetaPath, value: bytes | None) -> frozenset[Digest | None]:
    """Digests of what a store holds, by each projection that a group may work by.

    Raises:
        ValueInvalid: It cannot be understood.
    """
    resource = classify(path)
    if value is None or resource is None:
        return frozenset({None})
    kind = resource.kind
    return frozenset(each.digest(value) for each in all_of(kind))


def present_document(found: Present, path: MetaPath, stored: Digest | None) -> PresentDocument:
    """What the store holds as the contract has it, beside what it was last known to hold."""
    if found.trouble:
        return PresentDocument(read=False, trouble=found.trouble, value=None, as_seated=None)
    try:
        same: bool | None = stored in digests_of(path, found.whole(path))
    except ValueInvalid:
        same = None
    missing = found.missing(path)
    return PresentDocument(
        read=True,
        trouble="",
        value=value_document(found.value),
        kept=None if missing is None else missing.decode(),
        as_seated=same,
    )


def value_document(value: bytes | None) -> ValueDocument | None:
    """A value as the contract has it: as text where it is some."""
    if value is None:
        return None
    kept = value[:KEPT_BYTES]
    text: str | None = None
    with contextlib.suppress(UnicodeDecodeError):
        text = codecs.getincrementaldecoder("utf-8")().decode(kept, final=len(kept) == len(value))
    return ValueDocument(
        size_bytes=len(value),
        sha256=hashlib.sha256(value).hexdigest(),
        readable=readable(value),
        whole=len(kept) == len(value),
        text=text,
        base64=None if text is not None else base64.b64encode(kept).decode(),
    )


def change_row(operation: Operation) -> tuple[str, str]:
    """What an operation does: its sign, and of an update the fields that change."""
    return SIGNS[operation.action], summary(operation)


def change_documents(operation: Operation) -> list[ChangeDocument]:
    """The fields that an update changes, as the contract has them."""
    return [ChangeDocument(field=each.field, before=each.before, after=each.after) for each in changes(operation)]


def operation_to(path: MetaPath, present: Present, wanted: bytes | None) -> Operation | None:
    """What brings the store to another value; ``None``: nothing, or that cannot be told."""
    if present.trouble or classify(path) is None:
        return None
    return operation(path, present.whole(path), wanted)


def changes_to(
    path: MetaPath, present: Present, wanted: bytes | None
) -> tuple[Literal["create", "update", "delete"] | None, list[ChangeDocument], str]:
    """What bringing the store to another value would do: as the contract has it, and in the words of a plan."""
    made = operation_to(path, present, wanted)
    if made is None:
        return None, [], "not known: the store was not read" if present.trouble else "nothing"
    sign, change = change_row(made)
    return made.action.value, change_documents(made), f"{sign} {change or 'the whole value'}"


def other_document(
    path: MetaPath,
    present: Present,
    what: Literal["newest", "from-the-future", "lost", "quarantined"],
    *,
    value: bytes | None,
    deleted: bool,
    stamp: Stamp | None = None,
    number: int | None = None,
) -> OtherDocument:
    """A kept version as the contract has it, beside what the store holds."""
    action, changes, words = None, list[ChangeDocument](), ""
    if what != "quarantined" and (deleted or value is not None):
        action, changes, words = changes_to(path, present, value)
    return OtherDocument(
        what=what,
        number=number,
        stamp=str(stamp) if stamp is not None else None,
        deleted=deleted,
        value=value_document(value),
        action=action,
        changes=changes,
        change=words,
    )
