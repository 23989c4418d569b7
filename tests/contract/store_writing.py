"""The contract of stores: writes, batches and what is refused of them, values and names."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from syncer.errors import NotEmpty, ParentMissing, RevisionMismatch, ValueRefused
from syncer.model import MetaPath, Revision
from syncer.stores.contract import BatchRefused, Delete, MetadataStore, Put, Write
from tests.contract.store_harness import OutsideWriter, StoreCase, StoreHarness, below, known, read, refused, scan
from tests.contract.store_probes import Watching


class WritingSuite(StoreCase):
    """What is written, and what is refused."""

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
        path = below(harness, "path")
        assert await read(store, path) is None

        (created,) = await store.apply([Put(path=path, value=b"one", expected=None)])
        first = await read(store, path)
        assert first is not None
        assert (created.path, first.path, first.value, first.ephemeral) == (path, path, b"one", False)
        assert created.revision == first.revision

        (modified,) = await store.apply([Put(path=path, value=b"two", expected=first.revision)])
        second = await read(store, path)
        assert second is not None
        assert (second.value, second.revision) == (b"two", modified.revision)
        assert second.revision != first.revision

        (deleted,) = await store.apply([Delete(path=path, expected=second.revision)])
        assert deleted.revision is None
        assert await read(store, path) is None

        (again,) = await store.apply([Put(path=path, value=b"two", expected=None)])
        assert again.revision not in {first.revision, second.revision}, "a path that was made again is another one"

    async def test_writing_the_same_bytes_is_a_new_revision(self, harness: StoreHarness, store: MetadataStore) -> None:
        path = below(harness, "path")
        (one,) = await store.apply([Put(path=path, value=b"same", expected=None)])
        (two,) = await store.apply([Put(path=path, value=b"same", expected=one.revision)])
        assert one.revision != two.revision
        await refused(store, [Put(path=path, value=b"x", expected=one.revision)], 0, RevisionMismatch)

    async def test_wrong_revisions_are_refused(
        self, harness: StoreHarness, store: MetadataStore, outside: OutsideWriter
    ) -> None:
        path, absent = below(harness, "path"), below(harness, "absent")
        (created,) = await store.apply([Put(path=path, value=b"one", expected=None)])
        stale = known(created.revision)
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
            await refused(store, [write], 0, RevisionMismatch)
        entries = await store.read([path, absent])
        assert [entry and entry.value for entry in entries.values()] == [b"outside", None]

    async def test_a_batch_is_applied_whole(self, harness: StoreHarness, store: MetadataStore) -> None:
        fresh, changed, gone = (below(harness, name) for name in ("fresh", "changed", "gone"))
        made = await store.apply([Put(path=each, value=b"old", expected=None) for each in (changed, gone)])
        written = await store.apply(
            [
                Put(path=fresh, value=b"new", expected=None),
                Put(path=changed, value=b"new", expected=made[0].revision),
                Delete(path=gone, expected=known(made[1].revision)),
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
        good = [below(harness, f"good-{number}") for number in range(3)]
        bad = below(harness, "bad")
        (made,) = await store.apply([Put(path=bad, value=b"read", expected=None)])
        outside.put(bad, b"outside")
        batch: list[Write] = [Put(path=path, value=b"new", expected=None) for path in good]
        batch.insert(position, Put(path=bad, value=b"new", expected=made.revision))
        await refused(store, batch, position, RevisionMismatch)
        entries = await store.read([*good, bad])
        assert [entry and entry.value for entry in entries.values()] == [None, None, None, b"outside"]

    async def test_the_first_of_several_culprits_is_named(self, harness: StoreHarness, store: MetadataStore) -> None:
        paths = [below(harness, f"path-{number}") for number in range(4)]
        await store.apply([Put(path=path, value=b"", expected=None) for path in (paths[1], paths[3])])
        await refused(store, [Put(path=path, value=b"x", expected=None) for path in paths], 1, RevisionMismatch)

    async def test_the_declared_batch_is_possible(self, harness: StoreHarness, store: MetadataStore) -> None:
        count = store.capabilities.max_batch_writes
        paths = [below(harness, f"path-{number}") for number in range(count)]
        value = b"v" * (min(store.capabilities.max_batch_bytes // count, 2000) - 200)
        created = await store.apply([Put(path=path, value=value, expected=None) for path in paths])
        entries = await store.read(paths)
        assert [entry and entry.revision for entry in entries.values()] == [each.revision for each in created]
        size = count // store.capabilities.delete_weight
        for start in range(0, count, size):
            some = created[start : start + size]
            await store.apply([Delete(path=each.path, expected=known(each.revision)) for each in some])
        assert set((await store.read(paths)).values()) == {None}

    async def test_an_empty_batch_is_nothing(self, store: MetadataStore) -> None:
        assert await store.apply([]) == ()
        assert await store.read([]) == {}

    @pytest.mark.parametrize("size", [0, 1, 700, 65536, "limit"])
    async def test_values_up_to_the_limit_come_back(
        self, harness: StoreHarness, store: MetadataStore, size: int | str
    ) -> None:
        path = below(harness, "path")
        length = store.capabilities.max_value_bytes if isinstance(size, str) else size
        value = (bytes(range(256)) * (length // 256 + 1))[:length]
        await store.apply([Put(path=path, value=value, expected=None)])
        entry = await read(store, path)
        assert entry is not None
        assert entry.value == value

    async def test_a_value_beyond_the_limit_is_refused(
        self, harness: StoreHarness, store: MetadataStore, outside: OutsideWriter
    ) -> None:
        small, large = below(harness, "small"), below(harness, "large")
        value = bytes(store.capabilities.max_value_bytes + 1)
        batch = [Put(path=small, value=b"x", expected=None), Put(path=large, value=value, expected=None)]
        await refused(store, batch, 1, ValueRefused)
        assert set((await store.read([small, large])).values()) == {None}
        outside.put(small, b"alive")
        entry = await read(store, small)
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
        path = below(harness, name)
        watching = Watching(store, harness.prefix)
        await watching.armed()
        (created,) = await store.apply([Put(path=path, value=b"one", expected=None)])
        await watching.saw(path)
        entry = await read(store, path)
        assert entry is not None
        assert (entry.path, entry.revision) == (path, created.revision)
        outside.put(path, b"two")
        scanned = await scan(store, path)
        assert [(each.path, each.value) for each in scanned] == [(path, b"two")]
        await watching.close()

    async def test_a_name_beyond_the_basic_plane_is_kept_or_refused(
        self, harness: StoreHarness, store: MetadataStore
    ) -> None:
        path = below(harness, "rocket-🚀")
        assert await read(store, path) is None
        outcome = (
            await asyncio.gather(store.apply([Put(path=path, value=b"x", expected=None)]), return_exceptions=True)
        )[0]
        if isinstance(outcome, BatchRefused):
            assert (outcome.index, type(outcome.cause)) == (0, ValueRefused)
        else:
            assert [each.path for each in await scan(store, path)] == [path]

    async def test_a_name_that_is_no_text_is_refused(self, harness: StoreHarness, store: MetadataStore) -> None:
        path, good = below(harness, "half-\ud83d"), below(harness, "good")
        await refused(store, [Put(path=each, value=b"x", expected=None) for each in (good, path)], 1, ValueRefused)
        assert set((await store.read([path, good])).values()) == {None}

    async def test_parents_are_as_declared(self, harness: StoreHarness, store: MetadataStore) -> None:
        parent = below(harness, "parent")
        child = MetaPath(f"{parent}/child")
        if not store.capabilities.real_parents:
            await store.apply([Put(path=child, value=b"x", expected=None, scaffold=(parent,))])
            assert await read(store, parent) is None, "no parent is made up"
            return
        await refused(store, [Put(path=child, value=b"x", expected=None)], 0, ParentMissing)
        await store.apply([Put(path=child, value=b"x", expected=None, scaffold=(parent,))])
        entries = await store.read([parent, child])
        assert [entry and entry.value for entry in entries.values()] == [b"", b"x"]

    @pytest.mark.parametrize("name", ["child", "deep/er", "-", "%2F", "0", "東"])
    async def test_what_has_something_below_it_is_not_deleted(
        self, harness: StoreHarness, store: MetadataStore, outside: OutsideWriter, name: str
    ) -> None:
        parent, other = below(harness, "parent"), below(harness, "other")
        (made,) = await store.apply([Put(path=parent, value=b"x", expected=None)])
        paths = [f"{parent}/deep", f"{parent}/{name}"] if "/" in name else [f"{parent}/{name}"]
        for path in paths:
            outside.put(path, b"")
        batch: list[Write] = [
            Put(path=other, value=b"", expected=None),
            Delete(path=parent, expected=known(made.revision)),
        ]
        await refused(store, batch, 1, NotEmpty)
        assert await read(store, other) is None
        assert await read(store, parent) is not None
        for path in reversed(paths):
            outside.delete(path)
        await store.apply(batch)
        assert await read(store, parent) is None

    async def test_siblings_that_begin_with_its_name_are_not_below_it(
        self, harness: StoreHarness, store: MetadataStore
    ) -> None:
        names = ("b", "b-c", "b.c", "b0", "bc", "b!")
        made = await store.apply([Put(path=below(harness, name), value=b"x", expected=None) for name in names])
        await store.apply([Delete(path=made[0].path, expected=known(made[0].revision))])
        entries = await store.read([each.path for each in made])
        assert [entry is not None for entry in entries.values()] == [False, *[True] * 5]

    async def test_children_are_deleted_before_their_parent_in_one_batch(
        self, harness: StoreHarness, store: MetadataStore, outside: OutsideWriter
    ) -> None:
        paths = [below(harness, name) for name in ("a", "a/b", "a/b/c", "a/d", "a/e", "a-")]
        made = await store.apply([Put(path=path, value=b"x", expected=None) for path in paths])
        top, b, c, d, e, _ = (Delete(path=each.path, expected=known(each.revision)) for each in made)
        await refused(store, [d, top, b, c, e], 1, NotEmpty)
        await refused(store, [d, c, b, top, e], 3, NotEmpty)
        await refused(store, [d, e, b, c, top], 2, NotEmpty)
        between = MetaPath(f"{paths[1]}/between")
        outside.put(between, b"x")
        await refused(store, [d, e, c, b, top], 3, NotEmpty)
        outside.delete(between)
        await refused(store, [d, e, c, replace(b, expected=Revision("7.7.7")), top], 3, RevisionMismatch)
        assert None not in (await store.read(paths)).values()
        written = await store.apply([d, e, c, b, top])
        assert [each.revision for each in written] == [None] * 5
        assert [path for path, entry in (await store.read(paths)).items() if entry is not None] == paths[-1:]

    async def test_a_parent_is_not_deleted_above_what_the_same_batch_puts(
        self, harness: StoreHarness, store: MetadataStore
    ) -> None:
        parent, child = below(harness, "parent"), below(harness, "parent/child")
        (above,) = await store.apply([Put(path=parent, value=b"x", expected=None)])
        delete = Delete(path=parent, expected=known(above.revision))
        await refused(store, [Put(path=child, value=b"x", expected=None), delete], 1, NotEmpty)
        (made,) = await store.apply([Put(path=child, value=b"x", expected=None)])
        await refused(store, [Put(path=child, value=b"y", expected=made.revision), delete], 1, NotEmpty)
        entries = await store.read([parent, child])
        assert [entry and entry.value for entry in entries.values()] == [b"x", b"x"]

    async def test_whole_families_fill_a_declared_batch(self, harness: StoreHarness, store: MetadataStore) -> None:
        count = store.capabilities.max_batch_writes // store.capabilities.delete_weight
        parents = [below(harness, f"parent-{number}") for number in range(2)]
        children = [MetaPath(f"{parents[number % 2]}/{number}") for number in range(count - 2)]
        made = [each for path in (*parents, *children) for each in await store.apply([_new(path)])]
        await store.apply([Delete(path=each.path, expected=known(each.revision)) for each in reversed(made)])
        assert set((await store.read([each.path for each in made])).values()) == {None}


def _new(path: MetaPath) -> Put:
    return Put(path=path, value=b"x", expected=None)
