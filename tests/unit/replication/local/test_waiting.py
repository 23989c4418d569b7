"""Writes that were refused for want of something else: how soon each is tried again."""

from __future__ import annotations

from syncer.model import MetaPath, Millis
from syncer.replication.local.waiting import LONGEST_PAUSE_MS, REFUSED_KEPT, RefusedWrites

PATH = MetaPath("/admin/policies/acme")


def test_it_is_tried_ever_less_often() -> None:
    writes, now, pauses = RefusedWrites(), 1_000_000, []
    for _ in range(9):
        writes.refused(PATH, Millis(now))
        rested = next(ms for ms in range(0, 100_000, 500) if not writes.rests(PATH, Millis(now + ms)))
        pauses.append(rested // 1_000)
        now += rested
    assert pauses == [1, 2, 4, 8, 16, 32, 32, 32, 32]


def test_what_was_written_or_never_refused_does_not_rest() -> None:
    writes = RefusedWrites()
    assert not writes.rests(PATH, Millis(5))
    writes.refused(PATH, Millis(5))
    writes.landed(PATH)
    assert not writes.rests(PATH, Millis(6))


def test_a_clock_that_was_set_back_keeps_nothing_waiting() -> None:
    writes = RefusedWrites()
    writes.refused(PATH, Millis(LONGEST_PAUSE_MS))
    assert not writes.rests(PATH, Millis(5))


def test_memory_is_bounded() -> None:
    writes = RefusedWrites()
    for number in range(REFUSED_KEPT + 1):
        writes.refused(MetaPath(f"/p/{number}"), Millis(5))
    assert len(writes.resting) == 1
