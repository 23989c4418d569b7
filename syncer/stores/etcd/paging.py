"""Paging through a long range of keys: the next keys to ask for.

Invariants: every key of the range is asked for in order; none that a page has brought is asked for again.

etcd counts the keys of a range up to its end, however few are wanted: pages that all end where the range does make it
walk the square of the range. So a page is asked for within the smallest group of keys that held the whole page before
it, then, when that is read, within the next larger one. A group is all keys that begin alike.

Source: etcd v3.5, ``server/storage/mvcc/index.go``, ``treeIndex.Revisions``.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise, starmap
from typing import Final

from syncer.errors import StoreUnavailable
from syncer.stores.etcd.wire import Dynamic

GROWTH: Final = 4
"""A page asks for at most so many times as many keys as the one before."""
NEAR: Final = 4
"""When so many pages are left, the end is near enough."""
SAMPLE: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class PageSize:
    """What one page is meant to be: so many keys for a start, later what has about so many bytes."""

    first_keys: int
    max_keys: int
    page_bytes: int


class Paging:
    """The pages of one range; see :meth:`took`.

    Args:
        start: The first key.
        end: The first key that is not asked for.
        size: Of a page.
    """

    def __init__(self, start: bytes, end: bytes, size: PageSize) -> None:
        self._start = start
        self._ends = [end]  # of groups, each within the one before
        self._size = size
        self._limit = size.first_keys
        self._last = start
        self._forks: set[int] = set()  # lengths at which keys that follow each other part

    @property
    def due(self) -> dict[str, object] | None:
        """What the next ``RangeRequest`` asks for; ``None``: all was read."""
        if not self._ends:
            return None
        return {"key": self._start, "range_end": self._ends[-1], "limit": self._limit}

    def smaller(self) -> bool:
        """What was due is too large for one message: ask for less; whether that can be."""
        fewer = max(1, self._limit // GROWTH)
        able, self._limit = fewer < self._limit, fewer
        return able

    def took(self, answer: Dynamic) -> None:
        """Go on behind an answer (``RangeResponse``) to what was due.

        Raises:
            StoreUnavailable: It says that there is more, and gives nothing.
        """
        kvs, size = answer.kvs, self._size
        if kvs:
            fitting = size.page_bytes // usual_bytes(kvs)
            self._limit = max(1, min(fitting, size.max_keys, self._limit * GROWTH))
        elif answer.more:
            raise StoreUnavailable("etcd says that a range of keys holds more, and gives none of it")
        if not answer.more:
            self._start = self._ends.pop()
            return
        self._start = kvs[-1].key + b"\0"
        some = [self._last, *(kv.key for kv in kvs[:: max(1, len(kvs) // SAMPLE)]), kvs[-1].key]
        self._forks.update(starmap(_alike, pairwise(some)))
        self._last = some[-1]
        if answer.count - len(kvs) > NEAR * self._limit:
            self._ends += self._groups(_alike(kvs[0].key, self._last))

    def _groups(self, most: int) -> list[bytes]:
        """Where the groups end that hold the last key and are alike in so many bytes, or in fewer; the largest first.

        Only where keys have been seen to part: names have long stretches that all of them share.
        """
        found: list[bytes] = []
        for length in sorted(each for each in self._forks if 0 < each <= most):
            if self._last[length - 1] == 0xFF:
                continue  # it ends where a larger one does
            behind = self._last[: length - 1] + bytes([self._last[length - 1] + 1])
            if behind < self._ends[-1]:
                found.append(behind)
        return found


def usual_bytes(kvs: Dynamic) -> int:
    """What one of them weighs, by a sample: protobuf would write the whole answer anew to tell its size."""
    some = kvs[:: max(1, len(kvs) // SAMPLE)]
    return max(1, sum(len(kv.key) + len(kv.value) for kv in some) // len(some))


def _alike(one: bytes, other: bytes) -> int:
    """In how many bytes two keys begin alike."""
    parted = (at for at, (here, there) in enumerate(zip(one, other, strict=False)) if here != there)
    return next(parted, min(len(one), len(other)))
