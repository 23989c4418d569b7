"""A region as its HTTP surface looks into it: views of its database, in a few threads as the daemon has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import anyio.to_thread

from syncer.surface import MAX_LOOKERS

if TYPE_CHECKING:
    from syncer.state.views.region import Views

Found = TypeVar("Found")


class LookingInside:
    """Implements :class:`api.inside.RegionInside` over a database, without a daemon.

    Args:
        views: Of the database.
        config: Of the region, as far as the routes that are asked need it.
    """

    def __init__(self, views: Views, config: Any) -> None:
        self.views, self.config = views, config
        self._limiter: anyio.CapacityLimiter | None = None

    async def look(self, question: Callable[[Views], Found]) -> Found:
        """What the views say."""
        if self._limiter is None:  # made where the loop runs
            self._limiter = anyio.CapacityLimiter(MAX_LOOKERS)
        return await anyio.to_thread.run_sync(lambda: question(self.views), limiter=self._limiter)
