"""The contract of stores: reads and scans."""

from __future__ import annotations

import time
from typing import Final

from syncer.model import MetaPath
from syncer.stores.contract import MetadataStore, Put, TellsNames
from tests.contract.store_harness import OutsideWriter, StoreCase, StoreHarness, below, fill, read, scan
from tests.contract.store_probes import Hammer

MAX_PAGE_BYTES: Final = 16 * 1024 * 1024


class ReadingSuite(StoreCase):
    """What is read, and how old it may be."""

    async def test_many_paths_are_read_at_once(
        self, harness: StoreHarness, store: MetadataStore, outside: OutsideWriter
    ) -> None:
        paths = [below(harness, f"path-{number:03}") for number in range(401)]
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
        first, last = below(harness, "first"), below(harness, "last")
        between = [below(harness, f"between-{number}") for number in range(400)]

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
        path = below(harness, "path")
        for number in range(30):
            outside.put(path, b"%d" % number)
            for client in (store, other):
                entry = await read(client, path)
                assert entry is not None
                assert entry.value == b"%d" % number

    async def test_modification_times_are_the_stores_own(self, harness: StoreHarness, store: MetadataStore) -> None:
        path = below(harness, "path")
        before_ms = time.time_ns() // 1_000_000
        (created,) = await store.apply([Put(path=path, value=b"one", expected=None)])
        entry = await read(store, path)
        after_ms = time.time_ns() // 1_000_000
        assert entry is not None
        if not store.capabilities.modified_times:
            assert entry.modified_at_ms is None
            return
        assert entry.modified_at_ms is not None
        assert before_ms - 5 <= entry.modified_at_ms <= after_ms + 5
        await store.apply([Put(path=path, value=b"two", expected=created.revision)])
        again = await read(store, path)
        assert again is not None
        assert again.modified_at_ms is not None
        assert again.modified_at_ms >= entry.modified_at_ms

    async def test_ephemeral_paths_are_told(
        self, harness: StoreHarness, store: MetadataStore, outside: OutsideWriter
    ) -> None:
        durable, passing = below(harness, "durable"), below(harness, "passing")
        outside.put(durable, b"x")
        expected = {durable: False}
        if harness.ephemerals:
            outside.put(passing, b"x", ephemeral=True)
            expected[passing] = True
        entries = await store.read(list(expected))
        assert {path: entry and entry.ephemeral for path, entry in entries.items()} == expected
        scanned = {each.path: each.ephemeral for each in await scan(store, harness.prefix)}
        assert scanned == {harness.prefix: False, **expected}

    async def test_a_scan_finds_all_and_nothing_beside(
        self, harness: StoreHarness, store: MetadataStore, outside: OutsideWriter
    ) -> None:
        root = below(harness, "b")
        inside = [root, *(MetaPath(f"{root}/{name}") for name in ("c", "c/d", "0", "é", "~"))]
        beside = [below(harness, name) for name in ("a", "b-c", "b0", "b!", "b.c", "bc", "B")]
        for path in [*inside, *beside]:
            outside.put(path, path.encode())
        scanned = await scan(store, root)
        assert sorted(each.path for each in scanned) == sorted(inside)
        assert all(each.value == each.path.encode() for each in scanned)
        entries = await store.read(inside)
        assert {each.path: each for each in scanned} == entries
        assert await scan(store, below(harness, "nothing")) == []

    async def test_a_scan_of_an_absent_prefix_finds_what_is_below_or_nothing(
        self, harness: StoreHarness, store: MetadataStore, outside: OutsideWriter
    ) -> None:
        absent = below(harness, "absent")
        assert await scan(store, absent) == []
        if not store.capabilities.real_parents:
            outside.put(f"{absent}/child", b"x")
            assert [each.path for each in await scan(store, absent)] == [f"{absent}/child"]

    async def test_a_scan_yields_bounded_pages(
        self, harness: StoreHarness, store: MetadataStore, outside: OutsideWriter
    ) -> None:
        paths = {below(harness, f"large-{number:02}") for number in range(40)}
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

    async def test_names_right_below_are_told_where_a_store_can(
        self, harness: StoreHarness, store: MetadataStore, outside: OutsideWriter
    ) -> None:
        if not isinstance(store, TellsNames):
            return
        many, few, none = below(harness, "many"), below(harness, "few"), below(harness, "absent")
        inside = [below(harness, f"many/path-{number:03}") for number in range(300)]
        further = MetaPath(f"{inside[0]}/further")
        for path in (many, few, *inside, further, MetaPath(f"{few}/a%2Fb")):
            outside.put(path, b"x" * 100)
        found = await store.names([few, none, many])
        assert {path: len(names) for path, names in found.items()} == {few: 1, none: 0, many: 300}
        assert list(found[few]) == ["a%2Fb"]
        assert sorted(found[many]) == [path.rpartition("/")[2] for path in inside]

    async def test_a_scan_beside_writers_yields_every_lasting_path_exactly_once(
        self, harness: StoreHarness, store: MetadataStore, outside: OutsideWriter
    ) -> None:
        lasting = [below(harness, f"path-{number:04}") for number in range(1500)]
        await fill(store, lasting)
        passing = [below(harness, f"path-{number:04}x") for number in range(0, 1500, 7)]

        def step(writer: OutsideWriter, number: int) -> None:
            path = passing[(number // 2) % len(passing)]
            if number % 2 == 0:
                writer.put(path, b"passing")
            else:
                writer.delete(path)

        async with Hammer(outside, step) as hammer:
            for _ in range(3):
                await hammer.reach(hammer.begun + 20)
                found = [each.path for each in await scan(store, harness.prefix) if each.path in set(lasting)]
                assert len(found) == len(set(found)), "yielded twice"
                assert sorted(found) == lasting

    async def test_a_page_is_never_older_than_the_call_that_fetched_it(
        self, harness: StoreHarness, store: MetadataStore, outside: OutsideWriter
    ) -> None:
        paths = [below(harness, f"path-{number:04}") for number in range(1300)]
        await fill(store, paths)
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
