"""Calls of the REST API about regions.

Written by 'make client' from docs/reference/openapi.json: not to be changed by hand.
"""

from __future__ import annotations

from syncer.client.contract import ApiAnswer, ApiCalls, ApiRequest
from syncer.documents.operations import OperationList
from syncer.documents.regions import FirstContactPlan, RegionList


class RegionsCalls(ApiCalls):
    """Calls about regions."""

    def plan(self, *, limit: int | None = None) -> ApiAnswer[FirstContactPlan]:
        """What first contact would change in this region's store. Its ETag is wanted to let it.

        Args:
            limit: Paths to list.

        Raises:
            SyncerError: The daemon's own, or why it gave no answer.
        """
        return self._document(
            FirstContactPlan, ApiRequest(method="GET", path="/api/v1/first-contact", query={"limit": limit})
        )

    def take_part(
        self, *, reason: str, idempotency_key: str | None = None, if_match: str | None = None, prefer: str | None = None
    ) -> ApiAnswer[OperationList]:
        """Let a new region take part, or let all pass that first contact holds.

        Args:
            reason: Why; kept in the audit trail.
            idempotency_key: Of this request; repeat it unchanged.
            if_match: ETag of what was looked at.
            prefer: wait=N: wait so many seconds for the answer.

        Raises:
            SyncerError: The daemon's own, or why it gave no answer.
        """
        return self._document(
            OperationList,
            ApiRequest(
                method="POST",
                path="/api/v1/first-contact",
                headers={"Idempotency-Key": idempotency_key, "If-Match": if_match, "Prefer": prefer},
                body={"reason": reason},
            ),
        )

    def regions(self) -> ApiAnswer[RegionList]:
        """This region and every one that was ever heard: mode, lag, skew, watermark, equality.

        Raises:
            SyncerError: The daemon's own, or why it gave no answer.
        """
        return self._document(RegionList, ApiRequest(method="GET", path="/api/v1/regions"))
