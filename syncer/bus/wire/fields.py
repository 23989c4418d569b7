"""Fields that a message of the topic is made of: texts, numbers, times, paths and region ids, strictly checked.

Whatever a check here refuses, it refuses with :class:`syncer.errors.PayloadInvalid`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import Final
from unicodedata import category

from syncer.errors import PayloadInvalid, ValueRefused
from syncer.memoizing import memoized
from syncer.model import MetaPath, Millis, Region
from syncer.paths import checked

LATEST_TIME_MS: Final = 253_402_300_799_999
"""End of the year 9999; a later stamp can only be garbage."""

EARLIEST_TIME_MS: Final = 1_000_000_000
"""Nothing is sent before; only a clock that counts something else shows such a time."""

NAME_CHARACTERS: Final = 512
"""Of names that regions give themselves, their databases, versions and rules; all of them are kept, and told on."""
_ID: Final = re.compile(r"[^/ ]{1,255}\Z")
_SIGNS: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Categories of Unicode that no name has a character of: control, format, surrogate, separators of lines, paragraphs.
Names are stored, told on and shown to people: these break a database's text, or what a terminal shows of the rest."""
_MAX_DIGITS: Final = 18
NUMBERS: Final = 2**53
"""Every number that is told is below this: all JSON readers, and both kinds of database, keep such a number exactly."""
_CACHED_NAMES: Final = 1024
PATHS_BYTES: Final = 24 << 20
"""Memory for paths that were found to be legal."""


@functools.lru_cache(maxsize=_CACHED_NAMES)
def _plain(text: str) -> bool:
    return (text.isascii() and text.isprintable()) or not any(category(sign) in _SIGNS for sign in text)


def is_name(text: str) -> bool:
    """Whether a text may be a name that a region gives: itself, a database, a version, a rule. Empty is none."""
    return 0 < len(text) <= NAME_CHARACTERS and _plain(text)


def is_id(text: str) -> bool:
    """Whether a text may be a region's id, or the name of a counter."""
    return _ID.match(text) is not None and _plain(text)


def text_of(properties: Mapping[str, str], name: str) -> str:
    """The text of a property that a message must have."""
    try:
        return properties[name]
    except KeyError:
        raise PayloadInvalid(f"missing property {name}") from None


def counted(text: str) -> int | None:
    """The number that a text shows in digits; ``None`` for any other text, and for what nobody can have counted."""
    if not (text.isdecimal() and text.isascii() and len(text) <= _MAX_DIGITS):
        return None
    number = int(text)
    return number if number < NUMBERS else None


def checked_number(text: str, name: str) -> int:
    """The number that the property of this name shows in digits."""
    number = counted(text)
    if number is None:
        raise PayloadInvalid(f"malformed property {name}: {text!r} is not a number below 2^53")
    return number


def shown(number: int) -> str:
    """A number as a refusal shows it; its digits only when they are few."""
    return str(number) if abs(number) < 2**64 else "a number of many digits"


def check_numbers(kind: str, region: Region, numbers: Mapping[str, int | None]) -> None:
    """Refuse numbers that nobody can have counted: they would be stored, told on, and never be reached."""
    for name, number in numbers.items():
        if number is not None and not 0 <= number < NUMBERS:
            raise PayloadInvalid(
                f"malformed {kind} of region {region!r}: {name[:100]}: {shown(number)} is not within 0 and 2^53"
            )


def checked_path(path: str | None) -> MetaPath:
    """The path of a record, which must be a legal one."""
    if path is None:
        raise PayloadInvalid("the event has no path")
    return _legal(path)


@memoized(PATHS_BYTES)
def _legal(path: str) -> MetaPath:
    try:
        return checked(path)
    except ValueRefused as exc:
        raise PayloadInvalid(exc.message) from exc


def checked_time(time_ms: int, what: str, *, earliest: int = 1) -> Millis:
    """A time in milliseconds since 1970 that a clock can have shown; ``what`` names it in the refusal."""
    if not earliest <= time_ms <= LATEST_TIME_MS:
        raise PayloadInvalid(f"{what} {shown(time_ms)} is outside the sane range {earliest} to {LATEST_TIME_MS}")
    return Millis(time_ms)


@functools.lru_cache(maxsize=_CACHED_NAMES)
def checked_region(text: str, what: str) -> Region:
    """A region's id; ``what`` names it in the refusal."""
    if not is_id(text):
        raise PayloadInvalid(f"{what} {text!r} is no region id")
    return Region(text)
