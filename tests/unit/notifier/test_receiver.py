"""A receiver of notices: one pending notice of a kind at most, and what it took is known after a restart."""

from __future__ import annotations

from collections import Counter

from syncer.notices.rules import NoticeEvent, NoticeKind, NoticeTerms, Outstanding, Told
from syncer.notifier.receiver import OUTDATED, Receiver

TERMS = NoticeTerms(interval_ms=60_000, reminder_ms=3_600_000)
HOLDS = NoticeKind.HOLDS
WALL = 1_700_000_000_000


def made(tally: Counter[tuple[str, str]] | None = None) -> Receiver:
    return Receiver("ops", [HOLDS], TERMS, Counter() if tally is None else tally)


def consider(receiver: Receiver, count: int | None, now: int) -> None:
    standing = None if count is None else Outstanding(count=count, newest=count)
    receiver.consider({HOLDS: standing, NoticeKind.CONFLICTS: Outstanding(count=9)}, "east/1", WALL + now, now)


def test_a_newer_notice_takes_the_place_of_one_that_is_pending_and_is_counted() -> None:
    tally = Counter[tuple[str, str]]()
    receiver = made(tally)
    consider(receiver, 1, 0)
    first = receiver.pending[HOLDS]
    consider(receiver, 1, 10)
    assert receiver.pending == {HOLDS: first}, "the same is to be told"
    consider(receiver, 2, 20)
    assert receiver.pending[HOLDS].id != first.id
    assert tally[OUTDATED] == 1
    consider(receiver, 0, 30)
    assert receiver.pending == {}, "nothing was told, and nothing stands"
    assert tally[OUTDATED] == 2


def test_what_is_not_known_is_neither_told_nor_over() -> None:
    receiver = made()
    consider(receiver, 1, 0)
    receiver.take(receiver.pending[HOLDS], WALL, 0)
    consider(receiver, None, 10**9)
    assert receiver.pending == {}
    consider(receiver, 0, 10**9)
    assert receiver.pending[HOLDS].event is NoticeEvent.CLEARED


def test_who_comes_after_makes_the_same_notice_and_tells_none_twice() -> None:
    receiver, heir = made(), made()
    consider(receiver, 3, 0)
    heir.begin({}, WALL, 5)
    consider(heir, 3, 5)
    assert heir.pending[HOLDS].id == receiver.pending[HOLDS].id
    receiver.take(receiver.pending[HOLDS], WALL, 0)
    ((kind, told, at_ms),) = receiver.unsaved()
    receiver.saved(kind, told)
    assert receiver.unsaved() == []
    heir.begin({("ops", kind): (told, at_ms), ("other", kind): (Told(number=9, open=True), at_ms)}, WALL + 60_000, 5)
    consider(heir, 3, 60_005)
    assert heir.pending == {}
    consider(heir, 4, 60_005)
    assert heir.pending[HOLDS].event is NoticeEvent.MORE


def test_that_fewer_stand_is_kept_so_that_the_next_one_is_one_more() -> None:
    receiver = made()
    consider(receiver, 3, 0)
    receiver.take(receiver.pending[HOLDS], WALL, 0)
    receiver.consider({HOLDS: Outstanding(count=1, newest=1)}, "east/1", WALL, 10)
    ((_, told, _),) = receiver.unsaved()
    assert (told.count, told.newest) == (1, 3)
    receiver.consider({HOLDS: Outstanding(count=2, newest=1)}, "east/1", WALL, 60_000)
    assert receiver.pending[HOLDS].event is NoticeEvent.MORE
