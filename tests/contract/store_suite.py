"""What every metadata store must do, as one suite that any back end imports.

A back end adds a class and a harness, nothing else::

    class TestMyStore(StoreSuite):
        @pytest.fixture
        def harness(self, ...) -> Iterator[StoreHarness]:
            ...

The suite asks ``capabilities`` where stores may differ, and checks the declared behaviour on both sides.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Final, Protocol, Self

import pytest

from syncer.errors import NotEmpty, ParentMissing, RevisionMismatch, StoreUnavailable, ValueRefused
from syncer.model import MetaPath, Revision
from syncer.stores.contract import (
    Armed,
    BatchRefused,
    Beat,
    Changed,
    Delete,
    Entry,
    Gap,
    MetadataStore,
    Put,
    WatchSignal,
    Write,
)

DEADLINE_S: Final = 20.0
"""For whatever is waited for; never reached when all is well."""

OUTAGE_DEADLINE_S: Final = 60.0
MAX_PAGE_BYTES: Final = 16 * 1024 * 1024
BEAT_LIMIT_S: Final = 5.0


class OutsideWriter(Protocol):
    """Somebody else who writes to the same store, without conditions and without the adapter's code. Blocking."""

    def put(self, path: str, value: bytes, *, ephemeral: bool = False) -> None:
        """Create or overwrite; the parent exists."""
        ...

    def delete(self, path: str) -> None:
        """Delete an existing path without children."""
        ...

    def close(self) -> None:
        """Leave; ephemeral paths go too."""
        ...


class StoreHarness(Protocol):
    """One back end under test. All calls block."""

    @property
    def prefix(self) -> MetaPath:
        """A path that exists, empty, and that no other test uses."""
        ...

    @property
    def ephemerals(self) -> bool:
        """Whether the store has paths that live as long as their writer."""
        ...

    def make(self) -> MetadataStore:
        """A new client of the store, not yet open; its deadlines are a few seconds."""
        ...

    def outside(self) -> OutsideWriter:
        """A new outside writer."""
        ...

    def break_continuity(self) -> None:
        """Make every watch lose changes for sure (cut connection, pruned log); the store works again afterwards."""
        ...

    def stop(self) -> None:
        """Take the store away."""
        ...

    def start(self) -> None:
        """Bring it back with its data."""
        ...


class Watching:
    """A watch that is read in the background: every signal and every path, in order."""

    def __init__(self, store: MetadataStore, *prefixes: MetaPath) -> None:
        self._iterator = store.watch(prefixes)
        self._task = asyncio.create_task(self._read())
        self.signals: list[WatchSignal] = []
        self.paths: set[MetaPath] = set()

    async def _read(self) -> None:
        async for signal in self._iterator:
            self.signals.append(signal)
            if isinstance(signal, Changed):
                assert signal.paths
                self.paths.update(signal.paths)

    async def until(self, met: Callable[[], bool], *, what: str, deadline_s: float = DEADLINE_S) -> None:
        """Wait for a condition on what was seen."""
        end = time.monotonic() + deadline_s
        while not met():
            if self._task.done():
                self._task.result()
                pytest.fail(f"the watch ended before {what}")
            if time.monotonic() > end:
                pytest.fail(f"not in {deadline_s} s: {what}; last signals: {self.signals[-5:]}")
            await asyncio.sleep(0.005)

    async def armed(self) -> None:
        """Wait for the first ``Armed``."""
        await self.until(lambda: Armed() in self.signals, what="armed")

    async def saw(self, *paths: MetaPath) -> None:
        """Wait until all these were reported; a gap is no excuse."""
        await self.until(lambda: self.paths.issuperset(paths), what=f"{paths[-1]} reported")
        assert not self.gaps, self.gaps

    @property
    def gaps(self) -> list[Gap]:
        """The gaps so far."""
        return [signal for signal in self.signals if isinstance(signal, Gap)]

    async def close(self) -> None:
        """Stop reading and close the iterator."""
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task
        await _aclose(self._iterator)


class Hammer:
    """A thread that writes as fast as it can until told to stop.

    Args:
        outside: Its own writer.
        step: Called with 0, 1, 2, …; each call writes something.
    """

    def __init__(self, outside: OutsideWriter, step: Callable[[OutsideWriter, int], None]) -> None:
        self.begun = 0
        self._outside = outside
        self._step = step
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="hammer", daemon=True)
        self._failure: BaseException | None = None

    def _run(self) -> None:
        try:
            while not self._stop.is_set():
                self.begun += 1
                self._step(self._outside, self.begun - 1)
        except BaseException as exc:  # noqa: BLE001 - handed to the test's own thread
            self._failure = exc

    async def reach(self, count: int) -> None:
        """Wait until so many steps were begun."""
        end = time.monotonic() + DEADLINE_S
        while self.begun < count and self._failure is None:
            assert time.monotonic() < end, f"only {self.begun} of {count} writes"
            await asyncio.sleep(0.002)

    async def __aenter__(self) -> Self:
        self._thread.start()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.stop()

    async def stop(self) -> None:
        """Finish the step under way; raise what went wrong."""
        self._stop.set()
        await asyncio.to_thread(self._thread.join, DEADLINE_S)
        assert not self._thread.is_alive()
        if self._failure is not None:
            raise self._failure


class StoreSuite:
    """The contract. Subclasses give the fixture ``harness``."""

    @pytest.fixture
    def harness(self) -> StoreHarness:
        """The back end under test."""
        raise NotImplementedError

    @pytest.fixture
    async def store(self, harness: StoreHarness) -> AsyncIterator[MetadataStore]:
        """An open client."""
        store = harness.make()
        await store.open()
        yield store
        await store.close()

    @pytest.fixture
    async def other(self, harness: StoreHarness) -> AsyncIterator[MetadataStore]:
        """A second open client of the same store."""
        store = harness.make()
        await store.open()
        yield store
        await store.close()

    @pytest.fixture
    def outside(self, harness: StoreHarness) -> Iterator[OutsideWriter]:
        """Somebody else."""
        writer = harness.outside()
        yield writer
        writer.close()

    # --- writes and reads -------------------------------------------------------------------------------------------

    async def test_it_has_the_contract_and_may_be_closed_at_any_time(self, harness: StoreHarness) -> None:
        store = harness.make()
        assert isinstance(store, MetadataStore)
        capabilities = store.capabilities
        assert capabilities.max_batch_writes >= 2, "a fence and a write"
        assert capabilities.max_batch_bytes > 0
        await store.close()
        await store.open()
        assert store.capabilities == capabilities
        await store.close()
        await store.close()

    async def test_a_path_lives_from_create_to_delete(self, harness: StoreHarness, store: MetadataStore) -> None:
        path = _below(harness, "path")
        assert await _read(store, path) is None

        (created,) = await store.apply([Put(path=path, value=b"one", expected=None)])
        first = await _read(store, path)
        assert first is not None
        assert (created.path, first.path, first.value, first.ephemeral) == (path, path, b"one", False)
        assert created.revision == first.revision

        (modified,) = await store.apply([Put(path=path, value=b"two", expected=first.revision)])
        second = await _read(store, path)
        assert second is not None
        assert (second.value, second.revision) == (b"two", modified.revision)
        assert second.revision != first.revision

        (deleted,) = await store.apply([Delete(path=path, expected=second.revision)])
        assert deleted.revision is None
        assert await _read(store, path) is None

        (again,) = await store.apply([Put(path=path, value=b"two", expected=None)])
        assert again.revision not in {first.revision, second.revision}, "a path that was made again is another one"

    async def test_writing_the_same_bytes_is_a_new_revision(self, harness: StoreHarness, store: MetadataStore) -> None:
        path = _below(harness, "path")
        (one,) = await store.apply([Put(path=path, value=b"same", expected=None)])
        (two,) = await store.apply([Put(path=path, value=b"same", expected=one.revision)])
        assert one.revision != two.revision
        await _refused(store, [Put(path=path, value=b"x", expected=one.revision)], 0, RevisionMismatch)

    async def test_wrong_revisions_are_refused(
        self, harness: StoreHarness, store: MetadataStore, outside: OutsideWriter
    ) -> None:
        path, absent = _below(harness, "path"), _below(harness, "absent")
        (created,) = await store.apply([Put(path=path, value=b"one", expected=None)])
        stale = _known(created.revision)
        outside.put(path, b"outside")
        foreign = Revision("no token of this store")
        wrong: tuple[Write, ...] = (
            Put(path=path, value=b"x", expected=None),
            Put(path=path, value=b"x", expected=stale),
            Put(path=path, value=b"x", expected=foreign),
            Put(path=absent, value=b"x", expected=stale),
            Delete(path=path, expected=stale),
            Delete(path=path, expected=foreign),
            Delete(path=absent, expected=stale),
        )
        for write in wrong:
            await _refused(store, [write], 0, RevisionMismatch)
        entries = await store.read([path, absent])
        assert [entry and entry.value for entry in entries.values()] == [b"outside", None]

    async def test_a_batch_is_applied_whole(self, harness: StoreHarness, store: MetadataStore) -> None:
        fresh, changed, gone = (_below(harness, name) for name in ("fresh", "changed", "gone"))
        made = await store.apply([Put(path=each, value=b"old", expected=None) for each in (changed, gone)])
        written = await store.apply(
            [
                Put(path=fresh, value=b"new", expected=None),
                Put(path=changed, value=b"new", expected=made[0].revision),
                Delete(path=gone, expected=_known(made[1].revision)),
            ]
        )
        assert [each.path for each in written] == [fresh, changed, gone]
        entries = await store.read([fresh, changed, gone])
        assert [entry and entry.value for entry in entries.values()] == [b"new", b"new", None]
        assert [entry and entry.revision for entry in entries.values()] == [each.revision for each in written]

    @pytest.mark.parametrize("position", [0, 1, 3])
    async def test_a_refused_batch_writes_nothing_and_names_the_culprit(
        self, harness: StoreHarness, store: MetadataStore, outside: OutsideWriter, position: int
    ) -> None:
        good = [_below(harness, f"good-{number}") for number in range(3)]
        bad = _below(harness, "bad")
        (made,) = await store.apply([Put(path=bad, value=b"read", expected=None)])
        outside.put(bad, b"outside")
        batch: list[Write] = [Put(path=path, value=b"new", expected=None) for path in good]
        batch.insert(position, Put(path=bad, value=b"new", expected=made.revision))
        await _refused(store, batch, position, RevisionMismatch)
        entries = await store.read([*good, bad])
        assert [entry and entry.value for entry in entries.values()] == [None, None, None, b"outside"]

    async def test_the_first_of_several_culprits_is_named(self, harness: StoreHarness, store: MetadataStore) -> None:
        paths = [_below(harness, f"path-{number}") for number in range(4)]
        await store.apply([Put(path=path, value=b"", expected=None) for path in (paths[1], paths[3])])
        await _refused(store, [Put(path=path, value=b"x", expected=None) for path in paths], 1, RevisionMismatch)

    async def test_the_declared_batch_is_possible(self, harness: StoreHarness, store: MetadataStore) -> None:
        count = store.capabilities.max_batch_writes
        paths = [_below(harness, f"path-{number}") for number in range(count)]
        value = b"v" * (min(store.capabilities.max_batch_bytes // count, 2000) - 200)
        created = await store.apply([Put(path=path, value=value, expected=None) for path in paths])
        entries = await store.read(paths)
        assert [entry and entry.revision for entry in entries.values()] == [each.revision for each in created]
        await store.apply([Delete(path=each.path, expected=_known(each.revision)) for each in created])
        assert set((await store.read(paths)).values()) == {None}

    async def test_an_empty_batch_is_nothing(self, store: MetadataStore) -> None:
        assert await store.apply([]) == ()
        assert await store.read([]) == {}

    @pytest.mark.parametrize("size", [0, 1, 700, 65536, "limit"])
    async def test_values_up_to_the_limit_come_back(
        self, harness: StoreHarness, store: MetadataStore, size: int | str
    ) -> None:
        path = _below(harness, "path")
        length = store.capabilities.max_value_bytes if isinstance(size, str) else size
        value = (bytes(range(256)) * (length // 256 + 1))[:length]
        await store.apply([Put(path=path, value=value, expected=None)])
        entry = await _read(store, path)
        assert entry is not None
        assert entry.value == value

    async def test_a_value_beyond_the_limit_is_refused(
        self, harness: StoreHarness, store: MetadataStore, outside: OutsideWriter
    ) -> None:
        small, large = _below(harness, "small"), _below(harness, "large")
        value = bytes(store.capabilities.max_value_bytes + 1)
        batch = [Put(path=small, value=b"x", expected=None), Put(path=large, value=value, expected=None)]
        await _refused(store, batch, 1, ValueRefused)
        assert set((await store.read([small, large])).values()) == {None}
        outside.put(small, b"alive")
        entry = await _read(store, small)
        assert entry is not None, "a refused value leaves the connection as it was"

    @pytest.mark.parametrize(
        "name",
        [
            "persistent%3A%2F%2Facme%2Forders",
            "%2520twice",
            "with space",
            "quote'double\"back\\slash",
            "wild*card?[x]%_",
            "Grüße-東京",
            "e\u0301 is not \u00e9",
            "x" * 1500,
        ],
    )
    async def test_any_legal_name_is_kept_exactly(
        self, harness: StoreHarness, store: MetadataStore, outside: OutsideWriter, name: str
    ) -> None:
        path = _below(harness, name)
        watching = Watching(store, harness.prefix)
        await watching.armed()
        (created,) = await store.apply([Put(path=path, value=b"one", expected=None)])
        await watching.saw(path)
        entry = await _read(store, path)
        assert entry is not None
        assert (entry.path, entry.revision) == (path, created.revision)
        outside.put(path, b"two")
        scanned = await _scan(store, path)
        assert [(each.path, each.value) for each in scanned] == [(path, b"two")]
        await watching.close()

    async def test_a_name_beyond_the_basic_plane_is_kept_or_refused(
        self, harness: StoreHarness, store: MetadataStore
    ) -> None:
        path = _below(harness, "rocket-🚀")
        assert await _read(store, path) is None
        outcome = (
            await asyncio.gather(store.apply([Put(path=path, value=b"x", expected=None)]), return_exceptions=True)
        )[0]
        if isinstance(outcome, BatchRefused):
            assert (outcome.index, type(outcome.cause)) == (0, ValueRefused)
        else:
            assert [each.path for each in await _scan(store, path)] == [path]

    async def test_a_name_that_is_no_text_is_refused(self, harness: StoreHarness, store: MetadataStore) -> None:
        path, good = _below(harness, "half-\ud83d"), _below(harness, "good")
        await _refused(store, [Put(path=each, value=b"x", expected=None) for each in (good, path)], 1, ValueRefused)
        assert set((await store.read([path, good])).values()) == {None}

    # --- reads ------------------------------------------------------------------------------------------------------

    async def test_many_paths_are_read_at_once(
        self, harness: StoreHarness, store: MetadataStore, outside: OutsideWriter
    ) -> None:
        paths = [_below(harness, f"path-{number:03}") for number in range(401)]
        for path in paths[::2]:
            outside.put(path, path.encode())
        asked = [*reversed(paths), harness.prefix]
        entries = await store.read(asked)
        assert list(entries) == asked
        for number, path in enumerate(paths):
            entry = entries[path]
            assert (entry is None) == (number % 2 == 1)
            assert entry is None or (entry.path, entry.value) == (path, path.encode())

    async def test_a_later_path_is_never_older_than_an_earlier_one(
        self, harness: StoreHarness, store: MetadataStore, outside: OutsideWriter
    ) -> None:
        first, last = _below(harness, "first"), _below(harness, "last")
        between = [_below(harness, f"between-{number}") for number in range(400)]

        def step(writer: OutsideWriter, number: int) -> None:
            writer.put(last, b"%d" % number)  # before the first, so that at any moment last >= first
            writer.put(first, b"%d" % number)

        step(outside, 0)
        async with Hammer(outside, step) as hammer:
            for _ in range(30):
                entries = await store.read([first, *between, last])
                early, late = entries[first], entries[last]
                assert early is not None
                assert late is not None
                assert int(late.value) >= int(early.value)
            await hammer.reach(10)

    async def test_what_was_written_before_the_call_is_seen(
        self, harness: StoreHarness, store: MetadataStore, other: MetadataStore, outside: OutsideWriter
    ) -> None:
        path = _below(harness, "path")
        for number in range(30):
            outside.put(path, b"%d" % number)
            for client in (store, other):
                entry = await _read(client, path)
                assert entry is not None
                assert entry.value == b"%d" % number

    async def test_modification_times_are_the_stores_own(self, harness: StoreHarness, store: MetadataStore) -> None:
        path = _below(harness, "path")
        before_ms = time.time_ns() // 1_000_000
        (created,) = await store.apply([Put(path=path, value=b"one", expected=None)])
        entry = await _read(store, path)
        after_ms = time.time_ns() // 1_000_000
        assert entry is not None
        if not store.capabilities.modified_times:
            assert entry.modified_at_ms is None
            return
        assert entry.modified_at_ms is not None
        assert before_ms - 5 <= entry.modified_at_ms <= after_ms + 5
        await store.apply([Put(path=path, value=b"two", expected=created.revision)])
        again = await _read(store, path)
        assert again is not None
        assert again.modified_at_ms is not None
        assert again.modified_at_ms >= entry.modified_at_ms

    async def test_ephemeral_paths_are_told(
        self, harness: StoreHarness, store: MetadataStore, outside: OutsideWriter
    ) -> None:
        durable, passing = _below(harness, "durable"), _below(harness, "passing")
        outside.put(durable, b"x")
        expected = {durable: False}
        if harness.ephemerals:
            outside.put(passing, b"x", ephemeral=True)
            expected[passing] = True
        entries = await store.read(list(expected))
        assert {path: entry and entry.ephemeral for path, entry in entries.items()} == expected
        scanned = {each.path: each.ephemeral for each in await _scan(store, harness.prefix)}
        assert scanned == {harness.prefix: False, **expected}

    async def test_parents_are_as_declared(self, harness: StoreHarness, store: MetadataStore) -> None:
        parent = _below(harness, "parent")
        child = MetaPath(f"{parent}/child")
        if not store.capabilities.real_parents:
            await store.apply([Put(path=child, value=b"x", expected=None, scaffold=(parent,))])
            assert await _read(store, parent) is None, "no parent is made up"
            return
        await _refused(store, [Put(path=child, value=b"x", expected=None)], 0, ParentMissing)
        await store.apply([Put(path=child, value=b"x", expected=None, scaffold=(parent,))])
        entries = await store.read([parent, child])
        assert [entry and entry.value for entry in entries.values()] == [b"", b"x"]
        above = entries[parent]
        assert above is not None
        other = _below(harness, "other")
        batch: list[Write] = [Put(path=other, value=b"", expected=None), Delete(path=parent, expected=above.revision)]
        await _refused(store, batch, 1, NotEmpty)
        assert await _read(store, other) is None

    # --- several writers --------------------------------------------------------------------------------------------

    async def test_two_clients_hand_over(
        self, harness: StoreHarness, store: MetadataStore, other: MetadataStore
    ) -> None:
        path = _below(harness, "path")
        (one,) = await store.apply([Put(path=path, value=b"one", expected=None)])
        seen = await _read(other, path)
        assert seen is not None
        assert seen.revision == one.revision, "a revision means the same to every client"
        await other.apply([Put(path=path, value=b"two", expected=one.revision)])
        await _refused(store, [Put(path=path, value=b"x", expected=one.revision)], 0, RevisionMismatch)

    async def test_of_two_writers_racing_on_a_fence_exactly_one_wins(
        self, harness: StoreHarness, store: MetadataStore, other: MetadataStore
    ) -> None:
        fence, target = _below(harness, "fence"), _below(harness, "target")
        clients = {b"store": store, b"other": other}
        held, seated = await store.apply([Put(path=path, value=b"0", expected=None) for path in (fence, target)])
        for _ in range(25):
            batch = [(fence, held.revision), (target, seated.revision)]
            outcomes = await asyncio.gather(
                *(
                    client.apply([Put(path=path, value=name, expected=revision) for path, revision in batch])
                    for name, client in clients.items()
                ),
                return_exceptions=True,
            )
            won = [outcome for outcome in outcomes if isinstance(outcome, tuple)]
            lost = [outcome for outcome in outcomes if isinstance(outcome, BatchRefused)]
            assert (len(won), len(lost)) == (1, 1), outcomes
            assert (lost[0].index, type(lost[0].cause)) == (0, RevisionMismatch)
            held, seated = won[0]
            winner = list(clients)[outcomes.index(won[0])]
            entries = await store.read([target, fence])
            assert [entry and entry.value for entry in entries.values()] == [winner, winner]
            assert [entry and entry.revision for entry in entries.values()] == [seated.revision, held.revision]

    async def test_a_raised_fence_stops_a_former_writer(
        self, harness: StoreHarness, store: MetadataStore, other: MetadataStore
    ) -> None:
        fence, target = _below(harness, "fence"), _below(harness, "target")
        (mine,) = await store.apply([Put(path=fence, value=b"1", expected=None)])
        await other.apply([Put(path=fence, value=b"2", expected=mine.revision)])
        batch = [Put(path=target, value=b"late", expected=None), Put(path=fence, value=b"1", expected=mine.revision)]
        await _refused(store, batch, 1, RevisionMismatch)
        assert await _read(store, target) is None

    # --- scans ------------------------------------------------------------------------------------------------------

    async def test_a_scan_finds_all_and_nothing_beside(
        self, harness: StoreHarness, store: MetadataStore, outside: OutsideWriter
    ) -> None:
        root = _below(harness, "b")
        inside = [root, *(MetaPath(f"{root}/{name}") for name in ("c", "c/d", "0", "é", "~"))]
        beside = [_below(harness, name) for name in ("a", "b-c", "b0", "b!", "b.c", "bc", "B")]
        for path in [*inside, *beside]:
            outside.put(path, path.encode())
        scanned = await _scan(store, root)
        assert sorted(each.path for each in scanned) == sorted(inside)
        assert all(each.value == each.path.encode() for each in scanned)
        entries = await store.read(inside)
        assert {each.path: each for each in scanned} == entries
        assert await _scan(store, _below(harness, "nothing")) == []

    async def test_a_scan_of_an_absent_prefix_finds_what_is_below_or_nothing(
        self, harness: StoreHarness, store: MetadataStore, outside: OutsideWriter
    ) -> None:
        absent = _below(harness, "absent")
        assert await _scan(store, absent) == []
        if not store.capabilities.real_parents:
            outside.put(f"{absent}/child", b"x")
            assert [each.path for each in await _scan(store, absent)] == [f"{absent}/child"]

    async def test_a_scan_yields_bounded_pages(
        self, harness: StoreHarness, store: MetadataStore, outside: OutsideWriter
    ) -> None:
        paths = {_below(harness, f"large-{number:02}") for number in range(40)}
        for path in paths:
            outside.put(path, bytes(256 * 1024))
        sizes, found = [], []
        async for page in store.scan(harness.prefix):
            assert page
            sizes.append(sum(len(each.value) for each in page))
            found += [each.path for each in page]
        assert sorted(found) == sorted({*paths, harness.prefix})
        assert len(sizes) > 1
        assert max(sizes) <= MAX_PAGE_BYTES

    async def test_a_scan_beside_writers_yields_every_lasting_path_exactly_once(
        self, harness: StoreHarness, store: MetadataStore, outside: OutsideWriter
    ) -> None:
        lasting = [_below(harness, f"path-{number:04}") for number in range(1500)]
        await _fill(store, lasting)
        passing = [_below(harness, f"path-{number:04}x") for number in range(0, 1500, 7)]

        def step(writer: OutsideWriter, number: int) -> None:
            path = passing[(number // 2) % len(passing)]
            if number % 2 == 0:
                writer.put(path, b"passing")
            else:
                writer.delete(path)

        async with Hammer(outside, step) as hammer:
            for _ in range(3):
                await hammer.reach(hammer.begun + 20)
                found = [each.path for each in await _scan(store, harness.prefix) if each.path in set(lasting)]
                assert len(found) == len(set(found)), "yielded twice"
                assert sorted(found) == lasting

    async def test_a_page_is_never_older_than_the_call_that_fetched_it(
        self, harness: StoreHarness, store: MetadataStore, outside: OutsideWriter
    ) -> None:
        paths = [_below(harness, f"path-{number:04}") for number in range(1300)]
        await _fill(store, paths)
        pages = store.scan(harness.prefix)
        seen = {each.path for each in await anext(pages)}
        if seen == {harness.prefix}:
            seen |= {each.path for each in await anext(pages)}
        unseen = [path for path in paths if path not in seen]
        assert unseen, "the first page holds everything"
        for path in (unseen[0], unseen[len(unseen) // 2], unseen[-1]):
            outside.put(path, b"newer")
        rest = {each.path: each.value async for page in pages for each in page}
        assert [rest[path] for path in (unseen[0], unseen[len(unseen) // 2], unseen[-1])] == [b"newer"] * 3

    # --- watches ----------------------------------------------------------------------------------------------------

    async def test_a_watch_reports_create_modify_and_delete(
        self, harness: StoreHarness, store: MetadataStore, outside: OutsideWriter
    ) -> None:
        path = _below(harness, "path")
        watching = Watching(store, harness.prefix)
        await watching.armed()
        assert watching.signals[0] == Armed()
        changes: tuple[Callable[[], object], ...] = (
            lambda: outside.put(path, b"1"),
            lambda: outside.put(path, b"2"),
            lambda: outside.delete(path),
        )
        for change in changes:
            watching.paths.clear()
            change()
            await watching.saw(path)
        watching.paths.clear()
        outside.put(path, b"3")
        outside.delete(path)
        outside.put(path, b"4")
        await watching.saw(path)
        await watching.close()

    async def test_a_client_sees_its_own_writes(self, harness: StoreHarness, store: MetadataStore) -> None:
        paths = [_below(harness, f"path-{number}") for number in range(10)]
        watching = Watching(store, harness.prefix)
        await watching.armed()
        await store.apply([Put(path=path, value=b"x", expected=None) for path in paths])
        await watching.saw(*paths)
        await watching.close()

    async def test_a_watch_covers_its_prefixes_and_nothing_beside(
        self, harness: StoreHarness, store: MetadataStore, outside: OutsideWriter
    ) -> None:
        roots = [_below(harness, name) for name in ("a", "b")]
        for root in roots:
            outside.put(root, b"")
        outside.put(f"{roots[0]}/deep", b"")
        watching = Watching(store, *roots)
        await watching.armed()
        beside = [_below(harness, name) for name in ("a-b", "a0", "ab", "b!", "c")]
        inside = [
            roots[0],
            roots[1],
            MetaPath(f"{roots[0]}/x"),
            MetaPath(f"{roots[0]}/deep/y"),
            MetaPath(f"{roots[1]}/z"),
        ]
        for path in [*beside, *inside]:
            outside.put(path, b"x")
        await watching.saw(*inside)
        strangers = watching.paths - set(inside)
        assert strangers <= {MetaPath(f"{roots[0]}/deep")}, "an inner node may be reported with its child"
        await watching.close()

    async def test_a_prefix_may_be_made_after_arming(
        self, harness: StoreHarness, store: MetadataStore, outside: OutsideWriter
    ) -> None:
        root = _below(harness, "later")
        watching = Watching(store, root)
        await watching.armed()
        outside.put(root, b"")
        outside.put(f"{root}/child", b"x")
        await watching.saw(root, MetaPath(f"{root}/child"))
        await watching.close()

    async def test_nothing_after_armed_is_missed_under_fire(
        self, harness: StoreHarness, store: MetadataStore, outside: OutsideWriter
    ) -> None:
        def path(number: int) -> MetaPath:
            return _below(harness, f"path-{number:06}")

        async with Hammer(outside, lambda writer, number: writer.put(path(number), b"x")) as hammer:
            for _ in range(5):
                await hammer.reach(hammer.begun + 5)
                watching = Watching(store, harness.prefix)
                await watching.until(lambda seen=watching: bool(seen.signals), what="a signal")  # type: ignore[misc]  # mypy cannot infer a lambda's default
                assert watching.signals[0] == Armed()
                first = hammer.begun + 1  # the step under way may have been written before
                await hammer.reach(first + 50)
                last = hammer.begun - 2
                await watching.saw(*(path(number) for number in range(first, last)))
                await watching.close()

    async def test_a_scan_after_armed_and_the_notices_are_everything(
        self, harness: StoreHarness, store: MetadataStore, outside: OutsideWriter
    ) -> None:
        def path(number: int) -> MetaPath:
            return _below(harness, f"path-{number:06}")

        async with Hammer(outside, lambda writer, number: writer.put(path(number), b"x")) as hammer:
            await hammer.reach(50)
            watching = Watching(store, harness.prefix)
            await watching.armed()
            scanned = {each.path for each in await _scan(store, harness.prefix)}
            await hammer.reach(hammer.begun + 50)
            await hammer.stop()
            due = {path(number) for number in range(hammer.begun)}
            await watching.until(lambda: due <= scanned | watching.paths, what="every path scanned or noticed")
            assert not watching.gaps
            await watching.close()

    async def test_a_reader_that_stalls_misses_nothing_or_is_told(
        self, harness: StoreHarness, store: MetadataStore, outside: OutsideWriter
    ) -> None:
        signals = store.watch([harness.prefix])
        assert await asyncio.wait_for(anext(signals), DEADLINE_S) == Armed()
        paths = [_below(harness, f"path-{number:04}") for number in range(2000)]
        await _fill(store, paths)
        missing = set(paths)
        end = time.monotonic() + DEADLINE_S
        while missing:
            signal = await asyncio.wait_for(anext(signals), end - time.monotonic())
            if isinstance(signal, Gap):
                break
            if isinstance(signal, Changed):
                missing.difference_update(signal.paths)
        await _aclose(signals)

    async def test_a_quiet_watch_beats(self, harness: StoreHarness, store: MetadataStore) -> None:
        watching = Watching(store, harness.prefix)
        await watching.armed()
        await watching.until(lambda: Beat() in watching.signals, what="a beat", deadline_s=BEAT_LIMIT_S)
        await watching.close()

    async def test_what_was_opened_is_closed(self, harness: StoreHarness) -> None:
        async def once(*, by_store: bool) -> None:
            store = harness.make()
            await store.open()
            first, second = store.watch([harness.prefix]), store.watch([harness.prefix])
            for signals in (first, second):
                assert await asyncio.wait_for(anext(signals), DEADLINE_S) == Armed()
            await _aclose(first)
            assert await _read(store, harness.prefix) is not None, "closing a watch leaves the store open"
            if by_store:
                pending = asyncio.create_task(_drain(second))
                await store.close()
                await asyncio.wait_for(pending, DEADLINE_S)
            else:
                await _aclose(second)
            await store.close()

        await once(by_store=True)
        threads, tasks = _threads(), len(asyncio.all_tasks())
        for number in range(6):
            await once(by_store=number % 2 == 0)
        end = time.monotonic() + DEADLINE_S
        while _threads() > threads or len(asyncio.all_tasks()) > tasks:
            assert time.monotonic() < end, (threading.enumerate(), asyncio.all_tasks())
            await asyncio.sleep(0.02)

    async def test_a_cancelled_reader_ends_whenever_it_is_cancelled(
        self, harness: StoreHarness, store: MetadataStore
    ) -> None:
        for number in range(40):
            signals = store.watch([harness.prefix])
            assert await asyncio.wait_for(anext(signals), DEADLINE_S) == Armed()
            reader = asyncio.create_task(_drain(signals))
            for _ in range(number):  # a few steps of the event loop further each time
                await asyncio.sleep(0)
            reader.cancel()
            done, _ = await asyncio.wait({reader}, timeout=DEADLINE_S)
            assert done, "the cancellation was lost"
            await _aclose(signals)

    # --- faults -----------------------------------------------------------------------------------------------------

    async def test_lost_continuity_is_a_gap_and_the_watch_arms_again(
        self, harness: StoreHarness, store: MetadataStore
    ) -> None:
        watching = Watching(store, harness.prefix)
        await watching.armed()
        await asyncio.to_thread(harness.break_continuity)
        await watching.until(lambda: bool(watching.gaps), what="a gap", deadline_s=OUTAGE_DEADLINE_S)
        assert watching.gaps[0].reason
        await watching.until(
            lambda: Armed() in watching.signals[watching.signals.index(watching.gaps[-1]) :],
            what="armed again",
            deadline_s=OUTAGE_DEADLINE_S,
        )
        outside = await asyncio.to_thread(harness.outside)
        path = _below(harness, "after")
        await asyncio.to_thread(outside.put, path, b"x")
        await watching.until(lambda: path in watching.paths, what="the change after the gap")
        outside.close()
        await watching.close()

    async def test_an_outage_is_told_and_survived(self, harness: StoreHarness, store: MetadataStore) -> None:
        path, late = _below(harness, "path"), _below(harness, "late")
        (created,) = await store.apply([Put(path=path, value=b"kept", expected=None)])
        watching = Watching(store, harness.prefix)
        await watching.armed()
        stranger = harness.make()
        await asyncio.to_thread(harness.stop)
        try:
            with pytest.raises(StoreUnavailable):
                await asyncio.wait_for(store.read([path]), OUTAGE_DEADLINE_S)
            with pytest.raises(StoreUnavailable):
                await asyncio.wait_for(store.apply([Put(path=late, value=b"x", expected=None)]), OUTAGE_DEADLINE_S)
            with pytest.raises(StoreUnavailable):
                await asyncio.wait_for(_scan(store, harness.prefix), OUTAGE_DEADLINE_S)
            await watching.until(lambda: bool(watching.gaps), what="a gap", deadline_s=OUTAGE_DEADLINE_S)
        finally:
            await asyncio.to_thread(harness.start)
        entry = await _eventually(lambda: _read(store, path))
        assert entry is not None
        assert (entry.value, entry.revision) == (b"kept", created.revision)
        await stranger.open()
        assert await _read(stranger, path) == entry
        await stranger.close()

        def armed_again() -> bool:
            last_gap = max(number for number, signal in enumerate(watching.signals) if isinstance(signal, Gap))
            return Armed() in watching.signals[last_gap:]

        await watching.until(armed_again, what="armed again", deadline_s=OUTAGE_DEADLINE_S)
        await store.apply([Put(path=path, value=b"after", expected=created.revision)])
        await watching.until(lambda: path in watching.paths, what="the change after the outage")
        await watching.close()


def _below(harness: StoreHarness, name: str) -> MetaPath:
    return MetaPath(f"{harness.prefix}/{name}")


def _known(revision: Revision | None) -> Revision:
    assert revision is not None
    return revision


async def _read(store: MetadataStore, path: MetaPath) -> Entry | None:
    return (await store.read([path]))[path]


async def _scan(store: MetadataStore, prefix: MetaPath) -> list[Entry]:
    return [entry async for page in store.scan(prefix) for entry in page]


async def _fill(store: MetadataStore, paths: Sequence[MetaPath]) -> None:
    size = store.capabilities.max_batch_writes
    for start in range(0, len(paths), size):
        await store.apply([Put(path=path, value=b"x", expected=None) for path in paths[start : start + size]])


async def _refused(store: MetadataStore, batch: Sequence[Write], index: int, cause: type[Exception]) -> None:
    with pytest.raises(BatchRefused) as caught:
        await store.apply(batch)
    assert caught.value.index == index
    assert type(caught.value.cause) is cause
    assert str(caught.value.cause)


async def _eventually(call: Callable[[], asyncio.Future[Entry | None] | object]) -> Entry | None:
    """Repeat a read until the store is back."""
    end = time.monotonic() + OUTAGE_DEADLINE_S
    while True:
        try:
            return await call()  # type: ignore[misc,no-any-return]  # any awaitable
        except StoreUnavailable:
            if time.monotonic() > end:
                raise
            await asyncio.sleep(0.05)


async def _drain(signals: AsyncIterator[WatchSignal]) -> None:
    with contextlib.suppress(StoreUnavailable):
        async for _ in signals:
            pass


async def _aclose(signals: AsyncIterator[WatchSignal]) -> None:
    """Close an iterator as ``contextlib.aclosing`` would; the contract's iterators are generators."""
    await signals.aclose()  # type: ignore[attr-defined]  # AsyncIterator does not say it


def _threads() -> int:
    """Python threads that somebody has to end; asyncio's own pool comes and goes."""
    return sum(not thread.name.startswith("asyncio") for thread in threading.enumerate())
