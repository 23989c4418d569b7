"""What is remembered of paths is bounded in bytes, whatever they are like; what is used stays."""

from __future__ import annotations

import tracemalloc

import pytest

from syncer.bus.wire.fields import checked_path
from syncer.conflict.scope import Scope
from syncer.memoizing import ENTRY_BYTES, memoized
from syncer.model import MetaPath
from syncer.paths import classify, scaffold, tenant_of


def counting(room_bytes: int, said_bytes: int = 0) -> tuple[list[str], object]:
    """A function that notes what it was asked in earnest."""
    asked: list[str] = []

    @memoized(room_bytes, lambda _: said_bytes)
    def shout(path: str) -> str:
        asked.append(path)
        return path.upper()

    return asked, shout


def test_what_was_told_is_told_again_without_being_worked_out() -> None:
    asked, shout = counting(1 << 20)
    assert [shout("/a"), shout("/b"), shout("/a")] == ["/A", "/B", "/A"]  # type: ignore[operator]
    assert asked == ["/a", "/b"]


def test_nothing_at_all_may_be_what_is_remembered() -> None:
    asked: list[str] = []

    @memoized(1 << 20)
    def nothing(path: str) -> None:
        asked.append(path)

    assert nothing("/a") is nothing("/a") is None
    assert asked == ["/a"]


def test_an_error_is_not_remembered() -> None:
    @memoized(1 << 20)
    def refusing(path: str) -> str:
        raise ValueError(path)

    for _ in range(2):
        with pytest.raises(ValueError, match="/a"):
            refusing("/a")


def test_what_is_used_stays_and_the_rest_goes() -> None:
    asked, shout = counting(100 * (ENTRY_BYTES + 60))
    for number in range(1_000):
        shout("/used")  # type: ignore[operator]
        shout(f"/{number:04}")  # type: ignore[operator]
    assert asked.count("/used") == 1
    shout("/0000")  # type: ignore[operator]
    assert asked.count("/0000") == 2


def test_what_is_too_large_is_not_remembered_and_drives_out_nothing() -> None:
    asked, shout = counting(1 << 16)
    shout("/a")  # type: ignore[operator]
    for _ in range(3):
        shout("/" + "x" * (1 << 16))  # type: ignore[operator]
    assert len(asked) == 4
    shout("/a")  # type: ignore[operator]
    assert len(asked) == 4
    asked, shout = counting(1 << 16, said_bytes=1 << 16)
    assert [shout("/a"), shout("/a")] == ["/A", "/A"]  # type: ignore[operator]
    assert asked == ["/a", "/a"], "what is said counts too"


def test_long_paths_take_no_more_memory_than_there_is_for_them() -> None:
    """Names that Pulsar takes and that are as long as they may be."""
    scope = Scope()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for number in range(10_000):
        path = checked_path(f"/admin/partitioned-topics/acme/orders/persistent/{number}{'é中' * 2000}")
        path = MetaPath(path.encode().decode())  # of its own, as each message brings one
        classify(path), scaffold(path), tenant_of(path), scope.direction(path)
    taken = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert taken < 160 << 20
