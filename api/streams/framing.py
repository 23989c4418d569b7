"""Frames of ``text/event-stream``, as the HTML standard has them: events with an id, ids alone, comments."""

from __future__ import annotations

from typing import Any, Final

from syncer.terminal import json_text

RETRY_MS: Final = 2_000
"""After so long a client connects again whose stream has ended."""
HEARTBEAT: Final = b": alive\n\n"


def event(name: str, data: Any) -> bytes:  # noqa: ANN401 - plain data
    """An event without an id: what its client resumes from stays as before.

    Args:
        name: Its type.
        data: Plain data; it leaves as one line of JSON.
    """
    return f"event: {name}\ndata: {json_text(data)}\n\n".encode()


def numbered(number: str, frame: bytes) -> bytes:
    """An event with the id from which a client resumes that has got it."""
    return b"id: %s\n%s" % (number.encode(), frame)


def opening(number: str = "") -> bytes:
    """The beginning of a stream; with an id, a client resumes from there even if nothing was told since."""
    at = f"id: {number}\n" if number else ""
    return f"retry: {RETRY_MS}\n{at}\n".encode()
