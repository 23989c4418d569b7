"""Values of a path: what the store holds now, what else is kept, and what the one would change in the other."""

from __future__ import annotations

import base64
import codecs
import contextlib
import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final, Literal

import anyio
import typer

from syncer.cli.render.plans import change_documents, change_row
from syncer.conflict.projection import PROJECTIONS
from syncer.conflict.withholding import carried_value
from syncer.documents.values import ChangeDocument, OtherDocument, PresentDocument, ValueDocument
from syncer.errors import SyncerError, ValueInvalid
from syncer.model import Digest, MetaPath, Stamp
from syncer.paths import classify
from syncer.plan.diffing import operation, readable
from syncer.plan.operations import Operation

if TYPE_CHECKING:
    from syncer.config import Config

KEPT_BYTES: Final = 64 << 10
"""Of a value in a document."""

SHOWN_CHARS: Final = 2_000
"""Of a value that people read."""

BEGINNING: Final = 40
"""Bytes of a value that is no text, or no JSON."""

CLOSING_S: Final = 1.0

StoreTimeout = Annotated[
    float,
    typer.Option(
        "--store-timeout", min=0, metavar="SECONDS", help="How long to wait for the store's own value; 0: do not ask."
    ),
]


@dataclass(frozen=True, slots=True)
class Present:
    """What the store holds at a path. ``trouble``: why it is not known; empty: it is."""

    value: bytes | None = None
    trouble: str = ""


def present_at(config: Config, path: MetaPath, timeout_s: float, *, alive: bool) -> Present:
    """Read the path from the region's store, as far as it answers in time. Secrets stay there.

    Args:
        config: Of the region.
        path: Where.
        timeout_s: How long to wait; 0: do not ask.
        alive: Something is known to stand there: an empty value is one that cannot be read, and no inner node.
    """
    from syncer.cli.session import log_to_stderr

    if not timeout_s:
        return Present(trouble="not asked")
    log_to_stderr()
    try:
        return anyio.run(_read, config, path, timeout_s, alive)
    except SyncerError as exc:
        return Present(trouble=exc.message)
    except TimeoutError:
        return Present(trouble=f"no answer within {timeout_s:g} s")


async def _read(config: Config, path: MetaPath, timeout_s: float, alive: bool) -> Present:
    store = config.make_store()
    try:
        with anyio.fail_after(timeout_s):
            await store.open()
            entry = (await store.read([path]))[path]
    finally:
        await _closed(store.close)
    if entry is None or not (entry.value or alive):
        return Present()
    return Present(carried_value(path, entry.value))


async def _closed(close: Callable[[], Awaitable[None]]) -> None:
    with anyio.CancelScope(shield=True), anyio.move_on_after(CLOSING_S):
        await close()


def digest_of(path: MetaPath, value: bytes | None) -> Digest | None:
    """Digest of what a store holds.

    Raises:
        ValueInvalid: It cannot be understood.
    """
    resource = classify(path)
    return None if value is None or resource is None else PROJECTIONS[resource.kind].digest(value)


def present_document(found: Present, path: MetaPath, stored: Digest | None) -> PresentDocument:
    """What the store holds as the contract has it, beside what it was last known to hold."""
    if found.trouble:
        return PresentDocument(read=False, trouble=found.trouble, value=None, as_seated=None)
    try:
        same: bool | None = digest_of(path, found.value) == stored
    except ValueInvalid:
        same = None
    return PresentDocument(read=True, trouble="", value=value_document(found.value), as_seated=same)


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


def value_words(value: ValueDocument | None, *, limit: int = SHOWN_CHARS) -> str:
    """A value for people, in one line: all of a short document, the size and the beginning of anything else."""
    if value is None:
        return "nothing"
    if value.readable and value.text is not None:
        text = " ".join(line.strip() for line in value.text.splitlines())  # no text of JSON holds the end of a line
        if value.whole and len(text) <= limit:
            return text
        return f"{text[:limit]}… ({value.size_bytes} bytes, sha256 {value.sha256[:12]}; -o json has more)"
    return f"{value.size_bytes} bytes, no JSON object, sha256 {value.sha256[:12]}, beginning {_start(value)}"


def _start(value: ValueDocument) -> str:
    if value.text is not None:
        found = value.text
    else:
        found = base64.b64decode(value.base64 or "").decode(errors="backslashreplace")
    return f'"{found}"' if len(found) <= BEGINNING else f'"{found[:BEGINNING]}"…'


def present_words(found: PresentDocument) -> str:
    """What the store holds now, for people."""
    if not found.read:
        return f"not read: {found.trouble}"
    if found.value is None:
        return "nothing"
    return f"{found.value.size_bytes} bytes" + ("" if found.value.readable else ", unreadable")


def operation_to(path: MetaPath, present: Present, wanted: bytes | None) -> Operation | None:
    """What brings the store to another value; ``None``: nothing, or that cannot be told."""
    if present.trouble or classify(path) is None:
        return None
    return operation(path, present.value, wanted)


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
