"""Progress along a numbered list: what is to be told next, given what was told and what is seen. Pure.

seen                                          told
an open entry in another state                the entry
an open entry that is not there any more      a gap: it is over, and was dropped with its time
a new entry                                   the entry
numbers left out, where nothing can be late   a gap: they were dropped before they could be told
numbers left out among the latest             nothing yet: another connection may still commit them
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from api.streams.bookmark import MISSING, OVER, Bookmark


@dataclass(frozen=True, slots=True)
class ListEntry:
    """An entry of a list.

    Args:
        number: Its own.
        tag: Its state, if that may change; else :data:`OVER`.
        document: As the list has it.
    """

    number: int
    tag: str
    document: dict[str, Any]


@dataclass(frozen=True, slots=True)
class StreamGap:
    """Numbers that cannot be told any more, one or all of them.

    Args:
        first: The least of them.
        last: The greatest.
    """

    first: int
    last: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ListSeen:
    """A list, as far as it is of interest to a reader.

    Args:
        new: Entries behind the reader's last, in order; a page of them.
        again: Entries that were open, and are not as they were told.
        gone: Numbers that were open, and are not there any more.
        latest: The greatest number that was ever given.
        settled: What is missing below this number was dropped, or never was. What is missing from there on is not
            awaited, or comes late.
        late: Whether entries can come late.
        whole: Whether the page holds all that is new.
    """

    new: Sequence[ListEntry]
    again: Sequence[ListEntry] = ()
    gone: Sequence[int] = ()
    latest: int
    settled: int
    late: bool = False
    whole: bool


@dataclass(frozen=True, slots=True)
class ListNews:
    """Something to tell, and the reader's bookmark then, as text."""

    what: ListEntry | StreamGap
    number: str


def advance(bookmark: Bookmark, seen: ListSeen) -> Iterator[ListNews]:
    """Tell what is news to a reader, moving the bookmark along."""
    for entry in seen.again:
        if bookmark.open.get(entry.number, entry.tag) != entry.tag:
            bookmark.take(entry.number, entry.tag)
            yield ListNews(entry, bookmark.text)
    for number in (*seen.gone, *_given_up(bookmark, seen)):
        bookmark.take(number, OVER)
        yield ListNews(StreamGap(number, number), bookmark.text)
    for entry in seen.new:
        yield from _left_out(bookmark, entry.number - 1, seen)
        bookmark.take(entry.number, entry.tag)
        yield ListNews(entry, bookmark.text)
    if seen.whole:
        yield from _left_out(bookmark, min(seen.settled - 1, seen.latest), seen)


def _given_up(bookmark: Bookmark, seen: ListSeen) -> list[int]:
    """Numbers that were awaited, and would have come by now."""
    gone = set(seen.gone) | {entry.number for entry in seen.again}
    return [
        number
        for number, tag in bookmark.open.items()
        if tag == MISSING and number < seen.settled and number not in gone
    ]


def _left_out(bookmark: Bookmark, through: int, seen: ListSeen) -> Iterator[ListNews]:
    """Numbers behind the bookmark that are not there, up to that one."""
    first = bookmark.last + 1
    if first > through:
        return
    if first < seen.settled:
        gap = StreamGap(first, min(through, seen.settled - 1))
        bookmark.take(gap.last, OVER)
        yield ListNews(gap, bookmark.text)
    if seen.late:
        for number in range(max(first, seen.settled), through + 1):
            bookmark.take(number, MISSING)
