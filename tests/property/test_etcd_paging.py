"""Pages of etcd: every key once and in order, and the server's index is walked a few times, not once for every page."""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from syncer.errors import StoreUnavailable
from syncer.stores.etcd.paging import PageSize, Paging

LAST = b"\xff" * 9


@dataclass(frozen=True, slots=True)
class KeyValue:
    key: bytes
    value: bytes = b""


@dataclass(frozen=True, slots=True)
class Answer:
    kvs: list[KeyValue]
    more: bool
    count: int


@dataclass(slots=True)
class Server:
    """What etcd answers, and how many keys it looks at to do so: all up to the end of the range that is asked for."""

    held: list[bytes]
    weight: int = 0
    message_bytes: int = 1 << 40
    asked: int = field(default=0, init=False)
    walked: int = field(default=0, init=False)

    def answer(self, *, key: bytes, range_end: bytes, limit: int) -> Answer | None:
        """``None``: too large for one message."""
        first, last = bisect_left(self.held, key), bisect_left(self.held, range_end)
        self.asked += 1
        self.walked += max(0, last - first)
        kvs = [KeyValue(each, bytes(self.weight)) for each in self.held[first : min(last, first + limit)]]
        if sum(len(each.key) + len(each.value) for each in kvs) > self.message_bytes:
            return None
        return Answer(kvs, last - first > limit, max(0, last - first))


def read(server: Server, start: bytes, end: bytes, size: PageSize) -> Iterator[bytes]:
    paging = Paging(start, end, size)
    while paging.due is not None:
        answer = server.answer(**paging.due)  # type: ignore[arg-type]  # as a message takes them
        if answer is None:
            assert paging.smaller(), "one alone is never too large here"
        else:
            paging.took(answer)
            yield from (each.key for each in answer.kvs)


names = st.lists(st.sampled_from([b"/", b"a", b"b", b"ns", b"0", b"1", b"\xfe", b"\xff"]), max_size=8).map(b"".join)


@given(
    st.lists(names, max_size=200, unique=True),
    names,
    names | st.just(LAST),
    st.integers(1, 9),
    st.integers(1, 9),
    st.integers(0, 300),
)
def test_every_key_of_the_range_comes_once_and_in_order(
    keys: list[bytes], start: bytes, end: bytes, first: int, most: int, weight: int
) -> None:
    server = Server(sorted(keys), weight=weight, message_bytes=1000)
    size = PageSize(first_keys=first, max_keys=most, page_bytes=700)
    assert list(read(server, start, end, size)) == [each for each in server.held if start <= each < end]


@given(st.lists(names, max_size=100, unique=True), st.lists(names, max_size=100), st.integers(1, 9))
def test_what_stays_is_found_while_other_keys_come_and_go(keys: list[bytes], moving: list[bytes], most: int) -> None:
    server = Server(sorted(keys))
    found: list[bytes] = []
    for key in read(server, b"", LAST, PageSize(first_keys=1, max_keys=most, page_bytes=700)):
        found.append(key)
        if moving:
            flipped = moving.pop()
            server.held = sorted({*server.held} ^ {flipped})
            keys = [each for each in keys if each != flipped]
    assert found == sorted(set(found))
    assert {*keys} - {b""} <= {*found} | {each for each in keys if each >= LAST}


def test_an_answer_that_promises_more_and_gives_nothing_is_no_end() -> None:
    paging = Paging(b"/a", b"/b", PageSize(first_keys=1, max_keys=1, page_bytes=1))
    with pytest.raises(StoreUnavailable):
        paging.took(Answer([], more=True, count=3))
    assert paging.due is not None


def spaces() -> Iterable[str]:
    return (f"/admin/policies/tenant-{tenant:06d}/space-{space:03d}" for tenant in range(800) for space in range(50))


def one_folder() -> Iterable[str]:
    return (f"/admin/partitioned-topics/acme/orders/persistent/topic-{number}" for number in range(40_000))


def large_folders() -> Iterable[str]:
    return (
        f"/admin/partitioned-topics/acme/space-{space}/persistent/topic-{number:08d}"
        for space in range(20)
        for number in range(2_000)
    )


def random_names() -> Iterable[str]:
    return (f"/admin/policies/acme/{hashlib.sha1(bytes([n >> 8, n & 255])).hexdigest()}" for n in range(40_000))


def random_tenants() -> Iterable[str]:
    names = (hashlib.sha1(bytes([n >> 8, n & 255])).hexdigest() for n in range(270))
    return (f"/admin/policies/{name}/space-{space:03d}" for name in names for space in range(150))


@pytest.mark.parametrize("shape", [spaces, one_folder, large_folders, random_names, random_tenants])
def test_the_index_is_walked_a_few_times(shape: Callable[[], Iterable[str]]) -> None:
    server = Server(sorted(name.encode() for name in shape()))
    pages = len(server.held) / 100
    found = list(read(server, b"/admin/", b"/admin0", PageSize(first_keys=16, max_keys=100, page_bytes=1 << 30)))
    assert found == server.held
    assert server.walked < 20 * len(server.held), "were every page to end where the range does, it would be 200 times"
    assert server.asked < 2.5 * pages
