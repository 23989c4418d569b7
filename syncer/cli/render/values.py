"""Rendering of values: short documents whole, anything else by its size and its beginning."""

from __future__ import annotations

import base64
from typing import Final

from syncer.documents.values import PresentDocument, ValueDocument

SHOWN_CHARS: Final = 2_000
"""Of a value that people read."""

BEGINNING: Final = 40
"""Bytes of a value that is no text, or no JSON."""


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
