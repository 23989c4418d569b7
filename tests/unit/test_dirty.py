"""Which paths are read next: notices at once, what is read for a write only while that write has room."""

from __future__ import annotations

import pytest

from syncer.model import MetaPath
from syncer.replication.local.dirty import DirtyPaths, Origin
from syncer.replication.local.write_queue import Batch, WriteQueue

A, B, C, D = (MetaPath(f"/admin/policies/{name}") for name in "abcd")


def test_due_paths_wait_for_room_and_others_do_not() -> None:
    dirty = DirtyPaths(100)
    dirty.add([A, B], Origin.DUE)
    dirty.add([C], Origin.NOTICE)
    assert dirty.take(10, (), room=0) == {C: Origin.NOTICE}
    assert dirty.ready == 2
    assert dirty.take(10, (), room=1) == {A: Origin.DUE}
    assert dirty.take(10, (), room=5) == {B: Origin.DUE}
    assert len(dirty) == 0


def test_neither_kind_starves_the_other() -> None:
    dirty = DirtyPaths(100)
    dirty.add([A, B], Origin.DUE)
    dirty.add([C, D], Origin.NOTICE)
    assert dirty.take(2, (), room=100) == {A: Origin.DUE, C: Origin.NOTICE}
    assert dirty.take(2, (), room=100) == {B: Origin.DUE, D: Origin.NOTICE}


def test_a_notice_makes_a_due_path_readable_at_once() -> None:
    dirty = DirtyPaths(100)
    dirty.add([A], Origin.DUE)
    dirty.add([A], Origin.NOTICE)
    dirty.add([A], Origin.DUE)
    assert dirty.take(10, (), room=0) == {A: Origin.NOTICE}
    assert len(dirty) == 0


@pytest.mark.parametrize("first", [Origin.SCAN, Origin.DUE])
def test_a_path_that_a_scan_found_is_read_whether_there_is_room_or_not(first: Origin) -> None:
    dirty = DirtyPaths(100)
    dirty.add([A], first)
    dirty.add([A], Origin.DUE if first is Origin.SCAN else Origin.SCAN)
    assert len(dirty) == 1
    assert dirty.take(10, (), room=0) == {A: Origin.DUE}


@pytest.mark.parametrize("also", list(Origin))
@pytest.mark.parametrize("before", [False, True])
def test_a_scan_waits_for_what_it_has_found_until_that_is_decided(also: Origin, *, before: bool) -> None:
    """Whatever else it is read for, and although it is read again because its first answer came too late."""
    dirty = DirtyPaths(100)
    if before:
        dirty.add([A], also)
    dirty.add([A], Origin.SCAN)
    if not before:
        dirty.add([A], also)
    taken = dirty.take(10, (), room=10)
    assert (list(taken), dirty.from_scan) == ([A], 1)
    dirty.add([A], taken[A])
    assert (len(dirty), dirty.from_scan) == (1, 1)
    dirty.decided([A, B])
    assert dirty.from_scan == 0
    dirty.add([B], Origin.SCAN)
    dirty.clear()
    assert dirty.from_scan == 0


def test_in_flight_paths_wait_aside_and_come_back_as_they_were() -> None:
    dirty = DirtyPaths(100)
    dirty.add([A], Origin.DUE)
    dirty.add([B], Origin.NOTICE)
    dirty.add([C], Origin.SCAN)
    assert dirty.take(10, {A, B, C}, room=10) == {}
    assert (len(dirty), dirty.ready, dirty.from_scan) == (3, 0, 1)
    dirty.release([A, B, C])
    assert (dirty.ready, dirty.from_scan) == (3, 1)
    assert dirty.take(10, (), room=0) == {B: Origin.NOTICE, C: Origin.SCAN}


@pytest.mark.parametrize(("queued", "vacancy"), [(0, 72), (4, 36), (5, 0), (8, 0)])
def test_room_for_writes_is_offered_in_whole_batches(queued: int, vacancy: int) -> None:
    queue = WriteQueue(max_writes=10, max_bytes=1000, max_batches=8)
    queue.commit([Batch(str(number)) for number in range(queued)])
    assert queue.vacancy == vacancy
