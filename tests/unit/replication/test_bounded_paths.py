"""What is only in memory is bounded in bytes, for paths, vectors and values are as long as others make them."""

from __future__ import annotations

import tracemalloc

import pytest

from syncer.conflict.register import Register
from syncer.model import Counter, MetaPath, Millis
from syncer.replacing import replace
from syncer.replication.bounded_paths import Paths
from syncer.state.sql.cache import UNKNOWN, RegisterCache
from tests.unit.registers import THERE, X, at, register, stored, version

LONG = "x" * 30_000


def path_of(number: int, name: str = "") -> MetaPath:
    return MetaPath(f"/admin/policies/{number}{name}")


def test_paths_are_kept_while_they_have_room() -> None:
    kept: Paths[int] = Paths(10_000)
    for number in range(1_000):
        kept[path_of(number)] = number
    assert 40 < len(kept) < 100
    kept[path_of(1)] = -1
    kept[path_of(999)] = -1
    assert kept[path_of(1)] == -1, "what is there may change"
    assert path_of(999) not in kept
    kept[path_of(0, LONG)] = 0
    assert path_of(0, LONG) not in kept


def test_what_leaves_makes_room() -> None:
    kept: Paths[None] = Paths(10_000)
    for _ in range(3):
        kept.add(dict.fromkeys(map(path_of, range(1_000))))
        full = len(kept)
        assert kept.take(path_of(0)) is None
        del kept[path_of(1)]
        kept.add(dict.fromkeys(map(path_of, range(2_000, 2_010))))
        assert len(kept) == full
        kept.clear()
        assert not kept
    with pytest.raises(KeyError):
        kept.take(path_of(1))
    with pytest.raises(KeyError):
        del kept[path_of(1)]


def large(number: int) -> Register:
    known = version(X, at(1, THERE))
    crowd = {Counter(f"region {number} {other} {'y' * 20}~1"): Millis(1) for other in range(250)}
    return replace(register(known=replace(known, seen=crowd)), path=path_of(number, "é中" * 1_000))


def test_registers_in_memory_take_no_more_than_their_room() -> None:
    cache = RegisterCache(room_bytes=16 << 20)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for number in range(2_000):
        each = large(number)
        cache.put(each.path, each)
        cache.put(path_of(number, LONG), None)
    taken = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert 50 < len(cache) < 2_000
    assert taken < 24 << 20


def test_what_is_replaced_or_forgotten_makes_room_for_others() -> None:
    cache = RegisterCache(room_bytes=100_000)
    small = replace(register(known=version(X, at(1, THERE)), stored=stored(X, at(1, THERE))), path=path_of(1))
    for _ in range(100):
        cache.put(small.path, small)
        cache.put(path_of(2, LONG), None)
        cache.forget([path_of(2, LONG), path_of(3)])
    assert cache.get(small.path) is small
    cache.put(path_of(2, LONG), None)
    cache.put(path_of(3, LONG), None)
    assert cache.get(small.path) is small
    cache.put(path_of(4, LONG), None)
    cache.put(path_of(5, LONG), None)
    assert cache.get(path_of(2, LONG)) is UNKNOWN, "the longest unused goes first"
    cache.clear()
    assert len(cache) == 0
