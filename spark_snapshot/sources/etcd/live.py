"""Reads a live etcd: pages of one revision, so that all of it is of one moment; ranges of keys for several readers.

A revision that was compacted away while it was read is given up for a later one, and the reading begins anew.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, Self, TypeVar

from spark_snapshot.sources.folders import Folders
from spark_snapshot.sources.found import ResourceBatch, Row, batched
from spark_snapshot.sources.reach import Reach
from spark_snapshot.sources.spool import BatchSpool, settled
from syncer.conflict.withholding import carried_value
from syncer.errors import StoreUnavailable
from syncer.model import MetaPath, Revision
from syncer.stores.etcd.config import EtcdConfig
from syncer.stores.etcd.connection import AnswerTooLarge, EtcdConnection, RevisionCompacted
from syncer.stores.etcd.keys import KeySpace
from syncer.stores.etcd.paging import PageSize, Paging
from syncer.stores.etcd.store import connection_of
from syncer.stores.etcd.wire import Dynamic, load

PAGE: Final = PageSize(first_keys=64, max_keys=10_000, page_bytes=4 << 20)
FEW: Final = 1_000
"""Keys that are not worth a reader of their own."""
TRIES: Final = 24
"""Counts that are asked for to find one boundary between readers; each walks the server's index."""
NEAR: Final = 0.1

T = TypeVar("T")

Span = tuple[bytes, bytes]
"""Keys from the first, up to the second, which is not among them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spans:
    """What one reader reads.

    Args:
        spans: In order; none overlaps another.
        revision: The moment; ``None``: the newest one.
    """

    spans: tuple[Span, ...]
    revision: int | None


def read(config: EtcdConfig, reach: Reach, part: Spans | None = None) -> Iterator[ResourceBatch]:
    """Read what is asked for, as it was at one revision, in batches of bounded size.

    Args:
        config: Where the servers are, and how they are spoken to.
        reach: What is asked for.
        part: Of several readers: what this one reads. When its revision is gone, it takes a later one for all it reads.

    Raises:
        StoreUnavailable: No answer in time.
        AccessDenied: The credentials do not allow it.
        Compacted: The revisions are compacted away faster than they can be read.
        ConfigError: A file of the settings cannot be read.
    """
    whole = part or Spans(spans=spans_of(config, reach), revision=None)
    due = [whole]

    def attempt(spool: BatchSpool) -> None:
        with _Caller(config) as caller:
            try:
                for batch in _Reader(caller, config, reach).batches(due[0]):
                    spool.add(batch)
            except RevisionCompacted:
                due[0] = replace(whole, revision=None)  # a new attempt takes the newest one
                raise

    return settled(attempt, again=(RevisionCompacted, StoreUnavailable), digests=reach.digests)


def spans_of(config: EtcdConfig, reach: Reach) -> tuple[Span, ...]:
    """Ranges of keys that hold all that is asked for."""
    keys = KeySpace(config.namespace)
    return _merged(sorted(keys.range(root) for root in reach.roots))


def parts(config: EtcdConfig, reach: Reach, count: int) -> list[Spans]:
    """Divide what is asked for among readers, about equally, at one revision."""
    spans = spans_of(config, reach)
    if not spans:
        return []
    with _Caller(config) as caller:
        revision = caller.newest()
        if count == 1:
            return [Spans(spans=spans, revision=revision)]
        found = [(span, caller.count(span, revision)) for span in spans]
        due = max(FEW, -(-sum(keys for _, keys in found) // count))
        divided: list[list[Span]] = [[]]
        room = due
        for span, keys in found:
            rest, left = span, keys
            while left > room and len(divided) < count:
                if room > FEW // 2:
                    key = boundary(partial(caller.count_from, rest[0], revision), rest, room)
                    left -= caller.count((rest[0], key), revision)
                    divided[-1].append((rest[0], key))
                    rest = (key, rest[1])
                divided.append([])
                room = due
            divided[-1].append(rest)
            room -= left
    return [Spans(spans=tuple(each), revision=revision) for each in divided if each]


def boundary(count: Callable[[bytes], int], span: Span, due: int) -> bytes:
    """A key such that about ``due`` keys of the span lie before it, found by halving, byte by byte.

    Args:
        count: How many keys lie from the span's begin up to a key.
        span: The keys.
        due: How many are to be before.
    """
    low, high = span
    best, best_miss = high, float("inf")
    for _ in range(TRIES):
        middle = _between(low, high)
        if middle is None:
            break
        before = count(middle)
        if abs(before - due) < best_miss:
            best, best_miss = middle, abs(before - due)
        if best_miss <= due * NEAR:
            break
        if before < due:
            low = middle
        else:
            high = middle
    return best


def position(config: EtcdConfig) -> tuple[int, int]:
    """The cluster's id, and its newest revision."""
    with _Caller(config) as caller:
        header = caller.header()
        return header.cluster_id, header.revision


def value_at(config: EtcdConfig, path: MetaPath) -> bytes | None:
    """The value at a path, ``None`` when there is none."""
    with _Caller(config) as caller:
        answer = caller.range(key=KeySpace(config.namespace).key(path))
        return bytes(answer.kvs[0].value) if answer.kvs else None


class _Caller:
    """A connection for a program without an event loop, which it keeps itself; open from ``with`` to its end."""

    def __init__(self, config: EtcdConfig) -> None:
        self._config = config
        self._runner = asyncio.Runner()
        self._connection: EtcdConnection | None = None
        self._ahead: asyncio.Task[Dynamic] | None = None

    def __enter__(self) -> Self:
        connection = connection_of(self._config)
        try:
            self._run(connection.open())
        except BaseException:
            self._run(connection.close())
            self._runner.close()
            raise
        self._connection = connection
        return self

    def __exit__(self, *_: object) -> None:
        connection, self._connection = self._connection, None
        try:
            if connection is not None:
                self._run(self._end(connection))
        finally:
            self._runner.close()

    def range(self, **request: object) -> Dynamic:
        """Ask for a range of keys."""
        return self._run(self._ask(request))

    def begin(self, **request: object) -> None:
        """Ask for a range; the answer is due at the next :meth:`finish`, and on its way until then."""

        async def begin() -> None:
            self._ahead = asyncio.create_task(self._ask(request))
            await asyncio.sleep(0)

        self._run(begin())

    def finish(self) -> Dynamic:
        """The answer to what was begun."""
        ahead, self._ahead = self._ahead, None
        assert ahead is not None  # noqa: S101 - a bug of this module

        async def finish() -> Dynamic:
            return await ahead

        return self._run(finish())

    def header(self) -> Dynamic:
        """What the cluster says of itself."""
        return self.range(key=KeySpace(self._config.namespace).key(MetaPath("/")), count_only=True).header

    def newest(self) -> int:
        """The newest revision."""
        return int(self.header().revision)

    def count(self, span: Span, revision: int) -> int:
        """How many keys a span has."""
        if span[0] >= span[1]:
            return 0
        return int(self.range(key=span[0], range_end=span[1], revision=revision, count_only=True).count)

    def count_from(self, start: bytes, revision: int, end: bytes) -> int:
        """How many keys lie from one up to another."""
        return self.count((start, end), revision)

    def _run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run in the loop. ``Runner.run`` would write every answer out as text: it shows its task to ``signal``."""
        return self._runner.get_loop().run_until_complete(coroutine)

    async def _ask(self, request: dict[str, object]) -> Dynamic:
        assert self._connection is not None  # noqa: S101 - a bug of this module
        return await self._connection.call("KV.Range", load().messages["RangeRequest"](**request), repeatable=True)

    async def _end(self, connection: EtcdConnection) -> None:
        if self._ahead is not None:
            self._ahead.cancel()
            await asyncio.gather(self._ahead, return_exceptions=True)
        await connection.close()


class _Reader:
    """One whole read at one revision."""

    def __init__(self, caller: _Caller, config: EtcdConfig, reach: Reach) -> None:
        self._caller = caller
        self._keys = KeySpace(config.namespace)
        self._cut = len(config.namespace.encode())
        self._folders = Folders(reach)

    def batches(self, part: Spans) -> Iterator[ResourceBatch]:
        """Everything once."""
        revision = self._caller.newest() if part.revision is None else part.revision
        for span in part.spans:
            yield from batched(map(self._found, self._pages(span, revision)))

    def _pages(self, span: Span, revision: int) -> Iterator[Dynamic]:
        """The pages of a span; the next one is on its way while one is looked at."""
        paging = Paging(*span, PAGE)
        self._begin(paging, revision)
        while paging.due is not None:
            try:
                answer = self._caller.finish()
            except AnswerTooLarge:
                if not paging.smaller():
                    raise
                self._begin(paging, revision)
                continue
            paging.took(answer)
            self._begin(paging, revision)
            yield answer

    def _begin(self, paging: Paging, revision: int) -> None:
        if (due := paging.due) is not None:
            self._caller.begin(**due, revision=revision)

    def _found(self, answer: Dynamic) -> ResourceBatch:
        cut, folder_at = self._cut, self._folders.at
        rows: list[Row] = []
        last: str | None = None
        for kv in answer.kvs:
            if kv.lease:  # it is a session's
                continue
            try:
                path = MetaPath(kv.key[cut:].decode())
            except UnicodeDecodeError:
                self._keys.path(kv.key)  # which tells of it
                continue
            above, _, name = path.rpartition("/")
            if above != last:
                last, folder = above, folder_at(above)
            value = kv.value
            if value and folder.wants(name):
                tenant = name if folder.tenant is None else folder.tenant
                value = carried_value(path, value)
                rows.append((path, folder.kind, tenant, value, None, Revision(str(kv.mod_revision))))
        return ResourceBatch.of(rows)


def _merged(spans: list[Span]) -> tuple[Span, ...]:
    """Spans in order, those that touch or overlap as one, so that no key is read twice."""
    merged: list[Span] = []
    for start, end in spans:
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return tuple(merged)


def _between(low: bytes, high: bytes) -> bytes | None:
    """A key halfway between two, as short as that can be; ``None`` when there is none worth asking for."""
    size = 1
    while size <= len(high) + len(low) + 2:
        first = int.from_bytes(low[:size].ljust(size, b"\0"))
        last = int.from_bytes(high[:size].ljust(size, b"\0"))
        if last - first >= 2:
            return ((first + last) // 2).to_bytes(size)
        size += 1
    return None
