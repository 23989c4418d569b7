"""The fence of the region's store as the fold of a topic needs it: no lower than any claim that a daemon could make.

A daemon raises the fence before it writes under it. So a fence that is read after a message bounds what that message
may truly claim; it is read again only where a message claims more than was read before.
"""

from __future__ import annotations

from collections.abc import Iterable

from syncer.model import MetaPath
from syncer.replication.fence import Fence
from syncer.stores.contract import MetadataStore
from syncer.system_topics.log import FenceBound, WriterClaim


class ReadFence:
    """How high the fence has come, as far as it was read.

    Args:
        store: The region's store.
    """

    def __init__(self, store: MetadataStore) -> None:
        self._store = store
        self.path: MetaPath | None = None
        """Where it stands; ``None``: it is not known whose fence counts."""
        self.bound: FenceBound | None = None

    async def reach(self, claims: Iterable[WriterClaim | None]) -> None:
        """Read the fence, if one of these claims more than it is known to have come to.

        Raises:
            StoreUnavailable: The store does not answer.
        """
        path = self.path
        told = [claim for claim in claims if claim is not None]
        if path is None or not any(self.bound is None or self.bound.excludes(claim) for claim in told):
            return
        entry = (await self._store.read([path]))[path]
        if entry is not None:
            fence = Fence.decode(entry.value)
            self.bound = FenceBound(fence.store_id, fence.number)
