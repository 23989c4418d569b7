"""Bookmarks of a stream's reader: all that was told of a numbered list, as text the id of an event.

    4f0c21aa-17              of that database: everything up to number 17, and nothing of it changes any more
    4f0c21aa-17.p12-14.p16   likewise, and 12 to 14 and 16 were told as pending: their ends are still to be told
    17                       likewise, as a person writes it: of the database that is there

Entries are numbered as they are made, and some change later: an operation is answered, a job ends. A tag of one letter
is the state in which such an entry was told. Where too much is open to be named, the text goes back to before the
oldest of it, so that some entries are told twice, and none is lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from syncer.errors import RequestInvalid

MAX_TEXT: Final = 1_000
MAX_OPEN: Final = 1_000
MAX_NUMBER: Final = 2**63 - 1
OVER: Final = ""
"""Tag of an entry that changes no more."""
MISSING: Final = "m"
"""Tag of a number that is not there yet, while greater ones are."""
_TEXT: Final = re.compile(r"(?:([0-9a-f]{8})-)?([0-9]{1,19})((?:\.[a-z][0-9]{1,19}(?:-[0-9]{1,19})?)*)")
_RANGE: Final = re.compile(r"\.([a-z])([0-9]+)(?:-([0-9]+))?")


class Bookmark:
    """How far a reader is; it moves as entries are told.

    Args:
        database: The database that the numbers are of; empty: the one that is there.
        last: Every entry up to this number was told, or is open.
        open: Tags of those up to there that may still change, by number, in order.
    """

    __slots__ = ("database", "last", "open")

    def __init__(self, database: str, last: int, open: Mapping[int, str] | None = None) -> None:  # noqa: A002
        self.database = database
        self.last = last
        self.open = dict(open or {})

    @classmethod
    def parse(cls, text: str) -> Bookmark:
        """Read the id of an event.

        Raises:
            RequestInvalid: It is none.
        """
        found = _TEXT.fullmatch(text) if len(text) <= MAX_TEXT else None
        if found is None:
            raise _unreadable()
        last, opened = int(found[2]), dict[int, str]()
        for tag, first, end in _RANGE.findall(found[3]):
            numbers = range(int(first), int(end or first) + 1)
            if not numbers or len(opened) + len(numbers) > MAX_OPEN or numbers[-1] > last or numbers[0] in opened:
                raise _unreadable()
            opened.update(dict.fromkeys(numbers, tag))
        if last > MAX_NUMBER:
            raise _unreadable()
        return cls(found[1] or "", last, dict(sorted(opened.items())))

    def copy(self) -> Bookmark:
        """Another one at the same place."""
        return Bookmark(self.database, self.last, self.open)

    def knows(self, number: int, tag: str) -> bool:
        """Whether an entry was told as it is, or as it was later."""
        return number <= self.last and self.open.get(number, tag) == tag

    def take(self, number: int, tag: str) -> None:
        """Note that an entry was told: the next new one, or one that was open."""
        self.last = max(self.last, number)
        if tag == OVER:
            self.open.pop(number, None)
        else:
            self.open[number] = tag

    @property
    def text(self) -> str:
        """As the id of an event."""
        if not self.open:
            return f"{self.database}-{self.last}"
        if len(self.open) <= MAX_OPEN:
            named = f"{self.database}-{self.last}" + "".join(_ranges(self.open))
            if len(named) <= MAX_TEXT:
                return named
        return f"{self.database}-{next(iter(self.open)) - 1}"


def _ranges(opened: Mapping[int, str]) -> Iterator[str]:
    numbers = iter(opened.items())
    first, tag = next(numbers)
    last = first
    for number, other in numbers:
        if (number, other) != (last + 1, tag):
            yield _range(tag, first, last)
            first, tag = number, other
        last = number
    yield _range(tag, first, last)


def _range(tag: str, first: int, last: int) -> str:
    return f".{tag}{first}" if first == last else f".{tag}{first}-{last}"


def _unreadable() -> RequestInvalid:
    return RequestInvalid(
        "Last-Event-ID is no id of an event of this stream",
        hint="Send the id of the last event unchanged; without one, the stream begins now.",
    )
