"""A receiver of notices: what it was told, and at most one notice of each kind that it has yet to take.

The queue is bounded by the kinds: a notice that is pending gives way to a newer one of its kind, and is counted as
outdated.

Units: milliseconds.
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from syncer.notices.rules import (
    NOTHING_TOLD,
    NoticeEvent,
    NoticeKind,
    NoticeTerms,
    Outstanding,
    Told,
    due,
    id_of,
    lessened,
    restored,
    taken,
)
from syncer.notifier.reading import Picture

OUTDATED: Final = ("notices", "outdated")


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingNotice:
    """A notice that is to be taken.

    Args:
        id: The same over retries and restarts.
        kind: What it tells of.
        event: The occasion.
        standing: What it tells.
        made_at_ms: When it was made, milliseconds since the epoch.
    """

    id: str
    kind: NoticeKind
    event: NoticeEvent
    standing: Outstanding
    made_at_ms: int


class Receiver:
    """One receiver.

    Args:
        name: As it is configured.
        kinds: What it is told of.
        terms: How often.
        tally: Counts for the metrics, by name and label.
    """

    def __init__(
        self, name: str, kinds: Collection[NoticeKind], terms: NoticeTerms, tally: Tally[tuple[str, str]]
    ) -> None:
        self.name: Final = name
        self._kinds: Final = tuple(kind for kind in NoticeKind if kind in kinds)
        self._terms: Final = terms
        self._tally: Final = tally
        self._told: dict[NoticeKind, Told] = {}
        self._told_at_ms: dict[NoticeKind, int] = {}
        self._unsaved: set[NoticeKind] = set()
        self.pending: dict[NoticeKind, PendingNotice] = {}

    def begin(self, kept: dict[tuple[str, NoticeKind], tuple[Told, int]], wall_ms: int, now_ms: int) -> None:
        """Take over what was kept of it, by whichever daemon was active before.

        Args:
            kept: By receiver and kind: what it was told, and when by the wall clock.
            wall_ms: Time of the wall clock.
            now_ms: Of the clock that never goes back.
        """
        mine = {kind: row for (name, kind), row in kept.items() if name == self.name}
        self._told = {kind: restored(told, at_ms, wall_ms, now_ms) for kind, (told, at_ms) in mine.items()}
        self._told_at_ms = {kind: min(at_ms, wall_ms) for kind, (_, at_ms) in mine.items()}
        self._unsaved.clear()
        self.pending.clear()

    def consider(self, picture: Picture, source: str, wall_ms: int, now_ms: int) -> None:
        """Compare what stands with what it was told, and have a notice of each kind pending that is due.

        Args:
            picture: What stands.
            source: Region and sidecar database.
            wall_ms: Time of the wall clock.
            now_ms: Of the clock that never goes back.
        """
        for kind in self._kinds:
            standing = picture.get(kind)
            if standing is None:
                continue
            before = self._told.get(kind, NOTHING_TOLD)
            told = lessened(before, standing)
            if told != before:
                self._told[kind] = told
                self._unsaved.add(kind)
            event, former = due(told, standing, now_ms, self._terms), self.pending.get(kind)
            if event is None:
                if self.pending.pop(kind, None) is not None:
                    self._tally[OUTDATED] += 1
                continue
            notice_id = id_of(source, self.name, kind, told, event, standing)
            if former is not None and former.id == notice_id:
                continue
            self._tally[OUTDATED] += former is not None
            self.pending[kind] = PendingNotice(
                id=notice_id, kind=kind, event=event, standing=standing, made_at_ms=wall_ms
            )

    def take(self, notice: PendingNotice, wall_ms: int, now_ms: int) -> None:
        """Note that it has taken a notice. One that came meanwhile waits for the interval, like any other.

        Args:
            notice: What it took.
            wall_ms: When, by the wall clock.
            now_ms: By the clock that never goes back.
        """
        self._told[notice.kind] = taken(self._told.get(notice.kind, NOTHING_TOLD), notice.standing, now_ms)
        self._told_at_ms[notice.kind] = wall_ms
        self._unsaved.add(notice.kind)
        self.pending.pop(notice.kind, None)
        self._tally["notices", "delivered"] += 1

    def unsaved(self) -> list[tuple[NoticeKind, Told, int]]:
        """What is to be kept of it: kind, what it was told, and when by the wall clock."""
        return [(kind, self._told[kind], self._told_at_ms.get(kind, 0)) for kind in sorted(self._unsaved)]

    def saved(self, kind: NoticeKind, told: Told) -> None:
        """Note that this is kept, unless it has gone on since."""
        if self._told.get(kind) == told:
            self._unsaved.discard(kind)
