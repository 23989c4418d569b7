"""The clusters of a migration, as whoever runs the service has them by name."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Protocol

from syncer.migration.reading.pair import MigrationSide


class MigrationClusters(Protocol):
    """Opens both clusters of a plan by the names of their tables."""

    def sides(self, blue: str, green: str) -> AbstractAsyncContextManager[tuple[MigrationSide, MigrationSide]]:
        """Both clusters; nothing is asked yet.

        Raises:
            NotFound: The configuration has no such table.
            ConfigError: A certificate or key that a table names cannot be loaded.
        """

    def own_topics(self) -> frozenset[str]:
        """Topics of the daemons' own bus, of the same names in every cluster."""
