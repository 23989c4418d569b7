"""The contract of stores: several writers, of whom one may write."""

from __future__ import annotations

import asyncio

from syncer.errors import RevisionMismatch
from syncer.stores.contract import BatchRefused, MetadataStore, Put
from tests.contract.store_harness import StoreCase, StoreHarness, below, read, refused


class FencingSuite(StoreCase):
    """What keeps a former writer out."""

    async def test_two_clients_hand_over(
        self, harness: StoreHarness, store: MetadataStore, other: MetadataStore
    ) -> None:
        path = below(harness, "path")
        (one,) = await store.apply([Put(path=path, value=b"one", expected=None)])
        seen = await read(other, path)
        assert seen is not None
        assert seen.revision == one.revision, "a revision means the same to every client"
        await other.apply([Put(path=path, value=b"two", expected=one.revision)])
        await refused(store, [Put(path=path, value=b"x", expected=one.revision)], 0, RevisionMismatch)

    async def test_of_two_writers_racing_on_a_fence_exactly_one_wins(
        self, harness: StoreHarness, store: MetadataStore, other: MetadataStore
    ) -> None:
        fence, target = below(harness, "fence"), below(harness, "target")
        clients = {b"store": store, b"other": other}
        held, stored = await store.apply([Put(path=path, value=b"0", expected=None) for path in (fence, target)])
        for _ in range(25):
            batch = [(fence, held.revision), (target, stored.revision)]
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
            held, stored = won[0]
            winner = list(clients)[outcomes.index(won[0])]
            entries = await store.read([target, fence])
            assert [entry and entry.value for entry in entries.values()] == [winner, winner]
            assert [entry and entry.revision for entry in entries.values()] == [stored.revision, held.revision]

    async def test_a_raised_fence_stops_a_former_writer(
        self, harness: StoreHarness, store: MetadataStore, other: MetadataStore
    ) -> None:
        fence, target = below(harness, "fence"), below(harness, "target")
        (mine,) = await store.apply([Put(path=fence, value=b"1", expected=None)])
        await other.apply([Put(path=fence, value=b"2", expected=mine.revision)])
        batch = [Put(path=target, value=b"late", expected=None), Put(path=fence, value=b"1", expected=mine.revision)]
        await refused(store, batch, 1, RevisionMismatch)
        assert await read(store, target) is None
