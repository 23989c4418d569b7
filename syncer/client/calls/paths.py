"""Calls of the REST API about paths.

Written by 'make client' from docs/reference/openapi.json: not to be changed by hand.
"""

from __future__ import annotations

from syncer.client.contract import ApiAnswer, ApiCalls, ApiRequest, in_path
from syncer.documents.explain import EventList, ExplainDocument, PathList


class PathsCalls(ApiCalls):
    """Calls about paths."""

    def events(
        self, *, limit: int | None = None, after: int | None = None, path: str | None = None, latest: int | None = None
    ) -> ApiAnswer[EventList]:
        """Decisions about changes, oldest first; 'next' is always there, for what comes later.

        Args:
            limit: Items of a page.
            after: Go on behind this number: 'next' of the page before.
            path: Only paths that start so.
            latest: Begin so many before the end, instead of behind 'after'.

        Raises:
            SyncerError: The daemon's own, or why it gave no answer.
        """
        return self._document(
            EventList,
            ApiRequest(
                method="GET",
                path="/api/v1/events",
                query={"limit": limit, "after": after, "path": path, "latest": latest},
            ),
        )

    def paths(
        self,
        *,
        limit: int | None = None,
        after: str | None = None,
        prefix: str | None = None,
        tenant: str | None = None,
    ) -> ApiAnswer[PathList]:
        """Every path that is known, in order, without values.

        Args:
            limit: Items of a page.
            after: Go on behind this path: 'next' of the page before.
            prefix: Only paths that start so.
            tenant: Only what belongs to this tenant.

        Raises:
            SyncerError: The daemon's own, or why it gave no answer.
        """
        return self._document(
            PathList,
            ApiRequest(
                method="GET",
                path="/api/v1/paths",
                query={"limit": limit, "after": after, "prefix": prefix, "tenant": tenant},
            ),
        )

    def path(
        self, path: str, *, decisions: int | None = None, store_timeout: float | None = None
    ) -> ApiAnswer[ExplainDocument]:
        """Why a path is as it is: what won and why, what the store holds, what every other version would change.

        Args:
            path: Of the store, percent-encoded, without the first slash.
            decisions: How many of the latest decisions.
            store_timeout: Seconds to wait for the store's own value; 0: not asked.

        Raises:
            SyncerError: The daemon's own, or why it gave no answer.
        """
        return self._document(
            ExplainDocument,
            ApiRequest(
                method="GET",
                path=f"/api/v1/paths/{in_path(path)}",
                query={"decisions": decisions, "store_timeout": store_timeout},
            ),
        )
