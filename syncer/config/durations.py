"""Durations as people write them: ``30s``, ``5min``, ``7d``, ``1h 30min``."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Annotated, Final

from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema

_UNITS: Final = {
    "ms": timedelta(milliseconds=1),
    "s": timedelta(seconds=1),
    "min": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
}
_PART: Final = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(ms|s|min|h|d|w)(?![A-Za-z])")


def parse_duration(text: str) -> timedelta | None:
    """Read a duration; ``None`` when the text is none."""
    total, end = timedelta(0), 0
    while end < len(text):
        part = _PART.match(text, end)
        if part is None:
            return None if text[end:].strip() or not end else total
        try:
            total += float(part[1]) * _UNITS[part[2]]
        except OverflowError:
            return None
        end = part.end()
    return total if end else None


def format_duration(duration: timedelta) -> str:
    """Write a duration in the fewest whole units; :func:`parse_duration` reads it back."""
    left = duration // timedelta(milliseconds=1)
    if left == 0:
        return "0s"
    parts = []
    for unit in ("d", "h", "min", "s", "ms"):
        count, left = divmod(left, _UNITS[unit] // timedelta(milliseconds=1))
        if count:
            parts.append(f"{count}{unit}")
    return " ".join(parts)


def _read(value: object) -> object:
    if isinstance(value, str):
        parsed = parse_duration(value)
        return value if parsed is None else parsed
    return value


Duration = Annotated[
    timedelta,
    BeforeValidator(_read),
    PlainSerializer(format_duration, return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "examples": ["30s", "5min", "7d"]}),
]
"""A ``timedelta`` that is written with its unit. A bare number is seconds."""
