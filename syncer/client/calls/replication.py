"""Calls of the REST API about replication.

Written by 'make client' from docs/reference/openapi.json: not to be changed by hand.
"""

from __future__ import annotations

from syncer.client.contract import ApiAnswer, ApiCalls, ApiRequest
from syncer.documents.operations import OperationList


class ReplicationCalls(ApiCalls):
    """Calls about replication."""

    def pause(
        self, *, reason: str, idempotency_key: str | None = None, if_match: str | None = None, prefer: str | None = None
    ) -> ApiAnswer[OperationList]:
        """Stop writing and publishing here; changes are still read and kept.

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
                path="/api/v1/pause",
                headers={"Idempotency-Key": idempotency_key, "If-Match": if_match, "Prefer": prefer},
                body={"reason": reason},
            ),
        )

    def pause_everywhere(
        self, *, reason: str, idempotency_key: str | None = None, if_match: str | None = None, prefer: str | None = None
    ) -> ApiAnswer[OperationList]:
        """Stop writing and publishing in all regions.

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
                path="/api/v1/pause-everywhere",
                headers={"Idempotency-Key": idempotency_key, "If-Match": if_match, "Prefer": prefer},
                body={"reason": reason},
            ),
        )

    def resume(
        self, *, reason: str, idempotency_key: str | None = None, if_match: str | None = None, prefer: str | None = None
    ) -> ApiAnswer[OperationList]:
        """Go on writing and publishing here.

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
                path="/api/v1/resume",
                headers={"Idempotency-Key": idempotency_key, "If-Match": if_match, "Prefer": prefer},
                body={"reason": reason},
            ),
        )

    def resume_everywhere(
        self, *, reason: str, idempotency_key: str | None = None, if_match: str | None = None, prefer: str | None = None
    ) -> ApiAnswer[OperationList]:
        """Go on writing and publishing in all regions.

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
                path="/api/v1/resume-everywhere",
                headers={"Idempotency-Key": idempotency_key, "If-Match": if_match, "Prefer": prefer},
                body={"reason": reason},
            ),
        )
