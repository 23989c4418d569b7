"""Calls of the REST API about long work.

Written by 'make client' from docs/reference/openapi.json: not to be changed by hand.
"""

from __future__ import annotations

from syncer.client.contract import ApiAnswer, ApiCalls, ApiRequest, in_path
from syncer.documents.migration import MigrationEventList, MigrationList, MigrationStatusDocument
from syncer.documents.snapshots import RepairDocument, RepairList


class LongWorkCalls(ApiCalls):
    """Calls about long work."""

    def migrations(self, *, limit: int | None = None) -> ApiAnswer[MigrationList]:
        """The migrations of this region, the latest first.

        Args:
            limit: So many of the latest.

        Raises:
            SyncerError: The daemon's own, or why it gave no answer.
        """
        return self._document(
            MigrationList, ApiRequest(method="GET", path="/api/v1/migrations", query={"limit": limit})
        )

    def migration(self, number: int) -> ApiAnswer[MigrationStatusDocument]:
        """How far a migration is, what it waits for, and why it has stopped.

        Args:
            number: The number.

        Raises:
            SyncerError: The daemon's own, or why it gave no answer.
        """
        return self._document(
            MigrationStatusDocument, ApiRequest(method="GET", path=f"/api/v1/migrations/{in_path(number)}")
        )

    def migration_events(
        self, number: int, *, limit: int | None = None, after: int | None = None
    ) -> ApiAnswer[MigrationEventList]:
        """What has happened in a migration, oldest first; 'next' is always there, for what comes later.

        Args:
            number: The number.
            limit: Items of a page.
            after: Go on behind this number: 'next' of the page before.

        Raises:
            SyncerError: The daemon's own, or why it gave no answer.
        """
        return self._document(
            MigrationEventList,
            ApiRequest(
                method="GET",
                path=f"/api/v1/migrations/{in_path(number)}/events",
                query={"limit": limit, "after": after},
            ),
        )

    def repairs(self, *, limit: int | None = None) -> ApiAnswer[RepairList]:
        """What was told again from snapshots, and what is being told, the latest first.

        Args:
            limit: So many of the latest.

        Raises:
            SyncerError: The daemon's own, or why it gave no answer.
        """
        return self._document(
            RepairList, ApiRequest(method="GET", path="/api/v1/snapshot-syncs", query={"limit": limit})
        )

    def repair(self, number: int) -> ApiAnswer[RepairDocument]:
        """How far one is, and what was refused.

        Args:
            number: The number.

        Raises:
            SyncerError: The daemon's own, or why it gave no answer.
        """
        return self._document(
            RepairDocument, ApiRequest(method="GET", path=f"/api/v1/snapshot-syncs/{in_path(number)}")
        )
