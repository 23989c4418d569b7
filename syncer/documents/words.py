"""Words for times, stamps, counts and lengths of time, as documents and tables have them for operators."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from syncer.model import FIRST_REAL_TIME_MS, Stamp

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_STAMP: Final = re.compile(r"(?<![\w@])\d{12,14}@[A-Za-z0-9](?:[\w.-]*\w)?|(?<=stamped )\d{12,14}\b")
"""A stamp in a text of the daemon, or its time alone."""

FOUND: Final = "found at the first scan"


def moment(at_ms: int | None) -> str:
    """A time as people read it, UTC; one that no calendar has, as its number."""
    if at_ms is None:
        return "-"
    try:
        return (_EPOCH + timedelta(milliseconds=at_ms)).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3] + "Z"
    except OverflowError:
        return f"{at_ms} ms"


def stamped(stamp: Stamp | str | None) -> str:
    """A stamp as people read it: the time and the region."""
    if stamp is None:
        return "-"
    time, region = stamped_apart(stamp)
    return f"{time} of {region}" if time == FOUND else f"{time} {region}"


def stamped_apart(stamp: Stamp | str) -> tuple[str, str]:
    """Time and region of a stamp as people read them, for columns of their own."""
    time, _, region = str(stamp).partition("@")
    at_ms = int(time)
    if at_ms <= 0:
        return "without a time,", region
    return (FOUND if at_ms < FIRST_REAL_TIME_MS else moment(at_ms)), region


def counted(number: int, noun: str) -> str:
    """A number with its noun, in the singular where it is one."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def with_times(text: str) -> str:
    """A text of the daemon with its stamps as people read them."""
    return _STAMP.sub(lambda found: stamped(found[0]) if "@" in found[0] else moment(int(found[0])), text)


def span(seconds: float | None) -> str:
    """A length of time, short."""
    if seconds is None:
        return "-"
    sign, left = ("-", -seconds) if seconds < 0 else ("", seconds)
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if left >= 2 * length:
            return f"{sign}{left / length:.0f}{unit}"
    return f"{sign}{left:.1f}s" if left >= 1 else f"{sign}{left * 1000:.0f}ms"
