"""Calls of the REST API about operations.

Written by 'make client' from docs/reference/openapi.json: not to be changed by hand.
"""

from __future__ import annotations

from typing import Literal

from syncer.client.contract import ApiAnswer, ApiCalls, ApiRequest, in_path
from syncer.documents.operations import OperationDocument, OperationList


class OperationsCalls(ApiCalls):
    """Calls about operations."""

    def operations(
        self,
        *,
        limit: int | None = None,
        after: int | None = None,
        state: Literal["pending", "done", "failed", "refused"] | None = None,
    ) -> ApiAnswer[OperationList]:
        """What the daemon was asked to do, by whom, from where and why, and what came of it; oldest first.

        Args:
            limit: Items of a page.
            after: Go on behind this number: 'next' of the page before.
            state: Only those.

        Raises:
            SyncerError: The daemon's own, or why it gave no answer.
        """
        return self._document(
            OperationList,
            ApiRequest(method="GET", path="/api/v1/operations", query={"limit": limit, "after": after, "state": state}),
        )

    def operation(self, number: int) -> ApiAnswer[OperationDocument]:
        """One operation.

        Args:
            number: The number.

        Raises:
            SyncerError: The daemon's own, or why it gave no answer.
        """
        return self._document(OperationDocument, ApiRequest(method="GET", path=f"/api/v1/operations/{in_path(number)}"))
