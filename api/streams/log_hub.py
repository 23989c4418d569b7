"""The hub of a numbered list: the entries of late, and followers that catch up with them from where they were."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final

from api.inside import RegionInside
from api.streams import framing
from api.streams.bookmark import OVER, Bookmark
from api.streams.hub import Hub, StreamPace
from api.streams.progress import ListNews, StreamGap, advance
from api.streams.sources import ListSource
from syncer.errors import EventIdAhead, StreamTooSlow

if TYPE_CHECKING:
    from syncer.state.views.region import Views

KEPT: Final = 4_000
"""Entries of late that are kept for followers; who falls further behind is too slow."""
WRITE_BYTES: Final = 64 * 1024
ID_CHARACTERS: Final = 8
"""Of the database's own id, in the id of an event."""


@dataclass(frozen=True, slots=True)
class KeptFrame:
    """An entry of late: its frame without an id, and the hub's bookmark then, as text."""

    number: int
    tag: str
    frame: bytes
    mark: str


class LogHub(Hub):
    """Looks along a list for all who follow it.

    Args:
        name: Of the stream.
        source: The list.
        inside: The region.
        pace: How often it looks.
    """

    def __init__(self, name: str, source: ListSource, inside: RegionInside, pace: StreamPace) -> None:
        super().__init__(name, pace)
        self._source = source
        self._inside = inside
        self._kept: deque[KeptFrame] = deque(maxlen=KEPT)
        self._end = 0
        self._bookmark = Bookmark("", 0)

    @property
    def end(self) -> int:
        """How many entries it has told since it was made."""
        return self._end

    def kept_from(self, at: int) -> list[KeptFrame]:
        """What it has told from the entry of that count on, as much as is written at once.

        Raises:
            StreamTooSlow: That is not kept any more.
        """
        behind = self._end - at
        if behind > len(self._kept):
            raise StreamTooSlow(f"the client is more than {KEPT} events behind")
        found: list[KeptFrame] = []
        size = 0
        for each in islice(self._kept, len(self._kept) - behind, None):
            found.append(each)
            size += len(each.frame)
            if size >= WRITE_BYTES:
                break
        return found

    async def page(self, bookmark: Bookmark) -> tuple[Bookmark, list[KeptFrame]]:
        """What is news to one reader, read for it alone: a page; and its bookmark then."""
        return await self._inside.look(lambda views: self._advanced(views, bookmark))

    async def follow(self, last_event_id: str) -> LogFollower:
        """Begin to follow behind that event.

        Raises:
            RequestInvalid: That is no id of an event, or of one that has not happened.
            SyncerError: The sidecar database cannot be read.
        """
        if not last_event_id:
            return LogFollower(self, None, number=self._bookmark.text, caught_up=self._end)
        told = Bookmark.parse(last_event_id)
        own = self._bookmark.database
        if told.database not in {"", own}:
            there = Bookmark(own, 0)
            gap = _gap_frame(None, "the sidecar database is another one than then")
            return LogFollower(self, there, number=there.text, first=gap)
        resumed = await self._inside.look(lambda views: self._resumed(views, told, own))
        return LogFollower(self, resumed, number=resumed.text)

    def _resumed(self, views: Views, told: Bookmark, own: str) -> Bookmark:
        latest = self._source.latest(views)
        if told.last > latest:
            raise EventIdAhead(f"Last-Event-ID is {told.last}, and the last event of this stream is {latest}")
        if told.database:
            return told
        return Bookmark(own, told.last, {at: tag for at, tag in self._source.open(views).items() if at <= told.last})

    async def _begin(self) -> None:
        self._kept.clear()
        self._bookmark = await self._inside.look(self._now)

    def _now(self, views: Views) -> Bookmark:
        latest = self._source.latest(views)  # first: what comes between is told, perhaps twice as pending
        database = views.identity().database_id[:ID_CHARACTERS]
        return Bookmark(database, latest, {at: tag for at, tag in self._source.open(views).items() if at <= latest})

    async def _look(self) -> bool:
        self._bookmark, told = await self.page(self._bookmark)
        self._kept.extend(told)
        self._end += len(told)
        return bool(told)

    def _advanced(self, views: Views, bookmark: Bookmark) -> tuple[Bookmark, list[KeptFrame]]:
        after = bookmark.copy()
        seen = self._source.seen(views, after)
        return after, [self._frame(each) for each in advance(after, seen)]

    def met(self, bookmark: Bookmark, at: int) -> bool:
        """Whether a reader who has come so far has been told exactly what the hub has told until now."""
        return at == self._end and bookmark.text == self._bookmark.text

    def _frame(self, told: ListNews) -> KeptFrame:
        what = told.what
        if isinstance(what, StreamGap):
            return KeptFrame(what.last, OVER, _gap_frame(what, "they were dropped with their time"), told.number)
        return KeptFrame(what.number, what.tag, framing.event(self._source.name, what.document), told.number)


class LogFollower:
    """One reader of a list.

    It reads what it has missed page by page, at its own pace, and goes on with what the hub keeps. Both may tell of the
    same entry, which its bookmark knows; as soon as that is where the hub's was, it is not needed any more.

    Args:
        hub: Of the list.
        bookmark: How far it is; ``None``: as far as the hub.
        number: The same as text.
        caught_up: The hub's count of entries from which on it misses nothing; ``None``: it has to catch up.
        first: A frame to begin with, without an id.
    """

    def __init__(
        self,
        hub: LogHub,
        bookmark: Bookmark | None,
        *,
        number: str,
        caught_up: int | None = None,
        first: bytes = b"",
    ) -> None:
        self._hub = hub
        self._bookmark = bookmark
        self._at = caught_up
        self._first = first
        self.number = number

    async def take(self) -> bytes:
        """Frames that are to be sent next.

        Raises:
            StreamTooSlow: The hub does not keep any more what comes next.
            SyncerError: The sidecar database cannot be read.
        """
        if self._first:
            first, self._first = self._first, b""
            return first
        if self._bookmark is not None and self._at is None:
            end = self._hub.end
            self._bookmark, told = await self._hub.page(self._bookmark)
            if told:
                self.number = told[-1].mark
                return b"".join(framing.numbered(each.mark, each.frame) for each in told)
            self._at = end
            if self._hub.met(self._bookmark, end):
                self._bookmark = None
        return self._of_the_hub()

    def _of_the_hub(self) -> bytes:
        """What the hub keeps and it has not been told: as much as is written at once."""
        while kept := self._hub.kept_from(self._at or 0):
            self._at = (self._at or 0) + len(kept)
            if frames := b"".join(map(self._news, kept)):
                return frames
        return b""

    def _news(self, kept: KeptFrame) -> bytes:
        """An entry that the hub keeps, unless it has been told."""
        if self._bookmark is None:
            self.number = kept.mark
        elif self._bookmark.knows(kept.number, kept.tag):
            return b""
        else:
            self._bookmark.take(kept.number, kept.tag)
            self.number = self._bookmark.text
            if self.number == kept.mark:
                self._bookmark = None
        return framing.numbered(self.number, kept.frame)


def _gap_frame(gap: StreamGap | None, why: str) -> bytes:
    first, last = (gap.first, gap.last) if gap is not None else (None, None)
    return framing.event("gap", {"first": first, "last": last, "detail": why})
