"""The contract of stores: watches, and what they tell of an outage."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from functools import partial

import pytest

from syncer.errors import StoreUnavailable
from syncer.model import MetaPath
from syncer.stores.contract import Armed, Beat, Changed, Gap, MetadataStore, Put
from syncer.waiting import WAIT_S, starvation, until
from tests.contract.store_harness import OutsideWriter, StoreCase, StoreHarness, below, fill, read, scan
from tests.contract.store_probes import BEAT_LIMIT_S, Hammer, Watching, aclose, drain, living_threads


class WatchingSuite(StoreCase):
    """What is told of changes, and when a change may have been missed."""

    async def test_a_watch_reports_create_modify_and_delete(
        self, harness: StoreHarness, store: MetadataStore, outside: OutsideWriter
    ) -> None:
        path = below(harness, "path")
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
        paths = [below(harness, f"path-{number}") for number in range(10)]
        watching = Watching(store, harness.prefix)
        await watching.armed()
        await store.apply([Put(path=path, value=b"x", expected=None) for path in paths])
        await watching.saw(*paths)
        await watching.close()

    async def test_a_watch_covers_its_prefixes_and_nothing_beside(
        self, harness: StoreHarness, store: MetadataStore, outside: OutsideWriter
    ) -> None:
        roots = [below(harness, name) for name in ("a", "b")]
        for root in roots:
            outside.put(root, b"")
        outside.put(f"{roots[0]}/deep", b"")
        watching = Watching(store, *roots)
        await watching.armed()
        beside = [below(harness, name) for name in ("a-b", "a0", "ab", "b!", "c")]
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
        root = below(harness, "later")
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
            return below(harness, f"path-{number:06}")

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
            return below(harness, f"path-{number:06}")

        async with Hammer(outside, lambda writer, number: writer.put(path(number), b"x")) as hammer:
            await hammer.reach(50)
            watching = Watching(store, harness.prefix)
            await watching.armed()
            scanned = {each.path for each in await scan(store, harness.prefix)}
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
        assert await asyncio.wait_for(anext(signals), WAIT_S) == Armed()
        paths = [below(harness, f"path-{number:04}") for number in range(2000)]
        await fill(store, paths)
        missing = set(paths)
        async with asyncio.timeout(WAIT_S):
            while missing:
                signal = await anext(signals)
                if isinstance(signal, Gap):
                    break
                if isinstance(signal, Changed):
                    missing.difference_update(signal.paths)
        await aclose(signals)

    async def test_a_quiet_watch_beats(self, harness: StoreHarness, store: MetadataStore) -> None:
        watching = Watching(store, harness.prefix)
        await watching.armed()
        await watching.until(
            lambda: Beat() in watching.signals, what="a beat", within_s=BEAT_LIMIT_S * starvation.patience()
        )
        await watching.close()

    async def test_what_was_written_is_told_before_the_second_beat(
        self, harness: StoreHarness, store: MetadataStore, outside: OutsideWriter
    ) -> None:
        path = below(harness, "path")
        watching = Watching(store, harness.prefix)
        await watching.until(
            lambda: Beat() in watching.signals, what="a beat", within_s=BEAT_LIMIT_S * starvation.patience()
        )
        outside.put(path, b"1")
        second = watching.signals.count(Beat()) + 2
        await watching.until(
            lambda: watching.signals.count(Beat()) >= second,
            what="two beats more",
            within_s=2 * BEAT_LIMIT_S * starvation.patience(),
        )
        beats = [place for place, signal in enumerate(watching.signals) if signal == Beat()]
        before = watching.signals[: beats[second - 1]]
        assert any(isinstance(signal, Changed) and path in signal.paths for signal in before)
        await watching.close()

    async def test_what_was_opened_is_closed(self, harness: StoreHarness) -> None:
        async def once(*, by_store: bool) -> None:
            store = harness.make()
            await store.open()
            first, second = store.watch([harness.prefix]), store.watch([harness.prefix])
            for signals in (first, second):
                assert await asyncio.wait_for(anext(signals), WAIT_S) == Armed()
            await aclose(first)
            assert await read(store, harness.prefix) is not None, "closing a watch leaves the store open"
            if by_store:
                pending = asyncio.create_task(drain(second))
                await store.close()
                await asyncio.wait_for(pending, WAIT_S)
            else:
                await aclose(second)
            await store.close()

        await once(by_store=True)
        threads, tasks = living_threads(), len(asyncio.all_tasks())
        for number in range(6):
            await once(by_store=number % 2 == 0)
        await until(
            lambda: living_threads() <= threads and len(asyncio.all_tasks()) <= tasks,
            "no thread and no task is left",
            shown=lambda: (threading.enumerate(), asyncio.all_tasks()),
        )

    async def test_a_cancelled_reader_ends_whenever_it_is_cancelled(
        self, harness: StoreHarness, store: MetadataStore
    ) -> None:
        for number in range(40):
            signals = store.watch([harness.prefix])
            assert await asyncio.wait_for(anext(signals), WAIT_S) == Armed()
            reader = asyncio.create_task(drain(signals))
            for _ in range(number):  # a few steps of the event loop further each time
                await asyncio.sleep(0)
            reader.cancel()
            done, _ = await asyncio.wait({reader}, timeout=WAIT_S)
            assert done, "the cancellation was lost"
            await aclose(signals)

    async def test_lost_continuity_is_a_gap_and_the_watch_arms_again(
        self, harness: StoreHarness, store: MetadataStore
    ) -> None:
        watching = Watching(store, harness.prefix)
        await watching.armed()
        await asyncio.to_thread(harness.break_continuity)
        await watching.until(lambda: bool(watching.gaps), what="a gap")
        assert watching.gaps[0].reason
        await watching.until(
            lambda: Armed() in watching.signals[watching.signals.index(watching.gaps[-1]) :],
            what="armed again",
        )
        outside = await asyncio.to_thread(harness.outside)
        path = below(harness, "after")
        await asyncio.to_thread(outside.put, path, b"x")
        await watching.until(lambda: path in watching.paths, what="the change after the gap")
        outside.close()
        await watching.close()

    async def test_an_outage_is_told_and_survived(self, harness: StoreHarness, store: MetadataStore) -> None:
        path, late = below(harness, "path"), below(harness, "late")
        (created,) = await store.apply([Put(path=path, value=b"kept", expected=None)])
        watching = Watching(store, harness.prefix)
        await watching.armed()
        hasty, stranger = harness.make(hasty=True), harness.make()
        await until(partial(opened, hasty), "the hasty client is connected", passing=StoreUnavailable)
        await asyncio.to_thread(harness.stop)
        try:
            with pytest.raises(StoreUnavailable):
                await asyncio.wait_for(hasty.read([path]), WAIT_S)
            with pytest.raises(StoreUnavailable):
                await asyncio.wait_for(hasty.apply([Put(path=late, value=b"x", expected=None)]), WAIT_S)
            with pytest.raises(StoreUnavailable):
                await asyncio.wait_for(scan(hasty, harness.prefix), WAIT_S)
            await watching.until(lambda: bool(watching.gaps), what="a gap")
        finally:
            await asyncio.to_thread(harness.start)
        entry = await until(lambda: read(store, path), "the store is back", passing=StoreUnavailable)
        assert entry is not None
        assert (entry.value, entry.revision) == (b"kept", created.revision)
        again = await until(lambda: read(hasty, path), "the hasty client is back", passing=StoreUnavailable)
        assert again == entry
        await hasty.close()
        await stranger.open()
        assert await read(stranger, path) == entry
        await stranger.close()

        def armed_again() -> bool:
            last_gap = max(number for number, signal in enumerate(watching.signals) if isinstance(signal, Gap))
            return Armed() in watching.signals[last_gap:]

        await watching.until(armed_again, what="armed again")
        await store.apply([Put(path=path, value=b"after", expected=created.revision)])
        await watching.until(lambda: path in watching.paths, what="the change after the outage")
        await watching.close()


async def opened(store: MetadataStore) -> bool:
    await store.open()
    return True
