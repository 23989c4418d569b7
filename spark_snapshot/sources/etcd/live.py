"""Reads a live etcd: pages of one revision, so that all of it is of one moment; ranges of keys for several readers.

A revision that was compacted away while it was read is given up for a later one, and the reading begins anew. Where no
moment is asked for, each page is of the newest revision, which no compaction takes away.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, Self, TypeVar

from spark_snapshot.sources.folders import Folders
from spark_snapshot.sources.found import ResourceBatch, Row, batched, refused
from spark_snapshot.sources.reach import WHOLE, Share
from spark_snapshot.sources.spool import BatchSpool, settled
from spark_snapshot.sources.throttle import Throttle
from syncer.conflict.withholding import carried_value
from syncer.errors import AccessDenied, StoreUnavailable
from syncer.model import MetaPath, Revision
from syncer.stores.etcd.config import EtcdConfig
from syncer.stores.etcd.connection import AnswerTooLarge, EtcdConnection, RevisionCompacted
from syncer.stores.etcd.keys import KeySpace
from syncer.stores.etcd.paging import PageSize, Paging
from syncer.stores.etcd.store import connection_of
from syncer.stores.etcd.wire import Dynamic, load
from syncer.wanted.contract import WantedPaths

PAGE: Final = PageSize(first_keys=64, max_keys=10_000, page_bytes=4 << 20)
FEW: Final = 1_000
"""Keys that are not worth a reader of their own."""
TRIES: Final = 24
"""Counts that are asked for to find one boundary between readers; each walks the server's index."""
NEAR: Final = 0.1
NEWEST: Final = 0
"""As the revision of a request."""

T = TypeVar("T")

Span = tuple[bytes, bytes]
"""Keys from the first, up to the second, which is not among them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spans:
    """What one reader reads.

    Args:
        spans: In order; none overlaps another.
        revision: The moment; ``None``: the newest one.
        share: Which of how many readers it is.
    """

    spans: tuple[Span, ...]
    revision: int | None
    share: Share = WHOLE


def read(config: EtcdConfig, wanted: WantedPaths, part: Spans | None = None) -> Iterator[ResourceBatch]:
    """Read what is asked for, on its terms, in batches of bounded size.

    Args:
        config: Where the servers are, and how they are spoken to.
        wanted: What is asked for.
        part: Of several readers: what this one reads. When its revision is gone, it takes a later one for all it reads.

    Raises:
        StoreUnavailable: No answer in time.
        AccessDenied: The credentials do not allow it, unless the terms are forgiving.
        Compacted: The revisions are compacted away faster than they can be read.
        ConfigError: A file of the settings cannot be read.
    """
    whole = part or Spans(spans=spans_of(config, wanted), revision=None)
    due = [whole]

    def attempt(spool: BatchSpool) -> None:
        with _Caller(config) as caller:
            try:
                for batch in _Reader(caller, config, wanted, whole.share).batches(due[0]):
                    spool.add(batch)
            except RevisionCompacted:
                due[0] = replace(whole, revision=None)  # a new attempt takes the newest one
                raise

    return settled(attempt, again=(RevisionCompacted, StoreUnavailable), digests=wanted.terms.digests)


def spans_of(config: EtcdConfig, wanted: WantedPaths) -> tuple[Span, ...]:
    """Ranges of keys that hold all that is asked for."""
    keys = KeySpace(config.namespace)
    return _merged(sorted(keys.range(root) for root in wanted.roots))


def parts(config: EtcdConfig, wanted: WantedPaths, count: int) -> list[Spans]:
    """Divide what is asked for among readers, about equally, at one revision."""
    spans, terms = spans_of(config, wanted), wanted.terms
    if not spans:
        return []
    if count == 1 and not terms.moment:
        return [Spans(spans=spans, revision=None)]
    with _Caller(config) as caller:
        revision = caller.newest() if terms.moment else NEWEST
        if count == 1:
            return [Spans(spans=spans, revision=revision)]
        found = [(span, _counted(caller, span, revision, forgiving=terms.forgiving)) for span in spans]
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
    divided = [each for each in divided if each]
    return [
        Spans(spans=tuple(each), revision=revision if terms.moment else None, share=Share(index, len(divided)))
        for index, each in enumerate(divided)
    ]


def _counted(caller: _Caller, span: Span, revision: int, *, forgiving: bool) -> int:
    """How many keys a span has; none where that may not be known."""
    try:
        return caller.count(span, revision)
    except AccessDenied:
        if not forgiving:
            raise
        return 0


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
    """One whole read."""

    def __init__(self, caller: _Caller, config: EtcdConfig, wanted: WantedPaths, share: Share) -> None:
        self._caller = caller
        self._terms = wanted.terms
        self._throttle = Throttle(wanted.terms, share)
        most = self._throttle.most
        self._page = replace(PAGE, first_keys=min(PAGE.first_keys, most), max_keys=min(PAGE.max_keys, most))
        self._keys = KeySpace(config.namespace)
        self._cut = len(config.namespace.encode())
        self._folders = Folders(wanted)

    def batches(self, part: Spans) -> Iterator[ResourceBatch]:
        """Everything once."""
        revision = part.revision
        if not self._terms.moment:
            revision = NEWEST
        elif revision is None:
            revision = self._caller.newest()
        for span in part.spans:
            yield from batched(self._parts(span, revision))

    def _parts(self, span: Span, revision: int) -> Iterator[ResourceBatch]:
        """A span page by page, and at last that it may not be read, or not further, where that is forgiven."""
        try:
            yield from map(self._found, self._pages(span, revision))
        except AccessDenied:
            if not self._terms.forgiving:
                raise
            yield ResourceBatch.of([refused(MetaPath(span[0][self._cut :].decode(errors="replace")))])

    def _pages(self, span: Span, revision: int) -> Iterator[Dynamic]:
        """The pages of a span; the next one is on its way while one is looked at."""
        paging = Paging(*span, self._page)
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
            self._throttle.took(len(answer.kvs))
            self._begin(paging, revision)
            yield answer

    def _begin(self, paging: Paging, revision: int) -> None:
        if (due := paging.due) is not None:
            self._throttle.wait()
            self._caller.begin(**due, revision=revision)

    def _found(self, answer: Dynamic) -> ResourceBatch:
        cut, folder_at = self._cut, self._folders.at
        rows: list[Row] = []
        last: str | None = None
        for kv in answer.kvs:
            try:
                path = MetaPath(kv.key[cut:].decode())
            except UnicodeDecodeError:
                self._keys.path(kv.key)  # which tells of it
                continue
            above, _, name = path.rpartition("/")
            if above != last:
                last, folder = above, folder_at(above)
                kind, tenant, every = folder.kind, folder.tenant, folder.every
            value = kv.value
            if not (value or folder.empties) or (kv.lease and not folder.sessions):
                continue  # an inner node is empty, the other a session's
            if (every and name) or folder.wants(name):
                whose = name if tenant is None else tenant
                value = carried_value(path, value)
                what = kind or folder.kind_of(name)
                rows.append((path, what, whose, value, None, Revision(str(kv.mod_revision)), None))
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
