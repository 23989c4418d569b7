"""Text without places of the host: for who reads elsewhere what a library or a process has said here."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

PLACE: Final = "…"
"""Stands where a place stood."""
_ROOTS: Final = (
    "app|bin|boot|data|dev|etc|home|lib|lib64|media|mnt|nix|opt|private|proc|root|run|sbin|srv|sys|tmp|usr|var|work|"
    "Users"
)
"""Where the file systems of hosts and containers begin; no store and no topic has such a path from its root."""
_PATH: Final = re.compile(rf"(?<!\w)/(?:{_ROOTS})(?![\w-])(?:/[^\s'\"`,;:()\[\]{{}}<>]*)*")
_TRACE: Final = re.compile(r"Traceback \(most recent call last\)|File \"[^\"]*\", line \d+, in ")


def beyond(text: str, places: Sequence[str] = ()) -> str:
    """The text without paths of the host.

    Args:
        text: As it was said on the host.
        places: Paths that are known to be some, wherever they lie; longer ones first.
    """
    for each in places:
        text = text.replace(each, PLACE)
    return _PATH.sub(PLACE, text)


def before_trace(text: str) -> tuple[str, bool]:
    """What stands before a traceback, or the rest of one whose beginning was cut off; and whether there is one."""
    found = _TRACE.search(text)
    return (text[: found.start()], True) if found else (text, False)
