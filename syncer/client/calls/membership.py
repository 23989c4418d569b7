"""Calls of the REST API about membership.

Written by 'make client' from docs/reference/openapi.json: not to be changed by hand.
"""

from __future__ import annotations

from collections.abc import Sequence

from syncer.client.contract import ApiAnswer, ApiCalls, ApiRequest, in_path
from syncer.documents.operations import OperationList


class MembershipCalls(ApiCalls):
    """Calls about membership."""

    def leave(
        self, *, reason: str, idempotency_key: str | None = None, if_match: str | None = None, prefer: str | None = None
    ) -> ApiAnswer[OperationList]:
        """Take this region out of the group, once every member has got all of its changes.

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
                path="/api/v1/leave",
                headers={"Idempotency-Key": idempotency_key, "If-Match": if_match, "Prefer": prefer},
                body={"reason": reason},
            ),
        )

    def leave_by_force(
        self, *, reason: str, idempotency_key: str | None = None, if_match: str | None = None, prefer: str | None = None
    ) -> ApiAnswer[OperationList]:
        """Take this region out of the group, even if a member has not got all of its changes.

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
                path="/api/v1/leave-by-force",
                headers={"Idempotency-Key": idempotency_key, "If-Match": if_match, "Prefer": prefer},
                body={"reason": reason},
            ),
        )

    def rebuild(
        self,
        *,
        reason: str,
        idempotency_key: str | None = None,
        if_match: str | None = None,
        prefer: str | None = None,
        alone: bool | None = None,
        without: Sequence[str] | None = None,
    ) -> ApiAnswer[OperationList]:
        """Say whom the rebuild of a lost database need not wait for.

        Args:
            reason: Why; kept in the audit trail.
            idempotency_key: Of this request; repeat it unchanged.
            if_match: ETag of what was looked at.
            prefer: wait=N: wait so many seconds for the answer.
            alone: No peer has anything to tell.
            without: Peers that are absent.

        Raises:
            SyncerError: The daemon's own, or why it gave no answer.
        """
        return self._document(
            OperationList,
            ApiRequest(
                method="POST",
                path="/api/v1/rebuild",
                headers={"Idempotency-Key": idempotency_key, "If-Match": if_match, "Prefer": prefer},
                body={
                    "reason": reason,
                    **{
                        name: value for name, value in {"alone": alone, "without": without}.items() if value is not None
                    },
                },
            ),
        )

    def admit(
        self,
        region: str,
        *,
        reason: str,
        idempotency_key: str | None = None,
        if_match: str | None = None,
        prefer: str | None = None,
    ) -> ApiAnswer[OperationList]:
        """Take a region for one of the group, whoever says that it was forgotten.

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
                path=f"/api/v1/regions/{in_path(region)}/admit",
                headers={"Idempotency-Key": idempotency_key, "If-Match": if_match, "Prefer": prefer},
                body={"reason": reason},
            ),
        )

    def forget(
        self,
        region: str,
        *,
        reason: str,
        idempotency_key: str | None = None,
        if_match: str | None = None,
        prefer: str | None = None,
    ) -> ApiAnswer[OperationList]:
        """Wait no longer for a region that will not come back.

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
                path=f"/api/v1/regions/{in_path(region)}/forget",
                headers={"Idempotency-Key": idempotency_key, "If-Match": if_match, "Prefer": prefer},
                body={"reason": reason},
            ),
        )

    def forget_by_force(
        self,
        region: str,
        *,
        reason: str,
        idempotency_key: str | None = None,
        if_match: str | None = None,
        prefer: str | None = None,
    ) -> ApiAnswer[OperationList]:
        """Wait no longer for a region, even if it spoke within the last minutes.

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
                path=f"/api/v1/regions/{in_path(region)}/forget-by-force",
                headers={"Idempotency-Key": idempotency_key, "If-Match": if_match, "Prefer": prefer},
                body={"reason": reason},
            ),
        )
