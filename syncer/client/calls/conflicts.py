"""Calls of the REST API about conflicts.

Written by 'make client' from docs/reference/openapi.json: not to be changed by hand.
"""

from __future__ import annotations

from syncer.client.contract import ApiAnswer, ApiCalls, ApiRequest, in_path
from syncer.documents.conflicts import ConflictDetail, ConflictList, LosersOfRegion
from syncer.documents.operations import OperationList


class ConflictsCalls(ApiCalls):
    """Calls about conflicts."""

    def conflicts(
        self,
        *,
        limit: int | None = None,
        after: int | None = None,
        tenant: str | None = None,
        restored: bool | None = None,
    ) -> ApiAnswer[ConflictList]:
        """Conflicts, oldest first, without their values.

        Args:
            limit: Items of a page.
            after: Go on behind this number: 'next' of the page before.
            tenant: Only what belongs to this tenant.
            restored: Those that were restored, too.

        Raises:
            SyncerError: The daemon's own, or why it gave no answer.
        """
        return self._document(
            ConflictList,
            ApiRequest(
                method="GET",
                path="/api/v1/conflicts",
                query={"limit": limit, "after": after, "tenant": tenant, "restored": restored},
            ),
        )

    def conflicts_of(self, region: str) -> ApiAnswer[LosersOfRegion]:
        """How much a region has lost; with the ETag that a discard of all of it wants.

        Args:
            region: The region.

        Raises:
            SyncerError: The daemon's own, or why it gave no answer.
        """
        return self._document(LosersOfRegion, ApiRequest(method="GET", path=f"/api/v1/conflicts-of/{in_path(region)}"))

    def discard_conflicts_of(
        self,
        region: str,
        *,
        reason: str,
        idempotency_key: str | None = None,
        if_match: str | None = None,
        prefer: str | None = None,
    ) -> ApiAnswer[OperationList]:
        """Forget all that a region has lost, up to the conflict that was looked at.

        Args:
            region: The region.
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
                path=f"/api/v1/conflicts-of/{in_path(region)}/discard",
                headers={"Idempotency-Key": idempotency_key, "If-Match": if_match, "Prefer": prefer},
                body={"reason": reason},
            ),
        )

    def conflict(self, number: int, *, store_timeout: float | None = None) -> ApiAnswer[ConflictDetail]:
        """A conflict with both values and their difference, for who may see values. Its ETag is wanted by a restore.

        Args:
            number: The number.
            store_timeout: Seconds to wait for the store's own value; 0: not asked.

        Raises:
            SyncerError: The daemon's own, or why it gave no answer.
        """
        return self._document(
            ConflictDetail,
            ApiRequest(
                method="GET", path=f"/api/v1/conflicts/{in_path(number)}", query={"store_timeout": store_timeout}
            ),
        )

    def discard_conflict(
        self,
        number: int,
        *,
        reason: str,
        idempotency_key: str | None = None,
        if_match: str | None = None,
        prefer: str | None = None,
    ) -> ApiAnswer[OperationList]:
        """Forget a conflict, as it was looked at: the lost value is gone here, and can be restored no more.

        Args:
            number: The number.
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
                path=f"/api/v1/conflicts/{in_path(number)}/discard",
                headers={"Idempotency-Key": idempotency_key, "If-Match": if_match, "Prefer": prefer},
                body={"reason": reason},
            ),
        )

    def restore_conflict(
        self,
        number: int,
        *,
        reason: str,
        idempotency_key: str | None = None,
        if_match: str | None = None,
        prefer: str | None = None,
    ) -> ApiAnswer[OperationList]:
        """Make the loser of a conflict the newest, everywhere.

        Args:
            number: The number.
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
                path=f"/api/v1/conflicts/{in_path(number)}/restore",
                headers={"Idempotency-Key": idempotency_key, "If-Match": if_match, "Prefer": prefer},
                body={"reason": reason},
            ),
        )
