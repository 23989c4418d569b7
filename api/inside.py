"""The contract between the routes of a region and what keeps it: its configuration, and views of its database.

A question is put to the views in a thread of its own, so that a slow database keeps no other request waiting; there are
few such threads, and who comes when all of them look waits for one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from syncer.config.model import Config
    from syncer.state.views.region import Views

Found = TypeVar("Found")


class RegionInside(Protocol):
    """A region, as far as its REST API looks into it and asks for changes."""

    @property
    def config(self) -> Config:
        """Its configuration."""
        ...

    async def look(self, question: Callable[[Views], Found]) -> Found:
        """What the views say, as of one moment or a few.

        Raises:
            SyncerError: The sidecar database cannot be read, or written, now; or what the question raises.
        """
        ...
