"""Which paths are read next: notices at once, what is read for a write only while that write has room."""

from __future__ import annotations

import pytest

from syncer.model import MetaPath, Revision
from syncer.replication.local.dirty import DirtyPaths, ReadCause
from syncer.replication.local.write_queue import Batch, WriteQueue
from syncer.stores.contract import Delete, Put

A, B, C, D = (MetaPath(f"/admin/policies/{name}") for name in "abcd")


def test_due_paths_wait_for_room_and_others_do_not() -> None:
    dirty = DirtyPaths(100)
    dirty.add([A, B], ReadCause.DUE)
    dirty.add([C], ReadCause.NOTICE)
    assert dirty.take(10, (), room=0) == {C: ReadCause.NOTICE}
    assert dirty.readable == 2
    assert dirty.take(10, (), room=1) == {A: ReadCause.DUE}
    assert dirty.take(10, (), room=5) == {B: ReadCause.DUE}
    assert len(dirty) == 0


def test_neither_kind_starves_the_other() -> None:
    dirty = DirtyPaths(100)
    dirty.add([A, B], ReadCause.DUE)
    dirty.add([C, D], ReadCause.NOTICE)
    assert dirty.take(2, (), room=100) == {A: ReadCause.DUE, C: ReadCause.NOTICE}
    assert dirty.take(2, (), room=100) == {B: ReadCause.DUE, D: ReadCause.NOTICE}


def test_a_notice_makes_a_due_path_readable_at_once() -> None:
    dirty = DirtyPaths(100)
    dirty.add([A], ReadCause.DUE)
    dirty.add([A], ReadCause.NOTICE)
    dirty.add([A], ReadCause.DUE)
    assert dirty.take(10, (), room=0) == {A: ReadCause.NOTICE}
    assert len(dirty) == 0


@pytest.mark.parametrize("first", [ReadCause.SCAN, ReadCause.DUE])
def test_a_path_that_a_scan_found_is_read_whether_there_is_room_or_not(first: ReadCause) -> None:
    dirty = DirtyPaths(100)
    dirty.add([A], first)
    dirty.add([A], ReadCause.DUE if first is ReadCause.SCAN else ReadCause.SCAN)
    assert len(dirty) == 1
    assert dirty.take(10, (), room=0) == {A: ReadCause.DUE}


@pytest.mark.parametrize("also", list(ReadCause))
@pytest.mark.parametrize("before", [False, True])
def test_a_scan_waits_for_what_it_has_found_until_that_is_decided(also: ReadCause, *, before: bool) -> None:
    """Whatever else it is read for, and although it is read again because its first answer came too late."""
    dirty = DirtyPaths(100)
    if before:
        dirty.add([A], also)
    dirty.add([A], ReadCause.SCAN)
    if not before:
        dirty.add([A], also)
    taken = dirty.take(10, (), room=10)
    assert (list(taken), dirty.from_scan) == ([A], 1)
    dirty.add([A], taken[A])
    assert (len(dirty), dirty.from_scan) == (1, 1)
    dirty.decided([A, B])
    assert dirty.from_scan == 0
    dirty.add([B], ReadCause.SCAN)
    dirty.clear()
    assert dirty.from_scan == 0


def test_in_flight_paths_wait_aside_and_come_back_as_they_were() -> None:
    dirty = DirtyPaths(100)
    dirty.add([A], ReadCause.DUE)
    dirty.add([B], ReadCause.NOTICE)
    dirty.add([C], ReadCause.SCAN)
    assert dirty.take(10, {A, B, C}, room=10) == {}
    assert (len(dirty), dirty.readable, dirty.from_scan) == (3, 0, 1)
    dirty.release([A, B, C])
    assert (dirty.readable, dirty.from_scan) == (3, 1)
    assert dirty.take(10, (), room=0) == {B: ReadCause.NOTICE, C: ReadCause.SCAN}


@pytest.mark.parametrize(("queued", "vacancy"), [(0, 72), (4, 36), (5, 0), (8, 0)])
def test_room_for_writes_is_offered_in_whole_batches(queued: int, vacancy: int) -> None:
    queue = WriteQueue(max_writes=10, max_bytes=1000, max_batches=8)
    queue.commit([Batch(str(number)) for number in range(queued)])
    assert queue.vacancy == vacancy


@pytest.mark.parametrize(("weight", "batches"), [(1, [4, 1]), (2, [2, 2, 1]), (9, [1] * 5)])
def test_a_delete_counts_as_many_writes_as_the_store_says(weight: int, batches: list[int]) -> None:
    packer = WriteQueue(max_writes=5, max_bytes=1000, delete_weight=weight).packer(1)
    assert packer.number
    for path in (A, B, C, *(MetaPath(f"{C}/{name}") for name in "xy")):
        write = Delete(path=path, expected=Revision("7"))
        assert packer.fits(write) or packer.begin()
        packer.add(write)
    assert [len(batch.writes) for batch in packer.packed()] == batches


def test_puts_and_deletes_share_a_batch_by_their_weight() -> None:
    packer = WriteQueue(max_writes=5, max_bytes=1000, delete_weight=2).packer(1)
    assert packer.number
    for write in (Put(path=A, value=b"", expected=None), Delete(path=B, expected=Revision("7"))):
        assert packer.fits(write)
        packer.add(write)
    assert not packer.fits(Delete(path=C, expected=Revision("7")))
    assert packer.fits(Put(path=C, value=b"", expected=None))
